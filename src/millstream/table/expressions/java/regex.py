"""Java's regular expressions, translated for Python's `re`.

Different, and refused or not the same: intersections in character classes (``[a-z&&[^b]]``), ``\\G``,
and classes of Unicode other than the ones in `_CLASSES`.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["PatternError", "compile_java", "like_pattern", "similar_pattern"]


class PatternError(ValueError):
    """A pattern that Java refuses, or that is not supported."""


_CLASSES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": "\\x00-\\x7F",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": "!-/:-@\\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": " \\t",
    "XDigit": "0-9a-fA-F",
    "Space": " \\t\\n\\x0b\\f\\r",
    "Cntrl": "\\x00-\\x1f\\x7f",
    "javaLowerCase": "a-z",
    "javaUpperCase": "A-Z",
    "L": "^\\W\\d_",
    "IsAlphabetic": "^\\W\\d_",
    "IsHan": "\u4e00-\u9fff",
    "N": "0-9",
    "Lu": "A-Z",
    "Ll": "a-z",
}
_SHORT = {"d": "0-9", "w": "a-zA-Z0-9_", "s": " \\t\\n\\x0b\\f\\r", "h": " \\t\\xA0"}
_ANY = "[^\\n\\r\\u0085\\u2028\\u2029]"


class _Translator:
    """Walks over a Java pattern once."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.at = pattern, 0
        self.out: list[str] = []
        self.scopes: list[int] = [0]  # groups that inline flags have opened, per open group
        self.dot_all = False

    def run(self) -> str:
        while self.at < len(self.pattern):
            self._step()
        return "".join(self.out) + ")" * self.scopes[0]

    def _step(self) -> None:
        character = self.pattern[self.at]
        if character == "\\":
            self.out.append(self._escape(inside=False))
        elif character == "[":
            self.out.append(self._class())
        elif character == "(":
            self._open()
        elif character == ")":
            extra = self.scopes.pop() if len(self.scopes) > 1 else 0
            self.out.append(")" * (extra + 1))
            self.at += 1
        elif character == ".":
            self.out.append("." if self.dot_all else _ANY)
            self.at += 1
        elif character == "$":
            self.out.append("(?=[\\n\\r]?\\Z)" if "(?m" not in self.pattern else "$")
            self.at += 1
        else:
            self.out.append(character)
            self.at += 1

    def _open(self) -> None:
        rest = self.pattern[self.at :]
        flags = re.match(r"\(\?([imsxud]+)\)", rest)
        if flags:
            self.dot_all |= "s" in flags[1]
            known = "".join(sorted(set(flags[1]) & set("imsx")))
            self.out.append(f"(?{known}:" if known else "(?:")
            self.scopes[-1] += 1
            self.at += flags.end()
            return
        named = re.match(r"\(\?<([A-Za-z]\w*)>", rest)
        self.scopes.append(0)
        if named:
            self.out.append(f"(?P<{named[1]}>")
            self.at += named.end()
            return
        self.out.append("(")
        self.at += 1

    def _escape(self, inside: bool) -> str:
        if self.at + 1 >= len(self.pattern):
            raise PatternError("a backslash at the end of the pattern")
        character = self.pattern[self.at + 1]
        self.at += 2
        if character == "Q":
            end = self.pattern.find("\\E", self.at)
            stop = end if end >= 0 else len(self.pattern)
            quoted = re.escape(self.pattern[self.at : stop])
            self.at = stop + 2 if end >= 0 else stop
            return quoted
        if character.lower() in _SHORT:
            return self._set(_SHORT[character.lower()], character.isupper(), inside)
        if character in "pP":
            return self._set(_CLASSES[self._property()], character == "P", inside)
        if character == "z":
            return "\\Z"
        if character == "Z":
            return "(?=\\n?\\Z)"
        if character == "k":
            name = re.match(r"<(\w+)>", self.pattern[self.at :])
            if name:
                self.at += name.end()
                return f"(?P={name[1]})"
        if character == "R":
            return "(?:\\r\\n|[\\n\\r\\x0b\\f\\x85\\u2028\\u2029])"
        if character == "e":
            return "\\x1b"
        if character.isalpha() and character not in "tnrfaxubBA":
            raise PatternError(f"unknown escape \\{character}")
        return f"\\{character}" if character.isascii() else re.escape(character)

    def _property(self) -> str:
        name = re.match(r"\{(\w+)\}|(\w)", self.pattern[self.at :])
        if name is None or (name[1] or name[2]) not in _CLASSES:
            raise PatternError("unknown class of characters")
        self.at += name.end()
        return str(name[1] or name[2])

    def _set(self, members: str, negated: bool, inside: bool) -> str:
        if inside:
            if negated or members.startswith("^"):
                upper = {"0-9": "\\D", "a-zA-Z0-9_": "\\W", " \\t\\n\\x0b\\f\\r": "\\S"}
                if members not in upper:
                    raise PatternError("a negated class inside a class is not supported")
                return upper[members]
            return members
        if members.startswith("^"):
            return f"[{members[1:]}]" if negated else f"[{members}]"
        return f"[{'^' if negated else ''}{members}]"

    def _class(self) -> str:
        self.at += 1
        out = ["["]
        if self.pattern[self.at : self.at + 1] == "^":
            out.append("^")
            self.at += 1
        first = True
        while True:
            if self.at >= len(self.pattern):
                raise PatternError("a class of characters is not closed")
            character = self.pattern[self.at]
            if character == "]" and not first:
                self.at += 1
                return "".join([*out, "]"])
            first = False
            if character == "\\":
                out.append(self._escape(inside=True))
            elif character == "[":
                inner = self._class()
                if inner.startswith("[^"):
                    raise PatternError("a negated class inside a class is not supported")
                out.append(inner[1:-1])
            elif self.pattern.startswith("&&", self.at):
                raise PatternError("intersections of classes are not supported")
            else:
                out.append(character)
                self.at += 1


@lru_cache(maxsize=512)
def compile_java(pattern: str) -> re.Pattern[str]:
    """Compile a Java pattern.

    Examples
    --------
    >>> compile_java("(?<year>\\\\d+)").search("in 2020")["year"]
    '2020'
    """
    try:
        return re.compile(_Translator(pattern).run(), re.ASCII if "(?U" not in pattern else 0)
    except (re.error, RecursionError) as error:
        raise PatternError(str(error)) from None


@lru_cache(maxsize=512)
def like_pattern(pattern: str, escape: str | None) -> re.Pattern[str]:
    """The regular expression of a LIKE pattern."""
    out: list[str] = []
    at = 0
    while at < len(pattern):
        character = pattern[at]
        at += 1
        if escape is not None and character == escape:
            following = pattern[at : at + 1]
            if following not in {"%", "_", escape} or not following:
                raise PatternError(f"Invalid escape sequence '{pattern}', {at - 1}")
            out.append(re.escape(following))
            at += 1
        elif character == "%":
            out.append("(?s:.*)")
        elif character == "_":
            out.append(_ANY)
        else:
            out.append(re.escape(character))
    return re.compile("".join(out))


_SQL_CLASSES = {
    "[:ALPHA:]": "a-zA-Z",
    "[:alpha:]": "a-zA-Z",
    "[:UPPER:]": "A-Z",
    "[:upper:]": "A-Z",
    "[:LOWER:]": "a-z",
    "[:lower:]": "a-z",
    "[:DIGIT:]": "0-9",
    "[:digit:]": "0-9",
    "[:SPACE:]": " ",
    "[:space:]": " ",
    "[:WHITESPACE:]": " \\t\\n\\x0b\\f\\r",
    "[:whitespace:]": " \\t\\n\\x0b\\f\\r",
    "[:ALNUM:]": "a-zA-Z0-9",
    "[:alnum:]": "a-zA-Z0-9",
}


@lru_cache(maxsize=512)
def similar_pattern(pattern: str, escape: str | None) -> re.Pattern[str]:
    """The regular expression of a SIMILAR TO pattern."""
    out: list[str] = []
    at, inside = 0, False
    while at < len(pattern):
        character = pattern[at]
        named = next((name for name in _SQL_CLASSES if pattern.startswith(name, at)), None)
        if escape is not None and character == escape:
            out.append(re.escape(pattern[at + 1 : at + 2]))
            at += 2
            continue
        if inside and named is not None:
            out.append(_SQL_CLASSES[named])
            at += len(named)
            continue
        inside = character == "[" or (inside and character != "]")
        if inside or character in "[]()|*+?{},0123456789-^":
            out.append(character)
        elif character == "%":
            out.append("(?s:.*)")
        elif character == "_":
            out.append("(?s:.)")
        else:
            out.append(character if character == "." else re.escape(character))
        at += 1
    try:
        return re.compile("".join(out))
    except re.error as error:
        raise PatternError(str(error)) from None
