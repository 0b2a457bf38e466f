"""Cutting a text into statements: a semicolon ends one, except inside of a statement set."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.table.sql.errors import SqlError
from millstream.table.sql.lexer import Token, tokens_of
from millstream.table.sql.nodes import Source

__all__ = ["Script", "StatementText", "cut"]

_SETS = (
    ("EXECUTE", "STATEMENT", "SET", "BEGIN"),
    ("EXPLAIN", "STATEMENT", "SET", "BEGIN"),
    ("STATEMENT", "SET", "BEGIN"),
)


@dataclass(frozen=True)
class StatementText:
    """A statement, and the line and column at which it begins in its text."""

    text: str
    line: int = 1
    column: int = 1

    @property
    def in_place(self) -> str:
        """The statement behind as much space as there is before it, so that errors name its lines.

        Examples
        --------
        >>> StatementText("SELECT 1", line=2, column=3).in_place
        '\\n  SELECT 1'
        """
        return "\n" * (self.line - 1) + " " * (self.column - 1) + self.text


@dataclass(frozen=True)
class Script:
    """The complete statements of a text, and the text behind the last semicolon."""

    statements: tuple[StatementText, ...]
    rest: str


def cut(text: str) -> Script:
    """Cut a text into statements.

    Raises
    ------
    SqlError
        A character has no meaning in SQL. A quote or comment that is not closed belongs to the rest.

    Examples
    --------
    >>> script = cut("USE a; SELECT ';'; SELECT 1")
    >>> [each.text for each in script.statements], script.rest
    (['USE a', "SELECT ';'"], ' SELECT 1')
    """
    source = Source(text)
    try:
        tokens = tokens_of(source)
    except SqlError as error:
        if error.code != "SQL_UNCLOSED":
            raise
        return _before_the_unclosed(text)
    found, begin = [], 0
    for at, token in enumerate(tokens):
        if token.text != ";" or not _complete(tokens[begin:at]):
            continue
        if at > begin:
            first = tokens[begin]
            span = source.span(first.start, token.start)
            found.append(
                StatementText(text[first.start : token.start].rstrip(), span.line, span.column)
            )
        begin = at + 1
    last = tokens[begin - 1].stop if begin else 0
    rest = text[last:]
    return Script(tuple(found), rest if tokens[begin].kind != "end" else "")


def _before_the_unclosed(text: str) -> Script:
    """The statements of the lines before the one whose quote or comment is not closed."""
    lines = text.splitlines(keepends=True)
    for number in range(len(lines) - 1, 0, -1):
        before = "".join(lines[:number])
        try:
            tokens_of(Source(before))
        except SqlError:
            continue
        script = cut(before)
        return Script(script.statements, script.rest + "".join(lines[number:]))
    return Script((), text)


def _complete(tokens: list[Token]) -> bool:
    """Whether a semicolon behind these tokens ends a statement: that of a set ends with END."""
    words = tuple(token.text for token in tokens[:4])
    if any(words[: len(start)] == start for start in _SETS):
        return tokens[-1].text == "END"
    return True
