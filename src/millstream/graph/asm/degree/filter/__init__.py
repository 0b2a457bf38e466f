"""Graphs without vertices of too high degree."""
