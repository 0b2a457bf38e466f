"""Simulators, random programs, and runs with savepoints."""
