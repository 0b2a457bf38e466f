"""SQL programs over tables of rows, for Flink and in memory: the same tables, the same query.

Rows have kinds. Flink reads them from files, as JSON or, if rows are taken back, as Debezium's JSON; in
memory they are the rows of a `TableRows`, or of a `TestSource` that stops in the middle.
"""

from __future__ import annotations

import base64
import datetime
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import millstream.table.connectors.simple  # noqa: F401
from millstream.common import Row, RowKind
from millstream.table.connectors.changes import folded
from millstream.table.connectors.simple import TableRows
from millstream.table.expressions.java.numbers import double_text, float_text
from millstream.table.logical.entries import TableEntry
from millstream.table.table_environment import TableEnvironment
from millstream.table.types.logical import LogicalType, RowField, RowType
from millstream.table.types.values import stored_row
from millstream.testing import Checkpoint, TestSource
from millstream.testing import in_memory as memory
from tests.support.parity.flink_sql import SqlProgram
from tests.support.sql import changes_in_memory

__all__ = [
    "Change",
    "Program",
    "Rows",
    "Run",
    "for_flink",
    "in_memory",
    "java_text",
    "plain",
    "restored",
    "through_sink",
]

Change = tuple[str, tuple[Any, ...]]
"""A kind (+I, -U, +U, -D) and the values of a row."""

_KINDS = {str(kind): kind for kind in RowKind}


@dataclass(frozen=True)
class Rows:
    """A table: what stands in the brackets of CREATE TABLE, and its rows in the order of arrival.

    ``upsert``: a row replaces that of its key, and a deletion may have the key only.
    """

    columns: str
    changes: tuple[Change, ...]
    upsert: bool = False

    @staticmethod
    def of(columns: str, *rows: Sequence[Any]) -> Rows:
        """A table of rows; those that begin with a kind (+I, -U, +U, -D) are changes."""
        return Rows(columns, tuple(_change(row) for row in rows))

    @property
    def updating(self) -> bool:
        """Whether rows are taken back."""
        return any(kind != "+I" for kind, _ in self.changes)

    def rows(self) -> list[Row]:
        """The rows with their kinds."""
        return [Row.of_kind(_KINDS[kind], *map(_value, values)) for kind, values in self.changes]


def _change(row: Sequence[Any]) -> Change:
    if row and isinstance(row[0], str) and row[0] in _KINDS:
        return row[0], tuple(row[1:])
    return "+I", tuple(row)


def _value(value: Any) -> Any:
    return Row(*map(_value, value)) if isinstance(value, tuple) else value


@dataclass(frozen=True)
class Program:
    """Tables by name, statements (views), and the query whose result counts.

    ``options``: of the session. ``sink``: the columns of the table ``sink``, into which the query is an
    INSERT then; else the table is that of the query.
    """

    tables: dict[str, Rows]
    query: str
    statements: tuple[str, ...] = ()
    zone: str = "UTC"
    options: tuple[tuple[str, str], ...] = ()
    sink: str = ""

    def read(self) -> list[str]:
        """The names of the tables that the query reads."""
        text = " ".join([*self.statements, self.query])
        return [name for name in self.tables if re.search(rf"\b{name}\b", text)]


def for_flink(program: Program, folder: Path) -> SqlProgram:
    """The program as Flink runs it; its rows are written into files."""
    folder.mkdir(parents=True, exist_ok=True)
    statements = []
    streams: dict[str, Any] = {}
    for name, table in program.tables.items():
        if table.upsert:
            streams[name] = _stream(table)
            continue
        path = folder / f"{name}.json"
        path.write_text("".join(_lines(table)), encoding="utf-8")
        form = "debezium-json" if table.updating else "json"
        standard = f"'{form}.timestamp-format.standard' = 'ISO-8601'"
        options = f"'connector' = 'filesystem', 'path' = '{path}', 'format' = '{form}', {standard}"
        statements.append(f"CREATE TABLE {name} ({table.columns}) WITH ({options})")
    return {
        "statements": [*statements, *program.statements],
        "query": program.query,
        "zone": program.zone,
        "options": dict(program.options),
        "sink": program.sink,
        "streams": streams,
    }


def _stream(table: Rows) -> dict[str, Any]:
    """An upsert table as the stream of rows that Flink reads: no format of files has upserts."""
    entry = _entry(table.columns)
    mark = entry.watermark
    return {
        "columns": [[f.name, f.type.as_summary()] for f in stored_columns(table.columns).fields],
        "key": list(entry.primary_key),
        "watermark": None if mark is None else [mark.column, mark.text],
        "rows": [[kind, *map(plain, values)] for kind, values in table.changes],
    }


def _lines(table: Rows) -> list[str]:
    lines, before, columns = [], None, stored_columns(table.columns)
    for kind, values in table.changes:
        row = _json(values, columns)
        if not table.updating:
            lines.append(json.dumps(row) + "\n")
        elif kind == "+I":
            lines.append(json.dumps({"before": None, "after": row, "op": "c"}) + "\n")
        elif kind == "-D":
            lines.append(json.dumps({"before": row, "after": None, "op": "d"}) + "\n")
        elif kind == "-U":
            before = row
        else:
            assert before is not None, "+U needs -U before it"
            lines.append(json.dumps({"before": before, "after": row, "op": "u"}) + "\n")
            before = None
    return lines


def _json(value: Any, type_: LogicalType) -> Any:
    if isinstance(value, tuple):
        assert isinstance(type_, RowType)
        pairs = zip(type_.fields, value, strict=True)
        return {field.name: _json(each, field.type) for field, each in pairs}
    if isinstance(value, datetime.datetime):
        # Flink takes an instant with Z only.
        return value.replace(tzinfo=None).isoformat() + ("" if value.tzinfo is None else "Z")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [_json(each, type_.children[0]) for each in value]
    return value


def _entry(columns: str) -> TableEntry:
    t_env = TableEnvironment.create()
    t_env.execute_sql(f"CREATE TABLE t ({columns}) WITH ('connector' = 'values')")
    entry = t_env.names.find_table(("t",))
    assert isinstance(entry, TableEntry)
    return entry


def stored_columns(columns: str) -> RowType:
    """The columns that are read from files."""
    entry = _entry(columns)
    return RowType(
        tuple(f for f in entry.row_type.fields if f.name in {c.name for c in entry.stored})
    )


@dataclass(frozen=True)
class Run:
    """The result of a program: columns with their types, changes, and the rows at the end."""

    row_type: RowType
    changes: list[Row]

    @property
    def columns(self) -> list[list[str]]:
        """The names and types of the columns."""
        return [[field.name, field.type.as_summary()] for field in self.row_type.fields]

    @property
    def printed(self) -> list[str]:
        """The rows at the end as Flink's print connector writes them, sorted."""
        types = [field.type for field in self.row_type.fields]
        return sorted(
            f"[{', '.join(java_text(v, t) for v, t in zip(row, types, strict=True))}]"
            for row in folded(self.changes)
        )

    @property
    def rows(self) -> list[Any]:
        """The rows at the end, in the form of `plain`, sorted as those of Flink."""
        texts: Counter[str] = Counter(json.dumps(plain(row)) for row in folded(self.changes))
        return [json.loads(text) for text in sorted(texts.elements())]


def environment(program: Program) -> TableEnvironment:
    """An environment with the tables of a program."""
    t_env = TableEnvironment.create()
    t_env.execute_sql(f"SET 'table.local-time-zone' = '{program.zone}'")
    for name, table in program.tables.items():
        t_env.execute_sql(f"CREATE TABLE {name} ({table.columns}) WITH ('connector' = 'values')")
        entry = t_env.names.find_table((name,))
        assert isinstance(entry, TableEntry)
        t_env.names.drop_table(entry.path, view=False, temporary=False)
        source = TableRows(table.rows(), table.updating)
        t_env.names.add_table(replace(entry, source=source))
    for statement in program.statements:
        t_env.execute_sql(statement)
    return t_env


def in_memory(program: Program, **options: Any) -> Run:
    """Run a program in memory. ``options``: those of `run_local`."""
    t_env = environment(program)
    table = t_env.sql_query(program.query)
    planner = t_env._statements.planner()
    changes = changes_in_memory(planner, planner.planned(table.relation), **options)
    return Run(table.relation.row_type, changes)


def restored(program: Program, cuts: dict[str, int], **options: Any) -> Run:
    """Run a program up to a number of rows of each table, and the rest after a restore."""
    sources = {
        name: TestSource(_stopped(stored_rows(program.tables[name]), at))
        for name, at in cuts.items()
    }
    checkpoint = Checkpoint()
    if not sources:
        return in_memory(program, **options)
    first = in_memory(program, sources=sources, checkpoint=checkpoint, **options)
    second = in_memory(program, sources=sources, checkpoint=checkpoint, **options)
    return Run(first.row_type, first.changes + second.changes)


def through_sink(program: Program, at: int | None = None, **options: Any) -> Run:
    """Run a program whose tables are in memory, and whose result is written into a table.

    ``at``: how many rows each table has before the job is stopped with a savepoint, and goes on.
    ``options``: of `millstream.testing.in_memory`; ``batch`` is the mode of the statement too, with
    Flink's rule that no row of a batch is late.
    """
    t_env = _tables_in_memory(program)
    if options.get("batch"):
        t_env.get_config().set("execution.runtime-mode", "batch")
        t_env.get_config().set("table.exec.batch.late-rows", "keep")
    if program.sink:
        insert, columns = program.query, program.sink
        row_type = RowType(tuple(RowField(c.name, c.type) for c in _entry(columns).written))
    else:
        row_type = t_env.sql_query(program.query).relation.row_type
        fields = (f"`{n}` {f.type.as_serializable()}" for n, f in enumerate(row_type.fields))
        insert, columns = f"INSERT INTO sink {program.query}", ", ".join(fields)
    t_env.execute_sql(f"CREATE TABLE sink ({columns}) WITH ('connector' = 'values')")
    rows = {name: program.tables[name].rows() for name in program.read()}
    if at is None:
        with memory(tables=rows, **options) as tables:
            t_env.execute_sql(insert).wait()
        return Run(row_type, tables.rows("sink"))
    checkpoint = Checkpoint()
    before, after = ({n: r[:at] for n, r in rows.items()}, {n: r[at:] for n, r in rows.items()})
    with memory(checkpoint=checkpoint, tables=before, stop=True, **options):
        t_env.execute_sql(insert).wait()
    with memory(checkpoint=checkpoint, tables=after, **options) as tables:
        t_env.execute_sql(insert).wait()
    return Run(row_type, tables.rows("sink"))


def _tables_in_memory(program: Program) -> TableEnvironment:
    t_env = TableEnvironment.create()
    t_env.get_config().set("table.local-time-zone", program.zone)
    for key, value in program.options:
        t_env.get_config().set(key, value)
    for name, table in program.tables.items():
        mode = "I,UA,D" if table.upsert else "I,UB,UA,D" if table.updating else "I"
        options = f"'connector' = 'values', 'changelog-mode' = '{mode}'"
        t_env.execute_sql(f"CREATE TABLE {name} ({table.columns}) WITH ({options})")
    for statement in program.statements:
        t_env.execute_sql(statement)
    return t_env


def stored_rows(table: Rows) -> list[Row]:
    """The rows of a table as a source of the kernel has them."""
    row = stored_columns(table.columns)
    return [stored_row(each, row) for each in table.rows()]


def _stopped(rows: list[Row], at: int) -> list[Any]:
    return [*rows[:at], TestSource.EOF(), *rows[at:]] if 0 < at < len(rows) else rows


def plain(value: Any) -> Any:
    """A value as JSON can hold it: the form of ``on_flink/run_sql.py``."""
    if isinstance(value, dict):
        return sorted(([plain(key), plain(each)] for key, each in value.items()), key=repr)
    if isinstance(value, Row | list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return f"{value.total_seconds()} s"
    if isinstance(value, bytes | bytearray):
        return value.hex()
    return str(value) if isinstance(value, Decimal) else value


def java_text(value: Any, type_: LogicalType) -> str:
    """A value as Java prints it inside of a row."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return float_text(value) if type_.root == "FLOAT" else double_text(value)
    if isinstance(value, bytes):
        return f"[{', '.join(str(each - 256 * (each > 127)) for each in value)}]"
    if isinstance(value, datetime.datetime):
        zoned = type_.root == "TIMESTAMP_WITH_LOCAL_TIME_ZONE"
        clock = _clock(value, seconds=zoned)
        return f"{value:%Y-%m-%d}T{clock}{'Z' if zoned else ''}"
    if isinstance(value, datetime.time):
        return _clock(value)
    if isinstance(value, datetime.timedelta):
        return _duration(value)
    if isinstance(value, dict):
        key, item = (*type_.children, type_)[:2]
        entries = sorted(value.items(), key=lambda pair: repr(pair[0]))
        texts = (f"{java_text(k, key)}={java_text(v, item)}" for k, v in entries)
        return f"{{{', '.join(texts)}}}"
    if isinstance(value, list):
        return f"[{', '.join(java_text(each, type_.children[0]) for each in value)}]"
    if isinstance(value, Row):
        pairs = zip(value, type_.children, strict=True)
        return f"+I[{', '.join(java_text(v, t) for v, t in pairs)}]"
    return str(value)


def _duration(value: datetime.timedelta) -> str:
    """As `toString` of Java's Duration, of whole seconds that are not negative."""
    minutes, seconds = divmod(int(value.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "H"), (minutes, "M"), (seconds, "S"))
    return "PT" + ("".join(f"{n}{unit}" for n, unit in parts if n) or "0S")


def _clock(value: datetime.datetime | datetime.time, *, seconds: bool = False) -> str:
    text = f"{value:%H:%M}"
    if value.second or value.microsecond or seconds:
        text += f":{value:%S}"
    if value.microsecond:
        digits = f"{value.microsecond:06}"
        text += f".{digits.removesuffix('000')}"
    return text
