"""GROUP BY: keys, grouping sets, group windows, aggregates, and the expressions above them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

from millstream.table.expressions.tree import (
    Call,
    Expression,
    FieldAccess,
    InputRef,
    Literal,
    Symbol,
)
from millstream.table.functions import FUNCTIONS
from millstream.table.logical.algebra import (
    Aggregate,
    AggregateCall,
    EmitStrategy,
    Project,
    Relation,
    SortKey,
    WindowTable,
)
from millstream.table.logical.emitting import emit_strategy
from millstream.table.logical.expression_binder import ExpressionBinder
from millstream.table.logical.group_windows import GroupWindow, auxiliary, group_window
from millstream.table.logical.over_binder import SelectExpressions
from millstream.table.logical.typing_rules import plain_type, row_type
from millstream.table.logical.window_columns import window_columns
from millstream.table.logical.window_tables import window_row
from millstream.table.sql import expressions as sql
from millstream.table.sql import queries
from millstream.table.sql.nodes import Identifier, Node

__all__ = ["GroupedExpressions", "has_aggregate"]

# They are NULL for no rows only: a group has rows.
_KEEP_NULLABILITY = (
    "SUM",
    "AVG",
    "MIN",
    "MAX",
    "FIRST_VALUE",
    "LAST_VALUE",
    "LISTAGG",
    "ARRAY_AGG",
)
_SPREAD = ("STDDEV_POP", "STDDEV_SAMP", "STDDEV", "VAR_POP", "VAR_SAMP", "VARIANCE")


@dataclass(frozen=True)
class _Call:
    expression: Call
    distinct: bool
    filter: Expression | None
    order: tuple[tuple[Expression, bool, bool], ...]


def _parts(node: Node) -> Iterator[Node]:
    """The nodes of an expression, without those of queries inside."""
    # A long chain of AND is a deep tree, too deep for recursion.
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(each for each in found.children() if not isinstance(each, queries.Query))


def has_aggregate(node: Node, binder: ExpressionBinder) -> bool:
    """Whether an expression has an aggregate that is not inside a query of its own."""
    for each in _parts(node):
        if isinstance(each, sql.JsonCall) and each.name.endswith("AGG"):
            return True
        if not isinstance(each, sql.Call):
            continue
        entry = binder.context.names.find_function(each.name.names)
        if entry is not None:
            if entry.kind in ("aggregate", "table_aggregate") and each.over is None:
                return True
            continue
        known = FUNCTIONS.get(each.name.names[-1].upper())
        if known is not None and known.aggregate and each.over is None:
            return True
    return False


def _has_special(node: Node, binder: ExpressionBinder) -> bool:
    """Whether an expression has a part that cannot be a key: an aggregate, OVER or a query."""
    for each in _parts(node):
        if isinstance(each, (sql.ScalarQuery, sql.Exists, sql.InQuery, sql.Quantified)):
            return True
        if isinstance(each, sql.Call) and (each.over is not None or auxiliary(each)):
            return True
    return has_aggregate(node, binder)


class GroupedExpressions(SelectExpressions):
    """Binds expressions above groups: keys and aggregates are columns, other columns are errors."""

    def __init__(
        self, inner: ExpressionBinder, base: Relation, group_by: queries.GroupBy | None
    ) -> None:
        super().__init__(inner.context, inner.scope, inner.outer)
        self.inner = inner
        self.base = base
        self.keys: list[Expression] = []
        self.sets: list[tuple[int, ...]] | None = None
        self.window: GroupWindow | None = None
        self.emit: EmitStrategy | None = None
        self.calls: list[_Call] = []
        self._aggregating = False
        if group_by is not None:
            self._group(group_by)

    # Keys.

    def _group(self, group_by: queries.GroupBy) -> None:
        alternatives = [self._alternatives(item) for item in group_by.items]
        several = any(isinstance(item, queries.GroupingSets) for item in group_by.items)
        found = []
        for choice in product(*alternatives):
            places = [at for part in choice for at in part]
            found.append(tuple(sorted(dict.fromkeys(places))))
        if group_by.quantifier == "DISTINCT":
            found = list(dict.fromkeys(found))
        if several:
            self.sets = found

    def _alternatives(self, item: Any) -> list[tuple[int, ...]]:
        if isinstance(item, tuple):
            return [tuple(at for each in item for at in self._key(each))]
        if not isinstance(item, queries.GroupingSets):
            return [self._key(item)]
        elements: list[Any] = list(item.elements)
        if item.kind == "GROUPING SETS":
            return [found for each in elements for found in self._alternatives(each)]
        parts = [self._alternatives(each)[0] for each in elements]
        if item.kind == "ROLLUP":
            choices: list[tuple[Any, ...]] = [tuple(parts[:n]) for n in range(len(parts), -1, -1)]
        else:
            choices = [c for n in range(len(parts), -1, -1) for c in combinations(parts, n)]
        return [tuple(at for part in choice for at in part) for choice in choices]

    def _key(self, node: sql.Expression) -> tuple[int, ...]:
        window = group_window(node, self.inner)
        if window is not None:
            if self.window is not None and self.window != window:
                message = "a query has one group window"
                raise self.context.error("SEVERAL_WINDOWS", message, node, "leave one away")
            self.window = window
            self.emit = emit_strategy(self.context, window, node)
            return ()
        if has_aggregate(node, self.inner):
            message = "GROUP BY cannot have an aggregate"
            hint = "aggregate in a query in FROM, and group outside"
            raise self.context.error("AGGREGATE_NOT_ALLOWED", message, node, hint)
        if isinstance(node, sql.RowConstructor) and not node.explicit:
            return tuple(at for item in node.items for at in self._key(item))
        bound = self.inner.bind(node)
        if bound not in self.keys:
            self.keys.append(bound)
        return (self.keys.index(bound),)

    def _key_type(self, at: int) -> Any:
        kind = self.keys[at].type
        if self.sets is not None and any(at not in each for each in self.sets):
            kind = kind.with_nullability(True)
        return kind if self._keeps_time(at) else plain_type(kind)

    def _keeps_time(self, at: int) -> bool:
        """The time of windows stays a time attribute if rows are grouped by the windows."""
        roles = window_columns(self.base)
        places = [each.index for each in self.keys if isinstance(each, InputRef)]
        known = {roles.get(place) for place in places}
        key = self.keys[at]
        is_time = isinstance(key, InputRef) and roles.get(key.index) == "time"
        return is_time and {"start", "end"} <= known

    def _reference(self, at: int) -> InputRef:
        key = self.keys[at]
        name = key.name if isinstance(key, InputRef) else f"$f{at}"
        return InputRef(self._key_type(at), at, name)

    # Expressions.

    def bind(self, node: sql.Expression) -> Expression:
        """A key, or an expression of keys and aggregates."""
        if self.window is not None:
            found = self.window.column(node, self._window_start(), self)
            if found is not None:
                return found
        if not _has_special(node, self.inner):
            bound = self.inner.bind(node)
            if bound in self.keys:
                return self._reference(self.keys.index(bound))
            if isinstance(node, sql.ColumnRef):
                return self._from_key(bound, node)
        return super().bind(node)

    def _descends(self, node: sql.BinaryOperation) -> bool:
        return _has_special(node, self.inner) or self.inner.bind(node) not in self.keys

    def _from_key(self, bound: Expression, node: Node) -> Expression:
        """A column in terms of the keys: a field of a key is fine."""
        if bound in self.keys:
            return self._reference(self.keys.index(bound))
        if isinstance(bound, FieldAccess):
            operand = self._from_key(bound.operand, node)
            return replace(bound, operand=operand)
        if not isinstance(bound, InputRef):
            return bound
        written = "" if isinstance(node, sql.Star) else self.context.problems.text(node)
        name = written or bound.name
        hint = f"add {name} to GROUP BY, or aggregate it, as in MAX({name})"
        if not self.keys and self.window is None and self.sets is None:
            hint = f"group with GROUP BY {name}, or aggregate it, as in MAX({name})"
        message = f"column {name} is neither in GROUP BY nor inside an aggregate"
        raise self.context.error("NOT_GROUPED", message, node, hint)

    def find(self, name: Identifier) -> Expression | None:
        """The key that a name means, for queries inside."""
        found = self.inner.find(name)
        return None if found is None else self._from_key(found, name)

    def by_place(self, at: int, node: Node) -> Expression:
        """A column of ``*``."""
        return self._from_key(self.scope.reference(at), node)

    # Aggregates.

    def aggregate_call(self, node: sql.Call) -> Expression:
        """An aggregate: a column behind the keys."""
        if self._aggregating:
            message = f"the aggregate {node.name} stands inside an aggregate"
            hint = "compute the inner one in a query in FROM"
            raise self.context.error("NESTED_AGGREGATE", message, node, hint)
        name = node.name.names[-1].upper()
        for each in node.arguments:
            self._check_nested(each)
        entry = self.context.names.find_function(node.name.names)
        star = len(node.arguments) == 1 and isinstance(node.arguments[0], sql.Star)
        if star and name != "COUNT":
            message = f"{name}(*) does not exist"
            raise self.context.error("WRONG_ARGUMENTS", message, node, f"write {name}(column)")
        if name in FUNCTIONS and FUNCTIONS[name].category == "window function" and entry is None:
            message = f"{name} needs OVER"
            hint = f"write {name}(...) OVER (PARTITION BY ... ORDER BY ...)"
            raise self.context.error("OVER_MISSING", message, node, hint)
        if entry is not None:
            inner = SelectExpressions(self.inner.context, self.inner.scope, self.inner.outer)
            call: Call = inner.user_aggregate(entry, node)
        else:
            arguments = [] if star else self.inner._arguments(node)
            found = self.inner.call(name, arguments, node)
            assert isinstance(found, Call)
            call = self._typed(found, node.filter is not None)
        order = tuple(self._order(each) for each in (*node.order_by, *node.within_group))
        return self._registered(call, node, order)

    def _registered(self, call: Call, node: Any, order: tuple[Any, ...]) -> Expression:
        filtered = self.inner.filter_of(node, call) if isinstance(node, sql.Call) else None
        distinct = getattr(node, "quantifier", None) == "DISTINCT"
        if call.function in ("GROUPING", "GROUPING_ID"):
            self._check_grouping(call, node)
        found = _Call(call, distinct, filtered, order)
        if found not in self.calls:
            self.calls.append(found)
        at = len(self.keys) + self._window_width() + self.calls.index(found)
        return InputRef(call.type, at, f"EXPR${self.calls.index(found)}")

    def _check_nested(self, node: Node) -> None:
        if has_aggregate(node, self.inner):
            message = "an aggregate stands inside an aggregate"
            hint = "compute the inner one in a query in FROM"
            raise self.context.error("NESTED_AGGREGATE", message, node, hint)

    def _check_grouping(self, call: Call, node: Node) -> None:
        for each in call.arguments:
            if each not in self.keys:
                message = f"{call.function} takes keys of GROUP BY, and {each} is none"
                raise self.context.error("NOT_GROUPED", message, node, "add it to GROUP BY")

    def _order(self, item: sql.OrderItem) -> tuple[Expression, bool, bool]:
        first = not item.descending if item.nulls is None else item.nulls == "FIRST"
        return self.inner.value(item.value), item.descending, first

    def _typed(self, call: Call, filtered: bool) -> Call:
        """The call with Flink's nullability: a group has rows, the whole table may have none."""
        if call.function not in (*_KEEP_NULLABILITY, *_SPREAD) or not call.arguments:
            return call
        if not (self.keys or self.window) or filtered:
            return call
        return replace(call, type=call.type.with_nullability(call.arguments[0].type.nullable))

    def json_aggregate(self, node: sql.JsonCall) -> Expression:
        """JSON_OBJECTAGG or JSON_ARRAYAGG."""
        for each in node.arguments:
            self._check_nested(each)
        call = self.inner.call(node.name, self.inner.json_arguments(node), node)
        assert isinstance(call, Call)
        return self._registered(call, node, ())

    # The nodes.

    def _window_width(self) -> int:
        return 3 if self.window is not None else 0

    def _window_start(self) -> int:
        return len(self.keys)

    def relation(self, base: Relation, hints: tuple[Any, ...] = ()) -> Relation:
        """The groups: a projection of what they need, perhaps a window, and the aggregate."""
        columns = list(self.keys)
        places = {key: at for at, key in enumerate(self.keys)}

        def place(expression: Expression) -> int:
            if expression not in places:
                places[expression] = len(columns)
                columns.append(expression)
            return places[expression]

        def column(expression: Expression) -> Expression:
            if isinstance(expression, (Literal, Symbol)):
                return expression
            at = place(expression)
            return InputRef(expression.type, at, _name(expression, at))

        calls = []
        for each in self.calls:
            arguments = tuple(column(argument) for argument in each.expression.arguments)
            expression = replace(each.expression, arguments=arguments)
            filtered = None if each.filter is None else column(each.filter)
            order = tuple(SortKey(place(key), down, first) for key, down, first in each.order)
            calls.append(AggregateCall(expression, each.distinct, filtered, order))
        time = None if self.window is None else place(self.window.time)
        row = row_type([_name(e, at) for at, e in enumerate(columns)], [e.type for e in columns])
        relation: Relation = Project(row, base, tuple(columns))
        keys = tuple(range(len(self.keys)))
        if self.window is not None and time is not None:
            relation = self._windowed(relation, time)
            keys += tuple(range(len(columns), len(columns) + 3))
        return self._aggregate(relation, keys, tuple(calls), hints)

    def _windowed(self, relation: Relation, time: int) -> WindowTable:
        window = self.window
        assert window is not None
        partition = tuple(range(len(self.keys))) if window.kind == "SESSION" else ()
        return WindowTable(
            window_row(relation.row_type, window.time.type),
            relation,
            window.kind,
            time,
            window.size,
            window.step,
            window.offset,
            partition,
            self.emit,
        )

    def _aggregate(
        self,
        relation: Relation,
        keys: tuple[int, ...],
        calls: tuple[AggregateCall, ...],
        hints: tuple[Any, ...],
    ) -> Aggregate:
        fields = relation.row_type.fields
        own = [self._key_type(at) for at in range(len(self.keys))]
        types = [*own, *(fields[at].type for at in keys[len(own) :])]
        names = [fields[at].name for at in keys] + [f"EXPR${n}" for n in range(len(calls))]
        types += [each.expression.type for each in calls]
        sets = self.sets
        if sets is not None and self.window is not None:
            extra = tuple(range(len(self.keys), len(self.keys) + 3))
            sets = [(*each, *extra) for each in sets]
        row = row_type(names, types)
        return Aggregate(row, relation, keys, calls, None if sets is None else tuple(sets), hints)


def _name(expression: Expression, at: int) -> str:
    return expression.name if isinstance(expression, InputRef) else f"$f{at}"
