"""Streams of the program as tables: the connector ``datastream`` of `from_data_stream`."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.common.errors import PlanError
from millstream.common.time import Instant
from millstream.common.types import Row, like
from millstream.connectors.sink import Changelog
from millstream.datastream.functions.base import ProcessFunction
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.datastream.streams.data_stream import DataStream
from millstream.plan.graph import JobGraph
from millstream.table.connectors.factory import CONNECTORS, Connector, ReadRows, stored_row
from millstream.table.connectors.options import Option, Options
from millstream.table.logical.entries import TableEntry
from millstream.table.physical.compiled import row_info
from millstream.table.types import values
from millstream.table.types.logical import LogicalType, RowType
from millstream.table.types.parsing import parse_logical_type

__all__ = ["StreamRows"]

_UTC = datetime.UTC


@dataclass(frozen=True)
class StreamRows:
    """A stream that a table reads.

    ``places``: for each stored column of the table the place of its value in a record, None for the
    record's event time. ``single``: records are values of the only column. ``changes``: of a stream of
    rows with kinds, whether they have old rows too.
    """

    graph: JobGraph = field(repr=False)
    node: int
    places: tuple[int | None, ...]
    single: bool = False
    changes: Changelog = "append"

    def __hash__(self) -> int:
        return hash((id(self.graph), self.node, self.places))


@dataclass(frozen=True)
class _Stored:
    """A record as a row in the values of Arrow."""

    places: tuple[int | None, ...]
    single: bool
    row_type: RowType
    zone: str = "UTC"

    def __call__(self, record: Any, timestamp: int | None = None) -> Row:
        given = (record,) if self.single else record
        found = [_time(timestamp) if at is None else _plain(given[at]) for at in self.places]
        row = like(record, found) if isinstance(record, Row) else Row(*found)
        row.set_field_names([each.name for each in self.row_type.fields])
        return values.stored_row(row, self.row_type, self.zone)


class _WithTime(ProcessFunction):
    """Rows with the event time of their record in a column."""

    def __init__(self, stored: _Stored) -> None:
        self._stored = stored

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Row]:
        yield self._stored(value, ctx.timestamp())


def _plain(value: Any) -> Any:
    if isinstance(value, Instant):
        whole = datetime.datetime.fromtimestamp(value.seconds, _UTC)
        return whole.replace(microsecond=value.nanos // 1_000)
    return value


def _time(timestamp: int | None) -> Any:
    if timestamp is None:
        raise PlanError(
            "NULL_ROWTIME",
            "a record of the stream has no event time, and a column of its table is that time",
            hint="call assign_timestamps_and_watermarks(...) on the stream before",
        )
    return datetime.datetime.fromtimestamp(0, _UTC) + datetime.timedelta(milliseconds=timestamp)


class _Streams(Connector):
    gives_kinds = True

    def options(self, given: Mapping[str, str]) -> tuple[Option, ...]:
        return ()

    def changes(self, entry: TableEntry, options: Options) -> Changelog:
        return _source(entry).changes

    def metadata(self, options: Options) -> Mapping[str, LogicalType]:
        return {"rowtime": parse_logical_type("TIMESTAMP_LTZ(3)")}

    def read(
        self, env: StreamExecutionEnvironment, entry: TableEntry, options: Options
    ) -> ReadRows:
        source = _source(entry)
        here = source.graph is env._graph
        node = source.node if here else env._adopt(source.graph, source.node)
        stream: DataStream[Any] = DataStream(env, env._graph, node)
        row = stored_row(entry)
        stored = _Stored(source.places, source.single, row)
        kinds = source.changes != "append"
        # Rows that are taken back have a kind, which no type of rows holds.
        info = None if kinds else row_info(row)
        if None in source.places:
            rows = stream.process(_WithTime(stored), info)
        else:
            rows = stream.map(stored, info)
        return ReadRows(rows.name(f"Rows of {entry.path.name}"))


def _source(entry: TableEntry) -> StreamRows:
    assert isinstance(entry.source, StreamRows)
    return entry.source


CONNECTORS["datastream"] = _Streams()
