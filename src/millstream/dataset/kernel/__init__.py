"""The operators in plain Python, for a task that talks to the others."""
