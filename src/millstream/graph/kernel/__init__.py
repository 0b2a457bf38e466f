"""Arrays and messages of graph algorithms: ids, adjacency, and what tasks tell each other."""
