"""Operators that read two streams."""
