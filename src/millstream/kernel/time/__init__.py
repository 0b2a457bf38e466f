"""Watermarks of channels, and the clock of operators."""
