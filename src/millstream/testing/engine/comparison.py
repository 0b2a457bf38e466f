"""Comparison of the results of two runs, and their first difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.types import Row
from millstream.kernel.keys.identity import map_identity
from millstream.testing.engine.records import StreamRecord

__all__ = ["Comparison", "Difference", "first_field"]

Records = Sequence[StreamRecord]
Sinks = Mapping[str, Records]
Mode = Literal["exact", "per_key", "unordered", "last_per_key"]
_MODES = ("exact", "per_key", "unordered", "last_per_key")
_AROUND = 2


def first_field(value: Any) -> Any:
    """The first field of a tuple, list or row; any other value itself.

    Examples
    --------
    >>> first_field(("a", 1)), first_field("abc")
    ('a', 'abc')
    """
    return value[0] if isinstance(value, tuple | list | Row) and len(value) else value


@dataclass(frozen=True)
class Difference:
    """The first place where two runs differ. ``part`` is a key, if keys were compared."""

    sink: str
    part: Any
    index: int
    expected: Records
    found: Records
    is_order_only: bool
    is_same_at_last: bool

    def place(self) -> str:
        """Where it is."""
        key = "" if self.part is _WHOLE else f" of key {short_repr(self.part, 60)}"
        return f"sink {self.sink!r}, record {self.index}{key}"

    def count(self, records: Records) -> str:
        """How many records one of the two has there."""
        key = "" if self.part is _WHOLE else " of this key"
        return f"{len(records)} record{'' if len(records) == 1 else 's'}{key}"

    def window(self, records: Records) -> list[str]:
        """The record that differs, with an arrow, and its neighbours."""
        first = max(0, self.index - _AROUND)
        lines = []
        for index in range(first, min(self.index + _AROUND + 1, len(records))):
            arrow = ">" if index == self.index else " "
            value, timestamp = records[index]
            time = "no time" if timestamp is None else f"time {timestamp}"
            lines.append(f"{arrow} [{index}] {short_repr(value, 80)} ({time})")
        if self.index >= len(records):
            lines.append("> (no more records)")
        return lines


_WHOLE = object()
"""Stands for the key where there is none."""


@dataclass(frozen=True)
class Comparison:
    """How results are compared, see `rebatch`.

    Examples
    --------
    >>> one = {"out": [StreamRecord("a", 1), StreamRecord("b", 2)]}
    >>> other = {"out": [StreamRecord("b", 2), StreamRecord("a", 1)]}
    >>> Comparison("unordered").difference(one, other)
    >>> Comparison("exact").difference(one, other).place()
    "sink 'out', record 0"
    """

    mode: Mode
    key: Callable[[Any], Any] = first_field
    normalize: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        if self.mode not in _MODES:
            raise PlanError(
                "BAD_COMPARISON",
                f"compare cannot be {self.mode!r}",
                location=user_location(),
                hint='use "exact", "per_key" or "unordered"',
            )

    def difference(self, expected: Sinks, found: Sinks) -> Difference | None:
        """The first difference between two results, None if there is none."""
        for sink in [*expected, *(name for name in found if name not in expected)]:
            one = self._normal(expected.get(sink, ()))
            other = self._normal(found.get(sink, ()))
            difference = self._in_sink(sink, one, other)
            if difference is not None:
                return difference
        return None

    def _normal(self, records: Records) -> Records:
        if self.normalize is None:
            return records
        return [StreamRecord(self.normalize(value), ts) for value, ts in records]

    def _in_sink(self, sink: str, expected: Records, found: Records) -> Difference | None:
        one, other = self._parts(expected, self.mode), self._parts(found, self.mode)
        for part in [*one, *(part for part in other if part not in one)]:
            left, right = one.get(part, []), other.get(part, [])
            if left != right:
                index = _first_difference(left, right)
                return Difference(
                    sink,
                    part,
                    index,
                    left,
                    right,
                    self.mode != "unordered" and self._same("unordered", expected, found),
                    self.mode != "last_per_key" and self._same("last_per_key", expected, found),
                )
        return None

    def _same(self, mode: Mode, expected: Records, found: Records) -> bool:
        try:
            return self._parts(expected, mode) == self._parts(found, mode)
        except Exception:  # A hint is not worth an error: the key may not fit the values.
            return False

    def _parts(self, records: Records, mode: Mode) -> dict[Any, list[StreamRecord]]:
        """The records in the parts within which their order counts."""
        if mode == "exact":
            return {_WHOLE: list(records)}
        if mode == "unordered":
            return {_WHOLE: sorted(records, key=repr)}
        parts: dict[Any, list[StreamRecord]] = {}
        for record in records:
            parts.setdefault(map_identity(self.key(record.value)), []).append(record)
        if mode == "last_per_key":
            return {key: found[-1:] for key, found in parts.items()}
        return parts


def _first_difference(one: Records, other: Records) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))
