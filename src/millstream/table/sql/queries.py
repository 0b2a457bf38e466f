"""Queries and what stands in their FROM."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.table.sql.expressions import (
    Call,
    Expression,
    OrderItem,
    StringLiteral,
    WindowSpec,
)
from millstream.table.sql.nodes import Identifier, Name, Node

__all__ = [
    "Aliased",
    "CommonTable",
    "Derived",
    "FunctionTable",
    "GroupBy",
    "GroupingSets",
    "Hint",
    "HintOption",
    "Join",
    "MatchDefine",
    "MatchMeasure",
    "MatchRecognize",
    "NamedWindow",
    "Pattern",
    "PatternAlternation",
    "PatternConcat",
    "PatternExclude",
    "PatternPermute",
    "PatternQuantifier",
    "PatternSymbol",
    "Query",
    "QueryBody",
    "Relation",
    "Sample",
    "Select",
    "SelectItem",
    "SetOperation",
    "Snapshot",
    "TableBody",
    "TableRef",
    "Unnest",
    "Values",
]


@dataclass(frozen=True)
class HintOption(Node):
    """``'key' = 'value'`` or one value of a hint; then `key` is None."""

    key: StringLiteral | Identifier | None
    value: Expression


@dataclass(frozen=True)
class Hint(Node):
    """``OPTIONS('a' = 'b')`` in ``/*+ ... */``."""

    name: Name
    options: tuple[HintOption, ...] = ()


@dataclass(frozen=True)
class Relation(Node):
    """The base of everything in FROM."""


@dataclass(frozen=True)
class TableRef(Relation):
    """A table, a view or the name of a WITH."""

    name: Identifier
    hints: tuple[Hint, ...] = ()


@dataclass(frozen=True)
class Snapshot(Relation):
    """``t FOR SYSTEM_TIME AS OF time``."""

    relation: Relation
    time: Expression


@dataclass(frozen=True)
class Derived(Relation):
    """A query in brackets."""

    query: Query
    lateral: bool = False


@dataclass(frozen=True)
class FunctionTable(Relation):
    """``TABLE(f(x))``, ``LATERAL TABLE(f(x))`` or ``f(x)``."""

    call: Call
    lateral: bool = False
    wrapped: bool = True


@dataclass(frozen=True)
class Unnest(Relation):
    """``UNNEST(a) [WITH ORDINALITY]``."""

    items: tuple[Expression, ...]
    ordinality: bool = False
    lateral: bool = False


@dataclass(frozen=True)
class Aliased(Relation):
    """``relation AS name (columns)``."""

    relation: Relation
    name: Name
    columns: tuple[Name, ...] = ()


@dataclass(frozen=True)
class Sample(Relation):
    """``relation TABLESAMPLE BERNOULLI (10) REPEATABLE (3)``; a named sample has a `name`."""

    relation: Relation
    method: str | None = None
    percentage: Expression | None = None
    seed: Expression | None = None
    name: str | None = None


@dataclass(frozen=True)
class Join(Relation):
    """Two relations. `kind` is INNER, LEFT, RIGHT, FULL, CROSS or COMMA.

    `using` is empty unless it is written; a join needs no condition here, the binder looks at it.
    """

    kind: str
    left: Relation
    right: Relation
    condition: Expression | None = None
    using: tuple[Name, ...] = ()
    natural: bool = False


@dataclass(frozen=True)
class Pattern(Node):
    """The base of the parts of PATTERN."""


@dataclass(frozen=True)
class PatternSymbol(Pattern):
    """A variable, or one of the anchors ``^`` and ``$``."""

    name: str


@dataclass(frozen=True)
class PatternConcat(Pattern):
    """``A B C``."""

    items: tuple[Pattern, ...]


@dataclass(frozen=True)
class PatternAlternation(Pattern):
    """``A | B``."""

    items: tuple[Pattern, ...]


@dataclass(frozen=True)
class PatternPermute(Pattern):
    """``PERMUTE(A, B)``."""

    items: tuple[Pattern, ...]


@dataclass(frozen=True)
class PatternExclude(Pattern):
    """``{- A -}``."""

    pattern: Pattern


@dataclass(frozen=True)
class PatternQuantifier(Pattern):
    """``A{1,3}?``; `most` is None where there is no limit."""

    pattern: Pattern
    least: int
    most: int | None
    reluctant: bool = False


@dataclass(frozen=True)
class MatchMeasure(Node):
    """``expression AS name`` in MEASURES."""

    value: Expression
    name: Name


@dataclass(frozen=True)
class MatchDefine(Node):
    """``name AS condition`` in DEFINE."""

    name: Name
    condition: Expression


@dataclass(frozen=True)
class MatchRecognize(Relation):
    """``relation MATCH_RECOGNIZE (...)``.

    `after` is NEXT ROW, PAST LAST ROW, FIRST, LAST or None; `after_symbol` goes with the last two.
    """

    relation: Relation
    pattern: Pattern
    defines: tuple[MatchDefine, ...]
    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    measures: tuple[MatchMeasure, ...] = ()
    rows: str | None = None
    after: str | None = None
    after_symbol: Name | None = None
    strict_start: bool = False
    strict_end: bool = False
    within: Expression | None = None
    subsets: tuple[tuple[Name, tuple[Name, ...]], ...] = ()


@dataclass(frozen=True)
class SelectItem(Node):
    """An expression or star of a SELECT, with its alias."""

    value: Expression
    alias: Name | None = None


@dataclass(frozen=True)
class GroupingSets(Node):
    """``GROUPING SETS (...)``, ``ROLLUP (...)``, ``CUBE (...)``. An element is a list of expressions."""

    kind: str
    elements: tuple[tuple[Expression, ...] | GroupingSets, ...]


@dataclass(frozen=True)
class GroupBy(Node):
    """``GROUP BY [ALL | DISTINCT] a, ()``; an empty tuple is ``()``."""

    items: tuple[Expression | GroupingSets | tuple[()], ...]
    quantifier: str | None = None


@dataclass(frozen=True)
class NamedWindow(Node):
    """``w AS (...)`` of WINDOW."""

    name: Name
    spec: WindowSpec


@dataclass(frozen=True)
class QueryBody(Node):
    """The base of what WITH and ORDER BY can stand around."""


@dataclass(frozen=True)
class Select(QueryBody):
    """``SELECT ...``; `quantifier` is DISTINCT, ALL or None."""

    items: tuple[SelectItem, ...]
    quantifier: str | None = None
    hints: tuple[Hint, ...] = ()
    from_: Relation | None = None
    where: Expression | None = None
    group_by: GroupBy | None = None
    having: Expression | None = None
    windows: tuple[NamedWindow, ...] = ()
    qualify: Expression | None = None
    stream: bool = False


@dataclass(frozen=True)
class Values(QueryBody):
    """``VALUES (1, 'a'), (2, 'b')``."""

    rows: tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True)
class TableBody(QueryBody):
    """``TABLE t`` as a query."""

    name: Identifier


@dataclass(frozen=True)
class SetOperation(QueryBody):
    """UNION, INTERSECT or EXCEPT of two queries; `all` keeps equal rows."""

    operator: str
    all: bool
    left: QueryBody | Query
    right: QueryBody | Query


@dataclass(frozen=True)
class CommonTable(Node):
    """``name (columns) AS (query)`` of WITH."""

    name: Name
    columns: tuple[Name, ...]
    query: Query


@dataclass(frozen=True)
class Query(Node):
    """A whole query. `limit` stands for LIMIT and FETCH; LIMIT ALL is no limit."""

    body: QueryBody | Query
    with_: tuple[CommonTable, ...] = ()
    recursive: bool = False
    order_by: tuple[OrderItem, ...] = ()
    offset: Expression | None = None
    limit: Expression | None = None
