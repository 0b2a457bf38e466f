"""Evaluation of predictions."""
