"""Tables in memory: rows of the program or of a test, and changes that are kept for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from millstream.common.types import Row, RowKind
from millstream.connectors.collection import CollectionSource
from millstream.connectors.memory_tables import KeptTable, MemoryTables, current_tables
from millstream.connectors.simple_sinks import DriverSink
from millstream.connectors.sink import Changelog, Sink, SinkContext
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.table.connectors.changes import folded, hashable, of_kind, paired
from millstream.table.connectors.factory import (
    CONNECTORS,
    OVERWRITE,
    Connector,
    ReadRows,
    cannot,
    stored_row,
)
from millstream.table.connectors.lookup import RowsByKey
from millstream.table.connectors.options import Option, Options
from millstream.table.connectors.simple import TableRows
from millstream.table.logical.entries import TableEntry
from millstream.table.physical.compiled import row_info
from millstream.table.physical.lookups import RowLookup
from millstream.table.types import values
from millstream.table.types.logical import LogicalType, RowField, RowType

__all__ = ["InMemory", "KeptChanges", "RowsOfProgram"]

_OF_FLINK = (
    "async",
    "bounded",
    "data-id",
    "disable-lookup",
    "enable-projection-push-down",
    "enable-watermark-push-down",
    "filterable-fields",
    "nested-projection-supported",
    "partition-list",
    "readable-metadata",
    "runtime-source",
    "scan.parallelism",
    "sink.parallelism",
    "sink.supports-delete-by-key",
    "source.produces-delete-by-key",
    "terminating",
    "writable-metadata",
)
"""Options that Flink's connector for tests has too: how Flink reads, which changes no row."""
_MODE = "changelog-mode"
_SINK_MODE = "sink-changelog-mode-enforced"
_KINDS = ("I", "UB", "UA", "D")


class _Memory(Connector):
    """A table whose rows are in memory, and whose changes are kept there."""

    gives_kinds = True
    overwrites = True

    def read(
        self, env: StreamExecutionEnvironment, entry: TableEntry, options: Options
    ) -> ReadRows:
        row = stored_row(entry)
        source = CollectionSource.of([values.stored_row(each, row) for each in _rows(entry)])
        return ReadRows(env._source(entry.path.name, source, row_info(row)))

    def lookup(self, entry: TableEntry, options: Options, key: Sequence[str]) -> RowLookup:
        names = [each.name for each in entry.stored]
        return RowsByKey(folded(_rows(entry)), [names.index(each) for each in key])


class RowsOfProgram(_Memory):
    """``values``: a table of `TableRows`, or with the rows and the changes of a test."""

    any_metadata = True

    def options(self, given: Mapping[str, str]) -> tuple[Option, ...]:
        return (
            Option(_MODE),
            Option("sink-insert-only"),
            Option(_SINK_MODE),
            Option(OVERWRITE),
            *map(Option, _OF_FLINK),
        )

    def changes(self, entry: TableEntry, options: Options) -> Changelog:
        if isinstance(entry.source, TableRows):
            return entry.source.changes
        return _changes(options, _MODE)

    def write(self, entry: TableEntry, options: Options) -> Sink:
        if options.flag("sink-insert-only"):
            changelog: Changelog = "append"
        elif _SINK_MODE in options.given:
            changelog = _changes(options, _SINK_MODE)
        else:
            changelog = "upsert" if entry.primary_key else "retract"
        return _kept(entry, changelog, overwrite=options.flag(OVERWRITE))


class InMemory(_Memory):
    """A table of another connector, with the rows of a test in the place of that."""

    def __init__(self, other: Connector) -> None:
        self._other = other

    def options(self, given: Mapping[str, str]) -> tuple[Option, ...]:
        return (*self._other.options(given), Option(OVERWRITE))

    def changes(self, entry: TableEntry, options: Options) -> Changelog:
        return self._other.changes(entry, options)

    def metadata(self, options: Options) -> Mapping[str, LogicalType]:
        return self._other.metadata(options)

    def write(self, entry: TableEntry, options: Options) -> Sink:
        changelog = self._other.write(entry, options).changelog
        return _kept(entry, changelog, overwrite=options.flag(OVERWRITE))


def _changes(options: Options, name: str) -> Changelog:
    """The kinds of rows that an option lists: without old rows, a row replaces that of its key."""
    kinds = {each.strip().upper() for each in options.text(name, "I").split(",")}
    if not kinds <= set(_KINDS) or kinds.isdisjoint(("I", "UA")):
        what = f"has {name!r} = {options.shown(name)!r}"
        raise options.problem(what, "list some of I, UB, UA, D, as in 'I,UA,D'")
    if "UA" in kinds and "UB" not in kinds:
        return "upsert"
    return "append" if kinds == {"I"} else "retract"


def _rows(entry: TableEntry) -> Sequence[Row]:
    if isinstance(entry.source, TableRows):
        return entry.source.rows
    return _tables(entry).given(entry.path.name)


def _tables(entry: TableEntry) -> MemoryTables:
    found = current_tables()
    if found is None:
        hint = "make it with from_elements, or run it in a test: with in_memory(tables=...)"
        raise cannot(entry, "is in memory, and there are no rows for it", hint)
    return found


def _kept(entry: TableEntry, changelog: Changelog, *, overwrite: bool) -> KeptChanges:
    row = RowType(tuple(RowField(each.name, each.type) for each in entry.written))
    names = [each.name for each in entry.written]
    key = tuple(map(names.index, entry.primary_key)) if entry.primary_key else None
    return KeptChanges(_tables(entry).kept(entry.path.name), row, key, changelog, overwrite)


@dataclass(frozen=True)
class KeptChanges(DriverSink):
    """Keeps the changes of a table.

    ``key``: columns by which an old and a new row are an update. ``overwrite``: a job that starts from
    the beginning forgets what was there.
    """

    table: KeptTable = field(compare=False)
    row: RowType
    key: tuple[int, ...] | None
    changelog: Changelog = "retract"
    overwrite: bool = False
    takes_complete = True

    def forget(self) -> None:
        if self.overwrite:
            self.table.changes, self.table.rows = [], []

    def deliver(
        self, context: SinkContext, epoch: int, records: list[tuple[Any, int | None]]
    ) -> None:
        given = [values.given_row(value, self.row) for value, _ in records]
        if self.changelog == "upsert" and self.key is not None:
            self._replace(given, self.key)
            return
        changes = paired(given, self.key)
        self.table.changes += changes
        self.table.rows = folded([*self.table.rows, *changes])

    def _replace(self, rows: list[Row], key: tuple[int, ...]) -> None:
        """Let rows take the place of those with their key."""
        there = {hashable([row[place] for place in key]): row for row in self.table.rows}
        for row in rows:
            mine = hashable([row[place] for place in key])
            old = there.pop(mine, None)
            if row.get_row_kind() in (RowKind.DELETE, RowKind.UPDATE_BEFORE):
                if old is not None:
                    self.table.changes.append(of_kind(row, RowKind.DELETE))
                continue
            kind = RowKind.INSERT if old is None else RowKind.UPDATE_AFTER
            self.table.changes.append(of_kind(row, kind))
            there[mine] = of_kind(row, RowKind.INSERT)
        self.table.rows = list(there.values())


CONNECTORS["values"] = RowsOfProgram()
