"""The window operators: one for everything, and quicker ones with the same results."""
