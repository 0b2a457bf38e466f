"""Keys: what makes two keys one, and the hash by which they are distributed."""
