"""Degrees of vertices: as values, and as a condition."""
