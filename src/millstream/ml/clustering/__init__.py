"""Clustering: k-means, and hierarchies from below."""
