"""The tasks of a loop, and how they run in one process."""
