"""The connector ``spark``: any source and any writer that Spark knows, by the name of its format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.common.typeinfo import TypeInformation, Types
from millstream.connectors.sink import Sink
from millstream.datastream.building.spark_schema import to_ddl
from millstream.datastream.connectors.spark import SparkSink
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.table.connectors.factory import CONNECTORS, Connector, ReadRows, stored_row
from millstream.table.connectors.fitting import fitted_rows
from millstream.table.connectors.options import Option, Options
from millstream.table.logical.entries import TableEntry
from millstream.table.physical.compiled import row_info

__all__ = ["read_frame"]

_OWN = ("connector", "format", "scan.mode", "sink.mode", "scan.watermark.idle-timeout")
_WITH_SCHEMA = ("avro", "csv", "json", "orc", "parquet", "text", "xml")
"""Formats of files: without the columns Spark would look at the files first."""


class _Spark(Connector):
    def options(self, given: Mapping[str, str]) -> tuple[Option, ...]:
        return (
            Option("format", required=True),
            Option("scan.mode", choices=("batch", "streaming")),
            Option("sink.mode", choices=("append", "overwrite", "ignore", "error")),
            Option("", prefix=True),
        )

    def read(
        self, env: StreamExecutionEnvironment, entry: TableEntry, options: Options
    ) -> ReadRows:
        session, name = env._session(), options.text("format")
        if name == "table":
            return read_frame(env, entry, session.table(options.text("path")))
        streaming = options.text("scan.mode", "batch") == "streaming"
        reader = (session.readStream if streaming else session.read).format(name)
        if name in _WITH_SCHEMA:
            reader = reader.schema(_ddl(entry))
        return read_frame(env, entry, reader.options(**_others(options)).load())

    def write(self, entry: TableEntry, options: Options) -> Sink:
        mode = options.text("sink.mode", "append")
        return SparkSink(options.text("format"), mode=mode, **_others(options))


def read_frame(env: StreamExecutionEnvironment, entry: TableEntry, frame: Any) -> ReadRows:
    """The columns of a table, by name, from a DataFrame."""
    names = [each.name for each in entry.stored]
    chosen = frame.select(*(f"`{name}`" for name in names))
    return ReadRows(fitted_rows(env, env.from_dataframe(chosen), row_info(stored_row(entry))))


def _others(options: Options) -> dict[str, str]:
    return {name: value for name, value in options.given.items() if name not in _OWN}


def _ddl(entry: TableEntry) -> str:
    info = row_info(stored_row(entry))
    types = [TypeInformation.from_arrow(each.to_arrow()) for each in info.field_types]
    return to_ddl(Types.ROW_NAMED(info.get_field_names(), types))


CONNECTORS["spark"] = _Spark()
