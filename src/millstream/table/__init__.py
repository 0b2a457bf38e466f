"""Flink's Table API and SQL: types and parser."""
