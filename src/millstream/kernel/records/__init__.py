"""Records between operators: columns, buffers, and the order they are processed in."""
