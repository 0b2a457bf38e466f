"""Operators that work on whole columns, and the state of keys as rows of columns."""
