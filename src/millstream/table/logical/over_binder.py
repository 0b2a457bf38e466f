"""OVER: calls with a window become columns of `Over` nodes below the projection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from millstream.table.expressions import kinds
from millstream.table.expressions.tree import Call, Expression, InputRef, Literal, Symbol
from millstream.table.logical.algebra import (
    Frame,
    FrameBound,
    Over,
    OverCall,
    Project,
    Relation,
    SortKey,
)
from millstream.table.logical.expression_binder import ExpressionBinder
from millstream.table.logical.problems import nearest
from millstream.table.logical.typing_rules import plain_type, references, row_type
from millstream.table.sql import expressions as sql

__all__ = ["OverRef", "SelectExpressions", "transformed"]

_RANKING = ("ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE")
_OFFSETS = ("LAG", "LEAD")
# In a frame without distances, which has the row itself, they are NULL only if their argument can be.
_OF_ROWS = (
    "SUM", "AVG", "MIN", "MAX", "FIRST_VALUE", "LAST_VALUE",
    "STDDEV_POP", "STDDEV_SAMP", "STDDEV", "VAR_POP", "VAR_SAMP", "VARIANCE",
)  # fmt: skip


@dataclass(frozen=True)
class OverRef(Expression):
    """The result of a call with OVER, before its column is known."""

    number: int


@dataclass(frozen=True)
class _Sorting:
    expression: Expression
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class _Window:
    partition: tuple[Expression, ...]
    order: tuple[_Sorting, ...]
    frame: Frame | None


@dataclass(frozen=True)
class _Found:
    window: _Window
    call: Call
    distinct: bool
    filter: Expression | None


def transformed(
    expression: Expression, change: Callable[[Expression], Expression | None]
) -> Expression:
    """The expression with parts replaced; ``change`` gives None for a part that stays."""
    found = change(expression)
    if found is not None:
        return found
    changes: dict[str, Any] = {}
    for each in fields(expression):
        value = getattr(expression, each.name)
        if isinstance(value, Expression):
            new: Any = transformed(value, change)
        elif isinstance(value, tuple) and value and isinstance(value[0], Expression):
            new = tuple(transformed(item, change) for item in value)
        else:
            continue
        if new != value:
            changes[each.name] = new
    return replace(expression, **changes) if changes else expression


class SelectExpressions(ExpressionBinder):
    """Binds the expressions of a SELECT list, where calls with OVER may stand."""

    windows: Mapping[str, sql.WindowSpec] = {}

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.overs: list[_Found] = []
        self._inside = False

    def over_call(self, node: sql.Call) -> Expression:
        """A call with OVER: a column of a node below."""
        if self._inside:
            hint = "compute the inner one in a query in FROM"
            raise self.context.error("NESTED_OVER", "OVER stands inside OVER", node, hint)
        assert node.over is not None
        self._inside = True
        try:
            name = node.name.names[-1].upper()
            spec = self._spec(node.over.window)
            partition = tuple(self.bind(each) for each in spec.partition_by)
            order = tuple(self._sorting(each) for each in spec.order_by)
            frame = self._frame(spec, name, order)
            call = self.window_call(node, spec)
            filtered = self.filter_of(node, call)
        finally:
            self._inside = False
        if name in (*_RANKING, *_OFFSETS) and not order:
            message = f"{name} needs an order"
            raise self.context.error("OVER_ORDER", message, node, "add ORDER BY to OVER (...)")
        found = _Found(
            _Window(partition, order, frame), call, node.quantifier == "DISTINCT", filtered
        )
        if found not in self.overs:
            self.overs.append(found)
        return OverRef(call.type, self.overs.index(found))

    def window_call(self, node: sql.Call, spec: sql.WindowSpec) -> Call:
        """The call itself, without its window."""
        star = len(node.arguments) == 1 and isinstance(node.arguments[0], sql.Star)
        entry = self.context.names.find_function(node.name.names)
        if entry is not None:
            found: Expression = self.user_aggregate(entry, node)
        else:
            name = node.name.names[-1].upper()
            arguments = [] if star else self._arguments(node)
            found = self.call(name, arguments, node)
        assert isinstance(found, Call)
        if entry is None and name in _OF_ROWS and arguments and node.filter is None:
            nullable = arguments[0].type.nullable or _has_distances(spec.frame)
            return replace(found, type=found.type.with_nullability(nullable))
        if entry is None and name == "ARRAY_AGG" and node.filter is None:
            return replace(found, type=found.type.with_nullability(arguments[0].type.nullable))
        return found

    def _spec(self, window: Any) -> sql.WindowSpec:
        if isinstance(window, sql.WindowSpec):
            if window.base is None:
                return window
            base = self._named(window.base)
            return replace(
                window,
                partition_by=window.partition_by or base.partition_by,
                order_by=window.order_by or base.order_by,
                frame=window.frame or base.frame,
            )
        return self._named(window)

    def _named(self, name: Any) -> sql.WindowSpec:
        found = self.windows.get(name.text)
        if found is None:
            close = nearest(name.text, self.windows)
            hint = f"did you mean {close[0]}?" if close else "define it: WINDOW w AS (...)"
            message = f"there is no window {name.text}"
            raise self.context.error("UNKNOWN_WINDOW", message, name, hint)
        return self._spec(found)

    def _sorting(self, item: sql.OrderItem) -> _Sorting:
        expression = self.bind(item.value)
        first = not item.descending if item.nulls is None else item.nulls == "FIRST"
        return _Sorting(expression, item.descending, first)

    def _frame(self, spec: sql.WindowSpec, name: str, order: tuple[_Sorting, ...]) -> Frame | None:
        if spec.frame is None:
            if name in (*_RANKING, *_OFFSETS):
                return None
            end = FrameBound(0 if order else None)
            return Frame("RANGE", FrameBound(None), end)
        if name in _RANKING:
            message = f"{name} takes no ROWS or RANGE"
            raise self.context.error("OVER_FRAME", message, spec.frame, "leave the frame away")
        start = self._bound(spec.frame.start)
        end = FrameBound(0) if spec.frame.end is None else self._bound(spec.frame.end)
        unit = "ROWS" if spec.frame.unit == "ROWS" else "RANGE"
        return Frame(unit, start, end)  # type: ignore[arg-type]

    def _bound(self, bound: sql.WindowBound) -> FrameBound:
        if "CURRENT" in bound.kind:
            return FrameBound(0)
        if bound.value is None:
            return FrameBound(None)
        value = self.value(bound.value)
        if not isinstance(value, Literal) or not isinstance(value.value, int):
            message = "the bound of a frame must be a number or an interval"
            raise self.context.error("OVER_FRAME", message, bound, "write a literal")
        sign = -1 if "PRECEDING" in bound.kind else 1
        return FrameBound(sign * value.value)

    def with_overs(
        self, base: Relation, expressions: list[Expression]
    ) -> tuple[Relation, list[Expression]]:
        """The base with the columns of all calls, and the expressions that read them."""
        if not self.overs:
            return base, expressions
        relation, places = _prepared(base, self.overs)

        def place(expression: Expression) -> int:
            return places[expression]

        columns: dict[int, InputRef] = {}
        for window in dict.fromkeys(each.window for each in self.overs):
            calls = [(at, each) for at, each in enumerate(self.overs) if each.window == window]
            width = len(relation.row_type.fields)
            relation = _over(relation, window, [each for _, each in calls], place)
            for number, (at, each) in enumerate(calls):
                name = relation.row_type.fields[width + number].name
                columns[at] = InputRef(each.call.type, width + number, name)

        def change(expression: Expression) -> Expression | None:
            return columns[expression.number] if isinstance(expression, OverRef) else None

        return relation, [transformed(each, change) for each in expressions]

    def user_aggregate(self, entry: Any, node: sql.Call) -> Call:
        """A call of a user's aggregate function."""
        from millstream.table.logical.user_calls import UserCall

        if entry.kind not in ("aggregate", "table_aggregate"):
            message = f"{entry.name} is no aggregate function"
            raise self.context.error("NOT_AN_AGGREGATE", message, node)
        arguments = tuple(self.user_arguments(entry, node))
        return UserCall(entry.result_type or kinds.STRING, entry.name, arguments, entry)


def _has_distances(frame: sql.WindowFrame | None) -> bool:
    """Whether a bound is a number of rows or an interval."""
    bounds = () if frame is None else (frame.start, frame.end)
    return any(each is not None and each.value is not None for each in bounds)


def _is_plain(expression: Expression) -> bool:
    return isinstance(expression, (Literal, Symbol))


def _needed(found: _Found) -> list[Expression]:
    parts = [*found.window.partition, *(each.expression for each in found.window.order)]
    parts += [each for each in found.call.arguments if not _is_plain(each)]
    return [*parts, *([found.filter] if found.filter is not None else [])]


def _prepared(base: Relation, overs: list[_Found]) -> tuple[Relation, dict[Expression, int]]:
    """A projection with a column for every expression that windows and calls read."""
    columns: list[Expression] = list(references(base.row_type))
    names = [each.name for each in base.row_type.fields]
    places: dict[Expression, int] = {}
    for expression in (each for found in overs for each in _needed(found)):
        if isinstance(expression, InputRef):
            places[expression] = expression.index
        elif expression not in places:
            places[expression] = len(columns)
            columns.append(expression)
            names.append(f"$f{len(names)}")
    if len(columns) == len(base.row_type.fields):
        return base, places
    row = row_type(names, [each.type for each in columns])
    return Project(row, base, tuple(columns)), places


def _over(
    relation: Relation, window: _Window, found: list[_Found], place: Callable[[Expression], int]
) -> Over:
    def column(expression: Expression) -> Expression:
        if _is_plain(expression):
            return expression
        at = place(expression)
        return InputRef(expression.type, at, relation.row_type.fields[at].name)

    calls = []
    for each in found:
        arguments = tuple(column(argument) for argument in each.call.arguments)
        call = replace(each.call, arguments=arguments)
        filtered = None if each.filter is None else column(each.filter)
        calls.append(OverCall(call, each.distinct, filtered))
    names = [each.name for each in relation.row_type.fields]
    types = [each.type for each in relation.row_type.fields]
    row = row_type(
        [*names, *(f"w{at}$o{len(names)}" for at in range(len(calls)))],
        [*types, *(plain_type(each.expression.type) for each in calls)],
    )
    order = tuple(
        SortKey(place(each.expression), each.descending, each.nulls_first) for each in window.order
    )
    partition = tuple(dict.fromkeys(place(each) for each in window.partition))
    return Over(row, relation, partition, order, window.frame, tuple(calls))
