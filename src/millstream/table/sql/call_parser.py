"""Calls of functions: plain ones, and those with keywords between their arguments."""

from __future__ import annotations

from millstream.table.sql.expression_parser import ExpressionParser
from millstream.table.sql.expressions import (
    Call,
    Cast,
    ColumnRef,
    Default,
    Expression,
    ModelArgument,
    NamedArgument,
    NumberLiteral,
    OrderItem,
    Over,
    ScalarQuery,
    Star,
    Symbol,
    TableArgument,
    WindowBound,
    WindowFrame,
    WindowSpec,
)
from millstream.table.sql.keywords import CALLABLE_RESERVED, CONTEXT_VARIABLES
from millstream.table.sql.lexer import Token
from millstream.table.sql.nodes import Identifier, Name

__all__ = ["CallParser"]

# An operand before IN or before FROM ends there, so operators that bind less are left out.
_BEFORE_IN = 33
_TRIM_SIDES = ("BOTH", "LEADING", "TRAILING")
_WITH_ORDER = {"ARRAY_AGG"}
_FRAME_UNITS = ("ROWS", "RANGE")
_RESERVED_UNITS = {"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"}
# Calls whose last argument is a unit of time, and how many arguments stand before it.
_UNIT_LAST = {
    "DATE_TRUNC": 1,
    "TIME_TRUNC": 1,
    "TIMESTAMP_TRUNC": 1,
    "DATETIME_TRUNC": 1,
    "DATE_DIFF": 2,
    "TIME_DIFF": 2,
    "TIMESTAMP_DIFF": 2,
    "DATETIME_DIFF": 2,
}


class CallParser(ExpressionParser):
    """Reads calls and names."""

    def call_or_column(self) -> Expression:
        token = self.token
        if token.kind == "word" and self.ahead().text == "(" and self.ahead().kind == "sign":
            special = _SPECIAL.get(token.text)
            if special is not None:
                return special(self, token)
            if token.text in CALLABLE_RESERVED:
                self.advance()
                return self._call(Identifier((self.name_of(token),), span=self.span_of(token)))
        if token.kind == "word" and token.text in CONTEXT_VARIABLES:
            self.advance()
            name = Identifier((self.name_of(token),), span=self.span_of(token))
            return Call(name, has_parentheses=False, span=name.span)
        if token.kind == "word" and token.text in ("FINAL", "RUNNING"):
            if self.ahead().kind == "word" and self.ahead(2).text == "(":
                return self._match_semantics(token)
        if not self.at_name():
            if token.kind == "word":
                self.reserved(token)
            self.fail("an expression")
        name = self.identifier()
        if self.at("("):
            return self._call(name)
        if self.at(".", "*"):
            self.expect(".", "*")
            return Star(name, span=self.since(token))
        return ColumnRef(name, span=name.span)

    def table_function_call(self) -> Call:
        """A call where a table is expected."""
        start = self.token
        found = self.call_or_column()
        if not isinstance(found, Call) or not found.has_parentheses:
            raise self.error("SQL_SYNTAX", "expected is a call of a function", start)
        return found

    # Plain calls

    def _call(self, name: Identifier) -> Expression:
        self.expect("(")
        arguments: list[Expression] = []
        quantifier = nulls = None
        order_by: tuple[OrderItem, ...] = ()
        if self.at("*") and self.ahead().text == ")":
            arguments.append(Star(span=self.span_of(self.advance())))
        elif not self.at(")"):
            quantifier = self.accept_any("DISTINCT", "ALL")
            arguments.append(self.bare_query() or self._argument())
            while self.accept(","):
                arguments.append(self._argument())
            if name.names[-1].upper() in _WITH_ORDER:
                nulls = self._null_treatment()
                order_by = self.order_items() if self.accept("ORDER", "BY") else ()
        self.expect(")")
        call = Call(
            name,
            tuple(arguments),
            quantifier,
            order_by,
            nulls=nulls,
            span=self.since(name.span),
        )
        return self._with_clauses(call)

    def _null_treatment(self) -> str | None:
        word = self.accept_any("IGNORE", "RESPECT")
        if word:
            self.expect("NULLS")
        return word

    def _with_clauses(self, call: Call) -> Call:
        within = None
        nulls = self._null_treatment() or call.nulls
        distinct: tuple[Expression, ...] = ()
        if self.accept("WITHIN", "DISTINCT"):
            self.expect("(")
            distinct = self.expressions()
            self.expect(")")
        if self.accept("WITHIN", "GROUP"):
            self.expect("(")
            self.expect("ORDER", "BY")
            within = self.order_items()
            self.expect(")")
        condition = self.filter_clause()
        over = self.over_clause()
        if not (nulls or distinct or within or condition or over):
            return call
        return Call(
            call.name,
            call.arguments,
            call.quantifier,
            call.order_by,
            within or (),
            distinct,
            condition,
            nulls,
            over,
            span=self.since(call.span),
        )

    def filter_clause(self) -> Expression | None:
        """``FILTER (WHERE ...)``."""
        if not self.accept("FILTER"):
            return None
        self.expect("(")
        self.expect("WHERE")
        condition = self.expression()
        self.expect(")")
        return condition

    def bare_query(self) -> Expression | None:
        """A query as the first argument needs no brackets of its own."""
        start = self.token
        if not self.at_query() or self.at_any("(", "TABLE"):
            return None
        query = self.query()
        return ScalarQuery(query, span=self.since(start))

    def _argument(self) -> Expression:
        start = self.token
        if self.at_name() and self.ahead().text == "=>":
            name = self.name()
            self.expect("=>")
            value = self._argument_value()
            return NamedArgument(name, value, span=self.since(start))
        return self._argument_value()

    def _argument_value(self) -> Expression:
        start = self.token
        if self.at("DEFAULT") and self.ahead().text in (",", ")"):
            self.advance()
            return Default(span=self.since(start))
        if self.accept("TABLE"):
            return self._table_argument(start)
        if self.at("MODEL") and self.ahead().kind in ("word", "quoted"):
            self.advance()
            return ModelArgument(self.identifier(), span=self.since(start))
        if self.at("(") and self.at_query():
            return self.either(lambda: self._query_argument(start), self.expression)
        return self.expression()

    def _query_argument(self, start: Token) -> Expression:
        query = self.query_in_brackets()
        if not self.at_any("PARTITION", "ORDER"):
            self.fail()
        partition_by, order_by = self._argument_order()
        return TableArgument(query, partition_by, order_by, span=self.since(start))

    def _table_argument(self, start: Token) -> Expression:
        table = self.identifier("the name of a table")
        partition_by, order_by = self._argument_order()
        return TableArgument(table, partition_by, order_by, span=self.since(start))

    def _argument_order(self) -> tuple[tuple[Expression, ...], tuple[OrderItem, ...]]:
        partition_by: tuple[Expression, ...] = ()
        order_by: tuple[OrderItem, ...] = ()
        # Without brackets there is one column: a comma would begin the next argument.
        if self.accept("PARTITION", "BY"):
            bracketed = self.accept("(")
            partition_by = self.expressions() if bracketed else (self.expression(),)
            if bracketed:
                self.expect(")")
        if self.accept("ORDER", "BY"):
            bracketed = self.accept("(")
            order_by = self.order_items() if bracketed else (self.order_item(),)
            if bracketed:
                self.expect(")")
        return partition_by, order_by

    # OVER

    def over_clause(self) -> Over | None:
        start = self.token
        if not self.accept("OVER"):
            return None
        window = self.window_spec() if self.at("(") else self.name("the name of a window")
        return Over(window, span=self.since(start))

    def window_spec(self) -> WindowSpec:
        """The brackets behind OVER, and behind AS of WINDOW."""
        start = self.expect("(")
        base = None
        if self.at_name() and not self.at_any("PARTITION", "ORDER", *_FRAME_UNITS):
            base = self.name()
        partition_by = self.expressions() if self.accept("PARTITION", "BY") else ()
        order_by = self.order_items() if self.accept("ORDER", "BY") else ()
        frame = self._frame() if self.at_any(*_FRAME_UNITS) else None
        allow = None
        if word := self.accept_any("ALLOW", "DISALLOW"):
            self.expect("PARTIAL")
            allow = word == "ALLOW"
        self.expect(")")
        return WindowSpec(base, partition_by, order_by, frame, allow, span=self.since(start))

    def _frame(self) -> WindowFrame:
        start = self.token
        unit = self.expect_any(*_FRAME_UNITS)
        last = None
        if self.accept("BETWEEN"):
            first = self._bound()
            self.expect("AND")
            last = self._bound()
        else:
            first = self._bound()
        return WindowFrame(unit, first, last, span=self.since(start))

    def _bound(self) -> WindowBound:
        start = self.token
        if self.accept("CURRENT", "ROW"):
            return WindowBound("CURRENT ROW", span=self.since(start))
        value = None if self.accept("UNBOUNDED") else self.expression(_BEFORE_IN)
        side = self.expect_any("PRECEDING", "FOLLOWING")
        return WindowBound(side, value, span=self.since(start))

    # Functions with a syntax of their own

    def _named(self, token: Token, *arguments: Expression) -> Call:
        name = Name(token.text, span=self.span_of(token))
        identifier = Identifier((name,), span=name.span)
        return Call(identifier, arguments, span=self.since(token))

    def _open(self) -> None:
        self.advance()
        self.expect("(")

    def _cast(self, token: Token) -> Expression:
        self._open()
        value = self.expression()
        self.expect("AS")
        target = self.cast_type()
        self.expect(")")
        return Cast(value, target, token.text != "CAST", span=self.since(token))

    def _symbol(self, what: str) -> Symbol:
        token = self.token
        if token.kind not in ("word", "quoted"):
            self.fail(what)
        self.advance()
        return Symbol(token.text.strip("`"), span=self.span_of(token))

    def _unit_symbol(self) -> Symbol:
        what = "a unit of time, such as DAY,"
        if not self.at_name() and self.token.text not in _RESERVED_UNITS:
            self.fail(what)
        return self._symbol(what)

    def _extract(self, token: Token) -> Expression:
        self._open()
        unit = self._unit_symbol()
        self.expect("FROM")
        value = self.expression()
        self.expect(")")
        return self._named(token, unit, value)

    def _position(self, token: Token) -> Expression:
        self._open()
        arguments = [self.expression(_BEFORE_IN)]
        self.expect("IN")
        arguments.append(self.expression())
        if self.accept("FROM"):
            arguments.append(self.expression())
        self.expect(")")
        return self._named(token, *arguments)

    def _rounding(self, token: Token) -> Expression:
        self._open()
        arguments = [self.expression()]
        if self.accept("TO"):
            arguments.append(self._unit_symbol())
        self.expect(")")
        call = self._named(token, *arguments)
        return self._with_clauses(call)

    def _substring(self, token: Token) -> Expression:
        self._open()
        arguments = [self.expression()]
        self.expect_any("FROM", ",")
        arguments.append(self.expression())
        if self.accept_any("FOR", ","):
            arguments.append(self.expression())
        self.expect(")")
        return self._named(token, *arguments)

    def _trim(self, token: Token) -> Expression:
        self._open()
        side = self._symbol("") if self.at_any(*_TRIM_SIDES) else None
        first = None if side and self.at("FROM") else self.expression()
        value = self.expression() if self.accept("FROM") else None
        self.expect(")")
        found = [part for part in (side, first, value) if part is not None]
        return self._named(token, *found)

    def _overlay(self, token: Token) -> Expression:
        self._open()
        arguments = [self.expression()]
        self.expect("PLACING")
        arguments.append(self.expression())
        self.expect("FROM")
        arguments.append(self.expression())
        if self.accept("FOR"):
            arguments.append(self.expression())
        self.expect(")")
        return self._named(token, *arguments)

    def _timestamp_function(self, token: Token) -> Expression:
        self._open()
        arguments: list[Expression] = [self._unit_symbol()]
        for _ in range(2):
            self.expect(",")
            arguments.append(self.expression())
        self.expect(")")
        return self._named(token, *arguments)

    def _descriptor(self, token: Token) -> Expression:
        self.advance()
        names = () if self.accept("(", ")") else self.names_in_brackets()
        columns = [ColumnRef(Identifier((name,), span=name.span), span=name.span) for name in names]
        return self._named(token, *columns)

    def _unit_last(self, token: Token) -> Expression:
        self._open()
        arguments = []
        for _ in range(_UNIT_LAST[token.text]):
            arguments.append(self.expression())
            self.expect(",")
        plain = self.at_kind("string") or self.ahead().text != ")"
        arguments.append(self.expression() if plain else self._unit_symbol())
        self.expect(")")
        return self._named(token, *arguments)

    def _navigation(self, token: Token) -> Expression:
        """``PREV(a, 2)`` and its relatives of MATCH_RECOGNIZE."""
        self._open()
        arguments = [self.expression()]
        if self.accept(","):
            number = self.token
            if number.kind != "number":
                self.fail("a number")
            self.advance()
            arguments.append(NumberLiteral(number.raw, span=self.span_of(number)))
        self.expect(")")
        return self._named(token, *arguments)

    def _constructor(self, token: Token) -> Expression:
        """``DATE(a)``; it has at least one argument."""
        self._open()
        arguments = self.expressions()
        self.expect(")")
        return self._named(token, *arguments)

    def _without_arguments(self, token: Token) -> Expression:
        self._open()
        self.expect(")")
        return self._named(token)

    def _translate(self, token: Token) -> Expression:
        self._open()
        arguments = [self.expression()]
        if self.accept("USING"):
            arguments.append(self._symbol("a character set"))
        elif token.text == "CONVERT" or self.at(","):
            self.expect(",")
            arguments.extend(self.expressions())
        self.expect(")")
        return self._named(token, *arguments)

    def _match_semantics(self, token: Token) -> Expression:
        """``FINAL LAST(a)`` and ``RUNNING LAST(a)`` of MATCH_RECOGNIZE."""
        self.advance()
        inner = self.call_or_column()
        return self._named(token, inner)


_SPECIAL = {
    "CAST": CallParser._cast,
    "TRY_CAST": CallParser._cast,
    "SAFE_CAST": CallParser._cast,
    "EXTRACT": CallParser._extract,
    "POSITION": CallParser._position,
    "FLOOR": CallParser._rounding,
    "CEIL": CallParser._rounding,
    "CEILING": CallParser._rounding,
    "SUBSTRING": CallParser._substring,
    "TRIM": CallParser._trim,
    "OVERLAY": CallParser._overlay,
    "TIMESTAMPADD": CallParser._timestamp_function,
    "TIMESTAMPDIFF": CallParser._timestamp_function,
    "DESCRIPTOR": CallParser._descriptor,
    "TRANSLATE": CallParser._translate,
    "CONVERT": CallParser._translate,
    "CLASSIFIER": CallParser._without_arguments,
    "MATCH_NUMBER": CallParser._without_arguments,
    **dict.fromkeys(("FIRST", "LAST", "PREV", "NEXT"), CallParser._navigation),
    **dict.fromkeys(("DATE", "TIME", "TIMESTAMP", "DATETIME"), CallParser._constructor),
    **dict.fromkeys(_UNIT_LAST, CallParser._unit_last),
}
