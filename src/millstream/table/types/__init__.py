"""Flink's logical types: what they print, how they are cast, merged and kept in Arrow columns."""
