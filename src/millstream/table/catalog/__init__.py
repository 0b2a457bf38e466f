"""Catalogs in memory, and the statements that change and show them."""
