"""Objects of a catalog as the binder sees them: tables, views, user functions, and who finds them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from millstream.connectors.conditions import Conditions
from millstream.table.expressions.tree import Expression
from millstream.table.logical.algebra import Relation, TablePath
from millstream.table.sql.nodes import Source
from millstream.table.sql.queries import Query
from millstream.table.types.logical import LogicalType, RowField, RowType

__all__ = [
    "FunctionEntry",
    "Names",
    "TableColumn",
    "TableEntry",
    "ViewEntry",
    "Watermark",
]


@dataclass(frozen=True)
class TableColumn:
    """A column of a table.

    ``kind``: "physical", "metadata" or "computed". Of a computed column, ``expression`` counts the
    physical and metadata columns of the table (`TableEntry.stored`), and ``text`` is its SQL.
    ``metadata_key`` is the name that the connector knows; a ``virtual`` column is not written.
    ``read_type``: the type with those fields only that a job reads, for the connector that reads them.
    """

    name: str
    type: LogicalType
    kind: Literal["physical", "metadata", "computed"] = "physical"
    expression: Expression | None = None
    text: str | None = None
    metadata_key: str | None = None
    virtual: bool = False
    comment: str | None = None
    read_type: LogicalType | None = None


@dataclass(frozen=True)
class Watermark:
    """``WATERMARK FOR column AS expression``; the expression counts all columns of the table."""

    column: str
    expression: Expression
    text: str


@dataclass(frozen=True)
class TableEntry:
    """A table of a catalog.

    ``relation`` takes the place of a scan for a table that is a query of the Table API or a stream: it
    is used as it is. ``conditions``: what a job wants of the rows, for the connector that reads them.
    ``source`` is for those who made the table: a descriptor, a stream, rows.
    """

    path: TablePath
    columns: tuple[TableColumn, ...]
    options: tuple[tuple[str, str], ...] = ()
    watermark: Watermark | None = None
    primary_key: tuple[str, ...] = ()
    primary_key_name: str | None = None
    partition_keys: tuple[str, ...] = ()
    distribution: tuple[str | None, tuple[str, ...], int | None] | None = None
    comment: str | None = None
    temporary: bool = False
    conditions: Conditions = ()
    source: Any = field(default=None, compare=False)

    @property
    def row_type(self) -> RowType:
        """All columns; the column of the watermark has the mark of event time."""
        return RowType(tuple(RowField(c.name, c.type) for c in self.columns), nullable=False)

    @property
    def stored(self) -> tuple[TableColumn, ...]:
        """The columns that a source reads: those that are not computed."""
        return tuple(c for c in self.columns if c.kind != "computed")

    @property
    def written(self) -> tuple[TableColumn, ...]:
        """The columns that INSERT writes: neither computed nor virtual."""
        return tuple(c for c in self.columns if c.kind != "computed" and not c.virtual)

    @property
    def connector(self) -> str | None:
        """The value of the option ``connector``."""
        return dict(self.options).get("connector")

    def with_options(self, options: tuple[tuple[str, str], ...]) -> TableEntry:
        """The table with options of a hint over its own."""
        return replace(self, options=tuple({**dict(self.options), **dict(options)}.items()))


@dataclass(frozen=True)
class ViewEntry:
    """A view: a query that is bound where the view is used, or a relation of the Table API.

    ``catalog`` and ``database`` are the current ones of the moment in which the view was made.
    ``declared``: the table whose columns, watermark and key it shows, if it is one with filters only.
    """

    path: TablePath
    row_type: RowType
    query: Query | None = None
    sql: str = ""
    source: Source | None = None
    columns: tuple[str, ...] = ()
    catalog: str = ""
    database: str = ""
    comment: str | None = None
    temporary: bool = False
    relation: Relation | None = None
    declared: TableEntry | None = None


@dataclass(frozen=True)
class FunctionEntry:
    """A user function.

    ``definition`` is what was registered, and runs later. ``kind``: "scalar", "table", "aggregate" or
    "table_aggregate". ``result_type``: of a table function the row type of its rows. ``argument_types``:
    None if it takes everything. ``names``: the parameters, for calls by name. ``arity``: the least and
    the largest number of arguments, where they are known. ``version`` tells functions of the same name
    apart.
    """

    name: str
    kind: Literal["scalar", "table", "aggregate", "table_aggregate"]
    result_type: LogicalType | None = None
    argument_types: tuple[LogicalType, ...] | None = None
    names: tuple[str, ...] = ()
    deterministic: bool = True
    definition: Any = field(default=None, compare=False)
    version: str = ""
    class_name: str | None = None
    language: str | None = None
    temporary: bool = False
    system: bool = False
    arity: tuple[int, float] | None = None


class Names(Protocol):
    """A finder of the objects that a statement names."""

    @property
    def current_catalog(self) -> str: ...

    @property
    def current_database(self) -> str: ...

    def find_table(
        self, names: tuple[str, ...], catalog: str | None = None, database: str | None = None
    ) -> TableEntry | ViewEntry | None:
        """The table or view of a name of one to three parts; temporary ones come first."""
        ...

    def find_function(self, names: tuple[str, ...]) -> FunctionEntry | None:
        """The user function of a name; built-in functions are not here."""
        ...

    def similar_tables(self, name: str) -> list[str]:
        """Names of tables that resemble a name."""
        ...

    def function_names(self) -> list[str]:
        """Names of the user functions in sight."""
        ...

    def option(self, key: str) -> str | None:
        """The value of an option of the session."""
        ...
