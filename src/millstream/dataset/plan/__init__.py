"""What a program on data sets is made of: nodes, keys, calls of functions."""
