"""Regular expressions over whole columns, by Arrow's RE2 where it reads a pattern as Java does."""

from __future__ import annotations

import re
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from millstream.table.expressions.context import Context
from millstream.table.expressions.tree import Call
from millstream.table.expressions.vectors import Vector
from millstream.table.functions.quick_texts import constant_number, constant_text, texts

__all__ = ["extracted", "found", "same_in_re2"]

# What both read alike: plain characters and classes of them, repeated or not; groups that are not
# repeated, alternatives, and ^. Not $ and the dot, which know other ends of lines in Java.
_TOKENS = re.compile(
    r"""(?P<atom> (?: [A-Za-z0-9 _=&%/:,;@#!~"'<>-] | \\[./?*+|()\[\]{}^$\\dDwW]
                    | \[ \^? (?: a-z | A-Z | 0-9 | [A-Za-z0-9 _=%/:,;@#!~"'<>.?*+|(){}$&] )+ \] )
                    (?: [*+?] \??)? )
      | (?P<start> \^ )
      | (?P<open> \( (?! \? ) )
      | (?P<close> \) )
      | (?P<or> \| )""",
    re.VERBOSE,
)


@lru_cache(maxsize=256)
def same_in_re2(pattern: str, group: int = 0) -> str | None:
    """A pattern of RE2 that finds what Java's finds, with one group, named ``found``; None: not certain.

    The group is in every match: where Java has no text for it, RE2 would have an empty one.
    """
    parts, place, depth, groups = [], 0, 0, 0
    found, choices = group == 0, False
    while place < len(pattern):
        token = _TOKENS.match(pattern, place)
        if token is None or "&&" in token[0]:
            return None
        place, part = token.end(), token[0]
        if token.lastgroup == "open":
            groups, depth = groups + 1, depth + 1
            wanted = groups == group and depth == 1
            found, part = found or wanted, "(?P<found>" if wanted else "(?:"
        elif token.lastgroup == "close":
            depth -= 1
            if depth < 0 or pattern[place : place + 1] in ("*", "+", "?", "{"):
                return None
        choices = choices or (token.lastgroup == "or" and depth == 0)
        parts.append(part)
    if depth or not found or (group and choices):
        return None
    return "".join(parts) if group else f"(?P<found>{''.join(parts)})"


def extracted(call: Call, vectors: list[Vector], context: Context) -> pa.Array | None:
    """REGEXP_EXTRACT and REGEXP_SUBSTR of a constant pattern."""
    column, pattern = texts(vectors[0]), constant_text(vectors[1])
    group = constant_number(vectors[2]) if len(vectors) > 2 else 0
    if column is None or pattern is None or group is None:
        return None
    quick = same_in_re2(pattern, group)
    return None if quick is None else pc.struct_field(pc.extract_regex(column, quick), 0)


def found(call: Call, vectors: list[Vector], context: Context) -> pa.Array | None:
    """REGEXP of a constant pattern."""
    column, pattern = texts(vectors[0]), constant_text(vectors[1])
    quick = same_in_re2(pattern) if pattern else None
    return None if column is None or quick is None else pc.match_substring_regex(column, quick)
