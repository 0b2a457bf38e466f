"""The parts of programs on data sets: nodes, keys, calls of functions."""
