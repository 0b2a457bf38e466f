"""Cases of functions: trees that are printed as Flink SQL and bound as expressions."""
