"""Expressions as they are written: no names are resolved, no types are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.table.sql.nodes import Identifier, Name, Node

if TYPE_CHECKING:
    from millstream.table.sql.queries import Query

__all__ = [
    "Access",
    "ArrayConstructor",
    "Between",
    "BinaryLiteral",
    "BinaryOperation",
    "BooleanLiteral",
    "Call",
    "Case",
    "Cast",
    "Check",
    "ColumnRef",
    "CompoundConstructor",
    "Default",
    "Exists",
    "Expression",
    "Field",
    "InList",
    "InQuery",
    "IntervalLiteral",
    "IntervalQualifier",
    "IntervalValue",
    "JsonBehavior",
    "JsonCall",
    "JsonPair",
    "Like",
    "MapConstructor",
    "ModelArgument",
    "NamedArgument",
    "NullLiteral",
    "NumberLiteral",
    "OrderItem",
    "Over",
    "Parameter",
    "Quantified",
    "QueryConstructor",
    "RowConstructor",
    "ScalarQuery",
    "Star",
    "StringLiteral",
    "Symbol",
    "TableArgument",
    "TemporalLiteral",
    "TimeDifference",
    "TypeName",
    "UnaryOperation",
    "When",
    "WindowBound",
    "WindowFrame",
    "WindowSpec",
]


@dataclass(frozen=True)
class Expression(Node):
    """The base of all expressions."""


@dataclass(frozen=True)
class NullLiteral(Expression):
    """``NULL``."""


@dataclass(frozen=True)
class BooleanLiteral(Expression):
    """``TRUE``, ``FALSE``, or ``UNKNOWN``, whose value is None."""

    value: bool | None


@dataclass(frozen=True)
class NumberLiteral(Expression):
    """A number as it is written. Only a text with an exponent is an approximate number."""

    text: str

    @property
    def is_approximate(self) -> bool:
        return "e" in self.text.lower()


@dataclass(frozen=True)
class StringLiteral(Expression):
    """A character literal, its quotes and escapes resolved."""

    value: str
    charset: str | None = None


@dataclass(frozen=True)
class BinaryLiteral(Expression):
    """``X'0AFF'``."""

    value: bytes


@dataclass(frozen=True)
class TemporalLiteral(Expression):
    """``DATE '2024-01-31'``; `kind` is DATE, TIME, TIMESTAMP or one with a time zone."""

    kind: str
    text: str


@dataclass(frozen=True)
class IntervalQualifier(Node):
    """``DAY(3) TO SECOND(6)``: units in the singular, precisions where they are written."""

    first: str
    last: str | None = None
    precision: int | None = None
    fraction: int | None = None


@dataclass(frozen=True)
class IntervalLiteral(Expression):
    """``INTERVAL -'1 12' DAY TO HOUR``."""

    text: str
    qualifier: IntervalQualifier
    negative: bool = False


@dataclass(frozen=True)
class IntervalValue(Expression):
    """``INTERVAL (a + 1) DAY``: an interval whose length is computed."""

    value: Expression
    qualifier: IntervalQualifier


@dataclass(frozen=True)
class Parameter(Expression):
    """``?``, number `index` of the statement, from 0."""

    index: int


@dataclass(frozen=True)
class ColumnRef(Expression):
    """A name in an expression: a column, perhaps with a table before it and fields behind it."""

    name: Identifier


@dataclass(frozen=True)
class Star(Expression):
    """``*`` or ``t.*`` in a list of columns, and ``*`` in ``COUNT(*)``."""

    qualifier: Identifier | None = None


@dataclass(frozen=True)
class Symbol(Expression):
    """A keyword where a function takes one, such as ``DAY`` in ``FLOOR(t TO DAY)``."""

    name: str


@dataclass(frozen=True)
class Default(Expression):
    """``DEFAULT`` as an argument."""


@dataclass(frozen=True)
class UnaryOperation(Expression):
    """``+a``, ``-a``, ``NOT a``."""

    operator: str
    operand: Expression


@dataclass(frozen=True)
class BinaryOperation(Expression):
    """Two operands and an operator, such as ``+``, ``=``, ``<>``, ``AND``, ``IS DISTINCT FROM``."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class TimeDifference(Expression):
    """``(a - b) DAY``: the time between two times, as an interval of some units."""

    left: Expression
    right: Expression
    qualifier: IntervalQualifier


@dataclass(frozen=True)
class Check(Expression):
    """``a IS [NOT] what``: NULL, TRUE, FALSE, UNKNOWN, JSON, JSON OBJECT, A SET, EMPTY."""

    value: Expression
    what: str
    negated: bool = False


@dataclass(frozen=True)
class Between(Expression):
    """``a [NOT] BETWEEN [SYMMETRIC] low AND high``."""

    value: Expression
    low: Expression
    high: Expression
    negated: bool = False
    symmetric: bool = False


@dataclass(frozen=True)
class InList(Expression):
    """``a [NOT] IN (1, 2)``."""

    value: Expression
    items: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True)
class InQuery(Expression):
    """``a [NOT] IN (SELECT ...)``."""

    value: Expression
    query: Query
    negated: bool = False


@dataclass(frozen=True)
class Like(Expression):
    """``a [NOT] LIKE pattern [ESCAPE e]``; `operator` is LIKE, ILIKE, RLIKE or SIMILAR TO."""

    operator: str
    value: Expression
    pattern: Expression
    escape: Expression | None = None
    negated: bool = False


@dataclass(frozen=True)
class Quantified(Expression):
    """``a > ALL (SELECT ...)`` or ``a = SOME (1, 2)``; ANY is SOME."""

    operator: str
    value: Expression
    quantifier: str
    operand: Query | tuple[Expression, ...]


@dataclass(frozen=True)
class Exists(Expression):
    """``EXISTS (SELECT ...)`` or ``UNIQUE (SELECT ...)``."""

    query: Query
    operator: str = "EXISTS"


@dataclass(frozen=True)
class ScalarQuery(Expression):
    """A query where a value is expected."""

    query: Query


@dataclass(frozen=True)
class When(Node):
    """One branch of a CASE. A CASE with a value may compare it with several ones."""

    conditions: tuple[Expression, ...]
    result: Expression


@dataclass(frozen=True)
class Case(Expression):
    """``CASE [value] WHEN ... THEN ... [ELSE ...] END``."""

    value: Expression | None
    branches: tuple[When, ...]
    otherwise: Expression | None = None


@dataclass(frozen=True)
class TypeName(Node):
    """A type as it is written.

    `name` is in capitals: INT, ROW, ARRAY, TIMESTAMP WITH LOCAL TIME ZONE. `arguments` are its numbers,
    `items` the types in it, `fields` their names, `comments` their comments, `texts` the strings of RAW
    and STRUCTURED, `identifier` the name of a type that is none of Flink's.
    """

    name: str
    arguments: tuple[int, ...] = ()
    items: tuple[TypeName, ...] = ()
    fields: tuple[Name, ...] = ()
    comments: tuple[str | None, ...] = ()
    texts: tuple[str, ...] = ()
    nullable: bool | None = None
    interval: IntervalQualifier | None = None
    identifier: Identifier | None = None


@dataclass(frozen=True)
class Cast(Expression):
    """``CAST(a AS type)`` or ``TRY_CAST(a AS type)``."""

    value: Expression
    type: TypeName
    lenient: bool = False


@dataclass(frozen=True)
class RowConstructor(Expression):
    """``ROW(a, b)`` or ``(a, b)``."""

    items: tuple[Expression, ...]
    explicit: bool = True


@dataclass(frozen=True)
class ArrayConstructor(Expression):
    """``ARRAY[a, b]``."""

    items: tuple[Expression, ...]


@dataclass(frozen=True)
class MapConstructor(Expression):
    """``MAP[k1, v1, k2, v2]``: keys and values in turn."""

    items: tuple[Expression, ...]


@dataclass(frozen=True)
class CompoundConstructor(Expression):
    """``MULTISET[a, b]`` or ``PERIOD (a, b)``."""

    kind: str
    items: tuple[Expression, ...]


@dataclass(frozen=True)
class QueryConstructor(Expression):
    """``ARRAY(SELECT ...)``, ``MAP(...)``, ``MULTISET(...)``."""

    kind: str
    query: Query


@dataclass(frozen=True)
class Access(Expression):
    """``a[1]``: an element of an array, a value of a map."""

    value: Expression
    index: Expression


@dataclass(frozen=True)
class Field(Expression):
    """``(a).b``: a field of something that is not a plain name."""

    value: Expression
    name: Name


@dataclass(frozen=True)
class NamedArgument(Expression):
    """``name => value``."""

    name: Name
    value: Expression


@dataclass(frozen=True)
class TableArgument(Expression):
    """``TABLE t PARTITION BY k ORDER BY ts`` or ``(SELECT ...) PARTITION BY k`` in a call."""

    table: Identifier | Query
    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[OrderItem, ...] = ()


@dataclass(frozen=True)
class ModelArgument(Expression):
    """``MODEL m`` in a call."""

    name: Identifier


@dataclass(frozen=True)
class OrderItem(Node):
    """``a DESC NULLS LAST``; `nulls` is FIRST, LAST or None."""

    value: Expression
    descending: bool = False
    nulls: str | None = None


@dataclass(frozen=True)
class WindowBound(Node):
    """``UNBOUNDED PRECEDING``, ``5 FOLLOWING``, ``CURRENT ROW``; `value` is None if it has none."""

    kind: str
    value: Expression | None = None


@dataclass(frozen=True)
class WindowFrame(Node):
    """``ROWS BETWEEN start AND end``; `end` is None if only one bound is written."""

    unit: str
    start: WindowBound
    end: WindowBound | None = None


@dataclass(frozen=True)
class WindowSpec(Node):
    """The brackets of ``OVER (...)``; `base` is the name of another window."""

    base: Name | None = None
    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    frame: WindowFrame | None = None
    allow_partial: bool | None = None


@dataclass(frozen=True)
class Over(Node):
    """``OVER w`` or ``OVER (...)``."""

    window: Name | WindowSpec


@dataclass(frozen=True)
class Call(Expression):
    """A call of a function.

    `name` is as it is written; functions with a syntax of their own have their name in capitals.
    `quantifier` is DISTINCT, ALL or None. `has_parentheses` is False for ``CURRENT_DATE``.
    """

    name: Identifier
    arguments: tuple[Expression, ...] = ()
    quantifier: str | None = None
    order_by: tuple[OrderItem, ...] = ()
    within_group: tuple[OrderItem, ...] = ()
    within_distinct: tuple[Expression, ...] = ()
    filter: Expression | None = None
    nulls: str | None = None
    over: Over | None = None
    has_parentheses: bool = True


@dataclass(frozen=True)
class JsonBehavior(Node):
    """``NULL ON EMPTY``, ``DEFAULT 1 ON ERROR``; `event` is EMPTY or ERROR."""

    event: str
    kind: str
    value: Expression | None = None


@dataclass(frozen=True)
class JsonPair(Node):
    """``KEY 'a' VALUE b`` of JSON_OBJECT and JSON_OBJECTAGG."""

    key: Expression
    value: Expression
    format_json: bool = False


@dataclass(frozen=True)
class JsonCall(Expression):
    """A JSON function with its clauses.

    `name` is JSON_VALUE, JSON_QUERY, JSON_EXISTS, JSON_OBJECT, JSON_ARRAY, JSON_OBJECTAGG or
    JSON_ARRAYAGG. `wrapper` is that of JSON_QUERY, `on_null` is NULL or ABSENT,
    `order_by` is that of JSON_ARRAYAGG.
    """

    name: str
    arguments: tuple[Expression | JsonPair, ...]
    returning: TypeName | None = None
    behaviors: tuple[JsonBehavior, ...] = ()
    wrapper: str | None = None
    on_null: str | None = None
    passing: tuple[tuple[Expression, Name], ...] = ()
    formatted: tuple[bool, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
