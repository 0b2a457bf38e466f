"""Formats of files and messages."""
