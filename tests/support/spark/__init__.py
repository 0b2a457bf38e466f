"""Programs and helpers for tests on real Spark."""
