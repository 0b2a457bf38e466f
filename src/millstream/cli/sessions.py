"""A Spark session for the commands that read state."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["spark_session"]


@contextmanager
def spark_session() -> Iterator[Any]:
    """A local session, stopped at the end."""
    from millstream.spark.session.session import get_session

    spark = get_session(None, os.cpu_count() or 1, {})
    try:
        yield spark
    finally:
        spark.stop()
