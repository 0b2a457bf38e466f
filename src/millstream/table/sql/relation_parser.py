"""FROM: tables, joins, table functions, MATCH_RECOGNIZE; and hints."""

from __future__ import annotations

from millstream.table.sql.expressions import (
    ColumnRef,
    Expression,
    IntervalLiteral,
    NumberLiteral,
    StringLiteral,
)
from millstream.table.sql.json_parser import JsonParser
from millstream.table.sql.lexer import Token
from millstream.table.sql.nodes import Identifier, Name
from millstream.table.sql.queries import (
    Aliased,
    Derived,
    FunctionTable,
    Hint,
    HintOption,
    Join,
    MatchDefine,
    MatchMeasure,
    MatchRecognize,
    Pattern,
    PatternAlternation,
    PatternConcat,
    PatternExclude,
    PatternPermute,
    PatternQuantifier,
    PatternSymbol,
    Relation,
    Sample,
    Snapshot,
    TableRef,
    Unnest,
)

__all__ = ["RelationParser"]

_JOINS = (
    (("JOIN",), "INNER"),
    (("INNER", "JOIN"), "INNER"),
    (("LEFT", "JOIN"), "LEFT"),
    (("LEFT", "OUTER", "JOIN"), "LEFT"),
    (("RIGHT", "JOIN"), "RIGHT"),
    (("RIGHT", "OUTER", "JOIN"), "RIGHT"),
    (("FULL", "JOIN"), "FULL"),
    (("FULL", "OUTER", "JOIN"), "FULL"),
    (("CROSS", "JOIN"), "CROSS"),
)
_QUANTIFIERS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def _kind(option: HintOption) -> str:
    return "pair" if option.key else type(option.value).__name__


class RelationParser(JsonParser):
    """Reads FROM."""

    def from_clause(self) -> Relation:
        """Relations with joins and commas between them."""
        left = self._joined()
        while self.accept(","):
            right = self._joined()
            left = Join("COMMA", left, right, span=self.since(left.span))
        return left

    def _joined(self) -> Relation:
        left = self._relation()
        while True:
            natural = self.accept("NATURAL")
            kind = self._join_kind()
            if kind is None:
                if natural:
                    self.fail()
                return left
            left = self._join(left, kind, natural)

    def _join_kind(self) -> str | None:
        for words, kind in _JOINS:
            if self.accept(*words):
                return kind
        return None

    def _join(self, left: Relation, kind: str, natural: bool) -> Relation:
        right = self._relation()
        condition = None
        using: tuple[Name, ...] = ()
        if self.accept("ON"):
            condition = self.expression()
        elif self.accept("USING"):
            using = self.names_in_brackets()
        return Join(kind, left, right, condition, using, natural, span=self.since(left.span))

    def _relation(self) -> Relation:
        start = self.token
        with self.nested():
            found = self._primary(start)
        found = self._named_relation(found)
        if self.accept("TABLESAMPLE"):
            found = self._sample(found)
        return found

    def _named_relation(self, found: Relation) -> Relation:
        if self.accept("AS"):
            name = self.name("an alias")
        elif self.at_name():
            name = self.name()
        else:
            return found
        columns = self.names_in_brackets() if self.at("(") else ()
        named = Aliased(found, name, columns, span=self.since(found.span))
        if not self.at("MATCH_RECOGNIZE"):
            return named
        return self._named_relation(self._match_recognize(named))

    def _primary(self, start: Token) -> Relation:
        lateral = self.accept("LATERAL")
        if self.at("UNNEST"):
            return self._unnest(start, lateral)
        if self.at("TABLE", "("):
            return self._function_table(start, lateral)
        if self.at("("):
            return self._in_parentheses(start, lateral)
        if lateral:
            self.fail()
        if not self.at_name():
            if self.token.kind == "word":
                self.reserved(self.token)
            self.fail("a table")
        name = self.identifier("the name of a table")
        if self.at("("):
            self.place -= 2 * len(name.parts) - 1
            call = self.table_function_call()
            return FunctionTable(call, wrapped=False, span=self.since(start))
        return self._table(start, name)

    def _table(self, start: Token, name: Identifier) -> Relation:
        found: Relation = TableRef(name, self.hints(), span=self.since(start))
        if self.accept("FOR", "SYSTEM_TIME", "AS", "OF"):
            # The name behind the time is the alias of the table.
            time = self.expression()
            found = Snapshot(found, time, span=self.since(start))
        if self.at("MATCH_RECOGNIZE"):
            found = self._match_recognize(found)
        return found

    def _in_parentheses(self, start: Token, lateral: bool) -> Relation:
        def query() -> Relation:
            found: Relation = Derived(self.query_in_brackets(), lateral, span=self.since(start))
            if self.at("MATCH_RECOGNIZE"):
                found = self._match_recognize(found)
            return found

        def joined() -> Relation:
            opening = self.expect("(")
            found = self._joined()
            self.expect(")")
            if not isinstance(found, Join):
                message = "only a query or a join stands in brackets"
                raise self.error("SQL_SYNTAX", message, opening, "remove the brackets")
            return found

        if lateral or (self.at_query() and not self.at("(", "(")):
            return query()
        return self.either(query, joined) if self.at_query() else joined()

    def _unnest(self, start: Token, lateral: bool) -> Relation:
        self.expect("UNNEST", "(")
        bare = self.bare_query()
        items = (bare,) if bare else self.expressions()
        self.expect(")")
        ordinality = self.accept("WITH", "ORDINALITY")
        return Unnest(items, ordinality, lateral, span=self.since(start))

    def _function_table(self, start: Token, lateral: bool) -> Relation:
        self.expect("TABLE", "(")
        call = self.table_function_call()
        self.expect(")")
        return FunctionTable(call, lateral, span=self.since(start))

    def _sample(self, found: Relation) -> Relation:
        if self.accept("SUBSTITUTE"):
            self.expect("(")
            name = self.string_literal().value
            self.expect(")")
            return Sample(found, name=name, span=self.since(found.span))
        method = self.expect_any("BERNOULLI", "SYSTEM")
        self.expect("(")
        percentage = self._plain_number()
        self.expect(")")
        seed = None
        if self.accept("REPEATABLE"):
            self.expect("(")
            sign = self.accept("-")
            seed = self._plain_number(negative=sign)
            self.expect(")")
        return Sample(found, method, percentage, seed, span=self.since(found.span))

    def _plain_number(self, negative: bool = False) -> Expression:
        token = self.token
        if token.kind != "number":
            self.fail("a number")
        self.advance()
        text = f"-{token.raw}" if negative else token.raw
        return NumberLiteral(text, span=self.span_of(token))

    # Hints

    def hints(self) -> tuple[Hint, ...]:
        """``/*+ NAME(...), NAME */``, if it stands here."""
        if not self.accept("/*+"):
            return ()
        found = [self._hint()]
        while self.accept(","):
            found.append(self._hint())
        self.expect("*/")
        return tuple(found)

    def _hint(self) -> Hint:
        start = self.token
        name = self.name("the name of a hint")
        options: list[HintOption] = []
        if self.accept("("):
            if not self.at(")"):
                options.append(self._hint_option())
                while self.accept(","):
                    options.append(self._hint_option())
                    if _kind(options[-1]) != _kind(options[0]):
                        message = "a hint has options of several kinds"
                        hint = "write 'key' = 'value' for all, or only names, or only literals"
                        raise self.error("SQL_CLAUSE", message, options[-1].span, hint)
            self.expect(")")
        return Hint(name, tuple(options), span=self.since(start))

    def _hint_option(self) -> HintOption:
        start = self.token
        key: StringLiteral | Identifier | None = None
        value: Expression
        if self.at_string():
            value = text = self.string_literal()
            if self.accept("="):
                key, value = text, self.string_literal()
        elif self.at_kind("number"):
            value = self._plain_number()
        elif self.accept("-"):
            value = self._plain_number(negative=True)
        else:
            name = self.name()
            identifier = Identifier((name,), span=name.span)
            if self.accept("="):
                key, value = identifier, self.string_literal()
            else:
                value = ColumnRef(identifier, span=name.span)
        return HintOption(key, value, span=self.since(start))

    # MATCH_RECOGNIZE

    def _match_recognize(self, relation: Relation) -> Relation:
        self.expect("MATCH_RECOGNIZE", "(")
        partition_by = self.expressions() if self.accept("PARTITION", "BY") else ()
        order_by = self.order_items() if self.accept("ORDER", "BY") else ()
        measures = self._measures() if self.accept("MEASURES") else ()
        rows = None
        if word := self.accept_any("ONE", "ALL"):
            self.expect("ROW" if word == "ONE" else "ROWS")
            self.expect("PER", "MATCH")
            rows = word
        after, symbol = self._after_match()
        self.expect("PATTERN", "(")
        strict_start = self.accept("^")
        pattern = self._pattern()
        strict_end = self.accept("$")
        self.expect(")")
        within = self._within() if self.accept("WITHIN") else None
        subsets = self._subsets() if self.accept("SUBSET") else ()
        self.expect("DEFINE")
        defines = [self._define()]
        while self.accept(","):
            defines.append(self._define())
        self.expect(")")
        return MatchRecognize(
            relation,
            pattern,
            tuple(defines),
            partition_by,
            order_by,
            measures,
            rows,
            after,
            symbol,
            strict_start,
            strict_end,
            within,
            subsets,
            span=self.since(relation.span),
        )

    def _within(self) -> Expression:
        start = self.token
        found = self.expression()
        if not isinstance(found, IntervalLiteral):
            raise self.error("SQL_CLAUSE", "WITHIN takes an interval literal", start)
        return found

    def _measures(self) -> tuple[MatchMeasure, ...]:
        found = []
        while True:
            start = self.token
            value = self.expression()
            self.expect("AS")
            found.append(MatchMeasure(value, self.name(), span=self.since(start)))
            if not self.accept(","):
                return tuple(found)

    def _after_match(self) -> tuple[str | None, Name | None]:
        if not self.accept("AFTER"):
            return None, None
        self.expect("MATCH", "SKIP")
        if self.accept("PAST", "LAST", "ROW"):
            return "PAST LAST ROW", None
        self.expect("TO")
        if self.accept("NEXT", "ROW"):
            return "NEXT ROW", None
        if self.at_any("FIRST", "LAST") and self.ahead().kind in ("word", "quoted"):
            side = self.expect_any("FIRST", "LAST")
            return side, self.name()
        return "LAST", self.name()

    def _subsets(self) -> tuple[tuple[Name, tuple[Name, ...]], ...]:
        found = []
        while True:
            name = self.name()
            self.expect("=")
            found.append((name, self.names_in_brackets()))
            if not self.accept(","):
                return tuple(found)

    def _define(self) -> MatchDefine:
        start = self.token
        name = self.name()
        self.expect("AS")
        condition = self.expression()
        return MatchDefine(name, condition, span=self.since(start))

    def _pattern(self) -> Pattern:
        items = [self._pattern_term()]
        while self.accept("|"):
            items.append(self._pattern_term())
        if len(items) == 1:
            return items[0]
        return PatternAlternation(tuple(items), span=self.since(items[0].span))

    def _pattern_term(self) -> Pattern:
        items = [self._pattern_factor()]
        while self.at_name() or self.at_any("(", "{-", "PERMUTE"):
            items.append(self._pattern_factor())
        if len(items) == 1:
            return items[0]
        return PatternConcat(tuple(items), span=self.since(items[0].span))

    def _pattern_factor(self) -> Pattern:
        with self.nested():
            found = self._pattern_primary()
        limits: tuple[int, int | None] | None = None
        if sign := self.accept_any(*_QUANTIFIERS):
            limits = _QUANTIFIERS[sign]
        elif self.accept("{"):
            limits = self._pattern_limits()
        if limits is None:
            return found
        reluctant = self.accept("?")
        return PatternQuantifier(found, *limits, reluctant, span=self.since(found.span))

    def _pattern_limits(self) -> tuple[int, int | None]:
        least = 0 if self.at(",") else self.unsigned_integer()
        most: int | None = least
        if self.accept(","):
            most = None if self.at("}") else self.unsigned_integer()
        self.expect("}")
        return least, most

    def _pattern_primary(self) -> Pattern:
        start = self.token
        if self.accept("("):
            found = self._pattern()
            self.expect(")")
            return found
        if self.accept("{-"):
            found = self._pattern()
            self.expect("-}")
            return PatternExclude(found, span=self.since(start))
        if self.accept("PERMUTE"):
            self.expect("(")
            items = [self._pattern()]
            while self.accept(","):
                items.append(self._pattern())
            self.expect(")")
            return PatternPermute(tuple(items), span=self.since(start))
        name = self.name("a pattern variable")
        return PatternSymbol(name.text, span=name.span)
