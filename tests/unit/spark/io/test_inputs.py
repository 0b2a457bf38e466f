"""Sources as Spark reads them, on the driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from millstream.connectors import ChannelName, ChannelSource, Chunk, Position
from millstream.plan.graph import SourceNode
from millstream.spark.io.inputs import ChannelInput


class Versions(ChannelSource):
    """A table whose channels are those of a version; a job that has begun keeps the version."""

    bounded = True
    newest = 5

    def latest(self) -> Mapping[ChannelName, Position]:
        return self.latest_after({})

    def latest_after(self, positions: Mapping[str, Position]) -> Mapping[ChannelName, Position]:
        version = next(iter(positions), f"v{self.newest}")
        return {version: 10}

    def read(self, channel: ChannelName, start: Position, stop: Position) -> Iterator[Chunk]:
        yield Chunk([])


@pytest.mark.parametrize(
    ("begin", "stands", "version"),
    [
        ({}, {}, "v5"),
        ({"offset": {"v3": 2}}, {}, "v3"),
        ({"offset": {"v3": 2}}, {"v3": 7, "@first": {"v3": 1}}, "v3"),
        ({}, {"v4": 7}, "v4"),
    ],
)
def test_a_bounded_source_is_told_where_the_job_stands(
    begin: dict[str, Any], stands: dict[str, Any], version: str
) -> None:
    """By the last offset of the run, or else by that of the savepoint from which it began."""
    source = Versions()
    node = SourceNode(id=1, name="table", source=source)
    made = ChannelInput(None, node, source, "table", begin, stands)  # type: ignore[arg-type]
    assert made.ends == {version: 10}
