"""Tables of a catalog as streams of rows, and as ends of streams.

A connector is a `Connector` in `CONNECTORS`, by the name of the option ``connector``. What it reads are
the stored columns of a table, as rows; what is the same for all of them is here: computed columns,
watermarks, and rows that are taken back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from millstream.common.errors import PlanError
from millstream.common.time import to_millis
from millstream.common.types import Row, RowKind
from millstream.connectors.conditions import Comparison
from millstream.connectors.memory_tables import current_tables
from millstream.connectors.sink import Changelog, Sink
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.datastream.streams.data_stream import DataStream
from millstream.kernel.steps.columns import ProjectStep
from millstream.kernel.tables.kinds import KIND, with_kind
from millstream.kernel.tables.normalize import NormalizeSpec
from millstream.plan.graph import JobGraph, SourceNode, StatelessNode
from millstream.plan.tables import add_columns, add_table, free_uid
from millstream.table.connectors.options import Option, Options
from millstream.table.connectors.times import strategy_of
from millstream.table.expressions.kinds import STRING
from millstream.table.expressions.tree import Expression, InputRef
from millstream.table.logical.entries import TableColumn, TableEntry
from millstream.table.physical.compiled import compiled, copied_columns, row_info
from millstream.table.physical.lookups import LookupParts, RowLookup
from millstream.table.physical.meaning import digest_of
from millstream.table.types.logical import LogicalType, RowField, RowType

__all__ = [
    "COMMON",
    "CONNECTORS",
    "OVERWRITE",
    "Connector",
    "ReadOptions",
    "ReadRows",
    "cannot",
    "connector_of",
    "lookup_table",
    "read_row",
    "read_table",
    "stored_row",
]

COMMON = (
    Option("connector", required=True),
    Option("scan.watermark.idle-timeout"),
    # An epoch has all watermarks of its rows, and what is read in it depends on no group of sources.
    Option("scan.watermark.emit.strategy", choices=("on-periodic", "on-event")),
    Option("scan.watermark.emit.on-event.gap"),
    Option("scan.watermark.alignment.group"),
    Option("scan.watermark.alignment.max-drift"),
    Option("scan.watermark.alignment.update-interval"),
)
"""Options that every table takes."""

LATE_ROWS = "table.exec.batch.late-rows"
OVERWRITE = "overwrite"
"""The option by which a connector that `overwrites` knows an INSERT OVERWRITE."""


@dataclass(frozen=True)
class ReadRows:
    """The rows that a connector reads."""

    stream: DataStream


class Connector(ABC):
    """A kind of tables. What a connector does not define, its tables cannot do."""

    gives_kinds = False
    """Whether rows of a table that changes are objects that have their kinds themselves."""
    overwrites = False
    """Whether INSERT OVERWRITE runs: the sink forgets all rows when a job starts from the beginning."""
    any_metadata = False
    """Whether metadata columns may have all names."""

    @abstractmethod
    def options(self, given: Mapping[str, str]) -> tuple[Option, ...]:
        """The options that a table may have; those of its format depend on others."""

    def changes(self, entry: TableEntry, options: Options) -> Changelog:
        """The changes that a reader gets: insertions only, rows taken back too, or upserts by key."""
        return "append"

    def metadata(self, options: Options) -> Mapping[str, LogicalType]:
        """The metadata columns that the connector has, by key."""
        return {}

    def prunes(self, options: Options) -> bool:
        """Whether a table is read by the names of its columns, so that some can be left out."""
        return False

    def skips(self, entry: TableEntry, options: Options, comparison: Comparison) -> bool:
        """Whether less is read if only rows are wanted for which a comparison is TRUE."""
        return False

    def read(
        self, env: StreamExecutionEnvironment, entry: TableEntry, options: Options
    ) -> ReadRows:
        """The stored columns of the table as a stream of rows."""
        raise cannot(entry, "can only be written", "read from another table")

    def lookup(self, entry: TableEntry, options: Options, key: Sequence[str]) -> RowLookup:
        """How the stored columns of rows are found by the values of some of them."""
        raise cannot(
            entry,
            "cannot be looked up by key",
            "join with a table of jdbc, or by event time: FOR SYSTEM_TIME AS OF a time with a watermark",
        )

    def write(self, entry: TableEntry, options: Options) -> Sink:
        """The sink of the table."""
        raise cannot(entry, "can only be read", "insert into a table with another connector")


CONNECTORS: dict[str, Connector] = {}
_MODULES = {
    "blackhole": "simple",
    "datagen": "datagen",
    "datastream": "streams",
    "delta": "delta",
    "filesystem": "filesystem",
    "jdbc": "jdbc",
    "kafka": "kafka",
    "print": "simple",
    "query": "queries",
    "socket": "socket",
    "spark": "spark",
    "upsert-kafka": "kafka",
    "values": "memory",
}
"""Where connectors are: what a job does not use is not imported."""


def connector_of(entry: TableEntry) -> tuple[Connector, Options]:
    """The connector of a table, and its options, checked."""
    options = Options(str(entry.path.name), dict(entry.options))
    name = entry.connector
    if name is None:
        close = get_close_matches("connector", options.given, n=1)
        hint = f"did you mean 'connector' in place of {close[0]!r}?" if close else None
        raise options.problem("has no connector", hint or "add 'connector' = '...' to WITH (...)")
    if name not in CONNECTORS and name in _MODULES:
        import_module(f"millstream.table.connectors.{_MODULES[name]}")
    if name not in CONNECTORS:
        known = {*CONNECTORS, *_MODULES}
        close = get_close_matches(name, known, n=1)
        names = ", ".join(sorted(known))
        hint = f"did you mean {close[0]!r}?" if close else f"connectors: {names}"
        raise options.problem(f"has the unknown connector {name!r}", hint)
    connector = CONNECTORS[name]
    options.check((*COMMON, *connector.options(options.given)))
    _check_metadata(entry, connector, options)
    tables = current_tables()
    if tables is not None and tables.is_here(entry.path.name) and name != "values":
        connector = import_module("millstream.table.connectors.memory").InMemory(connector)
    return connector, options


def _check_metadata(entry: TableEntry, connector: Connector, options: Options) -> None:
    if connector.any_metadata:
        return
    known = connector.metadata(options)
    for each in entry.columns:
        key = each.metadata_key or each.name
        if each.kind == "metadata" and key not in known:
            close = get_close_matches(key, known, n=1)
            names = f"it has {', '.join(known)}" if known else "it has none"
            hint = f"did you mean METADATA FROM '{close[0]}'?" if close else names
            raise options.problem(f"has no metadata {key!r}", hint)


def stored_row(entry: TableEntry) -> RowType:
    """The row type of the stored columns of a table."""
    return RowType(fields=tuple(RowField(each.name, each.type) for each in entry.stored))


def read_row(columns: Iterable[TableColumn]) -> RowType:
    """The row type of columns with those fields only that a job reads."""
    return RowType(tuple(RowField(each.name, each.read_type or each.type) for each in columns))


@dataclass(frozen=True)
class ReadOptions:
    """Options of the session about tables that are read.

    ``idle_ms``: after how long without records a source does not hold the watermark back.
    ``duplicates``: changes may come more than once, and each counts once. ``keeps_late``: of a batch, no
    row is late, as in Flink; else the same rows as in a stream are.
    """

    zone: str = "UTC"
    idle_ms: int | None = None
    duplicates: bool = False
    keeps_late: bool = False

    @staticmethod
    def of(zone: str, option: Callable[[str], str | None]) -> ReadOptions:
        """The options of a session."""
        idle = to_millis(option("table.exec.source.idle-timeout") or "0 ms")
        duplicates = (option("table.exec.source.cdc-events-duplicate") or "").lower() == "true"
        return ReadOptions(zone, idle or None, duplicates, _keeps_late(option(LATE_ROWS) or "drop"))


def _keeps_late(value: str) -> bool:
    if value.lower() not in ("drop", "keep"):
        message = f"{LATE_ROWS} cannot be {value!r}"
        raise PlanError("TABLE_OPTION", message, hint="use drop or keep")
    return value.lower() == "keep"


def read_table(
    env: StreamExecutionEnvironment,
    entry: TableEntry,
    session: ReadOptions,
    *,
    versions: bool = False,
    kinds: bool = False,
) -> int:
    """Add the source of a table; returns the node whose rows have all its columns.

    ``versions``: each row that comes is a version of its key, and what is taken back was deleted. So an
    update does not take the old row back, and upserts come as they are, not as the last row of each key.
    ``kinds``: each change is a row that comes, and its kind the last column.
    """
    refuse_objects(entry)
    connector, options = connector_of(entry)
    found = connector.read(env, entry, options)
    graph, node = env._graph, found.stream._id
    _name_sources(graph, node, entry)
    changes = connector.changes(entry, options)
    zone = session.zone
    by_key = changes == "upsert" or (changes == "retract" and session.duplicates)
    if by_key and session.duplicates and not entry.primary_key:
        raise cannot(
            entry,
            "has no key, and table.exec.source.cdc-events-duplicate is true",
            "declare PRIMARY KEY (...) NOT ENFORCED, by which rows that come twice are found",
        )
    upserts = by_key and not versions
    if kinds and not upserts:
        node, entry = with_kinds(env, node, entry), entry_with_kind(entry)
    elif connector.gives_kinds and changes != "append":
        node = with_weights(env, node, entry, versions=versions)
    if upserts and entry.watermark is None:
        node = with_last_rows(graph, node, entry, stored_row(entry), kinds=kinds)
        entry = entry_with_kind(entry) if kinds else entry
    node = with_computed(graph, node, entry, zone)
    idle_ms = options.millis("scan.watermark.idle-timeout") or session.idle_ms
    node = with_watermark(env, node, entry, replace(session, idle_ms=idle_ms))
    if upserts and entry.watermark is not None:
        # As in Flink, watermarks follow the upserts, and not the rows that they take back.
        node = with_last_rows(graph, node, entry, entry.row_type, kinds=kinds)
    return node


def with_weights(
    env: StreamExecutionEnvironment, node: int, entry: TableEntry, *, versions: bool
) -> int:
    """Let rows with kinds be rows that come or are taken back."""
    if versions:
        stream: DataStream[Any] = DataStream(env, env._graph, node)
        node = stream.filter(_is_no_old_row).name("New Rows")._id
    return env._graph.add(
        StatelessNode,
        name="Changes",
        inputs=(node,),
        kind="changelog",
        function=None,
        output_type=row_info(stored_row(entry)),
    ).id


def _is_no_old_row(row: Row) -> bool:
    return row.get_row_kind() is not RowKind.UPDATE_BEFORE


def with_kinds(env: StreamExecutionEnvironment, node: int, entry: TableEntry) -> int:
    """Let rows with kinds be rows that come, with their kind in the last column."""
    stream: DataStream[Any] = DataStream(env, env._graph, node)
    info = with_kind(row_info(stored_row(entry)))
    return stream.map(_row_with_kind, info).name("Kinds")._id


def _row_with_kind(row: Row) -> Row:
    return Row(*row, row.get_row_kind().name)


def entry_with_kind(entry: TableEntry) -> TableEntry:
    """The table with the column of kinds behind its own."""
    return replace(entry, columns=(*entry.columns, TableColumn(KIND, STRING)))


def with_last_rows(
    graph: JobGraph, node: int, entry: TableEntry, row: RowType, *, kinds: bool = False
) -> int:
    """Add the operator that makes a table of upserts: it keeps the last row of each key.

    ``kinds``: each change is a row that comes, and its kind the last column.
    """
    if not entry.primary_key:
        raise cannot(entry, "has upserts and no key", "declare PRIMARY KEY (...) NOT ENFORCED")
    names = [each.name for each in row.fields]
    key = tuple(names.index(each) for each in entry.primary_key)
    # What belongs to a time has to see each change: the next one may be late.
    spec = NormalizeSpec(row_info(row), key, kinds, each=entry.watermark is not None)
    # Rows are kept with the columns that are read: with others it is another state.
    uid = f"sql-last-rows-{entry.path}-{digest_of(names)}"
    return add_table(graph, "Last Rows", [node], spec, uid=uid).id


def lookup_table(
    entry: TableEntry, wanted: RowType, key: tuple[str, ...], zone: str
) -> LookupParts:
    """The lookup of a table, and how some of its columns are made of what is stored."""
    stored = {each.name: at for at, each in enumerate(entry.stored)}
    if not set(key) <= stored.keys():
        raise cannot(entry, f"is looked up by {', '.join(key)}", "compare columns that are stored")
    refuse_objects(entry)
    connector, options = connector_of(entry)
    columns: list[Expression] = []
    for field in wanted.fields:
        (column,) = (each for each in entry.columns if each.name == field.name)
        if column.kind == "computed":
            assert column.expression is not None
            columns.append(column.expression)
        else:
            columns.append(InputRef(column.type, stored[column.name], column.name))
    functions = tuple(compiled(each, zone) for each in columns)
    step = ProjectStep(functions, row_info(wanted), copied_columns(columns), "columns")
    return LookupParts(connector.lookup(entry, options, key), stored_row(entry), step)


def refuse_objects(entry: TableEntry) -> None:
    """Refuse pickled objects in what others have written: to unpickle is to run their code."""
    if entry.source is not None:
        return  # streams and rows of the program itself
    for each in entry.stored:
        if _has_objects(each.type):
            raise cannot(
                entry,
                f"has the column {each.name} of type {each.type}, whose bytes would be run as code",
                "declare BYTES, and let a function make of them what you trust",
            )


def _has_objects(kind: LogicalType) -> bool:
    return kind.root == "RAW" or any(map(_has_objects, kind.children))


def _name_sources(graph: JobGraph, node: int, entry: TableEntry) -> None:
    """Give the sources of a table uids by its name: another statement goes on where they were."""
    for below in graph[node].inputs:
        _name_sources(graph, below, entry)
    if isinstance(graph[node], SourceNode) and graph[node].uid is None:
        graph.update(node, uid=free_uid(graph, f"sql-source-{entry.path}"))


def with_computed(graph: JobGraph, node: int, entry: TableEntry, zone: str) -> int:
    """Add the computed columns of a table."""
    if len(entry.stored) == len(entry.columns):
        return node
    places = {each.name: i for i, each in enumerate(entry.stored)}
    columns: list[Expression] = []
    for each in entry.columns:
        if each.kind != "computed":
            columns.append(InputRef(each.type, places[each.name], each.name))
        else:
            assert each.expression is not None
            columns.append(each.expression)
    functions = tuple(compiled(each, zone) for each in columns)
    info = row_info(entry.row_type)
    step = ProjectStep(functions, info, copied_columns(columns), "computed columns")
    return add_columns(graph, "Computed Columns", node, step).id


def with_watermark(
    env: StreamExecutionEnvironment, node: int, entry: TableEntry, session: ReadOptions
) -> int:
    """Add event times and watermarks, if the table says what they are."""
    if entry.watermark is None:
        return node
    if getattr(entry.watermark.expression, "function", "") == "SOURCE_WATERMARK":
        if entry.connector != "datastream":
            hint = "write the watermark: WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"
            raise cannot(entry, "has no watermarks of its source", hint)
        return node
    place = [each.name for each in entry.columns].index(entry.watermark.column)
    expression = None if session.keeps_late else entry.watermark.expression
    strategy = strategy_of(place, entry.watermark.column, expression, session.zone, session.idle_ms)
    stream: DataStream[Any] = DataStream(env, env._graph, node)
    timed = stream.assign_timestamps_and_watermarks(strategy)
    return timed.uid(free_uid(env._graph, f"sql-times-{entry.path}"))._id


def cannot(entry: TableEntry, what: str, hint: str) -> PlanError:
    """An error: a connector cannot do what a statement wants."""
    return PlanError("TABLE_CONNECTOR", f"table {entry.path.name} {what}", hint=hint)
