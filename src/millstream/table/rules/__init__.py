"""Rewrites of queries: small functions from tables to equal tables."""
