"""Streams, apart from windowed and joined ones."""
