"""How user functions run per vertex, on the loop of iterations."""
