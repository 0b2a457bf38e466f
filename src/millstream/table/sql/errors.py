"""Errors of SQL texts: the place, the line with the text underlined, and what to do."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.common.errors import Location, MillstreamError
from millstream.common.secrets import masked_statement
from millstream.table.sql.nodes import Source, Span

__all__ = ["SqlError", "sql_error"]

_WIDEST = 120
_FAR = 20


class SqlError(MillstreamError):
    """A statement is wrong.

    Parameters
    ----------
    code, message, parameters, location, hint
        As in `MillstreamError`.
    line, column : int
        Where the wrong part begins, from 1.
    excerpt : str
        The line without secrets, and a second one that underlines the part.

    Examples
    --------
    >>> from millstream.table.sql.parser import parse
    >>> try:
    ...     parse("SELECT a FROM t GROUP BY")
    ... except SqlError as error:
    ...     print(error)
    [SQL_END] the statement ends too early: an expression is missing
      line 1, column 25:
        SELECT a FROM t GROUP BY
                                ^
    """

    _extra_fields = ("line", "column", "excerpt")

    def __init__(
        self,
        code: str,
        message: str,
        *,
        parameters: Mapping[str, object] | None = None,
        location: Location | None = None,
        hint: str | None = None,
        line: int = 0,
        column: int = 0,
        excerpt: str = "",
    ) -> None:
        super().__init__(code, message, parameters=parameters, location=location, hint=hint)
        self.line = line
        self.column = column
        self.excerpt = excerpt

    def _details(self) -> list[str]:
        if not self.line:
            return []
        lines = [f"  {line}" for line in self.excerpt.splitlines()]
        return [f"line {self.line}, column {self.column}:", *lines]


def sql_error(
    code: str, message: str, source: Source, span: Span, hint: str | None = None
) -> SqlError:
    """An error about a part of a text.

    Examples
    --------
    >>> source = Source("SELECT 1 +")
    >>> print(sql_error("SQL_END", "an operand is missing", source, source.span(9, 10)).excerpt)
    SELECT 1 +
             ^
    """
    return SqlError(
        code,
        message,
        hint=hint,
        line=span.line,
        column=span.column,
        excerpt=_underlined(masked_statement(source.line_text(span.line)), span),
    )


def _underlined(text: str, span: Span) -> str:
    last = span.end_column if span.end_line == span.line else len(text)
    first = span.column - 1
    width = max(1, last - first)
    # Of a long line, only the surroundings are shown; of one that begins far right, not the space.
    indent = len(text) - len(text.lstrip())
    cut = indent if _FAR < indent <= first else 0
    if len(text) - cut > _WIDEST:
        cut = max(cut, first - _WIDEST // 2)
    shown = text[cut : cut + _WIDEST]
    before = "".join("\t" if c == "\t" else " " for c in shown[: first - cut])
    return f"{shown}\n{before}{'^' * min(width, _WIDEST)}"
