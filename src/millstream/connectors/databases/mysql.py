"""MySQL and MariaDB, by PyMySQL."""

from __future__ import annotations

import datetime as dt
import inspect
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from millstream.common.extras import needed_package
from millstream.common.time import Instant
from millstream.common.types import Row
from millstream.connectors.databases.database import Database
from millstream.connectors.databases.dialect import ROW, Column, Dialect, Session, Target, numbered
from millstream.connectors.databases.errors import Category, database_error
from millstream.connectors.databases.marks import translated
from millstream.connectors.databases.texts import as_text, each, in_utc, json_text, lines

__all__ = ["MySql"]

INSERT_ROWS = 1_000
"""How many rows a statement has where files may not be loaded."""
LOAD_ROWS = 100_000

_CATEGORIES: dict[int, Category] = {
    **dict.fromkeys((1044, 1045, 1142, 1143, 1227, 1370, 1698), "denied"),
    **dict.fromkeys((2002, 2003, 2005, 1040, 1129, 1130), "unreachable"),
    **dict.fromkeys((0, 2006, 2013, 2014, 2055, 1053, 1080, 1152, 1158, 1159, 1161, 1927), "lost"),
    **dict.fromkeys((1046, 1049, 1054, 1109, 1146), "name"),
    **dict.fromkeys((1205, 1213, 3572), "conflict"),
    **dict.fromkeys(
        (1048, 1062, 1136, 1216, 1217, 1263, 1264, 1265, 1292, 1364, 1366, 1367, 1406, 1411, 1451),
        "value",
    ),
    **dict.fromkeys((1452, 1690, 3140, 3819, 4025, 4078), "value"),
}
_BINARY = 63
"""The character set of columns that hold bytes."""
_UNSIGNED = 32


class MySql(Dialect):
    """MySQL and MariaDB: rows come by LOAD DATA where that is allowed, and are merged in order."""

    kind = "mysql"
    begin = "start transaction"
    ignores_case = True

    @property
    def pymysql(self) -> Any:
        return needed_package("pymysql", "mysql", "a MySQL or MariaDB database")

    def connect(self, database: Database) -> Any:
        options = dict(database.options)
        if database.is_jdbc:
            known = inspect.signature(self.pymysql.connections.Connection.__init__).parameters
            options = {key: value for key, value in options.items() if key in known}
        # A URL has texts only.
        options = {k: int(v) if str(v).isdecimal() else v for k, v in options.items()}
        raw = self.pymysql.connect(
            host=database.host,
            port=database.port,
            database=database.name,
            user=database.user,
            password=database.password or "",
            charset="utf8mb4",
            autocommit=True,
            local_infile=True,
            # Values are never cut to fit.
            init_command="set sql_mode = concat(@@sql_mode, ',STRICT_ALL_TABLES'), time_zone = '+00:00'",
            **options,
        )
        # Parts that write other keys do not wait for each other.
        raw.query("set session transaction isolation level read committed")
        return raw

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        return (self.pymysql.Error,)

    def category(self, error: Exception) -> Category:
        number = error.args[0] if error.args else None
        found = _CATEGORIES.get(number) if isinstance(number, int) else None
        if found is not None:
            return found
        if isinstance(error, self.pymysql.IntegrityError | self.pymysql.DataError):
            return "value"
        return "lost" if isinstance(error, self.pymysql.InterfaceError) else "failed"

    def reason(self, error: Exception) -> str:
        text = str(error.args[1]) if len(error.args) > 1 else str(error)
        return " ".join(text.split()) or "the connection is closed"

    def quote(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def describe(self, session: Session, relation: str) -> list[Column]:
        cursor = session.run(f"select * from {relation} where false")
        types = self.pymysql.constants.FIELD_TYPE
        names = {getattr(types, name): name for name in dir(types) if name.isupper()}
        # What the driver shows of columns does not tell text from bytes; the packet does.
        return [_column(packet, names) for packet in cursor._result.fields]

    def check_key(self, session: Session, target: Target) -> None:
        """Refuse a table without the unique key: every upsert would add a row."""
        rows = session.run(f"show index from {target.table}").fetchall()
        keys: dict[str, list[str]] = {}
        for row in rows:
            if not row[1]:
                keys.setdefault(row[2], []).append(row[4].lower())
        wanted = sorted(name.lower() for name in target.key)
        if wanted not in [sorted(key) for key in keys.values()]:
            raise database_error(
                "key",
                f"table {target.table} of {session.database.address} has no unique key of "
                f"{', '.join(target.key)}",
            )

    # -- writing ---------------------------------------------------------------------------------

    def prepare(self, session: Session, target: Target) -> None:
        """Create the temporary table, or empty it: both would end a transaction."""
        if target in session.stages:
            session.run(f"truncate table {session.stages[target]}")
            return
        stage = f"`millstream_stage_{len(session.stages)}`"
        # An outer join gives columns of the same types that may be NULL.
        session.run(
            f"create temporary table {stage} as select {self.names(target.names, 't.')}, "
            f"cast(0 as signed) as {ROW} from (select 1 as one) as nothing left join "
            f"{target.table} as t on false limit 0",
            doing=f"copy the columns of table {target.table} of",
        )
        session.stages[target] = stage

    def append(self, session: Session, target: Target, rows: pa.Table) -> None:
        self._insert(session, target, rows, "")

    def upsert(self, session: Session, target: Target, rows: pa.Table) -> None:
        changes = ", ".join(f"{self.quote(n)} = values({self.quote(n)})" for n in target.names)
        self._insert(session, target, rows, f"on duplicate key update {changes}")

    def _insert(self, session: Session, target: Target, rows: pa.Table, end: str) -> None:
        stage, names = self._staged(session, target, rows), self.names(target.names)
        # All tasks lock rows in the same order; of two rows with one key the later one comes last.
        order = self.names((*target.key, ROW))
        session.run(
            f"insert into {target.table} ({names}) select {names} from {stage} order by {order} {end}",
            doing=f"write to table {target.table} of",
        )

    def delete(self, session: Session, target: Target, rows: pa.Table) -> None:
        stage = self._staged(session, target, rows)
        session.run(
            f"delete t from {target.table} as t join {stage} as s on "
            f"{self.same_key(target, 't', 's')}",
            doing=f"delete from table {target.table} of",
        )

    def _staged(self, session: Session, target: Target, rows: pa.Table) -> str:
        stage, names = session.stages[target], [*target.names, ROW]
        load = self._load if self._may_load(session) else self._insert_values
        for batch in numbered(rows).to_batches(max_chunksize=LOAD_ROWS):
            load(session, target, stage, names, batch)
        return stage

    def _may_load(self, session: Session) -> bool:
        if session.may_load is None:
            (allowed,) = session.run("select @@local_infile").fetchone()
            session.may_load = bool(allowed)
        return session.may_load

    def _load(
        self, session: Session, target: Target, stage: str, names: list[str], batch: pa.RecordBatch
    ) -> None:
        binary = [_is_binary(array.type) for array in batch.columns]
        places = [f"@b{i}" if is_hex else self.quote(names[i]) for i, is_hex in enumerate(binary)]
        unhexed = ", ".join(
            f"{self.quote(names[i])} = unhex(@b{i})" for i, is_hex in enumerate(binary) if is_hex
        )
        doing = f"write to table {target.table} of"
        with tempfile.NamedTemporaryFile(prefix="millstream_", suffix=".tsv") as file:
            file.write(lines([_text(array) for array in batch.columns]))
            file.flush()
            cursor = session.run(
                f"load data local infile ? into table {stage} character set utf8mb4 "
                r"fields terminated by '\t' escaped by '\\' lines terminated by '\n' "
                f"({', '.join(places)}) {'set ' + unhexed if unhexed else ''}",
                (file.name,),
                doing,
            )
        # The server cannot stop a client that sends a file: it changes values to fit, and warns.
        warnings = session.run("show warnings").fetchall()
        if warnings or cursor.rowcount != batch.num_rows:
            reason = warnings[0][2] if warnings else f"{cursor.rowcount} rows of {batch.num_rows}"
            message = f"cannot {doing} {session.database.address}: {reason}"
            raise database_error("value", session.database.masked(message))

    def _insert_values(
        self, session: Session, target: Target, stage: str, names: list[str], batch: pa.RecordBatch
    ) -> None:
        marks = ", ".join("unhex(?)" if _is_binary(a.type) else "?" for a in batch.columns)
        sql = f"insert into {stage} ({self.names(names)}) values ({marks})"
        rows = list(zip(*(_text(array).to_pylist() for array in batch.columns), strict=True))
        for start in range(0, len(rows), INSERT_ROWS):
            part = rows[start : start + INSERT_ROWS]
            session.run_many(sql, part, f"write to table {target.table} of", names)

    # -- values ----------------------------------------------------------------------------------

    def value(self, value: Any) -> Any:
        if isinstance(value, Instant):
            return in_utc(value).replace(tzinfo=None)
        if isinstance(value, list | tuple | dict | Row):
            return json_text(value)
        return value

    def stream(
        self, session: Session, sql: str, values: Sequence[Any], size: int
    ) -> Iterator[Sequence[Sequence[Any]]]:
        statement = translated(sql, self.kind, self.style)[0] if values else sql
        cursor = session.raw.cursor(self.pymysql.cursors.SSCursor)
        try:
            cursor.execute(statement, values or None)
            while rows := cursor.fetchmany(size):
                yield rows
        finally:
            cursor.close()

    def reader(self, column: Column) -> Callable[[Any], Any] | None:
        kind = column.arrow
        if kind is not None and pa.types.is_time(kind):
            return _time_of_day
        return bool if kind is not None and pa.types.is_boolean(kind) else None

    # -- markers ---------------------------------------------------------------------------------

    def create_markers(self, table: str) -> str:
        # Bytes: a collation would take different names for equal.
        return (
            f"create table if not exists {table} (job varbinary(255) not null, "
            "sink varbinary(512) not null, part integer not null, epoch bigint not null, "
            "fingerprint varchar(255) not null, attempt bigint not null, "
            "primary key (job, sink, part)) engine = InnoDB"
        )

    def insert_unless_there(self, table: str, names: Sequence[str]) -> str:
        marks = ", ".join("?" * len(names))
        return f"insert ignore into {table} ({', '.join(names)}) values ({marks})"


def _column(packet: Any, names: dict[int, str]) -> Column:
    name = names.get(packet.type_code, "UNKNOWN")
    is_unsigned = bool(packet.flags & _UNSIGNED)
    is_bytes = packet.charsetnr == _BINARY
    if name in ("DECIMAL", "NEWDECIMAL"):
        # The length counts the sign and the point.
        precision = packet.length - (0 if is_unsigned else 1) - (1 if packet.scale else 0)
        kind = pa.decimal128 if precision <= 38 else pa.decimal256
        return Column(packet.name, name.lower(), kind(precision, packet.scale), "Decimal")
    whole = {"TINY": 8, "SHORT": 16, "YEAR": 16, "INT24": 32, "LONG": 32, "LONGLONG": 64}.get(name)
    if whole is not None:
        if name == "TINY" and packet.length == 1:
            return Column(packet.name, "boolean", pa.bool_())
        return Column(packet.name, name.lower(), _whole(whole, is_unsigned))
    arrow = {
        "FLOAT": pa.float32(),
        "DOUBLE": pa.float64(),
        "DATE": pa.date32(),
        "NEWDATE": pa.date32(),
        "TIME": pa.time64("us"),
        "DATETIME": pa.timestamp("us"),
        "TIMESTAMP": pa.timestamp("us"),
        "JSON": pa.string(),
    }.get(name, pa.binary() if is_bytes else pa.string())
    return Column(packet.name, name.lower(), arrow)


def _time_of_day(value: dt.timedelta) -> dt.time:
    return (dt.datetime.min + value).time()


def _whole(bits: int, is_unsigned: bool) -> pa.DataType:
    signed = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
    unsigned = {8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}
    return (unsigned if is_unsigned else signed)[bits]


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _text(array: pa.Array) -> pa.Array:
    if pa.types.is_boolean(array.type):
        return array.cast(pa.int8()).cast(pa.string())
    if _is_binary(array.type):
        return each(array, bytes.hex)
    return as_text(array)
