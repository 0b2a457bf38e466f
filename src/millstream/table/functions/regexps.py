"""Functions of Java's regular expressions."""

from __future__ import annotations

from millstream.table.expressions import kinds
from millstream.table.expressions.java.regex import PatternError, compile_java
from millstream.table.expressions.java.text import utf16
from millstream.table.expressions.kinds import LogicalType
from millstream.table.functions import quick_regexps
from millstream.table.functions.registry import function

__all__: list[str] = []

STRING = "string"


@function(
    "REGEXP",
    STRING,
    "REGEXP(string, regex)",
    "STRING STRING",
    "BOOLEAN",
    quick=quick_regexps.found,
)
def _regexp(text: str, pattern: str) -> bool:
    """TRUE if a part of the text fits the pattern."""
    if not pattern:
        return False
    try:
        return compile_java(pattern).search(text) is not None
    except PatternError:
        return False


@function(
    "REGEXP_REPLACE",
    STRING,
    "REGEXP_REPLACE(string, regex, replacement)",
    "STRING STRING STRING",
    "STRING",
)
def _replace(text: str, pattern: str, replacement: str) -> str | None:
    """The text with the replacement, as it is written, instead of all parts that fit the pattern."""
    try:
        return compile_java(pattern).sub(lambda match: replacement, text)
    except PatternError:
        return None


@function(
    "REGEXP_EXTRACT",
    STRING,
    "REGEXP_EXTRACT(string, regex [, group])",
    "STRING STRING INT?",
    "STRING?",
    quick=quick_regexps.extracted,
)
def _extract(text: str, pattern: str, group: int = 0) -> str | None:
    """The part, or a group of it, that fits the pattern first; NULL if none does."""
    try:
        match = compile_java(pattern).search(text)
    except PatternError:
        return None
    if match is None or not 0 <= group <= match.re.groups:
        return None
    return match[group]


@function("REGEXP_COUNT", STRING, "REGEXP_COUNT(string, regex)", "STRING STRING", "INT?")
def _count(text: str, pattern: str) -> int | None:
    """The number of parts that fit the pattern."""
    try:
        return sum(1 for _ in compile_java(pattern).finditer(text))
    except PatternError:
        return None


@function("REGEXP_INSTR", STRING, "REGEXP_INSTR(string, regex)", "STRING STRING", "INT?")
def _instr(text: str, pattern: str) -> int | None:
    """The place, from 1, of the first part that fits the pattern; 0 if none does."""
    try:
        match = compile_java(pattern).search(text)
    except PatternError:
        return None
    return 0 if match is None else len(utf16(text[: match.start()])) + 1


@function(
    "REGEXP_SUBSTR",
    STRING,
    "REGEXP_SUBSTR(string, regex)",
    "STRING STRING",
    "STRING?",
    quick=quick_regexps.extracted,
)
def _substr(text: str, pattern: str) -> str | None:
    """The first part that fits the pattern; NULL if none does."""
    try:
        match = compile_java(pattern).search(text)
    except PatternError:
        return None
    return None if match is None else match[0]


def _texts(types: list[LogicalType]) -> LogicalType:
    return kinds.array_of(kinds.STRING)


@function(
    "REGEXP_EXTRACT_ALL",
    STRING,
    "REGEXP_EXTRACT_ALL(string, regex [, group])",
    "STRING STRING INT?",
    _texts,
)
def _extract_all(text: str, pattern: str, group: int = 1) -> tuple[str | None, ...] | None:
    """All parts, or a group (by default the first) of each, that fit the pattern."""
    try:
        compiled = compile_java(pattern)
    except PatternError:
        return None
    if not 0 <= group <= compiled.groups:
        return None
    return tuple(match[group] for match in compiled.finditer(text))


def _string_map(types: list[LogicalType]) -> LogicalType:
    return kinds.map_of(kinds.STRING, kinds.STRING)


@function(
    "STR_TO_MAP",
    STRING,
    "STR_TO_MAP(string [, pair delimiter, key delimiter])",
    "STRING STRING? STRING?",
    _string_map,
    counts=(1, 3),
)
def _str_to_map(text: str, pairs: str = ",", keys: str = "=") -> tuple[tuple[str, str | None], ...]:
    """The map of a text such as a=1,b=2; both delimiters are patterns."""
    if not text:
        return ()
    found: dict[str, str | None] = {}
    for pair in java_split(text, pairs):
        parts = java_split(pair, keys, 2)
        found[parts[0]] = parts[1] if len(parts) > 1 else None
    return tuple(found.items())


def java_split(text: str, pattern: str, limit: int = 0) -> list[str]:
    """`String.split`: empty parts at the end are dropped unless there is a limit."""
    parts: list[str] = []
    start = 0
    for match in compile_java(pattern).finditer(text):
        if limit and len(parts) == limit - 1:
            break
        if match.end() == 0 and match.start() == 0:
            continue
        parts.append(text[start : match.start()])
        start = match.end()
    parts.append(text[start:])
    if not limit:
        while len(parts) > 1 and not parts[-1]:
            parts.pop()
    return parts
