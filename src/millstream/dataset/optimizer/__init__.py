"""Decisions where and how operators run, and the text that shows them."""
