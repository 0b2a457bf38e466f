"""The dialect of statements."""

from __future__ import annotations

__all__ = ["SqlDialect"]


class SqlDialect:
    """The dialect of statements. Only those of Flink's own, the default, run."""

    DEFAULT = 0
    HIVE = 1
