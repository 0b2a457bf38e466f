"""The connector ``jdbc``: tables of PostgreSQL, MySQL, MariaDB and SQLite, with Flink's options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millstream.common.execution_config import accepted_without_effect
from millstream.connectors.conditions import Comparison
from millstream.connectors.databases import Database, DatabaseSink, DatabaseSource
from millstream.connectors.sink import Sink
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.table.connectors.factory import CONNECTORS, Connector, ReadRows, stored_row
from millstream.table.connectors.fitting import fitted_rows
from millstream.table.connectors.lookup import RowsOfDatabase, cache_of
from millstream.table.connectors.options import Option, Options
from millstream.table.logical.entries import TableEntry
from millstream.table.physical.compiled import row_info
from millstream.table.physical.lookups import RowLookup

__all__ = ["database_of"]

_OPTIONS = (
    Option("url", required=True),
    Option("table-name", required=True),
    Option("username"),
    Option("password"),
    Option("driver"),
    Option("compatible-mode"),
    Option("connection.max-retry-timeout"),
    Option("scan.partition.column"),
    Option("scan.partition.num"),
    Option("scan.partition.lower-bound"),
    Option("scan.partition.upper-bound"),
    Option("scan.fetch-size"),
    Option("scan.auto-commit"),
    Option("filter.handling.policy"),
    Option("lookup.", prefix=True),
    Option("sink.buffer-flush.max-rows"),
    Option("sink.buffer-flush.interval"),
    Option("sink.max-retries"),
    Option("sink.parallelism"),
)
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
_TEXTS = ("VARCHAR", "=")
_WITHOUT_EFFECT = {
    "driver": "there is no JVM driver: the URL says which database it is",
    "scan.fetch-size": "rows come in chunks of their own size",
    "scan.auto-commit": "rows are read in transactions of their own",
    "sink.buffer-flush.max-rows": "an epoch is written in one transaction",
    "sink.buffer-flush.interval": "an epoch is written when it ends",
}


def database_of(options: Options) -> Database:
    """The database that the options of a table name."""
    for name, why in _WITHOUT_EFFECT.items():
        if name in options.given:
            accepted_without_effect(name, why)
    user, password = options.given.get("username"), options.given.get("password")
    return Database(options.text("url"), user=user, password=password)


class _Jdbc(Connector):
    def options(self, given: Mapping[str, str]) -> tuple[Option, ...]:
        return _OPTIONS

    def prunes(self, options: Options) -> bool:
        return True

    def skips(self, entry: TableEntry, options: Options, comparison: Comparison) -> bool:
        if options.text("filter.handling.policy", "always").lower() == "never":
            return False
        (kind,) = (each.type.root for each in entry.stored if each.name == comparison.column)
        # Databases order texts and times in ways of their own.
        return kind in _WHOLE or not comparison.values or (kind, comparison.operator) == _TEXTS

    def read(
        self, env: StreamExecutionEnvironment, entry: TableEntry, options: Options
    ) -> ReadRows:
        names = [each.name for each in entry.stored]
        split, splits = _split(entry, options)
        order = None if split is not None else entry.primary_key or tuple(names)
        source = DatabaseSource.table(
            database_of(options),
            options.text("table-name"),
            split_by=split,
            splits=splits,
            order_by=order,
            columns=names,
        )
        source.conditions = entry.conditions
        read = env._source(entry.path.name, source, source.get_produced_type())
        return ReadRows(fitted_rows(env, read, row_info(stored_row(entry))))

    def lookup(self, entry: TableEntry, options: Options, key: Sequence[str]) -> RowLookup:
        names = [each.name for each in entry.stored]
        database, table = database_of(options), options.text("table-name")
        return RowsOfDatabase(database, table, key, names, cache_of(options))

    def write(self, entry: TableEntry, options: Options) -> Sink:
        database, table = database_of(options), options.text("table-name")
        names = [each.name for each in entry.written]
        if not entry.primary_key:
            return DatabaseSink.append(database, table, columns=names)
        return DatabaseSink.upsert(database, table, key=entry.primary_key, columns=names)


def _split(entry: TableEntry, options: Options) -> tuple[str | None, int]:
    """The column by which tasks divide the rows, and into how many parts."""
    column = options.given.get("scan.partition.column")
    number = options.number("scan.partition.num")
    if (column is None) != (number is None):
        raise options.problem(
            "has one of the options scan.partition.column and scan.partition.num",
            "give both, or none of them",
        )
    if column is None or number is None:
        return None, 1
    kinds = {each.name: each.type.root for each in entry.stored}
    if column not in kinds:
        raise options.problem(
            f"has no column {column!r} to divide its rows by", f"columns: {', '.join(kinds)}"
        )
    if kinds[column] not in _WHOLE or entry.primary_key != (column,):
        why = "rows are divided by a primary key of whole numbers only; one task reads them"
        accepted_without_effect("scan.partition.column", why)
        return None, 1
    return column, number


CONNECTORS["jdbc"] = _Jdbc()
