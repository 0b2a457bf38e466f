"""Simple graphs: without several equal edges, and without edges from a vertex to itself."""
