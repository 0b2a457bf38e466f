"""Queries of a job: how they are built and run."""
