"""Aggregate functions by column: the state of groups as columns, one row for each group."""
