"""Flink's Table API and SQL. So far there are the types of columns and the parser of SQL."""

from __future__ import annotations

from typing import NoReturn


def __getattr__(name: str) -> NoReturn:
    """Explain the absence of PyFlink's names; they are not here yet."""
    if name[:1].isupper():
        instead = "use the DataStream API, or Spark SQL with env.from_dataframe(...)"
        raise ImportError(f"there is no millstream.table.{name}: {instead}")
    raise AttributeError(f"module 'millstream.table' has no attribute {name!r}")
