"""Loops whose state stays in their tasks, and the same loops as a job per superstep."""
