"""Sources that read tables: all rows there are, or rows as they come."""

from __future__ import annotations

import datetime as dt
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from typing import Any, ClassVar, Literal

import pyarrow as pa

from millstream.common.arguments import positive_int
from millstream.common.errors import short_repr
from millstream.common.time import to_millis
from millstream.common.type_aliases import DurationLike
from millstream.common.typeinfo import TypeInformation, Types
from millstream.common.types import Row
from millstream.connectors.conditions import Conditions
from millstream.connectors.databases.conditions import as_sql
from millstream.connectors.databases.database import Database
from millstream.connectors.databases.dialect import Column, Dialect, Session, TableName
from millstream.connectors.databases.errors import bad_argument, database_error
from millstream.connectors.databases.sink import table_name
from millstream.connectors.source import ChannelName, ChannelSource, Chunk, Position

__all__ = ["DatabaseSource"]

CHUNK_ROWS = 10_000
_TIES = 1 << 20
"""How many rows may have their times in one millisecond."""
_BEGIN = dt.datetime(1970, 1, 1)


class DatabaseSource(ChannelSource):
    """Source of the rows of a table or query; make one with `table`, `query` or `growing`.

    Records are rows with the names and types of the columns.

    Examples
    --------
    >>> DatabaseSource.table("postgresql://ada:s3cret@db.example/shop", "orders", split_by="id")
    DatabaseSource('postgresql://ada@db.example:5432/shop', orders)
    """

    positions_in: ClassVar[str | None] = "a database"

    def __init__(self, database: Database, relation: TableName | _Query) -> None:
        self.database = database
        self.relation = relation
        self.columns: tuple[str, ...] | None = None
        self.conditions: Conditions = ()
        self._described: tuple[Column, ...] | None = None

    @staticmethod
    def table(
        database: Database | str,
        table: TableName,
        *,
        split_by: str | None = None,
        splits: int = 1,
        order_by: str | Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> DatabaseSource:
        """Return a bounded source: the rows that are in the table when the job starts.

        A range of rows is read again after a crash, so rows must not change before the job has ended;
        rows that are added behind the last one are no problem.

        Parameters
        ----------
        database
            A `Database`, or its URL.
        table
            The table: ``"orders"``, ``"sales.orders"``, or a tuple with the parts of its name.
        split_by
            A column of whole numbers in which no number is twice, such as an id; it should have an
            index. Its numbers are divided into ranges.
        splits
            How many ranges, each of them a channel that a task reads.
        order_by
            Instead of ``split_by``: columns that give each row a place, for a table without such
            numbers. The rows are one channel, and finding a place again means to count rows.
        columns
            The columns to read, by default all of them.
        """
        return _bounded(
            Database.of(database), table_name(table), split_by, splits, order_by, columns
        )

    @staticmethod
    def query(
        database: Database | str,
        sql: str,
        *,
        split_by: str | None = None,
        splits: int = 1,
        order_by: str | Sequence[str] | None = None,
    ) -> DatabaseSource:
        """Return a bounded source of the rows of a query; see `table`.

        ``split_by`` and ``order_by`` name columns of the result.
        """
        if not isinstance(sql, str) or not sql.strip():
            raise bad_argument(f"{short_repr(sql)} is no query", "give a select statement as text")
        return _bounded(Database.of(database), _Query(sql), split_by, splits, order_by, None)

    @staticmethod
    def growing(
        database: Database | str,
        table: TableName,
        *,
        column: str,
        delay: DurationLike = "5 s",
        start: Literal["earliest", "latest"] | int = "earliest",
        columns: Sequence[str] | None = None,
    ) -> DatabaseSource:
        """Return a source without an end: rows as they are added, by a column whose values grow.

        Parameters
        ----------
        database, table, columns
            As in `table`.
        column
            Whole numbers in which none is twice, such as an id that the database counts up; or the
            time at which a row was written. It should have an index.
        delay
            How long a value must have been the highest before rows up to it are read. Transactions
            that began earlier with lower values must have ended by then: what they add later is not
            read. With one writer, and an id, it can be 0.
        start
            ``"earliest"``: from the first row; ``"latest"``: rows that are added from now on; a number:
            from this value on, a time in milliseconds.
        """
        source = _Growing(Database.of(database), table_name(table), column)
        source.delay_ms = to_millis(delay, "delay")
        if start not in ("earliest", "latest") and not _is_whole(start):
            raise bad_argument(f"start={start!r} is no start", '"earliest", "latest" or a number')
        source.start = start
        source.columns = None if columns is None else tuple(columns)
        return source

    def __repr__(self) -> str:
        return f"DatabaseSource({self.database.address!r}, {self.label})"

    # -- life ------------------------------------------------------------------------------------

    def open(self) -> None:
        self.session = Session.open(self.database)
        self.dialect: Dialect = self.session.dialect
        self._describe(self.session)

    def close(self) -> None:
        self.session.close()
        del self.session, self.dialect

    def get_produced_type(self) -> TypeInformation:
        columns = self._described
        if columns is None:
            with closing(Session.open(self.database)) as session:
                columns = self._describe(session)
        types = [_type(column) for column in columns]
        return Types.ROW_NAMED([column.name for column in columns], types)

    def _describe(self, session: Session) -> tuple[Column, ...]:
        """The columns to read; asked once, and known to the copies of this object."""
        if self._described is None:
            found = {c.name: c for c in session.dialect.describe(session, self._from(session))}
            names = list(found) if self.columns is None else list(self.columns)
            for name in (*names, *self.needed()):
                if name not in found:
                    raise database_error(
                        "name",
                        f"{self.label} of {self.database.address} has no column {name!r}; it has "
                        f"{', '.join(map(repr, found))}",
                    )
            for name in self.needed():
                self.check(found[name])
            self._described = tuple(found[name] for name in names)
        return self._described

    @property
    def label(self) -> str:
        """The table or query, for people."""
        if isinstance(self.relation, _Query):
            return short_repr(self.relation.sql, 80)
        return self.relation if isinstance(self.relation, str) else ".".join(self.relation)

    def needed(self) -> Sequence[str]:
        """The columns by which positions are found."""
        return ()

    def check(self, column: Column) -> None:
        """Refuse a column that cannot give positions."""

    # -- statements ------------------------------------------------------------------------------

    def _from(self, session: Session) -> str:
        if isinstance(self.relation, _Query):
            return f"({self.relation.sql.strip().rstrip(';')}\n) as millstream_query"
        return session.dialect.table(self.relation)

    def ask(self, select: str, rest: str = "", values: Sequence[Any] = ()) -> Any:
        """Return the first row of an answer about the table."""
        sql = f"select {select} from {self._from(self.session)} {rest}"
        return self.session.run(sql, values, f"read {self.label} of").fetchone()

    def rows(self, rest: str, values: Sequence[Any], of: str | None = None) -> Iterator[Chunk]:
        """Yield rows as chunks. ``of``: what to select from, if not from the whole relation."""
        columns = self._describe(self.session)
        names = [column.name for column in columns]
        sql = f"select {self.dialect.names(names)} from {of or self._from(self.session)} {rest}"
        readers = [self.dialect.reader(column) for column in columns]
        with self.session.explained(f"read {self.label} of"):
            for portion in self.dialect.stream(self.session, sql, values, CHUNK_ROWS):
                yield Chunk(_records(columns, readers, portion))

    def wanted(self) -> tuple[str, list[Any]]:
        """The conditions as SQL, and its values; a text without words if all rows are wanted."""
        return as_sql(self.conditions, self._describe(self.session), self.dialect)


class _Query:
    """The text of a query, told from the name of a table."""

    def __init__(self, sql: str) -> None:
        self.sql = sql


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _type(column: Column) -> TypeInformation:
    if column.arrow is not None:
        return TypeInformation.from_arrow(column.arrow)
    if column.python == "Decimal":
        return Types.BIG_DEC()
    raise database_error(
        "name",
        f"column {column.name!r} is of type {column.type or 'unknown'}, which has no counterpart here",
        "read a query that casts it: select cast(... as text) ...",
    )


def _records(
    columns: Sequence[Column],
    readers: Sequence[Callable[[Any], Any] | None],
    rows: Sequence[Sequence[Any]],
) -> pa.RecordBatch | list[Row]:
    """Rows as columns; as Python objects if a column has no Arrow type that holds its values."""
    values = [
        column if read is None else [None if v is None else read(v) for v in column]
        for read, column in zip(readers, zip(*rows, strict=True), strict=True)
    ]
    names = [column.name for column in columns]
    if all(column.arrow is not None for column in columns):
        arrays = [pa.array(v, c.arrow) for v, c in zip(values, columns, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, names=names)
    make = Row(*names)
    plain = [_as_objects(v, c) for v, c in zip(values, columns, strict=True)]
    return [make(*row) for row in zip(*plain, strict=True)]


def _as_objects(values: Sequence[Any], column: Column) -> Sequence[Any]:
    """Values as the objects that functions get."""
    if column.arrow is None:
        return values
    return _type(column).from_arrow_arrays([pa.array(values, column.arrow)])


# -- bounded sources -------------------------------------------------------------------------------


def _bounded(
    database: Database,
    relation: TableName | _Query,
    split_by: str | None,
    splits: int,
    order_by: str | Sequence[str] | None,
    columns: Sequence[str] | None,
) -> DatabaseSource:
    if (split_by is None) == (order_by is None):
        raise bad_argument(
            "a source needs split_by= or order_by=, to find rows again after a crash",
            "split_by= names a column of whole numbers in which none is twice, such as an id; "
            "order_by= columns that give each row a place",
        )
    source: _Ranges | _Ordered
    if split_by is not None:
        source = _Ranges(database, relation, split_by, positive_int("splits", splits))
    else:
        order = (order_by,) if isinstance(order_by, str) else tuple(order_by or ())
        source = _Ordered(database, relation, order)
    source.columns = None if columns is None else tuple(columns)
    return source


class _ByColumn(DatabaseSource):
    """A source whose positions are values of a column."""

    def __init__(self, database: Database, relation: TableName | _Query, column: str) -> None:
        super().__init__(database, relation)
        self.column = column

    def needed(self) -> Sequence[str]:
        return (self.column,)

    def check(self, column: Column) -> None:
        if column.arrow is None or not pa.types.is_integer(column.arrow):
            raise bad_argument(
                f"column {column.name!r} of {self.label} is of type {column.type}, and whole numbers "
                "are needed",
                "name a column of whole numbers in which none is twice, such as an id",
            )

    def value(self, position: Position) -> Any:
        """The value of the column at a position."""
        return position

    def position(self, value: Any) -> Position:
        """The position of a row with a value."""
        return int(value)

    def _range(self, start: Position, stop: Position) -> tuple[str, list[Any]]:
        name = self.dialect.quote(self.column)
        text, values = self.wanted()
        also = f" and ({text})" if text else ""
        rest = f"where {name} >= ? and {name} < ?{also} order by {name}"
        return rest, [self.value(start), self.value(stop), *values]

    def read(self, channel: ChannelName, start: Position, stop: Position) -> Iterator[Chunk]:
        return self.rows(*self._range(start, stop))

    def advance(
        self, channel: ChannelName, start: Position, stop: Position, records: int | None
    ) -> Position:
        """Count rows, not numbers: many of them may be missing."""
        if records is None:
            return stop
        rest, values = self._range(start, stop)
        name = self.dialect.quote(self.column)
        found = self.ask(name, f"{rest} limit 1 offset {int(records)}", values)
        return stop if found is None else max(self.position(found[0]), start + 1)


class _Ranges(_ByColumn):
    """All rows, in ranges of numbers. The name of a channel is its range: "1 to 500"."""

    bounded = True

    def __init__(
        self, database: Database, relation: TableName | _Query, column: str, splits: int
    ) -> None:
        super().__init__(database, relation, column)
        self.splits = splits

    def latest(self) -> Mapping[ChannelName, Position | None]:
        name = self.dialect.quote(self.column)
        low, high = self.ask(f"min({name}), max({name})")
        first, end = (0, 0) if low is None else (int(low), int(high) + 1)
        cuts = [first + (end - first) * i // self.splits for i in range(self.splits + 1)]
        return {f"{a} to {b}": b for a, b in pairwise(cuts) if a < b} or {"0 to 0": 0}

    def latest_after(
        self, positions: Mapping[str, Position]
    ) -> Mapping[ChannelName, Position | None]:
        # The table may have grown since; the job keeps to the ranges with which it began.
        return {name: _ends(name)[1] for name in positions} or self.latest()

    def first(self, channel: ChannelName) -> Position:
        return _ends(str(channel))[0]


def _ends(channel: str) -> tuple[int, int]:
    first, _, end = channel.partition(" to ")
    return int(first), int(end)


class _Ordered(DatabaseSource):
    """All rows in an order; positions count rows."""

    bounded = True

    def __init__(
        self, database: Database, relation: TableName | _Query, order: tuple[str, ...]
    ) -> None:
        super().__init__(database, relation)
        self.order = order

    def needed(self) -> Sequence[str]:
        return self.order

    def latest(self) -> Mapping[ChannelName, Position | None]:
        return {"rows": int(self.ask("count(*)")[0])}

    def read(self, channel: ChannelName, start: Position, stop: Position) -> Iterator[Chunk]:
        order = f"order by {self.dialect.names(self.order)}"
        some = f"{order} limit {int(stop - start)} offset {int(start)}"
        text, values = self.wanted()
        if not text:
            return self.rows(some, ())
        # Positions count all rows: other conditions find the same place again.
        part = f"(select * from {self._from(self.session)} {some}) as millstream_part"
        return self.rows(f"where {text} {order}", values, part)


# -- without an end --------------------------------------------------------------------------------


class _Growing(_ByColumn):
    """Rows as they are added. There is one channel.

    Positions are the numbers, or milliseconds if the column holds times.
    """

    delay_ms: int = 0
    start: Literal["earliest", "latest"] | int = "earliest"
    clock = staticmethod(time.monotonic)

    def __init__(self, database: Database, relation: TableName | _Query, column: str) -> None:
        super().__init__(database, relation, column)
        self.value_type: pa.DataType | None = None
        self.waiting: deque[tuple[float, int]] = deque()
        self.settled: int | None = None
        self.begin: int | None = None

    def check(self, column: Column) -> None:
        self.value_type = column.arrow
        if not self._has_times:
            super().check(column)
        elif self.delay_ms == 0:
            raise bad_argument(
                f"column {column.name!r} of {self.label} holds times, of which several may be equal, "
                "and the delay is 0",
                'give a delay, such as "5 s": rows with the last time may still come',
            )

    @property
    def _has_times(self) -> bool:
        return self.value_type is not None and bool(pa.types.is_timestamp(self.value_type))

    def value(self, position: Position) -> Any:
        if not self._has_times:
            return position
        assert self.value_type is not None
        moment = _BEGIN + dt.timedelta(milliseconds=position)
        if self.value_type.tz is not None:
            moment = moment.replace(tzinfo=dt.UTC)
        return self.dialect.value(moment)

    def position(self, value: Any) -> Position:
        if not self._has_times:
            return int(value)
        column = Column(self.column, "", self.value_type)
        read = self.dialect.reader(column)
        moment = value if read is None else read(value)
        return (moment.replace(tzinfo=None) - _BEGIN) // dt.timedelta(milliseconds=1)

    def number(self, position: Position) -> int:
        return int(position) * (_TIES if self._has_times else 1)

    def latest(self) -> Mapping[ChannelName, Position | None]:
        return self.latest_after({})

    def latest_after(
        self, positions: Mapping[str, Position]
    ) -> Mapping[ChannelName, Position | None]:
        (highest,) = self.ask(f"max({self.dialect.quote(self.column)})")
        if highest is not None:
            self._note(self.position(highest) + 1)
        stands = positions.get(self.label)
        begin = self.first(self.label) if stands is None else stands
        return {self.label: begin if self.settled is None else max(begin, self.settled)}

    def _note(self, end: int) -> None:
        """Remember an end until it is old enough."""
        now = self.clock()
        if not self.waiting or end > self.waiting[-1][1]:
            self.waiting.append((now, end))
        while self.waiting and now - self.waiting[0][0] >= self.delay_ms / 1_000:
            self.settled = self.waiting.popleft()[1]

    def first(self, channel: ChannelName) -> Position:
        if self.begin is None:
            self.begin = self.start if isinstance(self.start, int) else self._first(self.start)
        return self.begin

    def _first(self, start: str) -> int:
        which = "min" if start == "earliest" else "max"
        (found,) = self.ask(f"{which}({self.dialect.quote(self.column)})")
        return 0 if found is None else int(self.position(found)) + (start == "latest")
