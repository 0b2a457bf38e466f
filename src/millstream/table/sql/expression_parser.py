"""Operators, and the operands that are no calls.

Precedences are Calcite's: a larger number binds tighter. NOT, + and - may stand before every operand.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from millstream.table.sql.errors import SqlError
from millstream.table.sql.expressions import (
    Access,
    ArrayConstructor,
    Between,
    BinaryLiteral,
    BinaryOperation,
    BooleanLiteral,
    Case,
    Check,
    ColumnRef,
    CompoundConstructor,
    Exists,
    Expression,
    Field,
    InList,
    InQuery,
    IntervalLiteral,
    IntervalValue,
    Like,
    MapConstructor,
    NullLiteral,
    NumberLiteral,
    OrderItem,
    Parameter,
    Quantified,
    QueryConstructor,
    RowConstructor,
    ScalarQuery,
    TemporalLiteral,
    TimeDifference,
    UnaryOperation,
    When,
)
from millstream.table.sql.lexer import Token
from millstream.table.sql.nodes import Source
from millstream.table.sql.queries import Query
from millstream.table.sql.type_parser import TypeParser

__all__ = ["ExpressionParser"]

_T = TypeVar("_T")

_NOT, _IS, _COMPARE, _RANGE, _SIGN = 26, 28, 30, 32, 80
_BINARY = {
    "OR": 22,
    "AND": 24,
    "=": _COMPARE,
    "<>": _COMPARE,
    "<": _COMPARE,
    "<=": _COMPARE,
    ">": _COMPARE,
    ">=": _COMPARE,
    "CONTAINS": _COMPARE,
    "OVERLAPS": _COMPARE,
    "EQUALS": _COMPARE,
    "PRECEDES": _COMPARE,
    "SUCCEEDS": _COMPARE,
    "+": 40,
    "-": 40,
    "*": 60,
    "/": 60,
    "%": 60,
    "||": 60,
}
_COMPARISONS = {"=", "<>", "<", "<=", ">", ">="}
_SEVERAL_WORDS = (
    (("IMMEDIATELY", "PRECEDES"), _COMPARE),
    (("IMMEDIATELY", "SUCCEEDS"), _COMPARE),
    (("MEMBER", "OF"), _COMPARE),
    (("SUBMULTISET", "OF"), _COMPARE),
    (("MULTISET", "UNION", "ALL"), 50),
    (("MULTISET", "UNION", "DISTINCT"), 50),
    (("MULTISET", "UNION"), 50),
    (("MULTISET", "EXCEPT", "ALL"), 50),
    (("MULTISET", "EXCEPT", "DISTINCT"), 50),
    (("MULTISET", "EXCEPT"), 50),
    (("MULTISET", "INTERSECT", "ALL"), 60),
    (("MULTISET", "INTERSECT", "DISTINCT"), 60),
    (("MULTISET", "INTERSECT"), 60),
)
_CHECKS = (
    ("NULL",),
    ("TRUE",),
    ("FALSE",),
    ("UNKNOWN",),
    ("A", "SET"),
    ("EMPTY",),
    ("JSON", "VALUE"),
    ("JSON", "OBJECT"),
    ("JSON", "ARRAY"),
    ("JSON", "SCALAR"),
    ("JSON",),
)
_LIKES = (("LIKE",), ("ILIKE",), ("RLIKE",), ("SIMILAR", "TO"))
_TEMPORAL = (
    ("DATE",),
    ("TIME",),
    ("TIMESTAMP", "WITH", "LOCAL", "TIME", "ZONE"),
    ("TIMESTAMP",),
)
_QUERY_STARTS = ("SELECT", "VALUES", "VALUE", "WITH", "TABLE")


class ExpressionParser(TypeParser):
    """Reads expressions; calls and queries are read by the parsers that build on it."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._failed: dict[int, SqlError] = {}

    @abstractmethod
    def query(self) -> Query:
        """A query with WITH, ORDER BY and LIMIT."""

    @abstractmethod
    def call_or_column(self) -> Expression:
        """A call of a function, a column, or a star with a qualifier."""

    def at_query(self) -> bool:
        """Whether a query begins here, perhaps in brackets."""
        distance = 0
        while self.ahead(distance).text == "(":
            distance += 1
        token = self.ahead(distance)
        if token.kind != "word" or token.text not in _QUERY_STARTS:
            return False
        if not distance or token.text != "TABLE":
            return True
        return self.ahead(distance + 1).text != "("

    def either(self, first: Callable[[], _T], second: Callable[[], _T]) -> _T:
        """Read in the first way or, if it fails, in the second one; the error is the later one."""
        place, parameters = self.place, self.parameters
        try:
            return first()
        except SqlError as error:
            self.place, self.parameters = place, parameters
            try:
                return second()
            except SqlError as other:
                later = (other.line, other.column) >= (error.line, error.column)
                raise (other if later else error) from None

    def query_in_brackets(self) -> Query:
        failed = self._failed.get(self.place)
        if failed is not None:
            # Brackets in brackets are tried in two ways; without this, the work would double with each.
            raise failed
        place = self.place
        try:
            self.expect("(")
            if not self.at_query():
                self.fail("a query")
            query = self.query()
            self.expect(")")
        except SqlError as error:
            self._failed[place] = error
            raise
        return query

    def expressions(self) -> tuple[Expression, ...]:
        """Expressions with commas between them, at least one."""
        found = [self.expression()]
        while self.accept(","):
            found.append(self.expression())
        return tuple(found)

    def order_items(self) -> tuple[OrderItem, ...]:
        """The items behind ORDER BY."""
        items = [self.order_item()]
        while self.accept(","):
            items.append(self.order_item())
        return tuple(items)

    def order_item(self) -> OrderItem:
        start = self.token
        value = self.expression()
        descending = self.accept_any("ASC", "DESC") == "DESC"
        nulls = self.expect_any("FIRST", "LAST") if self.accept("NULLS") else None
        return OrderItem(value, descending, nulls, span=self.since(start))

    # Operators

    def expression(self, weakest: int = 0) -> Expression:
        """An expression of operators that bind at least as tight as `weakest`."""
        with self.nested():
            left = self._prefixed()
        while True:
            longer = self._binary(left, weakest) or self._predicate(left, weakest)
            if longer is None:
                return left
            left = longer

    def _prefixed(self) -> Expression:
        start = self.token
        if self.accept("NOT"):
            operand = self.expression(_NOT)
            return UnaryOperation("NOT", operand, span=self.since(start))
        if sign := self.accept_any("+", "-"):
            operand = self.expression(_SIGN)
            return UnaryOperation(sign, operand, span=self.since(start))
        if word := self.accept_any("EXISTS", "UNIQUE"):
            query = self.query_in_brackets()
            return Exists(query, word, span=self.since(start))
        return self._postfixed(self._operand())

    def _binary(self, left: Expression, weakest: int) -> Expression | None:
        token = self.token
        if token.text == "!=" and token.kind == "sign":
            raise self.error("SQL_SYNTAX", "Flink does not know !=", token, "write <>")
        precedence = _BINARY.get(token.text, -1) if token.kind in ("word", "sign") else -1
        if precedence >= weakest:
            self.advance()
            if token.text in _COMPARISONS and self.at_any("SOME", "ANY", "ALL"):
                return self._quantified(left, token.text)
            right = self.expression(precedence + 1)
            return BinaryOperation(token.text, left, right, span=self.since(left.span))
        for words, precedence in _SEVERAL_WORDS:
            if precedence >= weakest and token.text == words[0] and self.accept(*words):
                right = self.expression(precedence + 1)
                return BinaryOperation(" ".join(words), left, right, span=self.since(left.span))
        return None

    def _quantified(self, left: Expression, operator: str) -> Expression:
        quantifier = self.expect_any("SOME", "ANY", "ALL").replace("ANY", "SOME")
        operand = self._query_or_list()
        return Quantified(operator, left, quantifier, operand, span=self.since(left.span))

    def _query_or_list(self) -> Query | tuple[Expression, ...]:
        def query() -> Query | tuple[Expression, ...]:
            return self.query_in_brackets()

        def items() -> Query | tuple[Expression, ...]:
            self.expect("(")
            found = self.expressions()
            self.expect(")")
            return found

        if self.at("(", "("):
            return self.either(query, items)
        return query() if self.at("(") and self.at_query() else items()

    def _predicate(self, left: Expression, weakest: int) -> Expression | None:
        if weakest <= _IS and self.at("IS"):
            return self._is(left)
        if weakest > _RANGE:
            return None
        place = self.place
        negated = self.accept("NOT")
        if self.accept("BETWEEN"):
            return self._between(left, negated)
        if self.accept("IN"):
            return self._in(left, negated)
        for words in _LIKES:
            if self.accept(*words):
                return self._like(left, " ".join(words), negated)
        self.place = place
        return None

    def _is(self, left: Expression) -> Expression:
        self.expect("IS")
        negated = self.accept("NOT")
        if self.accept("DISTINCT", "FROM"):
            right = self.expression(_COMPARE + 1)
            operator = "IS NOT DISTINCT FROM" if negated else "IS DISTINCT FROM"
            return BinaryOperation(operator, left, right, span=self.since(left.span))
        for words in _CHECKS:
            if self.accept(*words):
                return Check(left, " ".join(words), negated, span=self.since(left.span))
        self.fail()

    def _between(self, left: Expression, negated: bool) -> Expression:
        symmetric = self.accept_any("SYMMETRIC", "ASYMMETRIC") == "SYMMETRIC"
        low = self.expression(_RANGE + 1)
        self.expect("AND")
        high = self.expression(_RANGE + 1)
        return Between(left, low, high, negated, symmetric, span=self.since(left.span))

    def _in(self, left: Expression, negated: bool) -> Expression:
        found = self._query_or_list()
        if isinstance(found, tuple):
            return InList(left, found, negated, span=self.since(left.span))
        return InQuery(left, found, negated, span=self.since(left.span))

    def _like(self, left: Expression, operator: str, negated: bool) -> Expression:
        pattern = self.expression(_RANGE + 1)
        escape = self.expression(_RANGE + 1) if self.accept("ESCAPE") else None
        return Like(operator, left, pattern, escape, negated, span=self.since(left.span))

    def _postfixed(self, value: Expression) -> Expression:
        while True:
            if self.accept("["):
                index = self.expression()
                self.expect("]")
                value = Access(value, index, span=self.since(value.span))
            elif self.at(".") and self.ahead().kind in ("word", "quoted"):
                self.advance()
                name = self.name("the name of a field")
                value = Field(value, name, span=self.since(value.span))
            else:
                return value

    # Operands

    def _operand(self) -> Expression:
        token = self.token
        if token.kind == "number":
            self.advance()
            return NumberLiteral(token.raw, span=self.since(token))
        if self.at_string():
            return self.string_literal()
        if token.kind == "binary":
            return self._binary_literal(token)
        if token.kind == "word":
            reader = _WORDS.get(token.text)
            found = reader(self, token) if reader else None
            return found or self.call_or_column()
        if token.kind == "quoted":
            return self.call_or_column()
        if self.accept("?"):
            self.parameters += 1
            return Parameter(self.parameters - 1, span=self.since(token))
        if self.at("("):
            return self._in_brackets(token)
        if self.accept("{"):
            return self._escape(token)
        self.fail("an expression")

    def _binary_literal(self, token: Token) -> Expression:
        self.advance()
        digits = token.raw[2:-1]
        while self.at_kind("string"):
            digits += self.advance().raw[1:-1]
        try:
            value = bytes.fromhex(digits)
        except ValueError:
            value = b""
        if value.hex() != digits.lower():
            hint = "write two hexadecimal digits for each byte"
            raise self.error("SQL_LITERAL", f"{token.raw} is no binary literal", token, hint)
        return BinaryLiteral(value, span=self.since(token))

    def _in_brackets(self, start: Token) -> Expression:
        def query() -> Expression:
            return ScalarQuery(self.query_in_brackets(), span=self.since(start))

        if self.at("(", "(") and self.at_query():
            return self.either(query, lambda: self._list_in_brackets(start))
        return query() if self.at_query() else self._list_in_brackets(start)

    def _list_in_brackets(self, start: Token) -> Expression:
        self.expect("(")
        items = self.expressions()
        self.expect(")")
        if self.at_unit():
            return self._time_difference(items, start)
        if len(items) == 1:
            return items[0]
        return RowConstructor(items, explicit=False, span=self.since(start))

    def _time_difference(self, items: tuple[Expression, ...], start: Token) -> Expression:
        unit = self.token
        qualifier = self.interval_qualifier()
        found = items[0]
        if len(items) > 1 or not isinstance(found, BinaryOperation) or found.operator != "-":
            message = "a unit of time stands only behind a difference of two times"
            raise self.error("SQL_CLAUSE", message, unit, "write AS before a name")
        return TimeDifference(found.left, found.right, qualifier, span=self.since(start))

    def _escape(self, start: Token) -> Expression:
        """``{fn f(x)}``, ``{d '...'}``, ``{t '...'}``, ``{ts '...'}``."""
        kinds = {"D": "DATE", "T": "TIME", "TS": "TIMESTAMP"}
        word = self.accept_any(*kinds, "FN")
        if word == "FN":
            found = self.call_or_column()
            if isinstance(found, ColumnRef):
                self.fail()
        elif word:
            found = self._escaped_time(kinds[word], start)
        else:
            self.fail()
        self.expect("}")
        return found

    def _escaped_time(self, kind: str, start: Token) -> Expression:
        text = self.plain_string()
        readers: dict[str, Callable[[str], object]] = {
            "DATE": date.fromisoformat,
            "TIME": time.fromisoformat,
            "TIMESTAMP": datetime.fromisoformat,
        }
        try:
            readers[kind](text)
        except ValueError:
            message = f"{text!r} is no {kind}"
            raise self.error("SQL_LITERAL", message, start, "write it as in 2024-01-31") from None
        return TemporalLiteral(kind, text, span=self.since(start))

    def _null(self, token: Token) -> Expression:
        self.advance()
        return NullLiteral(span=self.since(token))

    def _boolean(self, token: Token) -> Expression:
        self.advance()
        value = {"TRUE": True, "FALSE": False}.get(token.text)
        return BooleanLiteral(value, span=self.since(token))

    def _temporal(self, token: Token) -> Expression | None:
        for words in _TEMPORAL:
            if self.at(*words) and self.ahead(len(words)).kind == "string":
                self.accept(*words)
                text = self.plain_string()
                return TemporalLiteral(" ".join(words), text, span=self.since(token))
        return None

    def _decimal_literal(self, token: Token) -> Expression | None:
        if self.ahead().kind != "string":
            return None
        self.advance()
        text = self.plain_string()
        try:
            Decimal(text)
        except InvalidOperation:
            message = f"{text!r} is no decimal number"
            raise self.error("SQL_LITERAL", message, token) from None
        return NumberLiteral(text, span=self.since(token))

    def _interval(self, token: Token) -> Expression:
        self.advance()
        negative = self.accept_any("+", "-") == "-"
        if self.at_kind("string"):
            text = self.plain_string()
            qualifier = self.interval_qualifier()
            return IntervalLiteral(text, qualifier, negative, span=self.since(token))
        value: Expression
        if self.accept("("):
            value = self.expression()
            self.expect(")")
        elif self.at_kind("number"):
            number = self.advance()
            value = NumberLiteral(number.raw, span=self.span_of(number))
        else:
            name = self.identifier()
            value = ColumnRef(name, span=name.span)
        if negative:
            value = UnaryOperation("-", value, span=self.since(token))
        qualifier = self.single_unit()
        return IntervalValue(value, qualifier, span=self.since(token))

    def _case(self, token: Token) -> Expression:
        self.advance()
        value = None if self.at("WHEN") else self.expression()
        branches = []
        while self.at("WHEN"):
            start = self.advance()
            conditions = self.expressions()
            if value is None and len(conditions) > 1:
                hint = "write CASE value WHEN 1, 2 THEN ..., or join the conditions by OR"
                message = "WHEN has several conditions, and CASE has no value"
                raise self.error("SQL_CLAUSE", message, conditions[1].span, hint)
            self.expect("THEN")
            result = self.expression()
            branches.append(When(conditions, result, span=self.since(start)))
        if not branches:
            self.fail()
        otherwise = self.expression() if self.accept("ELSE") else None
        self.expect("END")
        return Case(value, tuple(branches), otherwise, span=self.since(token))

    def _row(self, token: Token) -> Expression:
        self.advance()
        self.expect("(")
        items = self.expressions()
        self.expect(")")
        return RowConstructor(items, span=self.since(token))

    def _collection(self, token: Token) -> Expression | None:
        opening = self.ahead().text
        if opening not in ("[", "("):
            return None
        if opening == "(":
            return self._collection_of_query(token)
        self.advance()
        self.expect("[")
        items = () if self.at("]") and token.text != "MULTISET" else self.expressions()
        self.expect("]")
        if token.text == "ARRAY":
            return ArrayConstructor(items, span=self.since(token))
        if token.text == "MAP":
            if len(items) % 2:
                message = "MAP has a key without a value"
                hint = "write keys and values in turn: MAP['k1', 1, 'k2', 2]"
                raise self.error("SQL_CLAUSE", message, items[-1].span, hint)
            return MapConstructor(items, span=self.since(token))
        return CompoundConstructor(token.text, items, span=self.since(token))

    def _collection_of_query(self, token: Token) -> Expression | None:
        self.advance()
        if not self.at_query():
            self.place -= 1
            return None
        query = self.query_in_brackets()
        return QueryConstructor(token.text, query, span=self.since(token))

    def _period(self, token: Token) -> Expression | None:
        if self.ahead().text != "(":
            return None
        self.advance()
        self.expect("(")
        first = self.expression()
        self.expect(",")
        second = self.expression()
        self.expect(")")
        return CompoundConstructor("PERIOD", (first, second), span=self.since(token))


_WORDS = {
    "NULL": ExpressionParser._null,
    "TRUE": ExpressionParser._boolean,
    "FALSE": ExpressionParser._boolean,
    "UNKNOWN": ExpressionParser._boolean,
    "DATE": ExpressionParser._temporal,
    "TIME": ExpressionParser._temporal,
    "TIMESTAMP": ExpressionParser._temporal,
    "DECIMAL": ExpressionParser._decimal_literal,
    "INTERVAL": ExpressionParser._interval,
    "CASE": ExpressionParser._case,
    "ROW": ExpressionParser._row,
    "ARRAY": ExpressionParser._collection,
    "MAP": ExpressionParser._collection,
    "MULTISET": ExpressionParser._collection,
    "PERIOD": ExpressionParser._period,
}
