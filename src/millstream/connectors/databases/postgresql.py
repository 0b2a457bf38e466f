"""PostgreSQL, by psycopg."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millstream.common.errors import short_repr
from millstream.common.extras import needed_package
from millstream.common.time import Instant
from millstream.common.types import Row
from millstream.connectors.databases.database import Database
from millstream.connectors.databases.dialect import ROW, Column, Dialect, Session, Target, numbered
from millstream.connectors.databases.errors import Category, bad_argument
from millstream.connectors.databases.marks import translated
from millstream.connectors.databases.texts import array_text, as_text, each, in_utc, lines

__all__ = ["PostgreSql"]

COPY_ROWS = 100_000
"""How many rows are made into text at a time."""

_ARROW = {
    "bool": pa.bool_(),
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "text": pa.string(),
    "varchar": pa.string(),
    "bpchar": pa.string(),
    "name": pa.string(),
    "uuid": pa.string(),
    "json": pa.string(),
    "jsonb": pa.string(),
    "bytea": pa.binary(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", tz="UTC"),
}
_CATEGORIES: dict[str, Category] = {
    "42501": "denied",
    "28": "denied",
    "42P01": "name",
    "42703": "name",
    "3F": "name",
    "3D": "name",
    "42P10": "key",
    "42804": "value",
    "22": "value",
    "23": "value",
    "40": "conflict",
    "55P03": "conflict",
    "08": "lost",
    "57": "lost",
    "53": "unreachable",
}
"""By the SQLSTATE or its first two letters."""
_LINE = re.compile(r"COPY .*?, line (\d+)")


class PostgreSql(Dialect):
    """PostgreSQL: rows come by COPY, and are merged from a temporary table."""

    kind = "postgresql"

    @property
    def psycopg(self) -> Any:
        return needed_package("psycopg", "postgres", "a PostgreSQL database")

    def connect(self, database: Database) -> Any:
        options = dict(database.options)
        if database.is_jdbc:
            known = {item.keyword.decode() for item in self.psycopg.pq.Conninfo.get_defaults()}
            options = {key: value for key, value in options.items() if key in known}
        who = {"user": database.user, "password": database.password}
        raw = self.psycopg.connect(
            host=database.host,
            port=database.port,
            dbname=database.name,
            autocommit=True,
            **{"connect_timeout": 10, "application_name": "millstream", **options},
            **{key: value for key, value in who.items() if value is not None},
        )
        try:
            raw.execute("set time zone 'UTC'")
            raw.execute("set client_encoding to 'UTF8'")
        except BaseException:
            raw.close()
            raise
        # JSON stays the text that it is.
        for name in ("json", "jsonb", "uuid"):
            raw.adapters.register_loader(name, self.psycopg.types.string.TextLoader)
        return raw

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        return (self.psycopg.Error,)

    def category(self, error: Exception) -> Category:
        state = getattr(error, "sqlstate", None) or ""
        found = _CATEGORIES.get(state) or _CATEGORIES.get(state[:2])
        if found is not None:
            return found
        text = str(error)
        if "authentication failed" in text or "no pg_hba.conf entry" in text:
            return "denied"
        if re.search(r'database ".*" does not exist', text):
            return "name"
        if isinstance(error, self.psycopg.DataError):
            return "value"
        return "lost" if isinstance(error, self.psycopg.OperationalError) else "failed"

    def reason(self, error: Exception) -> str:
        diagnosis = getattr(error, "diag", None)
        primary = getattr(diagnosis, "message_primary", None)
        if diagnosis is None or primary is None:
            return super().reason(error)
        parts = [primary]
        if diagnosis.column_name:
            parts.append(f"column {diagnosis.column_name!r}")
        for text in (diagnosis.message_detail, diagnosis.context):
            if text:
                parts.append(short_repr(" ".join(text.split())).strip("'\""))
        return "; ".join(parts)

    def failing_row(self, error: Exception) -> int | None:
        context = getattr(getattr(error, "diag", None), "context", None) or ""
        found = _LINE.search(context)
        return int(found[1]) - 1 if found else None

    def describe(self, session: Session, relation: str) -> list[Column]:
        cursor = session.raw.cursor()
        with session.explained("run a statement in"):
            # A plan that the server keeps is refused when the table has got another column since.
            cursor.execute(f"select * from {relation} where false", prepare=False)
        known = session.raw.adapters.types
        return [_column(found, known.get(found.type_code)) for found in cursor.description]

    # -- writing ---------------------------------------------------------------------------------

    def prepare(self, session: Session, target: Target) -> None:
        """Create the temporary table; it lives as long as the connection, and empties itself."""
        if not target.key or target in session.stages:
            return
        stage = f'pg_temp."millstream_stage_{len(session.stages)}"'
        session.run(
            f"create temp table {stage} on commit delete rows as select "
            f"{self.names(target.names)}, 0::bigint as {ROW} from {target.table} with no data",
            doing=f"copy the columns of table {target.table} of",
        )
        session.stages[target] = stage

    def append(self, session: Session, target: Target, rows: pa.Table) -> None:
        self._copy(session, target.table, target, rows, target.table)

    def upsert(self, session: Session, target: Target, rows: pa.Table) -> None:
        stage, names = self._staged(session, target, rows), self.names(target.names)
        keys = self.names(target.key)
        # The database itself says which keys are equal; all tasks lock rows in its order.
        session.run(
            f"insert into {target.table} ({names}) select distinct on ({keys}) {names} from {stage} "
            f"order by {keys}, {ROW} desc {self.on_conflict(target)}",
            doing=f"write to table {target.table} of",
        )

    def delete(self, session: Session, target: Target, rows: pa.Table) -> None:
        stage = self._staged(session, target, rows)
        session.run(
            f"delete from {target.table} t using {stage} s where {self.same_key(target, 't', 's')}",
            doing=f"delete from table {target.table} of",
        )

    def _staged(self, session: Session, target: Target, rows: pa.Table) -> str:
        stage = session.stages[target]
        wider = Target(target.table, (*target.columns, Column(ROW, "int8", pa.int64())))
        self._copy(session, stage, wider, numbered(rows), target.table)
        return stage

    def _copy(
        self, session: Session, into: str, target: Target, rows: pa.Table, table: str
    ) -> None:
        sql = f"copy {into} ({self.names(target.names)}) from stdin"
        row = session.with_row(target.names, rows)
        with (
            session.explained(f"write to table {table} of", row),
            session.raw.cursor().copy(sql) as copy,
        ):
            for batch in rows.to_batches(max_chunksize=COPY_ROWS):
                copy.write(lines(list(map(_text, batch.columns, target.columns))))

    # -- values ----------------------------------------------------------------------------------

    def value(self, value: Any) -> Any:
        if isinstance(value, Instant):
            return in_utc(value)
        if isinstance(value, Row):
            return self.psycopg.types.json.Jsonb(value.as_dict(recursive=True))
        if isinstance(value, dict):
            return self.psycopg.types.json.Jsonb(value)
        if isinstance(value, tuple):
            return list(value)
        return value

    def stream(
        self, session: Session, sql: str, values: Sequence[Any], size: int
    ) -> Iterator[Sequence[Sequence[Any]]]:
        statement = translated(sql, self.kind, self.style)[0] if values else sql
        rows: list[Any] = []
        with session.raw.cursor() as cursor:
            for row in cursor.stream(statement, values or None):
                rows.append(row)
                if len(rows) == size:
                    yield rows
                    rows = []
        if rows:
            yield rows

    # -- markers ---------------------------------------------------------------------------------

    def create_markers(self, table: str) -> str:
        return (
            f"create table if not exists {table} (job text not null, sink text not null, "
            "part integer not null, epoch bigint not null, fingerprint text not null, "
            "attempt bigint not null, primary key (job, sink, part))"
        )

    def insert_unless_there(self, table: str, names: Sequence[str]) -> str:
        marks = ", ".join("?" * len(names))
        return f"insert into {table} ({', '.join(names)}) values ({marks}) on conflict do nothing"


def _column(found: Any, info: Any) -> Column:
    """A column by what the server says about it; ``info``: the type, None if it is the user's own."""
    if info is None:
        return Column(found.name, "text", pa.string())
    if info.array_oid == found.type_code:
        element = _arrow(info.name, found)
        return Column(
            found.name, f"{info.name}[]", None if element is None else pa.list_(element), "list"
        )
    arrow = _arrow(info.name, found)
    return Column(found.name, info.name, arrow, "Decimal" if info.name == "numeric" else "")


def _arrow(name: str, found: Any) -> pa.DataType | None:
    if name == "numeric":
        precision, scale = found.precision, found.scale
        if precision is None or scale is None or not 0 <= scale <= precision <= 76:
            return None
        return (
            pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
        )
    return _ARROW.get(name)


def _text(array: pa.Array, column: Column) -> pa.Array:
    kind, is_a = array.type, pa.types
    if is_a.is_null(kind):
        return array.cast(pa.string())
    if is_a.is_binary(kind) or is_a.is_large_binary(kind):
        if column.type != "bytea":
            raise bad_argument(
                f"the records have bytes for column {column.name!r}, which is of type {column.type}",
                "make the column one of type bytea, or decode the bytes with map()",
            )
        return each(array, _hex)
    if column.type.endswith("[]") and (is_a.is_list(kind) or is_a.is_large_list(kind)):
        return each(array, array_text)
    text = as_text(array)
    if is_a.is_timestamp(kind) and kind.tz is not None:
        return pc.binary_join_element_wise(text, pa.scalar("+00"), pa.scalar(""))
    return text


def _hex(value: bytes) -> str:
    return f"\\x{value.hex()}"
