"""Rows, errors and memory of tasks."""
