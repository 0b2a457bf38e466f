"""Functions that users write for graphs, and the configurations of iterations."""
