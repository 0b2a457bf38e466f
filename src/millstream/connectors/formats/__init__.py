"""Formats of messages and files, below what users call."""
