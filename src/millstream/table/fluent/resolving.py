"""From expressions of the Table API to relations: a query of SQL over a table, bound as SQL is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from millstream.common.errors import PlanError
from millstream.table.fluent.expression_base import ExpressionBase, Rendering, misplaced, quoted
from millstream.table.fluent.item_names import ItemNames
from millstream.table.logical.algebra import Relation
from millstream.table.logical.binder import binder_context
from millstream.table.logical.entries import FunctionEntry, Names
from millstream.table.sql.parser import parse
from millstream.table.sql.queries import Query
from millstream.table.window import GroupWindow, OverWindow

__all__ = ["QueryText", "names_of", "refuse_same"]


class _WithFunctions:
    """Names of a session, and the user functions that one query uses without registering them."""

    def __init__(self, names: Names, functions: dict[str, FunctionEntry]) -> None:
        self._names = names
        self._functions = functions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._names, name)

    def find_function(self, names: tuple[str, ...]) -> FunctionEntry | None:
        """The function of a name; those of the query come first."""
        found = self._functions.get(names[0]) if len(names) == 1 else None
        return found or self._names.find_function(names)


class QueryText(Rendering):
    """Writes one query over one or two tables, and binds it."""

    def __init__(self, names: Names, *inputs: Relation) -> None:
        self._names = names
        self._tables: dict[str, Relation] = {}
        self._functions: dict[str, FunctionEntry] = {}
        self._windows: dict[str, GroupWindow] = {}
        self._overs: dict[str, OverWindow] = {}
        self.inputs = inputs
        self.sources = [self.table(each) for each in inputs]

    def table(self, relation: Relation) -> str:
        """The name under which the query reads a relation."""
        name = f"table{len(self._tables) + 1}"
        self._tables[name] = relation
        return quoted(name)

    def add_window(self, window: GroupWindow) -> None:
        """Let expressions name a window."""
        self._windows[window.name] = window

    def add_over(self, window: OverWindow) -> None:
        """Let expressions name an OVER window."""
        self._overs[window.name] = window

    def bound(self, text: str) -> Relation:
        """The relation of the query."""
        query = parse(text)
        assert isinstance(query, Query)
        names: Any = _WithFunctions(self._names, self._functions)
        context = replace(binder_context(names, text), table_api=True)
        for name, relation in self._tables.items():
            columns = tuple(field.name for field in relation.row_type.fields)
            context = context.with_table(name, relation, columns)
        try:
            return context.query(query, None)
        except PlanError as error:
            if hasattr(error, "line"):
                raise
            raise context.wrapped(error, query) from None

    def items(self, values: Sequence[Any], first: int = 0) -> str:
        """The list behind SELECT, with names for all columns. ``first``: the place of the first one."""
        named = self.named_items(values, first)
        return ", ".join(
            text if text == quoted(name) else f"{text} AS {quoted(name)}" for name, text in named
        )

    def named_items(self, values: Sequence[Any], first: int = 0) -> list[tuple[str, str]]:
        """The names of columns, and the SQL of each."""
        names = ItemNames(self.render, self._names.find_function)
        found: list[tuple[str, str]] = []
        for value in values:
            for each in self._expanded(value):
                name = names.of(each, first + len(found))
                found.append((name, self.render(each._parts[0] if each._kind == "alias" else each)))
        refuse_same([name for name, _ in found])
        return found

    def _expanded(self, value: Any) -> list[ExpressionBase]:
        """The expressions of an item: one for each column that it stands for."""
        if not isinstance(value, ExpressionBase):
            message = f"{value!r} is a {type(value).__name__}; columns are expressions"
            raise PlanError("EXPRESSION_PLACE", message, hint=f"write col({value!r})")
        if value._kind == "columns":
            return [type(value)("column", name=name) for name in self.chosen(value)]
        if value._kind == "column" and value._name == "*":
            every = (field.name for each in self.inputs for field in each.row_type.fields)
            return [type(value)("column", name=name) for name in every]
        if value._kind == "flatten":
            return self._fields(value._parts[0])
        return [value]

    def chosen(self, value: ExpressionBase) -> list[str]:
        """The columns of with_columns(...), without_columns(...) and with_all_columns()."""
        every = [field.name for each in self.inputs for field in each.row_type.fields]
        if value._name == "ALL":
            return every
        named = [name for part in value._parts for name in self._named(part, every)]
        return named if value._name == "WITH" else [name for name in every if name not in named]

    def _named(self, part: Any, every: list[str]) -> list[str]:
        if isinstance(part, ExpressionBase) and part._kind == "range":
            first, last = (self._place(each, every) for each in part._data)
            return every[first : last + 1]
        if isinstance(part, int):
            return [every[part - 1]]
        if isinstance(part, ExpressionBase) and part._kind == "column":
            return [part._name]
        return [str(part)]

    def _place(self, column: str | int, every: list[str]) -> int:
        if isinstance(column, int):
            return column - 1
        if column not in every:
            message = f"there is no column {column} for range_(...)"
            raise PlanError("UNKNOWN_COLUMN", message, hint=f"the table has {', '.join(every)}")
        return every.index(column)

    def _fields(self, value: Any) -> list[ExpressionBase]:
        """The fields of a row value, one expression for each."""
        probe = self.bound(f"SELECT {self.render(value)} AS v FROM {', '.join(self.sources)}")
        fields = getattr(probe.row_type.fields[0].type, "fields", None)
        return [value] if fields is None else [value.get(each.name) for each in fields]

    def _call(self, value: ExpressionBase) -> str:
        if self._names.find_function((value._name,)) is None:
            return super()._call(value)
        return self._called(quoted(value._name), value)

    def _user(self, value: ExpressionBase) -> str:
        entry = value._data.entry
        name = entry.name
        while self._functions.setdefault(name, entry) != entry:
            # Another function of the same name, such as a second lambda.
            name += "$"
        return self._called(quoted(name), value)

    def _table(self, value: ExpressionBase) -> str:
        source = self.table(value._data.relation)
        return f"({self.render(value._parts[0])} IN (SELECT * FROM {source}))"

    def _window(self, value: ExpressionBase) -> str:
        window = self._windows.get(value._parts[0]._name)
        if window is None:
            raise misplaced(value)
        return f"{window.kind}_{value._name}({self._arguments_of(window)})"

    def window_call(self, window: GroupWindow) -> str:
        """The window as GROUP BY has it."""
        return f"{window.kind}({self._arguments_of(window)})"

    def _arguments_of(self, window: GroupWindow) -> str:
        return self.arguments((window.time, *window.sizes))

    def _over(self, value: ExpressionBase) -> str:
        window = self._overs.get(value._name)
        if window is None:
            message = f"there is no OVER window {value._name}"
            raise PlanError("UNKNOWN_WINDOW", message, hint="give it to over_window(...) first")
        parts = self.arguments(window.partition)
        head = f"PARTITION BY {parts} " if parts else ""
        call = self.render(value._parts[0])
        return f"{call} OVER ({head}ORDER BY {self.render(window.order)}{self._frame(window)})"

    def _frame(self, window: OverWindow) -> str:
        if window.before is None:
            return ""
        unit = "ROWS" if window.before._kind == "rows" else "RANGE"
        start = self._frame_bound(window.before, "PRECEDING")
        end = (
            "CURRENT ROW"
            if window.behind is None
            else self._frame_bound(window.behind, "FOLLOWING")
        )
        return f" {unit} BETWEEN {start} AND {end}"

    def _frame_bound(self, value: ExpressionBase, side: str) -> str:
        text = str(value._parts[0]) if value._kind in ("rows", "bound") else self.render(value)
        return "CURRENT ROW" if text == "CURRENT" else f"{text} {side}"

    def _columns(self, value: ExpressionBase) -> str:
        return ", ".join(map(quoted, self.chosen(value)))

    def _flatten(self, value: ExpressionBase) -> str:
        raise misplaced(value)

    # They are parts of with_columns(...) and of windows, and no values.
    _range = _rows = _bound = _flatten


def refuse_same(names: Sequence[str]) -> None:
    """Refuse names of columns that occur twice, as Flink does."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        message = f"several columns are called {', '.join(twice)}"
        raise PlanError("AMBIGUOUS_COLUMN", message, hint="rename one: col('a').alias('b')")


def names_of(fields: Sequence[Any], wrong: Callable[[Any], Exception]) -> list[str]:
    """The names of columns, given as names or as expressions."""
    found = []
    for each in fields:
        if isinstance(each, str):
            found.append(each)
        elif isinstance(each, ExpressionBase) and each._kind == "column":
            found.append(each._name)
        else:
            raise wrong(each)
    return found
