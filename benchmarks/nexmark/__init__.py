"""Nexmark: the events of an auction house, and 23 queries over them."""
