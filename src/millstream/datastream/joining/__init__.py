"""Joins of streams with streams, and of streams with tables."""
