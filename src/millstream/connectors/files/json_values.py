"""JSON line by line, as Spark's reader takes it, for lines that Arrow takes differently or not at all.

Spark's parser also knows texts in single quotes, and numbers such as NaN. It looks at a line up to
the end of the first value. A value that does not fit its column is null there; where the line is no
JSON, all columns are.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DEEPEST = 1000
LONGEST_NUMBER = 1000
"""How deep Spark's parser goes, and how many digits it takes."""

_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[+-]?[A-Za-z]+")
_AFTER_NUMBER = frozenset(" \t\r\n,]}")
# Bytes that are no text are characters here, which no text has.
_STRINGS = {
    quote: re.compile(
        rf'(?:[^{quote}\\\x00-\x1f\udc80-\udcff]|\\(?:["\\/bfnrt\']|u[0-9a-fA-F]{{4}}))*'
    )
    for quote in "\"'"
}
_CUT = "[\udcc0-\udcdf].?|[\udce0-\udcef][\udc80-\udcbf]?.?|[\udcf0-\udcf7][\udc80-\udcbf]{0,2}.?"
"""A character that lacks bytes, with the one that it has instead."""
_REFUSED = re.compile(rf"\\u[0-9a-fA-F]{{0,3}}.?|\\?(?:{_CUT})|\\.?|.", re.DOTALL)
"""What Spark's parser has read when it refuses a text."""
_TO_PLAIN = re.compile(r'\\.|"')
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_ODD_NUMBERS = {
    "NaN": math.nan,
    "Infinity": math.inf,
    "+Infinity": math.inf,
    "-Infinity": -math.inf,
    "+INF": math.inf,
    "-INF": -math.inf,
}
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


class _NoJson(Exception):
    """The text is no JSON, as far as Spark knows it."""


class _NoText(_NoJson):
    """A text in quotes is none. Spark's parser goes on behind the characters that it does not take."""


@dataclass(frozen=True)
class _Token:
    """A value: what it is, what it means, and how it is written."""

    kind: str
    value: Any
    text: str


def rows_of(line: bytes, types: Mapping[str, str]) -> list[Sequence[Any]]:
    """The rows of a line: none if it is blank, one for each object if it is an array.

    Examples
    --------
    >>> types = {"word": "string", "n": "int", "m": "int"}
    >>> rows_of(b"{'word': 'to', 'n': 1.5, 'm': 2} and so on", types)
    [['to', None, 2]]
    >>> rows_of(b'{"word": "to"', {"word": "string"})
    [[None]]
    """
    nothing: list[Any] = [None] * len(types)
    try:
        return _Parser(line.decode(errors="surrogateescape"), types).root()
    except _NoJson:
        return [nothing]


class _Parser:
    """Goes along one line."""

    def __init__(self, line: str, types: Mapping[str, str]) -> None:
        self.line = line
        self.types = types
        self.places = {name: place for place, name in enumerate(types)}
        self.at = 0

    def root(self) -> list[Sequence[Any]]:
        start = self._next()
        if not start:
            return []
        if start == "{":
            return [self._row(1)]
        if start != "[":
            raise _NoJson
        self.at += 1
        rows: list[Sequence[Any]] = []
        while not self._closed("]", first=not rows):
            if self._next() != "{":
                raise _NoJson
            rows.append(self._row(2))
        return rows

    def _row(self, depth: int) -> Sequence[Any]:
        row: list[Any] = [None] * len(self.types)
        self.at += 1
        first = True
        while not self._closed("}", first=first):
            first = False
            name = self._name()
            place = self.places.get(name)
            try:
                token = self._value(depth)
            except _NoText:
                if place is None:
                    raise
                continue
            if place is not None:
                fits, value = converted(token, self.types[name])
                if fits:
                    row[place] = value
        return row

    def _name(self) -> str:
        quote = self._next()
        if quote not in _STRINGS:
            raise _NoJson
        name = self._string(quote)
        if self._next() != ":":
            raise _NoJson
        self.at += 1
        return name

    def _next(self) -> str:
        """The next character that is no white space; nothing at the end."""
        self.at = _SPACE.match(self.line, self.at).end()  # type: ignore[union-attr]
        return self.line[self.at : self.at + 1]

    def _closed(self, bracket: str, *, first: bool) -> bool:
        """Go behind the end of an object or array, or behind the comma before its next part."""
        found = self._next()
        if found == bracket:
            self.at += 1
            return True
        if not first:
            if found != ",":
                raise _NoJson
            self.at += 1
        return False

    def _value(self, depth: int) -> _Token:
        start = self._next()
        begin = self.at
        if start in ("{", "["):
            try:
                self._skip_parts(depth)
            except _NoText:
                raise _NoJson from None
            return _Token(start, None, self.line[begin : self.at])
        return self._plain_value(start)

    def _plain_value(self, start: str) -> _Token:
        if start in _STRINGS:
            return _Token("string", self._string(start), "")
        number = _NUMBER.match(self.line, self.at)
        return self._word() if number is None else self._number(number)

    def _skip_parts(self, depth: int) -> None:
        """Go behind an object or array, however deep."""
        open_brackets: list[str] = []
        first = True
        while True:
            start = self._next()
            if start in ("{", "["):
                open_brackets.append(start)
                if depth + len(open_brackets) > DEEPEST:
                    raise _NoJson
                self.at += 1
                first = True
            else:
                self._plain_value(start)
                first = False
            while self._closed("}" if open_brackets[-1] == "{" else "]", first=first):
                open_brackets.pop()
                first = False
                if not open_brackets:
                    return
            if open_brackets[-1] == "{":
                self._name()

    def _string(self, quote: str) -> str:
        found = _STRINGS[quote].match(self.line, self.at + 1)
        assert found is not None
        self.at = found.end() + 1
        if self.line[found.end() : self.at] != quote:
            refused = _REFUSED.match(self.line, found.end())
            if refused is None or quote == "'":
                raise _NoJson
            self.at = refused.end()
            raise _NoText
        return _unescaped(found[0])

    def _number(self, found: re.Match[str]) -> _Token:
        self.at = found.end()
        follows = self.line[self.at : self.at + 1]
        if (follows and follows not in _AFTER_NUMBER) or _digits(found[0]) > LONGEST_NUMBER:
            raise _NoJson
        whole = found[1] is None and found[2] is None
        return _Token("whole" if whole else "number", found[0], found[0])

    def _word(self) -> _Token:
        found = _WORD.match(self.line, self.at)
        word = found[0] if found else ""
        self.at += len(word)
        if word in ("true", "false"):
            return _Token("boolean", word == "true", word)
        if word == "null":
            return _Token("null", None, word)
        if word in _ODD_NUMBERS:
            return _Token("number", word, word)
        raise _NoJson


def _digits(number: str) -> int:
    return sum(map(str.isdigit, number)) if len(number) > LONGEST_NUMBER else len(number)


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    found: str = json.loads(f'"{_TO_PLAIN.sub(_plain_escape, text)}"')
    # Java writes half a pair of surrogates as a question mark.
    return _HALF_PAIR.sub("?", found)


def _plain_escape(found: re.Match[str]) -> str:
    """Quotes as they are escaped in a text between double quotes."""
    return {'"': '\\"', "\\'": "'"}.get(found[0], found[0])


def converted(token: _Token, name: str) -> tuple[bool, Any]:
    """Whether a value fits a column of some type, and what becomes of it."""
    if token.kind == "null":
        return True, None
    if name == "string":
        return True, token.value if token.kind == "string" else token.text
    if name == "boolean":
        return token.kind == "boolean", token.value
    if name == "double":
        return _double(token)
    return _whole(token, _BITS[name])


def _double(token: _Token) -> tuple[bool, Any]:
    if token.kind in ("whole", "number"):
        found = _ODD_NUMBERS.get(token.value)
        return True, float(token.value) if found is None else found
    odd = token.kind == "string" and token.value in _ODD_NUMBERS
    return odd, _ODD_NUMBERS.get(token.value) if odd else None


def _whole(token: _Token, bits: int) -> tuple[bool, Any]:
    if token.kind != "whole":
        return False, None
    number = int(token.value)
    # Of a byte, Spark's parser also takes the values without a sign.
    top = 1 << (bits if bits == 8 else bits - 1)
    fits = -1 << bits - 1 <= number < top
    return fits, number - 256 if bits == 8 and number > 127 else number
