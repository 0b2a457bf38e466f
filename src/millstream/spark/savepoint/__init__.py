"""Savepoints of Spark jobs: take and restore."""
