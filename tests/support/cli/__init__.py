"""Fakes for the command line."""
