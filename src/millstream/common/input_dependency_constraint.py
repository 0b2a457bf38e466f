"""A choice of older versions of Flink."""

from __future__ import annotations

from enum import Enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(Enum):
    """When Flink starts a task that has several inputs; Spark decides that itself."""

    ANY = 0
    ALL = 1
