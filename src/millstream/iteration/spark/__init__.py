"""Loops on Spark."""
