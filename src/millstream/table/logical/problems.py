"""Errors of the binder: a place in the text, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from millstream.table.sql.errors import SqlError, sql_error
from millstream.table.sql.nodes import Node, Source

__all__ = ["Problems", "nearest", "shown_list"]


class Problems:
    """Makes the errors of one text. Without a text, errors have no place."""

    def __init__(self, source: Source | None) -> None:
        self.source = source

    def error(
        self, code: str, message: str, node: Node | None = None, hint: str | None = None
    ) -> SqlError:
        """An error about a part of the text."""
        if self.source is None or node is None:
            return SqlError(code, message, hint=hint)
        return sql_error(code, message, self.source, node.span, hint)

    def text(self, node: Node) -> str:
        """A part of the text as it is written, on one line."""
        if self.source is None:
            return ""
        return " ".join(self.source.text[node.span.start : node.span.stop].split())


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Up to three known names that resemble a name, the nearest first; case does not matter."""
    pool = list(dict.fromkeys(known))
    same = [each for each in pool if each.lower() == name.lower()]
    lowered = {each.lower(): each for each in reversed(pool)}
    close = get_close_matches(name.lower(), list(lowered), n=3, cutoff=0.6)
    return list(dict.fromkeys([*same, *(lowered[each] for each in close)]))[:3]


def shown_list(names: Iterable[str], most: int = 12) -> str:
    """Names with commas; of many, only the first ones."""
    pool = list(names)
    ending = f", ... ({len(pool)} in all)" if len(pool) > most else ""
    return ", ".join(pool[:most]) + ending
