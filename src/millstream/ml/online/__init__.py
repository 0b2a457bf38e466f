"""Models that learn from streams: trainers, versions of models, predictions with the newest one."""
