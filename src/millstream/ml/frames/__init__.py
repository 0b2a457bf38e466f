"""The data that stages take, each kind behind the same methods."""
