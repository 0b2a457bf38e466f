"""How stages are written to folders and read again."""
