"""``millstream sql``: statements from a file, from the command line, or typed at a prompt."""
