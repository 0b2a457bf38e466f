"""Operators of keyed stages."""
