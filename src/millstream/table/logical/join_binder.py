"""Joins: by condition, USING or NATURAL, with versions of a table, with functions of a row."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millstream.table.expressions import kinds
from millstream.table.expressions.tree import Call, Expression, InputRef, Literal
from millstream.table.logical.algebra import (
    Correlate,
    Join,
    JoinKind,
    LateralJoin,
    OuterRef,
    Relation,
    TableFunction,
    TemporalJoin,
    Unnest,
)
from millstream.table.logical.context import BinderContext
from millstream.table.logical.expression_binder import ExpressionBinder
from millstream.table.logical.intervals import interval_between
from millstream.table.logical.scopes import Scope, ScopeColumn
from millstream.table.logical.typing_rules import plain_type, row_type, time_kind
from millstream.table.logical.user_calls import UserCall
from millstream.table.logical.window_columns import window_columns
from millstream.table.sql import queries
from millstream.table.types.logical import (
    ArrayType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
)

if TYPE_CHECKING:
    from millstream.table.logical.relation_binder import Bound

__all__ = ["JoinBinder", "with_times"]

TRUE = Literal(kinds.not_null(kinds.BOOLEAN), True)
_KINDS: dict[str, JoinKind] = {
    "INNER": "inner",
    "CROSS": "inner",
    "COMMA": "inner",
    "LEFT": "left",
    "RIGHT": "right",
    "FULL": "full",
}


class JoinBinder:
    """Binds joins."""

    context: BinderContext
    outer: ExpressionBinder | None
    hints: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]

    if TYPE_CHECKING:

        def bind(self, node: queries.Relation) -> Bound: ...

        def aliased(self, scope: Scope, node: queries.Aliased) -> Scope: ...

    def join(self, node: queries.Join) -> Bound:
        """A join of any kind."""
        # Many tables with commas are a deep tree on the left side, too deep for recursion.
        chain = [node]
        while isinstance(chain[-1].left, queries.Join):
            chain.append(chain[-1].left)
        left = self.bind(chain[-1].left)
        for each in reversed(chain):
            left = self._join(left, each)
        return left

    def _join(self, left: Bound, node: queries.Join) -> Bound:
        kind = _KINDS[node.kind]
        if node.kind in ("INNER", "LEFT", "RIGHT", "FULL") and node.condition is None:
            if not node.using and not node.natural and not _is_lateral(node.right):
                join = "JOIN" if node.kind == "INNER" else f"{node.kind} JOIN"
                message = f"{join} needs a condition"
                raise self.context.error(
                    "JOIN_CONDITION",
                    message,
                    node.right,
                    "add ON ... or USING, or write CROSS JOIN",
                )
        inner, alias = _unwrapped(node.right)
        if isinstance(inner, queries.Snapshot):
            return self._temporal(left, inner, alias, kind, node)
        if _is_lateral(inner):
            if isinstance(inner, queries.Derived):
                return self._lateral(left, inner, alias, kind, node)
            return self.correlated(left, inner, alias, kind, node)
        right = self.bind(node.right)
        self._check_names(left[1], right[1], node)
        condition, merged = self._condition(left[1], right[1], node)
        relation = _joined(left[0], right[0], kind, condition, self.hints)
        scope = _scope(left[1], right[1], relation.row_type)
        return relation, _merged(scope, merged, kind)

    def _check_names(self, left: Scope, right: Scope, node: queries.Join) -> None:
        for each in right.tables:
            if any(other.name == each.name for other in left.tables):
                name = each.name[-1]
                message = f"two tables of FROM have the name {name}"
                hint = f"give one of them another name: {name} AS {name[0]}2"
                raise self.context.error("DUPLICATE_TABLE", message, node.right, hint)

    def _condition(
        self, left: Scope, right: Scope, node: queries.Join
    ) -> tuple[Expression, list[tuple[int, int]]]:
        both = left.beside(right)
        binder = ExpressionBinder(self.context, both, self.outer)
        if node.condition is not None:
            return binder.condition(node.condition, "ON"), []
        names = [each.text for each in node.using]
        if node.natural:
            names = [each for each in left.names() if each in right.names()]
        pairs = []
        for at, name in enumerate(names):
            places = [self._using(scope, name, node, at) for scope in (left, right)]
            pairs.append((places[0], places[1] + len(left.columns)))
        tests = [
            binder.call("=", [both.reference(one), both.reference(other)], node)
            for one, other in pairs
        ]
        if not tests:
            return TRUE, []
        return (tests[0] if len(tests) == 1 else binder.call("AND", tests, node)), pairs

    def _using(self, scope: Scope, name: str, node: queries.Join, at: int) -> int:
        places = [
            n for n, each in enumerate(scope.columns) if each.name == name and not each.hidden
        ]
        if len(places) == 1:
            return places[0]
        where = node.using[at] if node.using else node.right
        if places:
            message = f"column {name} of USING is there {len(places)} times on one side"
            raise self.context.error("AMBIGUOUS_COLUMN", message, where, "write ON instead")
        message = f"column {name} of USING is not on both sides"
        hint = f"the columns of this side are {', '.join(scope.names())}"
        raise self.context.error("UNKNOWN_COLUMN", message, where, hint)

    # Versions of a table.

    def _temporal(
        self,
        left: Bound,
        snapshot: queries.Snapshot,
        alias: queries.Aliased | None,
        kind: JoinKind,
        node: queries.Join,
    ) -> Bound:
        right, scope = self.bind(snapshot.relation)
        if alias is not None:
            scope = self.aliased(scope, alias)
        time = ExpressionBinder(self.context, left[1], self.outer).bind(snapshot.time)
        if not isinstance(time, InputRef) or time_kind(time.type) is None:
            message = "FOR SYSTEM_TIME AS OF takes a time attribute of the left table"
            hint = "name a column with a watermark, or one made by PROCTIME()"
            raise self.context.error("NO_TIME_ATTRIBUTE", message, snapshot.time, hint)
        if kind not in ("inner", "left"):
            message = "a join with versions of a table is INNER or LEFT"
            raise self.context.error("NOT_SUPPORTED", message, node, "swap the tables")
        condition, merged = self._condition(left[1], scope, node)
        types = _types(left[0], right, kind)
        shifted = len(left[0].row_type.fields)
        types[shifted:] = [plain_type(each) for each in types[shifted:]]
        row = row_type(_names(left[0], right), types)
        relation = TemporalJoin(row, left[0], right, kind, condition, time, self.hints)
        return relation, _merged(_scope(left[1], scope, row), merged, kind)

    # Functions and queries of the left row.

    def _lateral(
        self,
        left: Bound,
        inner: queries.Derived,
        alias: queries.Aliased | None,
        kind: JoinKind,
        node: queries.Join,
    ) -> Bound:
        reader = ExpressionBinder(self.context, left[1], self.outer)
        right = self.context.query(inner.query, reader)
        scope = Scope.of(right.row_type)
        if alias is not None:
            scope = self.aliased(scope, alias)
        condition, merged = self._condition(left[1], scope, node)
        if kind not in ("inner", "left"):
            raise self.context.error("NOT_SUPPORTED", "LATERAL is INNER or LEFT", node)
        row = row_type(_names(left[0], right), _types(left[0], right, kind))
        if not _reads_outer(right):
            relation: Relation = _joined(left[0], right, kind, condition, self.hints)
        else:
            relation = LateralJoin(row, left[0], right, kind, condition)
        return relation, _merged(_scope(left[1], scope, relation.row_type), merged, kind)

    def correlated(
        self, left: Bound, inner: Any, alias: Any, kind: JoinKind, node: queries.Join | None
    ) -> Bound:
        """A table function or UNNEST, whose arguments read the left row."""
        if kind not in ("inner", "left"):
            message = "a table function is joined by CROSS, INNER or LEFT JOIN"
            raise self.context.error("NOT_SUPPORTED", message, inner, "swap the kind of the join")
        reader = ExpressionBinder(self.context, left[1], self.outer)
        function: TableFunction | Unnest
        if isinstance(inner, queries.Unnest):
            function, row = self._unnested(reader, inner)
        else:
            function, row = self._called(reader, inner)
        scope = Scope.of(row)
        if alias is not None:
            scope = self.aliased(scope, alias)
        condition: Expression | None = None
        if node is not None and node.condition is not None:
            both = left[1].beside(scope)
            found = ExpressionBinder(self.context, both, self.outer).condition(node.condition, "ON")
            condition = None if found == TRUE else found
        names = [each.name for each in left[0].row_type.fields] + [e.name for e in scope.columns]
        types = [each.type for each in left[0].row_type.fields]
        nullable = kind == "left"
        types += [e.type.with_nullability(True) if nullable else e.type for e in scope.columns]
        out = row_type(names, types)
        relation = Correlate(out, left[0], function, kind, condition)
        return relation, _scope(left[1], scope, out)

    def _unnested(self, reader: ExpressionBinder, node: queries.Unnest) -> tuple[Unnest, RowType]:
        if len(node.items) != 1:
            raise self.context.error("NOT_SUPPORTED", "UNNEST takes one collection", node)
        value = reader.value(node.items[0])
        names, types = _elements(value.type)
        if not names:
            message = f"UNNEST takes an array, a map or a multiset, and this is {value.type}"
            raise self.context.error("WRONG_ARGUMENTS", message, node.items[0])
        if node.ordinality:
            names, types = [*names, "ORDINALITY"], [*types, kinds.not_null(kinds.INT)]
        return Unnest(value, node.ordinality), row_type(names, types)

    def _called(
        self, reader: ExpressionBinder, node: queries.FunctionTable
    ) -> tuple[TableFunction, RowType]:
        call = node.call
        entry = self.context.names.find_function(call.name.names)
        if entry is None:
            raise reader._unknown(call)
        if entry.kind != "table":
            message = f"{entry.name} is a {entry.kind} function, and FROM takes table functions"
            raise self.context.error("NOT_A_TABLE_FUNCTION", message, call, "register it as udtf")
        arguments = tuple(reader.user_arguments(entry, call))
        kind = entry.result_type or kinds.STRING
        row = kind if isinstance(kind, RowType) else row_type(["f0"], [kind])
        user = UserCall(row, entry.name, arguments, entry)
        return TableFunction(entry.name, arguments, user), row


def _elements(kind: LogicalType) -> tuple[list[str], list[LogicalType]]:
    if isinstance(kind, MapType):
        return ["KEY", "VALUE"], [kind.key, kind.value]
    if isinstance(kind, (ArrayType, MultisetType)):
        element = kind.element
        if isinstance(element, RowType):
            nullable = element.nullable
            types = [f.type.with_nullability(True) if nullable else f.type for f in element.fields]
            return [each.name for each in element.fields], types
        return ["EXPR$0"], [element]
    return [], []


def _unwrapped(node: queries.Relation) -> tuple[queries.Relation, queries.Aliased | None]:
    return (node.relation, node) if isinstance(node, queries.Aliased) else (node, None)


def _is_lateral(node: queries.Relation) -> bool:
    inner, _ = _unwrapped(node)
    if isinstance(inner, queries.Unnest):
        return True
    if isinstance(inner, queries.FunctionTable):
        return not any(hasattr(each, "table") for each in _values(inner))
    return isinstance(inner, queries.Derived) and inner.lateral


def _values(node: queries.FunctionTable) -> list[Any]:
    return [getattr(each, "value", each) for each in node.call.arguments]


def _reads_outer(relation: Relation) -> bool:
    from dataclasses import fields, is_dataclass

    def found(value: Any) -> bool:
        if isinstance(value, OuterRef):
            return True
        if isinstance(value, tuple):
            return any(found(each) for each in value)
        if isinstance(value, LogicalType):
            return False
        if is_dataclass(value):
            return any(found(getattr(value, each.name)) for each in fields(value))
        return False

    return found(relation)


def _names(left: Relation, right: Relation) -> list[str]:
    return [each.name for side in (left, right) for each in side.row_type.fields]


def _types(left: Relation, right: Relation, kind: JoinKind) -> list[LogicalType]:
    found = []
    for side, optional in ((left, ("right", "full")), (right, ("left", "full"))):
        for each in side.row_type.fields:
            found.append(each.type.with_nullability(True) if kind in optional else each.type)
    return found


def _joined(
    left: Relation, right: Relation, kind: JoinKind, condition: Expression, hints: Any
) -> Join:
    types = _types(left, right, kind)
    if not _keeps_time(left, right, condition):
        types = [plain_type(each) for each in types]
    return Join(row_type(_names(left, right), types), left, right, kind, condition, hints)


def _keeps_time(left: Relation, right: Relation, condition: Expression) -> bool:
    """Whether rows come out in the order of time: joins of windows, and within a span of time."""
    return _of_windows(left, right, condition) or (
        interval_between(left, right, condition) is not None
    )


def _of_windows(left: Relation, right: Relation, condition: Expression) -> bool:
    size = len(left.row_type.fields)
    tests = condition.children() if _is(condition, "AND") else (condition,)
    roles = {**window_columns(left), **{size + k: v for k, v in window_columns(right).items()}}
    equal = set()
    for test in tests:
        refs = [each for each in test.walk() if isinstance(each, InputRef)]
        sides = {each.index < size for each in refs}
        if len(sides) == 2 and _is(test, "=") and len({roles.get(r.index) for r in refs}) == 1:
            equal.add(roles.get(refs[0].index))
    return {"start", "end"} <= equal


def with_times(relation: Relation, condition: Expression) -> Relation:
    """A join whose times are near each other because WHERE says so, with its times; else as it is."""
    if not isinstance(relation, Join) or relation.kind != "inner":
        return relation
    left, right = relation.left, relation.right
    if interval_between(left, right, relation.condition, condition) is None:
        return relation
    return replace(relation, row_type=row_type(_names(left, right), _types(left, right, "inner")))


def _is(expression: Expression, name: str) -> bool:
    return isinstance(expression, Call) and expression.function == name


def _scope(left: Scope, right: Scope, row: RowType) -> Scope:
    both = left.beside(right)
    columns = [
        replace(column, type=field.type)
        for column, field in zip(both.columns, row.fields, strict=True)
    ]
    return Scope(columns, both.tables, left.merged)


def _merged(scope: Scope, pairs: list[tuple[int, int]], kind: JoinKind) -> Scope:
    """The scope of USING: one column for each pair, and in front of all others in ``*``."""
    if not pairs:
        return scope
    columns = list(scope.columns)
    for left, right in pairs:
        gone = left if kind == "right" else right
        columns[gone] = ScopeColumn(columns[gone].name, columns[gone].type, hidden=True)
    merged = tuple((left, right, kind) for left, right in pairs)
    return Scope(columns, scope.tables, (*scope.merged, *merged))
