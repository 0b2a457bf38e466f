"""The names of columns that `select` gives none: those of Flink's Table API, not those of SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.table.fluent.expression_base import ExpressionBase
from millstream.table.functions.registry import FUNCTIONS
from millstream.table.logical.entries import FunctionEntry

__all__ = ["ItemNames", "name_of_field"]


class ItemNames:
    """Names of the items of one list.

    Aggregates and times of windows are ``EXPR$0``, ``EXPR$1`` and so on, each once however often it
    occurs; a field of a row is ``row$field``, a cast ``column-TYPE``, and all others ``_c`` with their
    place.

    Parameters
    ----------
    render
        The SQL of an expression; equal texts are one result.
    find
        The user function of a name, if it is one.
    """

    def __init__(
        self,
        render: Callable[[Any], str],
        find: Callable[[tuple[str, ...]], FunctionEntry | None],
    ) -> None:
        self._render = render
        self._find = find
        self._results: dict[str, str] = {}

    def of(self, value: ExpressionBase, place: int) -> str:
        """The name of an item at a place."""
        self._note(value)
        if value._kind == "column":
            return value._name
        if value._kind == "alias":
            return value._names[0]
        if self._is_result(value):
            return self._results[self._render(value)]
        return name_of_field(value) or _cast_name(value) or f"_c{place}"

    def _note(self, value: Any) -> None:
        """Give names to all aggregates inside of an expression."""
        if not isinstance(value, ExpressionBase) or value._kind == "over":
            return
        if self._is_result(value):
            self._results.setdefault(self._render(value), f"EXPR${len(self._results)}")
            return
        for part in value._parts:
            self._note(part)

    def _is_result(self, value: ExpressionBase) -> bool:
        if value._kind == "window":
            return True
        if value._kind == "user":
            return bool(value._data.entry.kind == "aggregate")
        if value._kind == "call":
            entry = self._find((value._name,))
            known = FUNCTIONS.get(value._name.upper())
            return entry.kind == "aggregate" if entry else known is not None and known.aggregate
        return value._shown is not None and str(value._shown[0]).startswith(_JSON_AGGREGATES)


_JSON_AGGREGATES = ("JSON_OBJECTAGG", "JSON_ARRAYAGG")


def name_of_field(value: ExpressionBase) -> str | None:
    """The name of a field of a row, if the row is a column or a field of one."""
    if value._shown is None or value._shown[0] != "get":
        return None
    _, row, key = value._shown
    outer = row._name if row._kind == "column" else name_of_field(row)
    return outer and f"{outer}${'_' if isinstance(key, int) else ''}{key}"


def _cast_name(value: ExpressionBase) -> str | None:
    if value._shown is None or value._shown[0] != "cast":
        return None
    _, inner, kind = value._shown
    name = inner._name if inner._kind == "column" else name_of_field(inner)
    return name and f"{name}-{kind}"
