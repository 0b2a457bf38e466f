"""FROM: tables, views, queries, joins, table functions and windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from millstream.table.expressions.tree import Expression
from millstream.table.logical.algebra import Project, Relation, Scan, Values
from millstream.table.logical.changelogs import CHANGELOG_FUNCTIONS
from millstream.table.logical.context import BinderContext
from millstream.table.logical.emitting import refuse_emit
from millstream.table.logical.entries import TableEntry, ViewEntry
from millstream.table.logical.expression_binder import ExpressionBinder
from millstream.table.logical.hints import check_table_hints, hint_options
from millstream.table.logical.join_binder import JoinBinder
from millstream.table.logical.scopes import Scope, ScopeColumn, ScopeTable
from millstream.table.logical.typing_rules import references, row_type
from millstream.table.logical.window_tables import WINDOW_FUNCTIONS, bind_window_table
from millstream.table.sql import queries
from millstream.table.sql.nodes import Identifier

__all__ = ["ONE_ROW", "Bound", "RelationBinder", "renamed", "unordered"]

Bound = tuple[Relation, Scope]

ONE_ROW = Values(row_type([], []), ((),))
"""One row without columns: what a SELECT without FROM reads."""


class RelationBinder(JoinBinder):
    """Binds what stands in FROM. ``outer`` binds columns of the queries around this one."""

    def __init__(
        self,
        context: BinderContext,
        outer: ExpressionBinder | None = None,
        hints: Sequence[queries.Hint] = (),
    ) -> None:
        self.context = context
        self.outer = outer
        self.hints = tuple(
            (hint.name.text.upper(), hint_options(hint))
            for hint in hints
            if hint.name.text.upper() != "OPTIONS"
        )

    def bind(self, node: queries.Relation) -> Bound:
        """The table and its scope."""
        handler = _HANDLERS.get(type(node))
        if handler is None:
            return self._refused(node)
        return handler(self, node)

    def _refused(self, node: queries.Relation) -> Bound:
        what = {
            queries.MatchRecognize: "MATCH_RECOGNIZE is not there yet; it comes with CEP",
            queries.Sample: "TABLESAMPLE is not supported",
            queries.Snapshot: "FOR SYSTEM_TIME AS OF stands on the right side of a JOIN",
        }.get(type(node), f"{type(node).__name__} is not supported in FROM")
        raise self.context.error("NOT_SUPPORTED", what, node)

    def _table(self, node: queries.TableRef) -> Bound:
        relation, names = self.named(node.name, node.hints)
        return relation, Scope.of(relation.row_type, names)

    def named(
        self, name: Identifier, hints: tuple[queries.Hint, ...] = ()
    ) -> tuple[Relation, tuple[str, ...]]:
        """A table of WITH or of a catalog, and the name it can be called by."""
        parts = name.names
        if len(parts) == 1 and parts[0] in self.context.tables:
            return self.context.tables[parts[0]][0], parts
        context = self.context
        found = context.names.find_table(parts, context.catalog, context.database)
        if found is None:
            raise self._unknown(name)
        context.found[name.span.start] = name, found.path
        path = (found.path.catalog, found.path.database, found.path.name)
        if isinstance(found, ViewEntry):
            return self._view(found, name), path
        check_table_hints(hints, self.context)
        options = [hint_options(h) for h in hints if h.name.text.upper() == "OPTIONS"]
        return _scan(found, tuple(pair for each in options for pair in each)), path

    def _unknown(self, name: Identifier) -> Exception:
        close = self.context.names.similar_tables(name.names[-1])
        withs = [each for each in self.context.tables if each.lower() == name.names[-1].lower()]
        pool = list(dict.fromkeys([*withs, *close]))[:3]
        names = self.context.names
        place = f"{names.current_catalog}.{names.current_database}"
        hint = f"did you mean {' or '.join(pool)}?" if pool else "SHOW TABLES lists all"
        message = f"there is no table {name} (the current database is {place})"
        return self.context.error("UNKNOWN_TABLE", message, name, hint)

    def _view(self, view: ViewEntry, name: Identifier) -> Relation:
        if view.relation is not None:
            return view.relation
        assert view.query is not None
        if str(view.path) in self.context.views:
            message = f"the view {view.path} reads itself"
            raise self.context.error("RECURSIVE_VIEW", message, name, "change its query")
        inside = self.context.inside_view(view.source, view.catalog, view.database, str(view.path))
        relation = inside.query(view.query, None)
        names = view.columns or tuple(each.name for each in view.row_type.fields)
        return renamed(relation, names)

    def _aliased(self, node: queries.Aliased) -> Bound:
        if isinstance(node.relation, queries.Snapshot):
            return self._refused(node.relation)
        relation, scope = self.bind(node.relation)
        return relation, self.aliased(scope, node)

    def aliased(self, scope: Scope, node: queries.Aliased) -> Scope:
        """The scope under another name, perhaps with other names of columns."""
        names = [each.name for each in scope.columns]
        if node.columns:
            if len(node.columns) != len(names):
                given = len(node.columns)
                message = f"{node.name.text} has {len(names)} columns, and {given} names are given"
                raise self.context.error("COLUMN_COUNT", message, node.columns[0], _fitting(names))
            names = [each.text for each in node.columns]
        columns = [
            ScopeColumn(name, each.type) for name, each in zip(names, scope.columns, strict=True)
        ]
        return Scope(columns, [ScopeTable((node.name.text,), 0, len(columns))])

    def _derived(self, node: queries.Derived) -> Bound:
        relation = self.context.query(unordered(node.query), self.outer)
        return relation, Scope.of(relation.row_type)

    def _function(self, node: queries.FunctionTable) -> Bound:
        name = node.call.name.names[-1].upper()
        if self.context.names.find_function(node.call.name.names) is None:
            if name in WINDOW_FUNCTIONS:
                refuse_emit(self.context, node.call)
                relation = bind_window_table(
                    self.context, node.call, self._table_argument, self.outer
                )
                return relation, Scope.of(relation.row_type)
            if name in CHANGELOG_FUNCTIONS:
                bind = CHANGELOG_FUNCTIONS[name]
                relation = bind(self.context, node.call, self._table_argument)
                return relation, Scope.of(relation.row_type)
        return self.correlated((ONE_ROW, Scope(())), node, None, "inner", None)

    def _table_argument(self, table: Any) -> Relation:
        if isinstance(table, Identifier):
            return self.named(table)[0]
        return self.context.query(unordered(table), self.outer)

    def _unnest(self, node: queries.Unnest) -> Bound:
        return self.correlated((ONE_ROW, Scope(())), node, None, "inner", None)


def unordered(query: queries.Query) -> queries.Query:
    """A query whose rows go into another one: their order counts only if it chooses rows."""
    chooses = query.limit is not None or query.offset is not None
    return query if chooses or not query.order_by else replace(query, order_by=())


def _fitting(names: Sequence[str]) -> str:
    return f"name all of them: {', '.join(names)}"


def _scan(entry: TableEntry, options: tuple[tuple[str, str], ...]) -> Relation:
    return Scan(entry.row_type, entry.path, options)


def renamed(relation: Relation, names: Sequence[str]) -> Relation:
    """The table with other names of its columns."""
    fields = relation.row_type.fields
    if tuple(names) == tuple(each.name for each in fields):
        return relation
    row = row_type(list(names), [each.type for each in fields])
    columns: tuple[Expression, ...] = references(relation.row_type)
    return Project(row, relation, columns)


_HANDLERS: dict[type, Callable[[Any, Any], Bound]] = {
    queries.TableRef: RelationBinder._table,
    queries.Aliased: RelationBinder._aliased,
    queries.Derived: RelationBinder._derived,
    queries.FunctionTable: RelationBinder._function,
    queries.Unnest: RelationBinder._unnest,
    queries.Join: RelationBinder.join,
}
