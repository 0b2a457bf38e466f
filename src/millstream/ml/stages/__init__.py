"""The mechanism of all stages: data in, columns and models out."""
