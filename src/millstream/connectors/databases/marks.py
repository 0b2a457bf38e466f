"""Statements with ``?`` for their values, as JDBC has them, translated for a driver."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

__all__ = ["Style", "count_marks", "translated"]

Style = Literal["?", "%s"]
"""How a driver marks the places of values."""

# What a statement consists of; a mark within quotes or comments is none.
_TOKEN = re.compile(
    r"""
    (?P<text>
        '(?:[^']|'')*'                          # a string; backslashes: see `_BACKSLASHED`
      | "(?:[^"]|"")*"                          # a name, in MySQL a string
      | `(?:[^`]|``)*`                          # a name in MySQL
      | \$(?P<tag>[A-Za-z_\x80-\uffff]?\w*)\$.*?\$(?P=tag)\$   # a string in PostgreSQL
      | --[^\n]* | /\*.*?\*/                    # comments
    )
    | (?P<escaped>\?\?)                         # an operator with a question mark, as JDBC writes it
    | (?P<mark>\?)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_BACKSLASHED = r"""'(?:[^'\\]|''|\\.)*' | "(?:[^"\\]|""|\\.)*" | \#[^\n]* |"""
_TOKEN_MYSQL = re.compile(
    _TOKEN.pattern.replace("(?P<text>", f"(?P<text>{_BACKSLASHED}"), re.X | re.S
)
# In PostgreSQL a string has backslashes only if an E stands before it.
_TOKEN_POSTGRES = re.compile(
    _TOKEN.pattern.replace("(?P<text>", r"(?P<text>(?<!\w)[eE]'(?:[^'\\]|''|\\.)*' |"), re.X | re.S
)
_TOKENS = {"sqlite": _TOKEN, "postgresql": _TOKEN_POSTGRES, "mysql": _TOKEN_MYSQL}


@lru_cache(maxsize=256)
def translated(sql: str, kind: str, style: Style) -> tuple[str, int]:
    """Return a statement as the driver takes it together with values, and the number of its marks.

    Parameters
    ----------
    sql
        The statement; ``??`` stands for a question mark that is no mark.
    kind
        The kind of database: they differ in how they quote.
    style
        How the driver marks values. With ``%s`` every other percent sign is doubled.

    Examples
    --------
    >>> translated("insert into t values (?, '?', ?) -- 5 %", "postgresql", "%s")
    ("insert into t values (%s, '?', %s) -- 5 %%", 2)
    """
    parts, marks = list[str](), 0
    for found in _TOKENS[kind].finditer(sql):
        if found["mark"]:
            marks += 1
            parts.append(style)
            continue
        text = "?" if found["escaped"] else found[0]
        parts.append(text.replace("%", "%%") if style == "%s" else text)
    return "".join(parts), marks


def count_marks(sql: str, kind: str) -> int:
    """Return how many values a statement takes.

    Examples
    --------
    >>> count_marks("select '?', ?", "sqlite")
    1
    """
    return translated(sql, kind, "?")[1]
