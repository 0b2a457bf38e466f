"""Graphs, by Gelly's names."""
