"""State of keys: cells, pages, and the state of a slot."""
