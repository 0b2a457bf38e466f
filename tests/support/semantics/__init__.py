"""Transcripts of operators, and the cases in them."""
