"""SELECT, VALUES, set operations, WITH, ORDER BY and LIMIT."""

from __future__ import annotations

from millstream.table.sql.expressions import Default, Expression, NumberLiteral, OrderItem, Star
from millstream.table.sql.nodes import Identifier, Name
from millstream.table.sql.queries import (
    CommonTable,
    GroupBy,
    GroupingSets,
    NamedWindow,
    Query,
    QueryBody,
    Select,
    SelectItem,
    SetOperation,
    TableBody,
    Values,
)
from millstream.table.sql.relation_parser import RelationParser

__all__ = ["QueryParser"]

_UNIONS = ("UNION", "EXCEPT")


class QueryParser(RelationParser):
    """Reads queries."""

    def query(self) -> Query:
        start = self.token
        recursive = False
        tables: tuple[CommonTable, ...] = ()
        if self.accept("WITH"):
            recursive = self.accept("RECURSIVE")
            tables = self._common_tables()
        body = self._unions()
        order_by: tuple[OrderItem, ...] = ()
        if self._clause("ORDER"):
            order_by = self.order_items()
        offset, limit = self._limits()
        if isinstance(body, Query) and not (tables or order_by or offset or limit):
            return body
        return Query(body, tables, recursive, order_by, offset, limit, span=self.since(start))

    def _clause(self, word: str) -> bool:
        """Step over ORDER BY or GROUP BY, if the first word stands here."""
        if not self.at(word, "BY") and not self.at(word):
            return False
        self.expect(word, "BY")
        return True

    def _common_tables(self) -> tuple[CommonTable, ...]:
        found = [self._common_table()]
        while self.accept(","):
            found.append(self._common_table())
        return tuple(found)

    def _common_table(self) -> CommonTable:
        start = self.token
        name = self.name()
        columns = self.names_in_brackets() if self.at("(") else ()
        self.expect("AS")
        query = self.query_in_brackets()
        return CommonTable(name, columns, query, span=self.since(start))

    def _limits(self) -> tuple[Expression | None, Expression | None]:
        """LIMIT and OFFSET, or OFFSET and FETCH."""
        offset = limit = None
        limited = self.accept("LIMIT")
        if limited:
            limit = None if self.accept("ALL") else self._count()
        if self.accept("OFFSET"):
            offset = self._count()
            self.accept_any("ROW", "ROWS")
            if not limited and self.at("LIMIT"):
                hint = "write LIMIT before OFFSET"
                raise self.error("SQL_CLAUSE", "LIMIT stands behind OFFSET", self.token, hint)
        if not limited and self.accept("FETCH"):
            self.expect_any("FIRST", "NEXT")
            limit = self._count()
            self.expect_any("ROW", "ROWS")
            self.expect("ONLY")
        return offset, limit

    def _count(self) -> Expression:
        token = self.token
        if token.kind == "number":
            self.advance()
            return NumberLiteral(token.raw, span=self.span_of(token))
        if self.at("?"):
            return self.expression(1000)
        self.fail("a number")

    # Set operations: INTERSECT binds tighter than UNION and EXCEPT.

    def _unions(self) -> QueryBody | Query:
        left = self._intersections()
        while operator := self.accept_any(*_UNIONS):
            keep = self.accept_any("ALL", "DISTINCT") == "ALL"
            right = self._intersections()
            left = SetOperation(operator, keep, left, right, span=self.since(left.span))
        return left

    def _intersections(self) -> QueryBody | Query:
        left = self._term()
        while self.accept("INTERSECT"):
            keep = self.accept_any("ALL", "DISTINCT") == "ALL"
            right = self._term()
            left = SetOperation("INTERSECT", keep, left, right, span=self.since(left.span))
        return left

    def _term(self) -> QueryBody | Query:
        start = self.token
        if self.at("SELECT"):
            return self._select()
        if self.accept_any("VALUES", "VALUE"):
            return self._values()
        if self.at("TABLE"):
            self.advance()
            name = self.identifier("the name of a table")
            return TableBody(name, span=self.since(start))
        if self.at("("):
            with self.nested():
                return self.query_in_brackets()
        self.fail("a query")

    def _values(self) -> Values:
        first = self.tokens[self.place - 1]
        rows = [self._row_of_values()]
        while self.accept(","):
            rows.append(self._row_of_values())
        return Values(tuple(rows), span=self.since(first))

    def _row_of_values(self) -> tuple[Expression, ...]:
        """A row in brackets, or one value without any."""
        if not self.at("(") and not self.at("ROW", "("):
            return (self.expression(),)
        self.accept("ROW")
        self.expect("(")
        items = [self._value_or_default()]
        while self.accept(","):
            items.append(self._value_or_default())
        self.expect(")")
        return tuple(items)

    def _value_or_default(self) -> Expression:
        token = self.token
        if self.accept("DEFAULT"):
            return Default(span=self.span_of(token))
        return self.bare_query() or self.expression()

    # SELECT

    def _select(self) -> Select:
        start = self.expect("SELECT")
        hints = self.hints()
        stream = self.accept("STREAM")
        quantifier = self.accept_any("ALL", "DISTINCT")
        items = [self._select_item()]
        while self.accept(","):
            items.append(self._select_item())
        relation = where = group_by = having = qualify = None
        windows: tuple[NamedWindow, ...] = ()
        if self.accept("FROM"):
            relation = self.from_clause()
            # Without FROM there are no other clauses.
            if self.accept("WHERE"):
                where = self.expression()
            if self._clause("GROUP"):
                group_by = self._group_by()
            if self.accept("HAVING"):
                having = self.expression()
            if self.accept("WINDOW"):
                windows = self._windows()
            if self.accept("QUALIFY"):
                qualify = self.expression()
        return Select(
            tuple(items),
            quantifier,
            hints,
            relation,
            where,
            group_by,
            having,
            windows,
            qualify,
            stream,
            span=self.since(start),
        )

    def _select_item(self) -> SelectItem:
        start = self.token
        value = Star(span=self.span_of(start)) if self.accept("*") else self.expression()
        alias = self._alias()
        return SelectItem(value, alias, span=self.since(start))

    def _alias(self) -> Name | None:
        if self.accept("AS"):
            if self.at_kind("string"):
                hint = f"write it in backticks: `{self.token.raw[1:-1]}`"
                message = "a text in quotes is no name"
                raise self.error("SQL_SYNTAX", message, self.token, hint)
            return self.name("an alias")
        return self.name() if self.at_name() else None

    def _group_by(self) -> GroupBy:
        start = self.token
        quantifier = self.accept_any("ALL", "DISTINCT")
        items = [self._grouping()]
        while self.accept(","):
            items.append(self._grouping())
        return GroupBy(tuple(items), quantifier, span=self.since(start))

    def _grouping(self) -> Expression | GroupingSets | tuple[()]:
        if self.accept("(", ")"):
            return ()
        if self.at("GROUPING", "SETS") or self.at_any("ROLLUP", "CUBE"):
            return self._grouping_sets()
        if self.at("WINDOW", "("):
            # Spark's WINDOW(ts, '10 minutes'); Flink has no function of this name.
            token = self.advance()
            return self._call(Identifier((self.name_of(token),), span=self.span_of(token)))
        return self.expression()

    def _grouping_sets(self) -> GroupingSets:
        start = self.token
        kind = self.accept_any("ROLLUP", "CUBE") or "GROUPING SETS"
        if kind == "GROUPING SETS":
            self.expect("GROUPING", "SETS")
        self.expect("(")
        elements = [self._grouping_element()]
        while self.accept(","):
            elements.append(self._grouping_element())
        self.expect(")")
        return GroupingSets(kind, tuple(elements), span=self.since(start))

    def _grouping_element(self) -> tuple[Expression, ...] | GroupingSets:
        if self.accept("(", ")"):
            return ()
        if self.at("GROUPING", "SETS") or self.at_any("ROLLUP", "CUBE"):
            return self._grouping_sets()

        def several() -> tuple[Expression, ...]:
            self.expect("(")
            found = self.expressions()
            self.expect(")")
            if not self.at_any(",", ")"):
                self.fail()
            return found

        def one() -> tuple[Expression, ...]:
            return (self.expression(),)

        return self.either(several, one) if self.at("(") else one()

    def _windows(self) -> tuple[NamedWindow, ...]:
        found = []
        while True:
            start = self.token
            name = self.name("the name of a window")
            self.expect("AS")
            spec = self.window_spec()
            found.append(NamedWindow(name, spec, span=self.since(start)))
            if not self.accept(","):
                return tuple(found)
