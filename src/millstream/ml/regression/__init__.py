"""Regression: linear regression."""
