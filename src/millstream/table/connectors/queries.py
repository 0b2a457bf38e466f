"""Queries as tables: the connector ``query`` of `Table.with_watermark`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from millstream.connectors.sink import Changelog
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.datastream.streams.data_stream import DataStream
from millstream.table.connectors.factory import CONNECTORS, Connector, ReadRows
from millstream.table.connectors.options import Option, Options
from millstream.table.logical.entries import TableEntry

__all__ = ["QueryRows"]


@dataclass(frozen=True)
class QueryRows:
    """The rows of a query that a table reads.

    ``add`` adds its operators to the job that is being built, and gives the node of its rows.
    ``updating``: some of them are taken back.
    """

    add: Callable[[], int]
    updating: bool


class _Queries(Connector):
    def options(self, given: Mapping[str, str]) -> tuple[Option, ...]:
        return ()

    def changes(self, entry: TableEntry, options: Options) -> Changelog:
        return "retract" if _source(entry).updating else "append"

    def read(
        self, env: StreamExecutionEnvironment, entry: TableEntry, options: Options
    ) -> ReadRows:
        stream: DataStream[Any] = DataStream(env, env._graph, _source(entry).add())
        return ReadRows(stream)


def _source(entry: TableEntry) -> QueryRows:
    assert isinstance(entry.source, QueryRows)
    return entry.source


CONNECTORS["query"] = _Queries()
