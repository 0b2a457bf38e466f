"""Streams for tests of online learning: values that come at times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.datastream import DataStream, StreamExecutionEnvironment
from millstream.testing import TestSource


def at_times(
    env: StreamExecutionEnvironment, values: Sequence[tuple[Any, int]], name: str
) -> DataStream[Any]:
    """Values, and the watermark of their channel before each: with channel order "watermark", values of
    several streams come by these times.
    """
    marked: list[Any] = [(None, 0)]  # A channel has no watermark before its first record.
    for value, time in values:
        marked += [TestSource.WATERMARK(time), (value, time)]
    source = TestSource(marked, timestamped=True)
    found = env.from_source(source, source.watermarks(), name)
    return found.filter(lambda value: value is not None)
