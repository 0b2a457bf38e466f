"""The entrance: texts in, trees out.

The parser is written by hand, one class on top of the other: `Cursor` (tokens, names, errors),
`TypeParser`, `ExpressionParser`, `CallParser`, `JsonParser`, `RelationParser`, `QueryParser`,
`ColumnParser`, `CreateParser`, `DdlParser` and `StatementParser`.
"""

from __future__ import annotations

from millstream.table.sql.expressions import Expression, TypeName
from millstream.table.sql.nodes import Identifier, Source
from millstream.table.sql.queries import Query
from millstream.table.sql.statement_parser import StatementParser
from millstream.table.sql.statements import Statement

__all__ = ["parse", "parse_expression", "parse_identifier", "parse_script", "parse_type"]


def parse(sql: str) -> Statement | Query:
    """The one statement of a text; a semicolon may end it.

    Raises
    ------
    SqlError
        The text is no statement of Flink's dialect.

    Examples
    --------
    >>> parse("USE CATALOG c").kind
    'CATALOG'
    """
    parser = StatementParser(Source(sql))
    statement = parser.statement()
    while parser.accept(";"):
        pass
    if parser.token.kind != "end" and parser.tokens[parser.place - 1].text == ";":
        hint = "run statements one by one, or as a script"
        raise parser.error("SQL_SEVERAL", "the text has several statements", parser.token, hint)
    _expect_end(parser)
    return statement


def parse_script(sql: str) -> tuple[Statement | Query, ...]:
    """The statements of a text, with semicolons between them.

    Examples
    --------
    >>> len(parse_script("USE a; USE b;"))
    2
    """
    parser = StatementParser(Source(sql))
    found: list[Statement | Query] = []
    while parser.token.kind != "end":
        found.append(parser.statement())
        if not parser.accept(";"):
            break
        while parser.accept(";"):
            pass
    _expect_end(parser)
    return tuple(found)


def parse_expression(sql: str) -> Expression:
    """An expression alone.

    Examples
    --------
    >>> parse_expression("a + 1").operator
    '+'
    """
    parser = StatementParser(Source(sql))
    found = parser.expression()
    _expect_end(parser)
    return found


def parse_type(sql: str) -> TypeName:
    """A type alone; intervals and NULL are types here too.

    Examples
    --------
    >>> parse_type("ARRAY<INT NOT NULL>").name
    'ARRAY'
    """
    parser = StatementParser(Source(sql))
    parser.all_types = True
    found = parser.nullable_type()
    _expect_end(parser)
    return found


def parse_identifier(sql: str) -> Identifier:
    """A name with its qualifiers alone, as the Table API takes it: keywords are names too.

    Examples
    --------
    >>> parse_identifier("cat.`my db`.table").names
    ('cat', 'my db', 'table')
    """
    parser = StatementParser(Source(sql))
    start = parser.token
    parts = []
    while True:
        if not parser.at_kind("word", "quoted"):
            parser.fail("a name")
        parts.append(parser.name_of(parser.advance()))
        if not parser.accept("."):
            break
    _expect_end(parser)
    return Identifier(tuple(parts), span=parser.since(start))


def _expect_end(parser: StatementParser) -> None:
    if parser.token.kind != "end":
        parser.fail()
