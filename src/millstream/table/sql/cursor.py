"""A place in the tokens of a text, what may stand there, and the error if something else does.

Each question for a keyword is noted with its place. If no way leads on, the error is about the last
place that was reached, and names the keywords that were asked for there.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import NoReturn

from millstream.table.sql.errors import SqlError, sql_error
from millstream.table.sql.expressions import StringLiteral
from millstream.table.sql.keywords import RESERVED
from millstream.table.sql.lexer import Token, tokens_of
from millstream.table.sql.nodes import Identifier, Name, Source, Span

__all__ = ["Cursor"]

_ESCAPED = re.compile(r"(?P<u>.)(?:(?P=u)|\+[0-9a-fA-F]{6}|[0-9a-fA-F]{4})", re.DOTALL)
_C_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{1,2}|.)", re.DOTALL)
_MOST_EXPECTED = 8
_DEEPEST = 60
# Words that begin a clause: where a name is expected, something is missing before them.
_CLAUSES = (
    "SELECT", "FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT", "OFFSET", "FETCH",
    "UNION", "INTERSECT", "EXCEPT", "JOIN", "INNER", "CROSS", "ON", "USING", "AS", "AND", "OR",
    "THEN", "ELSE", "END", "WHEN", "WITH", "PARTITION", "INTO", "SET", "VALUES", "IS", "BETWEEN",
)  # fmt: skip


class Cursor:
    """Reads tokens one by one; the parsers of expressions, queries and statements build on it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = tokens_of(source)
        self.place = 0
        self.parameters = 0
        self._expected: set[str] = set()
        self._expected_at = -1
        self._depth = 0

    # Looking

    @property
    def token(self) -> Token:
        return self.tokens[self.place]

    def ahead(self, distance: int = 1) -> Token:
        """A later token; behind the last one, the last one."""
        return self.tokens[min(self.place + distance, len(self.tokens) - 1)]

    def at(self, *words: str) -> bool:
        """Whether these keywords or signs stand here, one behind the other."""
        self.expect_here(" ".join(words))
        return all(_is(self.ahead(i), word) for i, word in enumerate(words))

    def at_any(self, *words: str) -> bool:
        """Whether one of these keywords or signs stands here."""
        # All are asked for, so that the error can name them.
        found = [self.at(word) for word in words]
        return any(found)

    def at_kind(self, *kinds: str) -> bool:
        return self.token.kind in kinds

    def expect_here(self, what: str) -> None:
        """Note that something might stand here, for the error."""
        if self._expected_at != self.place:
            self._expected_at = self.place
            self._expected = set()
        self._expected.add(what)

    # Going on

    def advance(self) -> Token:
        token = self.token
        self.place = min(self.place + 1, len(self.tokens) - 1)
        return token

    def accept(self, *words: str) -> bool:
        """Step over these keywords or signs, if they stand here."""
        if not self.at(*words):
            return False
        for _ in words:
            self.advance()
        return True

    def accept_any(self, *words: str) -> str | None:
        """Step over one of these keywords or signs, and return it."""
        for word in words:
            if self.at(word):
                self.advance()
                return word
        return None

    def expect(self, *words: str) -> Token:
        """Step over these keywords or signs; anything else is an error."""
        first = self.token
        for word in words:
            if not self.accept(word):
                self.fail(word)
        return first

    def expect_any(self, *words: str) -> str:
        """Step over one of these keywords or signs, and return it; anything else is an error."""
        found = self.accept_any(*words)
        if found is None:
            self.fail()
        return found

    @contextmanager
    def nested(self) -> Iterator[None]:
        """One level deeper; too many levels are an error, before Python's own limit is."""
        self._depth += 1
        if self._depth > _DEEPEST:
            hint = "use fewer brackets, or parts of the query in WITH"
            message = f"the statement is nested more than {_DEEPEST} deep"
            raise self.error("SQL_TOO_DEEP", message, self.token, hint)
        try:
            yield
        finally:
            self._depth -= 1

    # Places

    def span_of(self, token: Token) -> Span:
        return self.source.span(token.start, token.stop)

    def since(self, start: Token | Span) -> Span:
        """The text from a token or node to the last token that was read."""
        first = start.start
        last = self.tokens[max(self.place - 1, 0)].stop
        return self.source.span(first, max(last, first))

    # Names and literals

    def at_name(self) -> bool:
        """Whether a name stands here: in backticks, or a word that is not reserved."""
        token = self.token
        return token.kind == "quoted" or (token.kind == "word" and token.text not in RESERVED)

    def name(self, what: str = "a name") -> Name:
        """Step over a name; a reserved word is an error."""
        token = self.token
        if not self.at_name():
            if token.kind == "word":
                self.reserved(token)
            self.fail(what)
        self.advance()
        return self.name_of(token)

    def name_of(self, token: Token) -> Name:
        quoted = token.kind == "quoted"
        text = token.raw[1:-1].replace("``", "`") if quoted else token.raw
        return Name(text, quoted, span=self.span_of(token))

    def identifier(self, what: str = "a name") -> Identifier:
        """Step over a name with its qualifiers."""
        start = self.token
        parts = [self.name(what)]
        while self.at(".") and (self.ahead().kind in ("quoted", "word")):
            self.advance()
            parts.append(self.name(what))
        return Identifier(tuple(parts), span=self.since(start))

    def names_in_brackets(self) -> tuple[Name, ...]:
        self.expect("(")
        names = [self.name()]
        while self.accept(","):
            names.append(self.name())
        self.expect(")")
        return tuple(names)

    def plain_string(self, what: str = "a text in single quotes") -> str:
        """Step over a text in quotes, without any prefix."""
        if not self.at_kind("string"):
            self.fail(what)
        return unquoted(self.advance().raw)

    def at_string(self) -> bool:
        return self.at_kind("string", "prefixed", "escaped", "unicode")

    def string_literal(self, what: str = "a text in single quotes") -> StringLiteral:
        """Step over a text in quotes; texts in a row are one text."""
        start = self.token
        if not self.at_string():
            self.fail(what)
        charset = None
        raw = self.advance().raw
        if start.kind == "prefixed":
            prefix, raw = raw[: raw.index("'")], raw[raw.index("'") :]
            charset = self._charset(prefix[1:] or "N", start)
        elif start.kind == "escaped":
            raw = _C_ESCAPE.sub(_c_character, raw[1:])
        elif start.kind == "unicode":
            raw = raw[2:]
        value = unquoted(raw)
        while self.at_kind("string"):
            value += unquoted(self.advance().raw)
        if start.kind == "unicode":
            value = self._unescaped(value, start)
        return StringLiteral(value, charset, span=self.since(start))

    def _charset(self, name: str, token: Token) -> str:
        try:
            codecs.lookup("utf-8" if name == "N" else name)
        except LookupError:
            message = f"there is no character set {name}"
            raise self.error("SQL_LITERAL", message, token, "leave it away, or use UTF8") from None
        return name

    def _unescaped(self, value: str, start: Token) -> str:
        escape = "\\"
        if self.accept("UESCAPE"):
            token = self.token
            escape = self.plain_string()
            if len(escape) != 1 or escape in "+'\" " or re.fullmatch(r"[0-9a-fA-F\s]", escape):
                raise self.error("SQL_LITERAL", f"{escape!r} is no escape character", token)

        def decoded(found: re.Match[str]) -> str:
            text = found.group()[1:]
            return escape if text == escape else chr(int(text.lstrip("+"), 16))

        pattern = _ESCAPED.pattern.replace("(?P<u>.)", f"(?P<u>{re.escape(escape)})")
        rest = re.sub(pattern, "", value)
        if escape in rest:
            hint = f"write {escape} and four hexadecimal digits, or {escape}{escape} for {escape}"
            raise self.error("SQL_LITERAL", "an escape of the text is incomplete", start, hint)
        return re.sub(pattern, decoded, value)

    def unsigned_integer(self, what: str = "a whole number") -> int:
        token = self.token
        if token.kind != "number" or not token.raw.isdigit():
            self.fail(what)
        self.advance()
        return int(token.raw)

    # Errors

    def reserved(self, token: Token) -> NoReturn:
        """The error of a keyword in the place of a name."""
        if token.text in _CLAUSES:
            self._missing(token)
        near = self._nearest(token)
        hint = f"quote it if it is a name: `{token.raw}`"
        if near:
            hint += f"; or is {near} meant?"
        message = f"{token.raw} is a reserved word and stands where a name is expected"
        raise self.error("SQL_RESERVED_WORD", message, token, hint)

    def _missing(self, token: Token) -> NoReturn:
        """The error of a clause that begins too early: `SELECT FROM t`, `SELECT a, FROM t`."""
        before = self.tokens[self.place - 1].raw if self.place else ""
        message = f"something is missing before {token.raw}"
        if before == ",":
            hint = "remove the comma before it, or write what is missing behind the comma"
        else:
            hint = f"write what belongs between {before} and {token.raw}"
        raise self.error("SQL_SYNTAX", message, token, hint)

    def fail(self, what: str | None = None) -> NoReturn:
        """The error about the token that stands here."""
        if what:
            self.expect_here(what)
        token = self.token
        wanted = self._wanted(what)
        if token.kind == "end":
            message = f"the statement ends too early: {wanted} is missing"
            raise self.error("SQL_END", message, token)
        near = self._nearest(token)
        message = f"{token.raw} is unexpected here; expected is {wanted}"
        hint = f"is {near} meant?" if near else self._mistaken_alias() or self._habit(token, what)
        if self.place and self.tokens[self.place - 1].text == ",":
            hint = hint or "remove the comma before it, or write what is missing behind the comma"
        raise self.error("SQL_SYNTAX", message, token, hint)

    def error(self, code: str, message: str, at: Token | Span, hint: str | None = None) -> SqlError:
        span = at if isinstance(at, Span) else self.span_of(at)
        return sql_error(code, message, self.source, span, hint)

    def _wanted(self, what: str | None) -> str:
        if what and what.startswith(("a ", "an ", "the ")):
            return what
        known = sorted(self._expected) if self._expected_at == self.place else []
        if not known:
            return what or "the end of the statement"
        near = self._nearest(self.token)
        if near:
            return near
        if len(known) > _MOST_EXPECTED and what:
            return what
        if len(known) > _MOST_EXPECTED:
            return (
                "the end of the statement, or another clause" if ";" in known else "something else"
            )
        return " or ".join(known)

    def _habit(self, token: Token, what: str | None) -> str | None:
        """The hint if another dialect writes it like this."""
        if token.text == "=" and self.tokens[self.place - 1].text == "=":
            return "write one ="
        if token.text == ":" and self.ahead().text == ":":
            return "write CAST(value AS type)"
        if what == ")" and (token.kind == "quoted" or self.at_name()):
            return "is a comma or a bracket missing before it?"
        return None

    def _mistaken_alias(self) -> str | None:
        """The hint if the word before is a misspelled keyword that was taken for a name."""
        before = self.tokens[self.place - 1]
        if not self.place or before.kind != "word" or before.text in RESERVED:
            return None
        near = get_close_matches(before.text, _CLAUSES, 1, 0.7)
        return f"is {near[0]} meant instead of {before.raw}?" if near else None

    def _nearest(self, token: Token) -> str | None:
        if token.kind != "word" or self._expected_at != self.place:
            return None
        words = [word for each in self._expected for word in each.split()[:1] if word.isalpha()]
        near = get_close_matches(token.text, words, 1, 0.75)
        return near[0] if near and near[0] != token.text else None


def _c_character(found: re.Match[str]) -> str:
    text = found.group()[1:]
    if text[0] in "uUx" and len(text) > 1:
        return chr(int(text[1:], 16)).replace("'", "''")
    return {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "'": "''"}.get(text, text)


def unquoted(raw: str) -> str:
    """The content of a text in quotes."""
    return raw[1:-1].replace("''", "'")


def _is(token: Token, word: str) -> bool:
    return token.text == word and token.kind in ("word", "sign")
