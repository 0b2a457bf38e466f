"""Golden savepoints: how they are made and read."""
