"""The state of a key before a call, to restore it if the call fails.

Cells are copied before the call. Of the large ones only what a call can change is: the tail of a
`LongList`, whose segments are never changed before the page is written, and those parts of a `BigMap`
that the call touches.
"""

from __future__ import annotations

from typing import Any

from millstream.kernel.records.copying import frozen
from millstream.kernel.state.large import BigMap, LongList
from millstream.kernel.state.pages import Page, Timer, Timers

Place = tuple[int, int]
"""Depth and prefix of a part of a `BigMap`."""


class SavedKey:
    """The cells of a key, from the ``first`` on, and its timers."""

    def __init__(self, page: Page, key: Any, cells: list[Any], first: int = 0) -> None:
        self._cells = cells
        self._first = first
        self._saved = [_saved(cell) for cell in cells[first:]]
        self._key = key
        self._timers = [(timers, _times(timers, key)) for timers in _both(page)]

    def keep(self) -> None:
        """The call has succeeded: what it did counts."""
        for saved in self._saved:
            if saved.__class__ is SavedMap:
                saved.keep()

    def undo(self) -> None:
        """The call has failed: all is as before it."""
        content = [s.undo() if isinstance(s, SavedList | SavedMap) else s for s in self._saved]
        # The call may have asked for a state that the key had no cell of before.
        new = len(self._cells) - self._first - len(content)
        self._cells[self._first :] = content + [None] * new
        for timers, times in self._timers:
            if times is None:
                timers.pop(self._key, None)
            else:
                timers[self._key] = times


def _both(page: Page) -> tuple[Timers, Timers]:
    return page.event_timers, page.tick_timers


def _times(timers: Timers, key: Any) -> list[Timer] | None:
    times = timers.get(key) if timers else None
    return None if times is None else list(times)


def _saved(cell: Any) -> Any:
    if isinstance(cell, LongList):
        return SavedList(cell)
    if isinstance(cell, BigMap):
        return SavedMap(cell)
    return frozen(cell)


class SavedList:
    """A long list before a call."""

    def __init__(self, handle: LongList) -> None:
        self._handle = handle
        self._content = (frozen(handle._tail), handle._first, handle._newest)

    def undo(self) -> LongList:
        handle = self._handle
        handle._tail, handle._first, handle._newest = self._content
        return handle


class SavedMap:
    """A big map before a call, which works on copies of the parts that it touches."""

    def __init__(self, handle: BigMap) -> None:
        self._handle = handle
        self._loaded = handle._loaded
        self._numbers = (handle._count, handle._next)
        handle._loaded = TouchedParts(handle._loaded)

    def keep(self) -> None:
        # Not `items()`: that would copy what nobody has touched.
        for place in list(self._handle._loaded):
            self._loaded[place] = self._handle._loaded[place]
        self._handle._loaded = self._loaded

    def undo(self) -> BigMap:
        handle = self._handle
        handle._loaded = self._loaded
        handle._count, handle._next = self._numbers
        return handle


class TouchedParts(dict[Place, Any]):
    """Parts of a map that a call has touched, as copies of those that were there before."""

    def __init__(self, before: dict[Place, Any]) -> None:
        super().__init__()
        self._before = before

    def get(self, place: Place, default: Any = None) -> Any:
        if place not in self:
            part = self._before.get(place)
            if part is None:
                return default
            entries = {key: (number, frozen(v)) for key, (number, v) in part.entries.items()}
            self[place] = type(part)(entries, part.stored)
        return self[place]

    def values(self) -> Any:
        for place in self.all_places():
            self.get(place)
        return super().values()

    def all_places(self) -> set[Place]:
        before = self._before
        earlier = before.all_places() if isinstance(before, TouchedParts) else set(before)
        return earlier | set(self)
