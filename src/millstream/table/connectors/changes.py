"""Row kinds at the rim: what an epoch changes, as insertions, updates and deletions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from millstream.common.types import Row, RowKind, like

__all__ = ["changes_in_place", "folded", "hashable", "of_kind", "paired"]


def paired(rows: Sequence[Row], key: Sequence[int] | None = None) -> list[Row]:
    """The changes of an epoch: rows that came and went cancel; old and new row of a key are an update.

    A key of no columns is that of a table of one row; None: the table has no key.

    Examples
    --------
    >>> rows = [Row.of_kind(RowKind.DELETE, "a", 1), Row("a", 2), Row("b", 1)]
    >>> [str(row.get_row_kind()) for row in paired(rows, [0])]
    ['-U', '+U', '+I']
    """
    return [row for _, row in changes_in_place(rows, key)]


def changes_in_place(
    rows: Sequence[Row], key: Sequence[int] | None = None
) -> list[tuple[int, Row]]:
    """The changes of an epoch as `paired` gives them, each with the place of the row that it follows.

    Both rows of an update follow the new one.
    """
    left = _consolidated(rows)
    if key is None:
        return left
    gone: dict[Any, list[int]] = {}
    for at, row in left:
        if row.get_row_kind() is RowKind.DELETE:
            gone.setdefault(_key(row, key), []).append(at)
    old_rows = dict(left)
    partner: dict[int, int] = {}
    for at, row in left:
        if row.get_row_kind() is RowKind.INSERT and (waiting := gone.get(_key(row, key))):
            partner[at] = waiting.pop(0)
    taken = set(partner.values())
    found: list[tuple[int, Row]] = []
    for at, row in left:
        if at in partner:
            found.append((at, of_kind(old_rows[partner[at]], RowKind.UPDATE_BEFORE)))
            found.append((at, of_kind(row, RowKind.UPDATE_AFTER)))
        elif at not in taken:
            found.append((at, row))
    return found


def folded(rows: Iterable[Row]) -> list[Row]:
    """The table that changes lead to, rows in the order in which they came."""
    left = _consolidated([of_kind(row, _PLAIN[row.get_row_kind()]) for row in rows])
    return [row for _, row in left if row.get_row_kind() is RowKind.INSERT]


_PLAIN = {
    RowKind.INSERT: RowKind.INSERT,
    RowKind.UPDATE_AFTER: RowKind.INSERT,
    RowKind.UPDATE_BEFORE: RowKind.DELETE,
    RowKind.DELETE: RowKind.DELETE,
}


def _consolidated(rows: Sequence[Row]) -> list[tuple[int, Row]]:
    """Rows and their places, without those taken back: a deletion takes an equal insertion with it."""
    waiting: dict[tuple[Any, bool], list[int]] = {}
    gone: set[int] = set()
    for at, row in enumerate(rows):
        values = hashable(list(row))
        back = row.get_row_kind() is RowKind.DELETE
        others = waiting.get((values, not back))
        if others:
            gone.update((at, others.pop()))
        else:
            waiting.setdefault((values, back), []).append(at)
    return [(at, row) for at, row in enumerate(rows) if at not in gone]


def _key(row: Row, key: Sequence[int]) -> Any:
    return hashable([row[place] for place in key])


def hashable(value: Any) -> Any:
    """A value that can be a key of a dict; 1, 1.0 and True differ, NaN equals NaN."""
    if isinstance(value, dict):
        return tuple((hashable(k), hashable(v)) for k, v in value.items())
    if isinstance(value, list | tuple | Row):
        return tuple(map(hashable, value))
    if isinstance(value, float):
        return ("float", repr(value))
    return (type(value).__name__, value)


def of_kind(row: Row, kind: RowKind) -> Row:
    """A row with another kind."""
    if row.get_row_kind() is kind:
        return row
    found = like(row, list(row))
    found.set_row_kind(kind)
    return found
