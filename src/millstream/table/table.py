"""`Table`: a relation and the session that runs it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from millstream.common.errors import PlanError
from millstream.common.type_aliases import DurationLike
from millstream.table.environment.resolved_schema import ResolvedSchema
from millstream.table.expression import Expression
from millstream.table.fluent.expression_base import misplaced, quoted
from millstream.table.fluent.resolving import QueryText, names_of, refuse_same
from millstream.table.logical.algebra import Relation
from millstream.table.logical.entries import TableEntry
from millstream.table.table_descriptor import TableDescriptor
from millstream.table.table_pipeline import TablePipeline
from millstream.table.table_result import TableResult
from millstream.table.table_schema import TableSchema
from millstream.table.types.logical import RowType
from millstream.table.udf import FunctionLike
from millstream.table.window import GroupWindow, OverWindow, TimesOfWindow

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "AggregatedTable",
    "FlatAggregateTable",
    "GroupWindowedTable",
    "GroupedTable",
    "OverWindowedTable",
    "Table",
    "WindowGroupedTable",
]


class Table:
    """A table that a query makes. It is computed when it is executed or inserted.

    ``t_env`` is the environment that made it: it finds names and runs queries. ``declared``: the
    table whose columns, watermark and key it shows; a query has columns only.
    """

    def __init__(self, relation: Relation, t_env: Any, declared: TableEntry | None = None) -> None:
        self.relation = relation
        self._t_env = t_env
        self.declared = declared
        self._inline_name: str | None = None

    def _query(self, *others: Table) -> QueryText:
        names = self._t_env.names
        return QueryText(names, self.relation, *(each.relation for each in others))

    def _made(self, relation: Relation) -> Table:
        return Table(relation, self._t_env)

    def _same(self, relation: Relation) -> Table:
        """Other rows of the same columns: they show what the columns of this table show."""
        return Table(relation, self._t_env, self.declared)

    @property
    def _columns(self) -> list[str]:
        return [field.name for field in self.relation.row_type.fields]

    def __getattr__(self, name: str) -> Expression:
        if name.startswith("_") or name not in self._columns:
            raise AttributeError(
                f"the table has no column {name}; it has {', '.join(self._columns)}"
            )
        return Expression("column", name=name)

    def __str__(self) -> str:
        """A name under which SQL finds the table: f"SELECT * FROM {table}"."""
        if self._inline_name is None:
            self._inline_name = self._t_env.inline_name(self)
        return self._inline_name

    def select(self, *fields: Expression) -> Table:
        """One column for each expression; aggregates are those of the whole table."""
        query = self._query()
        return self._made(query.bound(f"SELECT {query.items(fields)} FROM {query.sources[0]}"))

    def alias(self, field: str, *fields: str) -> Table:
        """The same columns with other names; more columns than names keep theirs.

        One text may have several names with commas between them, as in Flink.
        """
        listed = not fields and isinstance(field, str) and "," in field
        given = [each.strip() for each in field.split(",")] if listed else [field, *fields]
        wanted = names_of(given, misplaced)
        names = [*wanted, *self._columns[len(wanted) :]]
        refuse_same(names)
        pairs = zip(self._columns, names, strict=True)
        return self._selected([f"{quoted(a)} AS {quoted(b)}" for a, b in pairs])

    def _selected(self, items: list[str]) -> Table:
        query = self._query()
        return self._made(query.bound(f"SELECT {', '.join(items)} FROM {query.sources[0]}"))

    def filter(self, predicate: Expression) -> Table:
        """The rows for which a condition is TRUE."""
        query = self._query()
        text = f"SELECT * FROM {query.sources[0]} WHERE {query.render(predicate)}"
        return self._same(query.bound(text))

    where = filter

    def group_by(self, *fields: Expression) -> GroupedTable:
        """Groups of rows with equal values."""
        return GroupedTable(self, fields)

    def distinct(self) -> Table:
        """Each row once."""
        query = self._query()
        return self._same(query.bound(f"SELECT DISTINCT * FROM {query.sources[0]}"))

    def join(self, right: Table, join_predicate: Expression | None = None) -> Table:
        """Pairs of rows for which a condition is TRUE; both tables must have other column names."""
        return self._joined("INNER", right, join_predicate)

    def left_outer_join(self, right: Table, join_predicate: Expression | None = None) -> Table:
        """Pairs of rows, and left rows without a partner with NULL."""
        return self._joined("LEFT", right, join_predicate)

    def right_outer_join(self, right: Table, join_predicate: Expression) -> Table:
        """Pairs of rows, and right rows without a partner with NULL."""
        return self._joined("RIGHT", right, join_predicate)

    def full_outer_join(self, right: Table, join_predicate: Expression) -> Table:
        """Pairs of rows, and rows of both sides without a partner with NULL."""
        return self._joined("FULL", right, join_predicate)

    def _joined(self, kind: str, right: Table, condition: Expression | None) -> Table:
        same = sorted(set(self._columns) & set(right._columns))
        if same:
            message = f"both tables of the join have a column {', '.join(same)}"
            hint = "rename it before: right.rename_columns(col('a').alias('b'))"
            raise PlanError("AMBIGUOUS_COLUMN", message, hint=hint)
        query = self._query(right)
        left_name, right_name = query.sources
        text = "TRUE" if condition is None else query.render(condition)
        return self._made(
            query.bound(f"SELECT * FROM {left_name} {kind} JOIN {right_name} ON {text}")
        )

    def join_lateral(
        self, table_function_call: FunctionLike, join_predicate: Expression | None = None
    ) -> Table:
        """Each row with the rows that a table function makes of it."""
        return self._lateral("INNER", table_function_call, join_predicate)

    def left_outer_join_lateral(
        self, table_function_call: FunctionLike, join_predicate: Expression | None = None
    ) -> Table:
        """Each row with the rows of a table function; rows that it makes nothing of stay with NULL."""
        return self._lateral("LEFT", table_function_call, join_predicate)

    def _lateral(
        self, kind: str, call: FunctionLike, condition: Expression | None, items: str = "*"
    ) -> Table:
        query = self._query()
        value = self._function_call(call)
        names = ""
        if value._kind == "alias":
            names = f"({', '.join(map(quoted, value._names))})"
            value = value._parts[0]
        text = "TRUE" if condition is None else query.render(condition)
        source = f"LATERAL TABLE({query.render(value)}) AS `made`{names}"
        sql = f"SELECT {items} FROM {query.sources[0]} {kind} JOIN {source} ON {text}"
        return self._made(query.bound(sql))

    def _function_call(self, function: FunctionLike) -> Expression:
        if isinstance(function, Expression):
            return function
        return function.on_row(self._columns)

    def minus(self, right: Table) -> Table:
        """The rows that the other table does not have, each once."""
        return self._combined("EXCEPT", right)

    def minus_all(self, right: Table) -> Table:
        """The rows without those of the other table, one for one."""
        return self._combined("EXCEPT ALL", right)

    def union(self, right: Table) -> Table:
        """The rows of both tables, each once."""
        return self._combined("UNION", right)

    def union_all(self, right: Table) -> Table:
        """The rows of both tables."""
        return self._combined("UNION ALL", right)

    def intersect(self, right: Table) -> Table:
        """The rows that both tables have, each once."""
        return self._combined("INTERSECT", right)

    def intersect_all(self, right: Table) -> Table:
        """The rows that both tables have, as often as both have them."""
        return self._combined("INTERSECT ALL", right)

    def _combined(self, word: str, right: Table) -> Table:
        query = self._query(right)
        first, second = query.sources
        return self._made(query.bound(f"SELECT * FROM {first} {word} SELECT * FROM {second}"))

    def order_by(self, *fields: Expression) -> Table:
        """The rows in an order; a stream needs its time first, or fetch().

        NULL is greater than all values here, and less than all in SQL, as in Flink.

        Examples
        --------
        >>> from millstream.table import EnvironmentSettings, TableEnvironment
        >>> t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        >>> t = t_env.from_elements([(None,), (2,), (1,)], ["a"])
        >>> [row[0] for row in t.order_by(t.a).execute().collect()]
        [1, 2, None]
        """
        query = self._query()
        return self._ended(f"ORDER BY {', '.join(_sorting(query, each) for each in fields)}")

    def offset(self, offset: int) -> Table:
        """The rows without the first ones."""
        return self._ended(f"OFFSET {int(offset)}")

    def fetch(self, fetch: int) -> Table:
        """The first rows only."""
        return self._ended(f"FETCH FIRST {int(fetch)} ROWS ONLY")

    def limit(self, fetch: int, offset: int = 0) -> Table:
        """The first rows behind an offset."""
        return self._ended(f"OFFSET {int(offset)} ROWS FETCH NEXT {int(fetch)} ROWS ONLY")

    def _ended(self, ending: str) -> Table:
        query = self._query()
        return self._same(query.bound(f"SELECT * FROM {query.sources[0]} {ending}"))

    def window(self, window: GroupWindow) -> GroupWindowedTable:
        """Rows in windows of time; `group_by` must name the window."""
        return GroupWindowedTable(self, window)

    def over_window(self, *over_windows: OverWindow) -> OverWindowedTable:
        """Frames around each row, for aggregates with `over`."""
        return OverWindowedTable(self, over_windows)

    def add_columns(self, *fields: Expression) -> Table:
        """All columns and some more."""
        query = self._query()
        named = query.named_items(fields, len(self._columns))
        refuse_same([*self._columns, *(name for name, _ in named)])
        items = [f"{text} AS {quoted(name)}" for name, text in named]
        return self._made(query.bound(f"SELECT {', '.join(['*', *items])} FROM {query.sources[0]}"))

    def add_or_replace_columns(self, *fields: Expression) -> Table:
        """All columns and some more; those whose name is there already take its place."""
        query = self._query()
        items = {name: quoted(name) for name in self._columns}
        items |= dict(query.named_items(fields, len(self._columns)))
        shown = ", ".join(f"{text} AS {quoted(name)}" for name, text in items.items())
        return self._made(query.bound(f"SELECT {shown} FROM {query.sources[0]}"))

    def rename_columns(self, *fields: Expression) -> Table:
        """The same columns, some with other names: col("a").alias("b")."""
        new = {}
        for each in fields:
            if each._kind != "alias" or each._parts[0]._kind != "column":
                raise misplaced(each)
            new[each._parts[0]._name] = each._names[0]
        self._refuse_unknown(new, "rename")
        names = [new.get(name, name) for name in self._columns]
        refuse_same(names)
        pairs = zip(self._columns, names, strict=True)
        return self._selected([f"{quoted(a)} AS {quoted(b)}" for a, b in pairs])

    def drop_columns(self, *fields: Expression) -> Table:
        """All columns but some."""
        gone = names_of(fields, misplaced)
        self._refuse_unknown(gone, "drop")
        return self._selected([quoted(name) for name in self._columns if name not in gone])

    def _refuse_unknown(self, names: Iterable[str], verb: str) -> None:
        unknown = [name for name in names if name not in self._columns]
        if unknown:
            message = f"there is no column {', '.join(unknown)} to {verb}"
            hint = f"the table has {', '.join(self._columns)}"
            raise PlanError("UNKNOWN_COLUMN", message, hint=hint)

    def map(self, func: FunctionLike) -> Table:
        """The row that a function makes of each row, its fields as columns."""
        call = self._function_call(func)
        if call._kind == "alias":
            return self.select(call._parts[0].flatten).alias(*call._names)
        return self.select(call.flatten)

    def flat_map(self, func: FunctionLike) -> Table:
        """The rows that a table function makes of each row."""
        return self._lateral("INNER", func, None, "`made`.*")

    def aggregate(self, func: FunctionLike) -> AggregatedTable:
        """One row that an aggregate function makes of the table."""
        return self.group_by().aggregate(func)

    def flat_aggregate(self, func: FunctionLike) -> FlatAggregateTable:
        """The rows that a table aggregate function makes of the table."""
        return self.group_by().flat_aggregate(func)

    def with_watermark(self, column: str, delay: Expression | DurationLike) -> Table:
        """The table with a column as its time, as in Spark.

        Rows that come later than ``delay`` behind the latest time are late for windows.

        Parameters
        ----------
        column
            A timestamp; the table keeps three digits of its seconds.
        delay
            ``"5 seconds"``, a `timedelta`, or an interval: ``lit(5).seconds``,
            ``"INTERVAL '5' SECOND"``.

        Examples
        --------
        >>> from millstream.table import TableEnvironment
        >>> t_env = TableEnvironment.create()
        >>> clicks = t_env.sql_query("SELECT TIMESTAMP '2024-01-31 10:00:00.000' AS ts, 7 AS n")
        >>> clicks.with_watermark("ts", "5 seconds").print_schema()
        (
          `ts` TIMESTAMP(3) NOT NULL *ROWTIME*,
          `n` INT NOT NULL,
          WATERMARK FOR `ts`: TIMESTAMP(3) NOT NULL AS `ts` - INTERVAL '5' SECOND
        )
        """
        found: Table = self._t_env.watermarked(self, column, delay)
        return found

    def to_changelog(self, *arguments: Expression) -> Table:
        """Each change of the table as a row that stays: its kind in a column ``op``, then the columns.

        Parameters
        ----------
        arguments
            ``descriptor("name").as_argument("op")``: the name of the column.
            ``map_("INSERT", "i", ...).as_argument("op_mapping")``: codes of kinds; others are dropped.

        Examples
        --------
        >>> from millstream.table import TableEnvironment
        >>> t_env = TableEnvironment.create()
        >>> t_env.from_elements([("ann", 5)], ["name", "n"]).to_changelog().execute().print()
        +----+--------------------------------+--------------------------------+----------------------+
        | op |                             op |                           name |                    n |
        +----+--------------------------------+--------------------------------+----------------------+
        | +I |                         INSERT |                            ann |                    5 |
        +----+--------------------------------+--------------------------------+----------------------+
        1 row in set
        """
        return self._called("TO_CHANGELOG", arguments)

    def from_changelog(self, *arguments: Expression) -> Table:
        """The table that rows with codes of changes make; the column of codes goes.

        Parameters
        ----------
        arguments
            ``descriptor("name").as_argument("op")``: the column of the codes, by default ``op``.
            ``map_("c, r", "INSERT", ...).as_argument("op_mapping")``: what codes mean.

        Examples
        --------
        >>> from millstream.table import TableEnvironment
        >>> t_env = TableEnvironment.create()
        >>> log = [("INSERT", 1, "ann"), ("INSERT", 2, "bob"), ("DELETE", 1, "ann")]
        >>> table = t_env.from_elements(log, ["op", "id", "name"]).from_changelog()
        >>> table.to_pandas().values.tolist()
        [[2, 'bob']]
        """
        return self._called("FROM_CHANGELOG", arguments)

    def _called(self, function: str, arguments: Sequence[Expression]) -> Table:
        query = self._query()
        given = [f"input => TABLE {query.sources[0]}", *map(query.render, arguments)]
        return self._made(query.bound(f"SELECT * FROM {function}({', '.join(given)})"))

    def to_pandas(self) -> pd.DataFrame:
        """The rows at the end of the job as a pandas frame."""
        found: pd.DataFrame = self._t_env.frame(self)
        return found

    def get_schema(self) -> TableSchema:
        """The columns."""
        if self.declared is not None:
            return TableSchema.of_resolved(ResolvedSchema.of_table(self.declared))
        return TableSchema.of(self.relation.row_type)

    def get_resolved_schema(self) -> ResolvedSchema:
        """The columns; of a table of a catalog also what it computes, its watermark and its key."""
        if self.declared is not None:
            return ResolvedSchema.of_table(self.declared)
        return ResolvedSchema.of_row_type(self.relation.row_type)

    def print_schema(self) -> None:
        """Print names and types of the columns."""
        print(self.get_resolved_schema())

    def execute(self) -> TableResult:
        """Run the query; the result has its rows."""
        found: TableResult = self._t_env.execute_table(self)
        return found

    def execute_insert(
        self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False
    ) -> TableResult:
        """Write the rows into a table of a catalog, or of a descriptor."""
        found: TableResult = self._t_env.insert_table(self, table_path_or_descriptor, overwrite)
        return found

    def insert_into(
        self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False
    ) -> TablePipeline:
        """The writing, for `StatementSet.add`, or to execute later."""
        return TablePipeline(self, table_path_or_descriptor, overwrite)

    def explain(self, *extra_details: int) -> str:
        """The plan as a text."""
        found: str = self._t_env.explain_table(self, *extra_details)
        return found

    def print_explain(self, *extra_details: int) -> None:
        """Print the plan."""
        print(self.explain(*extra_details))

    def _repr_html_(self) -> str:
        from html import escape

        try:
            rows = self.limit(20).to_pandas().to_html(index=False)
        except Exception as error:
            rows = f"<pre>{escape(str(error))}</pre>"
        return (
            f"{rows}<details><summary>plan</summary><pre>{escape(self.explain())}</pre></details>"
        )


def _sorting(query: QueryText, field: Expression) -> str:
    """An item of ORDER BY in which NULL is the greatest value."""
    nulls = "FIRST" if field._kind == "order" and field._name == "DESC" else "LAST"
    return f"{query.render(field)} NULLS {nulls}"


class GroupedTable:
    """Rows in groups."""

    def __init__(
        self, table: Table, keys: tuple[Any, ...], window: GroupWindow | None = None
    ) -> None:
        self._table = table
        self._keys = keys
        self._window = window

    def _grouped(self, fields: tuple[Any, ...], unnest: bool = False) -> Table:
        table = self._with_named_keys()
        query = table._query()
        if self._window is not None:
            query.add_window(self._window)
        keys = []
        for each in self._keys:
            if self._window is not None and getattr(each, "_name", None) == self._window.name:
                keys.append(query.window_call(self._window))
            else:
                keys.append(quoted(each._names[0]) if each._kind == "alias" else query.render(each))
        ending = f" GROUP BY {', '.join(keys)}" if keys else ""
        text = f"SELECT {query.items(fields)} FROM {query.sources[0]}{ending}"
        return table._made(query.bound(text))

    def _with_named_keys(self) -> Table:
        """The table with columns for the keys that have names of their own."""
        named = [each for each in self._keys if each._kind == "alias"]
        return self._table.add_or_replace_columns(*named) if named else self._table

    def select(self, *fields: Expression) -> Table:
        """Keys, aggregates, and what is computed of them."""
        return self._grouped(fields)

    def aggregate(self, func: FunctionLike) -> AggregatedTable:
        """One row of an aggregate function for each group."""
        return AggregatedTable(self, self._function_call(func))

    def flat_aggregate(self, func: FunctionLike) -> FlatAggregateTable:
        """The rows of a table aggregate function for each group."""
        return FlatAggregateTable(self, self._function_call(func))

    def _function_call(self, function: FunctionLike) -> Expression:
        """The call of a function; one that takes rows gets all columns, the time of the window too."""
        return self._table._function_call(function)


class WindowGroupedTable(GroupedTable):
    """Rows in groups and windows."""


class GroupWindowedTable:
    """Rows in windows, before they are grouped."""

    def __init__(self, table: Table, window: GroupWindow) -> None:
        self._table = table
        self._window = window

    def group_by(self, *fields: Expression) -> WindowGroupedTable:
        """Groups of the window and of values."""
        if all(getattr(each, "_name", None) != self._window.name for each in fields):
            message = f"group_by does not name the window {self._window.name}"
            hint = f"write group_by(col({self._window.name!r}), ...)"
            raise PlanError("UNKNOWN_WINDOW", message, hint=hint)
        return WindowGroupedTable(self._table, fields, self._window)


class OverWindowedTable:
    """Rows with frames around them."""

    def __init__(self, table: Table, windows: tuple[OverWindow, ...]) -> None:
        self._table = table
        self._windows = windows

    def select(self, *fields: Expression) -> Table:
        """Columns, and aggregates with `over`."""
        query = self._table._query()
        for each in self._windows:
            query.add_over(each)
        text = f"SELECT {query.items(fields)} FROM {query.sources[0]}"
        return self._table._made(query.bound(text))


class AggregatedTable:
    """Groups with the result of an aggregate function, whose fields are columns."""

    def __init__(self, grouped: GroupedTable, call: Expression) -> None:
        self._grouped = grouped
        self._call = call

    def select(self, *fields: Expression) -> Table:
        """Keys, times of the window, and columns of the result."""
        names: tuple[str, ...] = ()
        call = self._call
        if call._kind == "alias":
            names, call = call._names, call._parts[0]
        times = TimesOfWindow(fields)
        window = self._grouped._window.name if self._grouped._window else None
        keys = [each for each in self._grouped._keys if each._name != window or window is None]
        made = self._grouped._grouped((*keys, *times.columns(), call.alias("result$")))
        return self._flattened(made, names).select(*map(times.replaced, fields))

    def _flattened(self, made: Table, names: tuple[str, ...]) -> Table:
        """The table with the fields of its last column as columns."""
        row = made.relation.row_type.fields[-1].type
        own = [each.name for each in row.fields] if isinstance(row, RowType) else []
        items = [f"`result$`.{quoted(name)}" for name in own] or ["`result$`"]
        shown = zip(items, names or own or ("f0",), strict=True)
        flat = [f"{item} AS {quoted(name)}" for item, name in shown]
        return made._selected([*map(quoted, made._columns[:-1]), *flat])


class FlatAggregateTable(AggregatedTable):
    """Groups with the rows of a table aggregate function."""

    def _flattened(self, made: Table, names: tuple[str, ...]) -> Table:
        """The table with the rows of its last column."""
        query = made._query()
        shown = f"({', '.join(map(quoted, names))})" if names else ""
        items = ", ".join([*map(quoted, made._columns[:-1]), "`made`.*"])
        source = f"CROSS JOIN UNNEST(`result$`) AS `made`{shown}"
        return made._made(query.bound(f"SELECT {items} FROM {query.sources[0]} {source}"))
