"""Results of statements that are no queries: OK, or a small table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from millstream.table.expressions import kinds
from millstream.table.logical.typing_rules import row_type
from millstream.table.types.logical import RowType

__all__ = ["OK", "StatementResult", "listed", "table_of"]


@dataclass(frozen=True)
class StatementResult:
    """``kind``: "SUCCESS" for OK, or "SUCCESS_WITH_CONTENT" for rows."""

    kind: str
    row_type: RowType
    rows: tuple[tuple[Any, ...], ...]


OK = StatementResult("SUCCESS", row_type(["result"], [kinds.STRING]), (("OK",),))


def table_of(
    names: Sequence[str], rows: Iterable[Sequence[Any]], types: Any = None
) -> StatementResult:
    """A table of texts, or of the types given."""
    chosen = types or [kinds.STRING] * len(names)
    found = tuple(tuple(row) for row in rows)
    return StatementResult("SUCCESS_WITH_CONTENT", row_type(list(names), chosen), found)


def listed(name: str, values: Iterable[str], show: Any) -> StatementResult:
    """One column of names, those that fit the LIKE of a SHOW."""
    return table_of([name], [[value] for value in values if fits(value, show)])


def fits(value: str, show: Any) -> bool:
    """Whether a name fits [NOT] LIKE or ILIKE of a SHOW."""
    if show.pattern is None:
        return True
    parts = [{"%": ".*", "_": "."}.get(sign, re.escape(sign)) for sign in show.pattern]
    flags = re.IGNORECASE if show.operator == "ILIKE" else 0
    found = re.fullmatch("".join(parts), value, flags | re.DOTALL) is not None
    return found != bool(show.negated)
