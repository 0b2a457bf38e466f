"""Objects that all parts of the binder share while they bind one text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from millstream.common.errors import PlanError
from millstream.table.logical.algebra import Relation, TablePath
from millstream.table.logical.entries import Names
from millstream.table.logical.problems import Problems
from millstream.table.sql.nodes import Identifier, Node, Source
from millstream.table.sql.queries import Query

if TYPE_CHECKING:
    from millstream.table.logical.expression_binder import ExpressionBinder

__all__ = ["BinderContext"]

BindQuery = Callable[["BinderContext", Query, Any], Relation]


@dataclass(frozen=True)
class BinderContext:
    """The catalogs, the text, the tables of WITH, and how a query inside is bound.

    ``catalog`` and ``database`` take the place of the current ones inside a view. ``table_api``:
    ``+`` joins texts, and the fields of ``ROW(...)`` are f0, f1, and so on. ``found`` gets the tables
    and views of catalogs that the text names, by the beginnings of their names.
    """

    names: Names
    problems: Problems
    bind_query: BindQuery
    tables: dict[str, tuple[Relation, tuple[str, ...]]] = field(default_factory=dict)
    catalog: str | None = None
    database: str | None = None
    views: tuple[str, ...] = ()
    table_api: bool = False
    found: dict[int, tuple[Identifier, TablePath]] = field(default_factory=dict)

    def with_table(self, name: str, relation: Relation, columns: tuple[str, ...]) -> BinderContext:
        """The same with one more table of WITH."""
        return replace(self, tables={**self.tables, name: (relation, columns)})

    def inside_view(
        self, source: Source | None, catalog: str, database: str, view: str
    ) -> BinderContext:
        """The context of the query of a view: it sees no table of WITH."""
        return BinderContext(
            self.names,
            Problems(source),
            self.bind_query,
            {},
            catalog,
            database,
            (*self.views, view),
        )

    def query(self, node: Query, outer: ExpressionBinder | None) -> Relation:
        """The relation of a query inside; ``outer`` binds the columns of the query around it."""
        return self.bind_query(self, node, outer)

    def error(
        self, code: str, message: str, node: Node | None, hint: str | None = None
    ) -> Exception:
        """An error about a part of the text."""
        return self.problems.error(code, message, node, hint)

    def wrapped(self, error: PlanError, node: Node) -> Exception:
        """An error of types with the place in the text."""
        return self.problems.error(error.code, error.message, node, error.hint)
