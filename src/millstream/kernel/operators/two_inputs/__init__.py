"""Operators of two inputs."""
