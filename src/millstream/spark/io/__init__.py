"""Sources and sinks on Spark."""
