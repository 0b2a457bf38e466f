"""The columns of windows in a table, and which operators work window by window because of them.

Where a table has the start and the end of windows, a group, a rank or a join by both of them needs the
rows of one window only: its results are final when the window is over, and then its state goes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from millstream.table.expressions.tree import InputRef
from millstream.table.logical.algebra import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    Over,
    Project,
    Relation,
    Sort,
    WindowTable,
)
from millstream.table.logical.typing_rules import time_kind
from millstream.table.physical.joins import JoinParts, join_parts
from millstream.table.rules.nodes import Rank
from millstream.table.types.logical import LocalZonedTimestampType, LogicalType

__all__ = [
    "WindowColumns",
    "WindowJoinParts",
    "distinct_windows",
    "ends_with_windows",
    "rank_windows",
    "window_columns",
    "window_join",
    "window_of",
]


@dataclass(frozen=True)
class WindowColumns:
    """The places of window_start, window_end and window_time in a table; None if it is not there."""

    start: int | None
    end: int | None
    time: int | None
    table: WindowTable

    @property
    def bounds(self) -> tuple[int, int]:
        """The places of start and end, which are both there."""
        assert self.start is not None and self.end is not None
        return self.start, self.end

    @property
    def in_event_time(self) -> bool:
        """Whether the watermark ends the windows, and not the time of day."""
        return time_kind(self._time_type) != "PROCTIME"

    @property
    def _time_type(self) -> LogicalType:
        return self.table.input.row_type.fields[self.table.time].type

    def zone(self, zone: str) -> str | None:
        """The zone by whose clock the windows were made, if that of the session counts."""
        return zone if isinstance(self._time_type, LocalZonedTimestampType) else None

    def within(self, places: Iterable[int]) -> bool:
        """Whether start and end are among some places."""
        return self.start is not None and {self.start, self.end} <= set(places)

    def at(self, places: dict[int, int]) -> WindowColumns:
        """The same columns at other places."""
        return WindowColumns(
            _moved(self.start, places),
            _moved(self.end, places),
            _moved(self.time, places),
            self.table,
        )

    def matches(self, other: WindowColumns) -> bool:
        """Whether both are windows of one kind and one length."""
        one, two = self.table, other.table
        return (one.kind, one.size, one.step, one.offset) == (
            two.kind,
            two.size,
            two.step,
            two.offset,
        )


def _moved(place: int | None, places: dict[int, int]) -> int | None:
    return None if place is None else places.get(place)


def window_columns(relation: Relation) -> WindowColumns | None:
    """Where a table has the windows of a window table below it; None if there is none."""
    if isinstance(relation, WindowTable):
        width = len(relation.input.row_type.fields)
        return WindowColumns(width, width + 1, width + 2, relation)
    if isinstance(relation, Filter | Sort | Over | Distinct):
        return window_columns(relation.input)
    if isinstance(relation, Rank):
        return rank_windows(relation)
    if isinstance(relation, Join):
        found = window_join(relation)
        return None if found is None else found.left
    if not isinstance(relation, Project | Aggregate):
        return None
    below = window_columns(relation.input)
    if below is None:
        return None
    if isinstance(relation, Aggregate):
        if below.table.emit is not None:
            # Its results change after the window is over.
            return None
        return below.at({key: at for at, key in enumerate(relation.keys)})
    copies = [(e.index, at) for at, e in enumerate(relation.expressions) if isinstance(e, InputRef)]
    return below.at(dict(reversed(copies)))


def window_of(relation: Aggregate) -> WindowColumns | None:
    """The windows that an aggregate groups by: all its grouping sets have their start and end."""
    found = window_columns(relation.input)
    sets = relation.sets or (tuple(range(len(relation.keys))),)
    in_all = found is not None and all(
        found.within(relation.keys[place] for place in each) for each in sets
    )
    return found if in_all else None


def distinct_windows(relation: Distinct) -> Aggregate:
    """DISTINCT as groups by all columns."""
    keys = tuple(range(len(relation.row_type.fields)))
    return Aggregate(relation.row_type, relation.input, keys, ())


def rank_windows(relation: Rank) -> WindowColumns | None:
    """The windows in which rows are ranked: their start and end are among the partition."""
    found = window_columns(relation.input)
    if found is None or not found.in_event_time:
        return None
    return found if found.within(relation.partition) else None


@dataclass(frozen=True)
class WindowJoinParts:
    """The windows of both sides of a join, and its condition: the windows' equalities come first."""

    left: WindowColumns
    right: WindowColumns
    parts: JoinParts


def window_join(relation: Join) -> WindowJoinParts | None:
    """The windows that a join compares; None if it is a regular join."""
    sides = [window_columns(each) for each in relation.inputs()]
    left, right = sides
    if left is None or right is None or not left.matches(right) or not left.in_event_time:
        return None
    parts = join_parts(relation.condition, len(relation.left.row_type.fields))
    wanted = [(left.start, right.start), (left.end, right.end)]
    found = {}
    others = []
    for each in parts.equalities:
        pair = (getattr(each.left, "index", None), getattr(each.right, "index", None))
        if None not in pair and pair in wanted and pair not in found:
            found[pair] = each
        else:
            others.append(each)
    if len(found) < 2 or any(each.null_safe for each in others):
        return None
    ordered = (*(found[pair] for pair in wanted), *others)
    return WindowJoinParts(left, right, JoinParts(ordered, parts.rest))


def ends_with_windows(relation: Relation) -> bool:
    """Whether an operator's state goes when windows are over."""
    if isinstance(relation, Distinct):
        relation = distinct_windows(relation)
    if isinstance(relation, Aggregate):
        return window_of(relation) is not None
    if isinstance(relation, Rank):
        return rank_windows(relation) is not None
    return isinstance(relation, Join) and window_join(relation) is not None
