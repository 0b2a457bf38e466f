"""Recommendation: similar items, and factors of users and items."""
