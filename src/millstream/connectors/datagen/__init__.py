"""Rows made field by field, by number and seed."""
