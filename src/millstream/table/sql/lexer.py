"""Words, literals and signs of a text, by the lexical rules of Flink's parser.

Names are quoted by backticks; double quotes have no meaning. A comment begins with ``--`` or ``//``,
or stands in ``/* */``. ``/*+`` begins a hint, whose content is read like the other text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from millstream.table.sql.errors import SqlError, sql_error
from millstream.table.sql.nodes import Source

__all__ = ["Token", "tokens_of"]

_STRING = r"'(?:[^']|'')*'"
_LETTER = r"(?:[^\W\d]|\$)"
_PATTERN = re.compile(
    rf"""
      (?P<space>\s+ | (?:--|//)[^\n]* | /\*(?!\+)(?:[^*]|\*(?!/))*\*/)
    | (?P<prefixed>(?:_[\w.:-]+|[nN]){_STRING})
    | (?P<escaped>[eE]'(?:[^'\\]|\\.|'')*')
    | (?P<unicode>[uU]&{_STRING})
    | (?P<binary>[xX]{_STRING})
    | (?P<string>{_STRING})
    | (?P<quoted>`(?:[^`\n]|``)+`)
    | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<word>(?!\$(?![\w$])){_LETTER}(?:\w|\$)*)
    | (?P<sign>/\*\+ | \*/ | \{{- | -\}} | => | <> | != | <= | >= | \|\| | \.\.
        | /(?!\*) | \$ | [()\[\]{{}}<>=+\-*%,.;:?|^])
    """,
    re.VERBOSE,
)
_UNCLOSED = {
    "'": ("a text in quotes", "close it with ', and write '' for a quote inside"),
    "`": ("a name in backticks", "close it with ` in the same line"),
    "/*": ("a comment", "close it with */"),
}


@dataclass(frozen=True, slots=True)
class Token:
    """A word, literal or sign.

    `kind` is word, quoted, string, prefixed, escaped, unicode, binary, number, sign or end. `text` is as
    it is written, except that a word is in capitals; `raw` is always as it is written.
    """

    kind: str
    text: str
    raw: str
    start: int
    stop: int


def tokens_of(source: Source) -> list[Token]:
    """All tokens of a text; the last one is of the kind ``end``.

    Examples
    --------
    >>> [token.text for token in tokens_of(Source("select `a` -- all"))]
    ['SELECT', '`a`', '']
    """
    text, tokens, place = source.text, [], 0
    while place < len(text):
        found = _PATTERN.match(text, place)
        if found is None:
            raise _lexical_error(source, place)
        kind, raw = str(found.lastgroup), found.group()
        if kind != "space":
            shown = raw.upper() if kind == "word" else raw
            tokens.append(Token(kind, shown, raw, place, found.end()))
        place = found.end()
    tokens.append(Token("end", "", "", len(text.rstrip()), len(text.rstrip()) + 1))
    return tokens


def _lexical_error(source: Source, place: int) -> SqlError:
    text = source.text
    for opening, (what, hint) in _UNCLOSED.items():
        if text.startswith(opening, place):
            span = source.span(place, place + len(opening))
            return sql_error("SQL_UNCLOSED", f"{what} is not closed", source, span, hint)
    character = text[place]
    hint = f"remove {character!r}"
    if character == '"':
        hint = "write texts in single quotes: 'text'; and names in backticks: `name`"
    span = source.span(place, place + 1)
    return sql_error(
        "SQL_CHARACTER", f"the character {character!r} has no meaning here", source, span, hint
    )
