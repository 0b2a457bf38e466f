"""Programs that the stages of a job run."""
