"""Formats that carry changes: debezium-json, canal-json, maxwell-json and ogg-json, in and out."""

from __future__ import annotations

import datetime
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from millstream.common.errors import FormatError
from millstream.common.types import Row, RowKind
from millstream.connectors.sink import Changelog
from millstream.table.connectors.builtin_formats import JSON_OPTIONS, json_rows
from millstream.table.connectors.formats import FORMATS, Codec, Format, Message
from millstream.table.connectors.json_rows import JsonRows
from millstream.table.connectors.options import Option, Options
from millstream.table.connectors.row_errors import RowError
from millstream.table.types.logical import LogicalType, RowType
from millstream.table.types.parsing import parse_logical_type

__all__ = ["CanalRows", "ChangeRows", "DebeziumRows", "MaxwellRows", "OggRows"]

_GONE = (RowKind.DELETE, RowKind.UPDATE_BEFORE)
_NO_OLD = (
    "the change has no old row; the database has to log it (PostgreSQL: REPLICA IDENTITY FULL), or "
    "the table is upsert-kafka with a primary key"
)


@dataclass(frozen=True)
class ChangeRows(ABC):
    """Rows of changes in JSON; ``rows`` reads the images of rows."""

    rows: JsonRows

    def read_all(self, message: bytes) -> Sequence[Message]:
        """The rows that a change takes back and adds."""
        # A message without content follows a deletion, so that logs can be compacted.
        if not message:
            return ()
        try:
            found = self.rows.object_of(message)
            return list(self.changes(found))
        except (FormatError, KeyError, TypeError, AttributeError) as error:
            if self.rows.lenient:
                return ()
            if isinstance(error, FormatError):
                raise
            raise RowError("CHANGE_ROW", f"no change: {message!r:.200} ({error!r})") from error

    def columns(self, messages: pa.Array) -> list[pa.Array] | None:
        """None: a message may have several rows."""
        return None

    @abstractmethod
    def changes(self, found: Mapping[str, Any]) -> Iterable[Message]:
        """The rows of a message."""

    @abstractmethod
    def shown(self, image: str, gone: bool) -> str:
        """The message of a row that is added or taken back."""

    def write(self, row: Sequence[Any]) -> bytes:
        """The message of a row."""
        gone = isinstance(row, Row) and row.get_row_kind() in _GONE
        return self.shown(self.rows.text(row), gone).encode()

    def image(self, found: Any, weight: int, metadata: Mapping[str, Any]) -> Message:
        """A row before or after a change."""
        if found is None:
            raise RowError("CHANGE_ROW", _NO_OLD if weight < 0 else "the change has no new row")
        return Message.of(self.rows.values(found), weight, metadata)


@dataclass(frozen=True)
class DebeziumRows(ChangeRows):
    """``debezium-json``. ``schema``: messages have a schema and a payload."""

    schema: bool = False

    def changes(self, found: Mapping[str, Any]) -> Iterable[Message]:
        if self.schema:
            found = found["payload"]
        operation, about = found["op"], _debezium_metadata(found)
        if operation in ("c", "r"):
            yield self.image(found.get("after"), 1, about)
        elif operation == "u":
            yield self.image(found.get("before"), -1, about)
            yield self.image(found.get("after"), 1, about)
        elif operation == "d":
            yield self.image(found.get("before"), -1, about)
        else:
            raise RowError("CHANGE_ROW", f"there is no operation {operation!r} in Debezium")

    def shown(self, image: str, gone: bool) -> str:
        if gone:
            return f'{{"before":{image},"after":null,"op":"d"}}'
        return f'{{"before":null,"after":{image},"op":"c"}}'


@dataclass(frozen=True)
class CanalRows(ChangeRows):
    """``canal-json``. ``database`` and ``table``: regular expressions; other messages are left out."""

    database: str | None = None
    table: str | None = None

    def changes(self, found: Mapping[str, Any]) -> Iterable[Message]:
        if not (
            _matches(self.database, found, "database") and _matches(self.table, found, "table")
        ):
            return
        kind, about = found["type"], _canal_metadata(found)
        if kind == "CREATE":
            return
        for place, new in enumerate(found["data"] or ()):
            if kind == "UPDATE":
                old = (found.get("old") or [None])[place]
                yield self.image({**new, **(old or {})}, -1, about)
            if kind in ("INSERT", "UPDATE"):
                yield self.image(new, 1, about)
            elif kind == "DELETE":
                yield self.image(new, -1, about)
            else:
                raise RowError("CHANGE_ROW", f"there is no type {kind!r} in Canal")

    def shown(self, image: str, gone: bool) -> str:
        return f'{{"data":[{image}],"type":"{"DELETE" if gone else "INSERT"}"}}'


@dataclass(frozen=True)
class MaxwellRows(ChangeRows):
    """``maxwell-json``."""

    def changes(self, found: Mapping[str, Any]) -> Iterable[Message]:
        kind, new, about = found["type"], found["data"], _maxwell_metadata(found)
        if kind == "update":
            yield self.image({**new, **found["old"]}, -1, about)
        if kind in ("insert", "update", "bootstrap-insert"):
            yield self.image(new, 1, about)
        elif kind == "delete":
            yield self.image(new, -1, about)
        elif not kind.startswith("bootstrap"):
            raise RowError("CHANGE_ROW", f"there is no type {kind!r} in Maxwell")

    def shown(self, image: str, gone: bool) -> str:
        return f'{{"data":{image},"type":"{"delete" if gone else "insert"}"}}'


@dataclass(frozen=True)
class OggRows(ChangeRows):
    """``ogg-json``."""

    def changes(self, found: Mapping[str, Any]) -> Iterable[Message]:
        operation, about = found["op_type"], _ogg_metadata(found)
        if operation not in ("I", "U", "D", "T"):
            raise RowError("CHANGE_ROW", f"there is no operation {operation!r} in GoldenGate")
        if operation in ("U", "D"):
            yield self.image(found.get("before"), -1, about)
        if operation in ("I", "U"):
            yield self.image(found.get("after"), 1, about)

    def shown(self, image: str, gone: bool) -> str:
        if gone:
            return f'{{"before":{image},"after":null,"op_type":"D"}}'
        return f'{{"before":null,"after":{image},"op_type":"I"}}'


# -- metadata --------------------------------------------------------------------------------------


def _matches(pattern: str | None, found: Mapping[str, Any], name: str) -> bool:
    return pattern is None or re.fullmatch(pattern, str(found.get(name))) is not None


def _instant(millis: Any) -> datetime.datetime | None:
    if millis is None:
        return None
    return datetime.datetime.fromtimestamp(int(millis) / 1_000, datetime.UTC)


def _debezium_metadata(found: Mapping[str, Any]) -> Mapping[str, Any]:
    source = found.get("source") or {}
    return {
        "ingestion-timestamp": _instant(found.get("ts_ms")),
        "source.timestamp": _instant(source.get("ts_ms")),
        "source.database": source.get("db"),
        "source.schema": source.get("schema"),
        "source.table": source.get("table"),
        "source.properties": [(name, _text(value)) for name, value in source.items()],
    }


def _canal_metadata(found: Mapping[str, Any]) -> Mapping[str, Any]:
    types = found.get("sqlType")
    return {
        "database": found.get("database"),
        "table": found.get("table"),
        "sql-type": None if types is None else list(types.items()),
        "pk-names": found.get("pkNames"),
        "ingestion-timestamp": _instant(found.get("ts")),
        "event-timestamp": _instant(found.get("es")),
    }


def _maxwell_metadata(found: Mapping[str, Any]) -> Mapping[str, Any]:
    seconds = found.get("ts")
    return {
        "database": found.get("database"),
        "table": found.get("table"),
        "primary-key-columns": found.get("primary_key_columns"),
        "ingestion-timestamp": None if seconds is None else _instant(int(seconds) * 1_000),
    }


def _ogg_metadata(found: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "table": found.get("table"),
        "primary-keys": found.get("primary_keys"),
        "ingestion-timestamp": _local(found.get("current_ts")),
        "event-timestamp": _local(found.get("op_ts")),
    }


def _local(text: str | None) -> datetime.datetime | None:
    return None if text is None else datetime.datetime.fromisoformat(text)


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, default=str)


_DEBEZIUM = {
    "ingestion-timestamp": "TIMESTAMP_LTZ(3)",
    "source.timestamp": "TIMESTAMP_LTZ(3)",
    "source.database": "STRING",
    "source.schema": "STRING",
    "source.table": "STRING",
    "source.properties": "MAP<STRING, STRING>",
}
_CANAL = {
    "database": "STRING",
    "table": "STRING",
    "sql-type": "MAP<STRING, INT>",
    "pk-names": "ARRAY<STRING>",
    "ingestion-timestamp": "TIMESTAMP_LTZ(3)",
    "event-timestamp": "TIMESTAMP_LTZ(3)",
}
_MAXWELL = {
    "database": "STRING",
    "table": "STRING",
    "primary-key-columns": "ARRAY<STRING>",
    "ingestion-timestamp": "TIMESTAMP_LTZ(3)",
}
_OGG = {
    "table": "STRING",
    "primary-keys": "ARRAY<STRING>",
    "ingestion-timestamp": "TIMESTAMP_LTZ(6)",
    "event-timestamp": "TIMESTAMP_LTZ(3)",
}


# -- formats ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Changes(Format):
    make: Callable[[JsonRows, Options], ChangeRows]
    about: Mapping[str, str]
    more: tuple[Option, ...] = ()
    changes: Changelog = "retract"
    several: bool = True
    by_name: bool = True

    def options(self) -> tuple[Option, ...]:
        return (*JSON_OPTIONS, *self.more)

    def codec(self, row: RowType, options: Options) -> Codec:
        # Messages of other programs may have fewer fields than the table has columns.
        return self.make(replace(json_rows(row, options), fail_on_missing=False), options)

    def metadata(self) -> Mapping[str, LogicalType]:
        return {key: parse_logical_type(text) for key, text in self.about.items()}


FORMATS["debezium-json"] = _Changes(
    lambda rows, options: DebeziumRows(rows, options.flag("schema-include")),
    _DEBEZIUM,
    (Option("schema-include", choices=("true", "false")),),
)
FORMATS["canal-json"] = _Changes(
    lambda rows, options: CanalRows(
        rows, options.given.get("database.include"), options.given.get("table.include")
    ),
    _CANAL,
    (Option("database.include"), Option("table.include")),
)
FORMATS["maxwell-json"] = _Changes(lambda rows, options: MaxwellRows(rows), _MAXWELL)
FORMATS["ogg-json"] = _Changes(lambda rows, options: OggRows(rows), _OGG)
