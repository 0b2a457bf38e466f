"""Degrees as values of vertices and edges."""
