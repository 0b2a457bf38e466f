"""SELECT: the nodes of one query block, from FROM up to the list of columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from millstream.table.expressions.tree import Expression, FieldAccess
from millstream.table.logical.algebra import Distinct, Filter, Project, Relation, Values
from millstream.table.logical.context import BinderContext
from millstream.table.logical.expression_binder import ExpressionBinder
from millstream.table.logical.grouping import GroupedExpressions, has_aggregate
from millstream.table.logical.hints import check_query_hints
from millstream.table.logical.join_binder import TRUE, with_times
from millstream.table.logical.over_binder import SelectExpressions
from millstream.table.logical.problems import nearest
from millstream.table.logical.relation_binder import RelationBinder
from millstream.table.logical.scopes import Scope
from millstream.table.logical.sorting import Sorting, ordinal, sorted_relation
from millstream.table.logical.typing_rules import plain_type, row_type
from millstream.table.sql import expressions as sql
from millstream.table.sql import queries
from millstream.table.types.logical import RowType

__all__ = ["bind_select"]

_ONE_ROW = Values(row_type(["$there"], [TRUE.type]), ((TRUE,),))
"""What a SELECT without FROM reads. Joins with subqueries keep rows by their columns, so it has one."""


@dataclass(frozen=True)
class _Item:
    name: str
    expression: Expression


def bind_select(
    context: BinderContext,
    select: queries.Select,
    order_by: tuple[sql.OrderItem, ...],
    outer: ExpressionBinder | None,
) -> Relation:
    """The relation of a SELECT with the ORDER BY behind it."""
    return _Select(context, select, outer).relation(order_by)


class _Select:
    def __init__(
        self, context: BinderContext, select: queries.Select, outer: ExpressionBinder | None
    ) -> None:
        self.context = context
        self.select = select
        check_query_hints(select.hints, select.from_, context)
        relations = RelationBinder(context, outer, select.hints)
        self.hints = relations.hints
        if select.from_ is None:
            self.base: Relation = _ONE_ROW
            self.scope = Scope(())
        else:
            self.base, self.scope = relations.bind(select.from_)
        self.inner = ExpressionBinder(context, self.scope, outer)
        self.outer = outer

    def relation(self, order_by: tuple[sql.OrderItem, ...]) -> Relation:
        """All nodes: filter, groups, windows, projection, distinct, order."""
        select = self.select
        if select.where is not None:
            self._check_where(select.where)
            condition = self.inner.condition(select.where, "WHERE")
            self._restore_times(condition)
            self.base = Filter(self.base.row_type, self.base, condition)
        binder = self._binder(order_by)
        items = self._items(binder)
        having = None if select.having is None else binder.condition(select.having, "HAVING")
        qualify = None if select.qualify is None else binder.condition(select.qualify, "QUALIFY")
        sortings = [self._sorting(each, items, binder) for each in order_by]
        hidden = [each.expression for each in sortings if each.expression is not None]
        if isinstance(binder, GroupedExpressions):
            self.base = binder.relation(self.base, self.hints)
            if having is not None:
                self.base = Filter(self.base.row_type, self.base, having)
        expressions = [*(each.expression for each in items), *hidden]
        if qualify is not None:
            expressions.append(qualify)
        base, expressions = binder.with_overs(self.base, expressions)
        if qualify is not None:
            base = Filter(base.row_type, base, expressions.pop())
        return self._finished(base, items, expressions, sortings)

    def _finished(
        self,
        base: Relation,
        items: list[_Item],
        expressions: list[Expression],
        sortings: list[Sorting],
    ) -> Relation:
        names = [each.name for each in items]
        extra = [f"$s{at}" for at in range(len(expressions) - len(items))]
        row = row_type([*names, *extra], [each.type for each in expressions])
        relation: Relation = Project(row, base, tuple(expressions))
        if self.select.quantifier == "DISTINCT":
            types = [plain_type(each.type) for each in relation.row_type.fields]
            relation = Distinct(row_type(names, types), relation)
        return sorted_relation(relation, sortings, len(items))

    def _restore_times(self, condition: Expression) -> None:
        """Let a join of near times keep its times, also if WHERE says how near they are."""
        timed = with_times(self.base, condition)
        if timed is self.base:
            return
        pairs = zip(self.scope.columns, timed.row_type.fields, strict=True)
        columns = [replace(column, type=field.type) for column, field in pairs]
        self.base = timed
        self.scope = Scope(columns, self.scope.tables, self.scope.merged)
        self.inner = ExpressionBinder(self.context, self.scope, self.outer)

    def _check_where(self, node: sql.Expression) -> None:
        if has_aggregate(node, self.inner):
            message = "WHERE cannot have an aggregate: it looks at rows before they are grouped"
            raise self.context.error("AGGREGATE_NOT_ALLOWED", message, node, "use HAVING")

    def _binder(self, order_by: tuple[sql.OrderItem, ...]) -> SelectExpressions:
        select = self.select
        nodes: list[Any] = [each.value for each in select.items]
        nodes += [each.value for each in order_by]
        nodes += [each for each in (select.having, select.qualify) if each is not None]
        grouped = select.group_by is not None or select.having is not None
        if grouped or any(has_aggregate(node, self.inner) for node in nodes):
            binder: SelectExpressions = GroupedExpressions(self.inner, self.base, select.group_by)
        else:
            binder = SelectExpressions(self.context, self.scope, self.outer)
        binder.windows = {each.name.text: each.spec for each in select.windows}
        return binder

    # The list of columns.

    def _items(self, binder: SelectExpressions) -> list[_Item]:
        found: list[_Item] = []
        for item in self.select.items:
            if isinstance(item.value, sql.Star):
                found += self._starred(item.value, binder)
                continue
            name = item.alias.text if item.alias is not None else _derived_name(item.value)
            expression = binder.bind(item.value)
            number = len({each.name for each in found})
            found.append(_Item(name or f"EXPR${number}", expression))
        return found

    def _starred(self, node: sql.Star, binder: SelectExpressions) -> list[_Item]:
        if self.select.from_ is None:
            raise self.context.error("STAR", "* needs a FROM", node, "add FROM t, or name values")
        columns = self.scope.star() if node.qualifier is None else self._qualified(node)
        if isinstance(binder, GroupedExpressions):
            columns = [(name, binder._from_key(each, node)) for name, each in columns]
        return [_Item(name, each) for name, each in columns]

    def _qualified(self, node: sql.Star) -> list[tuple[str, Expression]]:
        assert node.qualifier is not None
        table = self.scope.table(node.qualifier.names)
        if table is not None:
            places = range(table.start, table.stop)
            return [(self.scope.columns[at].name, self.scope.reference(at)) for at in places]
        column = self.scope.find(node.qualifier, self.context.problems)
        if column is not None and isinstance(column.type, RowType):
            return [
                (each.name, FieldAccess(_outer_null(each.type, column.type), column, at))
                for at, each in enumerate(column.type.fields)
            ]
        tables = [each.name[-1] for each in self.scope.tables]
        close = nearest(str(node.qualifier), tables)
        hint = f"did you mean {close[0]}.*?" if close else f"tables here: {', '.join(tables)}"
        message = f"there is no table {node.qualifier} in FROM"
        raise self.context.error("UNKNOWN_TABLE", message, node.qualifier, hint)

    # ORDER BY.

    def _sorting(
        self, item: sql.OrderItem, items: list[_Item], binder: SelectExpressions
    ) -> Sorting:
        names = [each.name for each in items]
        at = ordinal(self.context, item, len(items))
        if at is None and isinstance(item.value, sql.ColumnRef):
            parts = item.value.name.names
            if len(parts) == 1 and parts[0] in names:
                at = names.index(parts[0])
        if at is None:
            expression = binder.bind(item.value)
            known = [each.expression for each in items]
            if expression not in known:
                if self.select.quantifier == "DISTINCT":
                    message = "ORDER BY of SELECT DISTINCT takes columns of the list only"
                    hint = "add it to SELECT"
                    raise self.context.error("ORDER_BY", message, item.value, hint)
                return Sorting(None, expression, item)
            at = known.index(expression)
        return Sorting(at, None, item)


def _outer_null(kind: Any, row: RowType) -> Any:
    return kind.with_nullability(True) if row.nullable else kind


def _derived_name(node: sql.Expression) -> str | None:
    if isinstance(node, sql.ColumnRef):
        return node.name.names[-1]
    if isinstance(node, sql.Field):
        return node.name.text
    if isinstance(node, sql.Call) and not node.has_parentheses:
        return node.name.names[-1]
    return None
