"""The algebra of queries: frozen nodes with a row type, made by the binder and by the Table API.

Expressions are those of `millstream.table.expressions`; an `InputRef` counts the columns of the node's
input, of a join those of the left input and then those of the right one. The planner rewrites these
trees (`table/rules`) and chooses operators for them (`table/physical`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Self

from millstream.table.expressions.tree import Expression
from millstream.table.types.logical import RowType

__all__ = [
    "Aggregate",
    "AggregateCall",
    "Correlate",
    "Distinct",
    "EmitStrategy",
    "Filter",
    "Frame",
    "FrameBound",
    "FromChangelog",
    "Join",
    "JoinKind",
    "LateralJoin",
    "Limit",
    "OuterRef",
    "Over",
    "OverCall",
    "Project",
    "Relation",
    "Scan",
    "SetOperation",
    "Sort",
    "SortKey",
    "Subquery",
    "TableFunction",
    "TablePath",
    "TemporalJoin",
    "ToChangelog",
    "Unnest",
    "Values",
    "WindowKind",
    "WindowTable",
]

JoinKind = Literal["inner", "left", "right", "full", "semi", "anti"]
WindowKind = Literal["TUMBLE", "HOP", "CUMULATE", "SESSION"]


@dataclass(frozen=True)
class TablePath:
    """The full name of an object of a catalog."""

    catalog: str
    database: str
    name: str

    def __str__(self) -> str:
        return f"{self.catalog}.{self.database}.{self.name}"


@dataclass(frozen=True)
class Relation:
    """A table, made from other tables. ``row_type``: names and types of its columns."""

    row_type: RowType

    def inputs(self) -> tuple[Relation, ...]:
        """The tables that this one is made from."""
        found = (getattr(self, each.name) for each in fields(self))
        return tuple(each for each in found if isinstance(each, Relation))

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Self:
        """The same node over other inputs of the same row types."""
        names = [f.name for f in fields(self) if isinstance(getattr(self, f.name), Relation)]
        changes: dict[str, Any] = dict(zip(names, inputs, strict=True))
        return replace(self, **changes)

    def walk(self) -> Iterator[Relation]:
        """This table and all that it is made from, inputs last."""
        yield self
        for each in self.inputs():
            yield from each.walk()


@dataclass(frozen=True)
class Scan(Relation):
    """A table of a catalog, with its computed columns. ``options``: those of an OPTIONS hint.

    ``versions``: each new row of a key is a row, and each deletion takes one back; else the table has
    the last row of each key. ``kinds``: each change is a row, and its kind the last column.
    """

    table: TablePath
    options: tuple[tuple[str, str], ...] = ()
    versions: bool = False
    kinds: bool = False


@dataclass(frozen=True)
class Values(Relation):
    """Rows that the statement writes out: expressions without columns."""

    rows: tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True)
class Project(Relation):
    """One column for each expression."""

    input: Relation
    expressions: tuple[Expression, ...]


@dataclass(frozen=True)
class Filter(Relation):
    """The rows for which a condition is TRUE."""

    input: Relation
    condition: Expression


@dataclass(frozen=True)
class Subquery(Expression):
    """A query inside an expression; a rule makes a join of it.

    ``kind``: "scalar" (its type is that of the only column), "exists", or "in". ``operands``: the
    values that "in" looks for. A query that reads columns of the query around it has them in ``outer``:
    `OuterRef` nodes inside ``query`` count those. ``text``: the SQL of the query, for errors.
    """

    kind: Literal["scalar", "exists", "in"]
    query: Relation
    operands: tuple[Expression, ...] = ()
    text: str = field(default="", compare=False)

    def children(self) -> tuple[Expression, ...]:
        return self.operands


@dataclass(frozen=True)
class OuterRef(Expression):
    """A column of the query around a subquery. ``level``: 1 for the next one outside."""

    index: int
    name: str
    level: int = 1


@dataclass(frozen=True)
class Join(Relation):
    """Pairs of rows for which a condition is TRUE; of a semi or anti join, left rows only.

    ``hints``: names of hints with their options, such as ("STATE_TTL", (("a", "1d"),)).
    """

    left: Relation
    right: Relation
    kind: JoinKind
    condition: Expression
    hints: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()


@dataclass(frozen=True)
class LateralJoin(Relation):
    """Each left row with the rows of a query that reads its columns: LATERAL (SELECT ...).

    `OuterRef` nodes of level 1 inside ``right`` count the columns of ``left``.
    """

    left: Relation
    right: Relation
    kind: JoinKind
    condition: Expression


@dataclass(frozen=True)
class TemporalJoin(Relation):
    """A join with the rows of the right table as they were at a time: FOR SYSTEM_TIME AS OF.

    ``time``: a column of the left table; a PROCTIME column makes it a lookup join.
    """

    left: Relation
    right: Relation
    kind: JoinKind
    condition: Expression
    time: Expression
    hints: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()


@dataclass(frozen=True)
class TableFunction:
    """A call of a table function; its arguments read columns of the left table."""

    function: str
    arguments: tuple[Expression, ...]
    call: Expression | None = None
    """The call of a user function with its definition, see `millstream.table.logical.user_calls`."""


@dataclass(frozen=True)
class Unnest:
    """The elements of an array, map, multiset or array of rows, one row for each."""

    collection: Expression
    with_ordinality: bool = False


@dataclass(frozen=True)
class Correlate(Relation):
    """Each row with the rows that a function makes of it. ``condition`` counts both parts."""

    input: Relation
    function: TableFunction | Unnest
    kind: Literal["inner", "left"]
    condition: Expression | None = None


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate of groups. ``filter``: rows for which it is not TRUE do not count.

    ``text``: of SINGLE_VALUE the SQL of the query that has to have one row, for errors.
    """

    expression: Expression
    """A `Call` of an aggregate function; its arguments are columns, literals and symbols."""
    distinct: bool = False
    filter: Expression | None = None
    order: tuple[SortKey, ...] = ()
    text: str = field(default="", compare=False)


@dataclass(frozen=True)
class Aggregate(Relation):
    """Groups: the columns ``keys`` of the input, then one column for each call.

    ``sets``: the places in ``keys`` of each grouping set; None for the usual one set of all keys. With
    several sets, keys outside of a set are NULL.
    """

    input: Relation
    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    sets: tuple[tuple[int, ...], ...] | None = None
    hints: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()


@dataclass(frozen=True)
class Distinct(Relation):
    """Each row once."""

    input: Relation


@dataclass(frozen=True)
class EmitStrategy:
    """When a group window gives results besides at its end: ``table.exec.emit``.

    ``early``: before it. ``lateness``: for so many milliseconds after it, whenever a row comes.
    """

    early: bool
    lateness: int


@dataclass(frozen=True)
class WindowTable(Relation):
    """A windowing table function: the input, then window_start, window_end and window_time.

    ``time``: the place of the time column. Times are in milliseconds. ``step``: of HOP the slide, of
    CUMULATE the step. ``size`` of SESSION is the gap, and ``partition`` its keys. A legacy group window
    is one too, and may have an ``emit`` strategy.
    """

    input: Relation
    kind: WindowKind
    time: int
    size: int
    step: int | None = None
    offset: int = 0
    partition: tuple[int, ...] = ()
    emit: EmitStrategy | None = None


@dataclass(frozen=True)
class SortKey:
    """A column to sort by."""

    index: int
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True)
class FrameBound:
    """A bound of a frame: an offset before (negative) or behind the row; None if unbounded.

    Offsets of RANGE frames over time are in milliseconds.
    """

    offset: int | None


@dataclass(frozen=True)
class Frame:
    """The rows around a row that an aggregate of it sees."""

    unit: Literal["ROWS", "RANGE"]
    start: FrameBound
    end: FrameBound


@dataclass(frozen=True)
class OverCall:
    """An aggregate or a function of windows over the frame of a row."""

    expression: Expression
    distinct: bool = False
    filter: Expression | None = None


@dataclass(frozen=True)
class Over(Relation):
    """The input, then one column for each call. All calls share partition, order and frame."""

    input: Relation
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    frame: Frame | None
    calls: tuple[OverCall, ...]


@dataclass(frozen=True)
class ToChangelog(Relation):
    """Each change of the input as a row: a code of its kind, then the columns.

    ``codes``: pairs of a kind and its code; changes of other kinds are dropped.
    """

    input: Relation
    codes: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class FromChangelog(Relation):
    """The table that rows with codes of changes make: the input without its column ``op``.

    ``codes``: pairs of a code and its kind; another code is an error. ``kinds``: each change is a row,
    and its kind the last column.
    """

    input: Relation
    op: int
    codes: tuple[tuple[str, str], ...]
    kinds: bool = False


@dataclass(frozen=True)
class SetOperation(Relation):
    """UNION, INTERSECT or EXCEPT of two tables of the same column types."""

    left: Relation
    right: Relation
    kind: Literal["UNION", "INTERSECT", "EXCEPT"]
    all: bool


@dataclass(frozen=True)
class Sort(Relation):
    """The rows in an order."""

    input: Relation
    keys: tuple[SortKey, ...]


@dataclass(frozen=True)
class Limit(Relation):
    """The first rows behind an offset."""

    input: Relation
    offset: int
    fetch: int | None
