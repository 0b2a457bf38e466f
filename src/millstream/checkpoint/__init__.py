"""Checkpoint folders: what job they belong to, and whether it may go on from them."""
