"""Spark sessions and their processes."""
