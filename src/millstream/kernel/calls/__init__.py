"""Calls of user functions: contexts, errors, and reports."""
