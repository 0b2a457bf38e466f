"""Queries as a typed, frozen algebra, and the binder that makes it from a parsed statement."""
