"""The methods of graphs, by subject."""
