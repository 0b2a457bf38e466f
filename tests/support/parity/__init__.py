"""Programs that run on Flink and here, and what Flink gives."""
