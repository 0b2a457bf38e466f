"""The dialect of statements. There is Flink's only."""

from __future__ import annotations

__all__ = ["SqlDialect"]


class SqlDialect:
    """The dialect of statements. There is Flink's only."""

    DEFAULT = 0
    HIVE = 1
