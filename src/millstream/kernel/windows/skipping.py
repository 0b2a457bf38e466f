"""Windows whose functions may fail: a record, or what a window would have emitted, is skipped.

A record that an assigner, a trigger or a fold fails on has not come. A window whose function or evictor
fails when it fires has fired without a result; its life goes on, and it is cleared in time.

The table of a key's windows may hold much. So it is not copied before each record: of the windows that a
record touches, what is folded and the states are; records themselves are only ever added.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from millstream.common.time_domain import TimeDomain
from millstream.common.windows import TimeWindow
from millstream.kernel.copying import frozen
from millstream.kernel.keys import shown
from millstream.kernel.outputs import Outputs
from millstream.kernel.pages import Timer
from millstream.kernel.skipping import SkippingOperator
from millstream.kernel.undo import SavedKey
from millstream.kernel.windows.contents import Aggregated, FirstReduced, Reduced
from millstream.kernel.windows.contexts import WindowCells
from millstream.kernel.windows.kept import KeptWindowOperator
from millstream.kernel.windows.operator import END_OF_TIME, WINDOWS, Entry, WindowOperator


class SavedEntry:
    """Content and states of a window before a call."""

    def __init__(self, content: Any, states: WindowCells | None, folds: bool) -> None:
        # A list of records is only ever added to, or replaced by another.
        self._content = frozen(content) if folds else content
        self._length = None if folds or content is None else len(content)
        self.states = None if states is None else _copied(states)

    def content(self) -> Any:
        if self._length is not None:
            del self._content[self._length :]
        return self._content


def _copied(states: WindowCells) -> WindowCells:
    return WindowCells({name: frozen(cell) for name, cell in states.items()})


class SavedTable(SavedKey):
    """The windows of a key before a call, and what else it has."""

    def __init__(self, operator: SkippingWindowOperator) -> None:
        cells = operator.cursor.cells
        super().__init__(operator.page, operator.key, cells, WINDOWS + 1)
        self._operator = operator
        table = cells[WINDOWS]
        self._entries = None if table is None else {w: (e, *e) for w, e in table.items()}
        self._touched: dict[Any, SavedEntry] = {}
        operator.saved_table = self

    def touch(self, window: Any) -> None:
        """Copy what there is of a window before it changes."""
        if self._entries is not None and window in self._entries and window not in self._touched:
            _, content, states = self._entries[window]
            self._touched[window] = SavedEntry(content, states, self._operator.folds)

    def keep(self) -> None:
        super().keep()
        self._operator.saved_table = None

    def undo(self) -> None:
        super().undo()
        self._operator.saved_table = None
        if self._entries is None:
            self._cells[WINDOWS] = None
            return
        for window, (entry, content, states) in self._entries.items():
            saved = self._touched.get(window)
            entry[:] = [content, states] if saved is None else [saved.content(), saved.states]
        self._cells[WINDOWS] = {window: entry for window, (entry, _, _) in self._entries.items()}


class SavedFiring(SavedKey):
    """The window that is about to fire, and the states of its key."""

    def __init__(self, operator: SkippingWindowOperator, entry: Entry) -> None:
        super().__init__(operator.page, operator.key, operator.cursor.cells, WINDOWS + 1)
        self._cursor, self._entry = operator.window_cursor, entry
        # An evictor is given the records themselves.
        copied = operator.folds or operator.spec.evictor is not None
        self._before = SavedEntry(entry[0], self._cursor.cells, copied)

    def undo(self) -> None:
        super().undo()
        self._entry[0] = self._before.content()
        self._cursor.cells = self._before.states


class SkippingWindowOperator(WindowOperator, SkippingOperator):
    """Runs any `WindowSpec`, record by record."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.saved_table: SavedTable | None = None
        self._firing: Entry | None = None

    @property
    def folds(self) -> bool:
        """Whether functions of the user's make the content of windows."""
        return isinstance(self.contents, Reduced | FirstReduced | Aggregated)

    def saved(self) -> SavedKey:
        return SavedTable(self) if self._firing is None else SavedFiring(self, self._firing)

    def _enter_window(self, window: Any) -> Entry:
        if self.saved_table is not None:
            self.saved_table.touch(window)
        return super()._enter_window(window)

    def _merge(self, result: Any, olds: Sequence[Any], table: dict[Any, Entry]) -> None:
        if self.saved_table is not None:
            for old in olds:
                self.saved_table.touch(old)
        super()._merge(result, olds, table)

    def _fire(self, entry: Entry, outputs: Outputs) -> None:
        self._firing = entry
        try:
            call = partial(super()._fire, entry, outputs)
            self.attempt(call, (shown(self.key), self.window), outputs)
        finally:
            self._firing = None

    def skipped_timer(self, timer: Timer) -> Any:
        return shown(self.key), timer[1]

    def give_up(self, timer: Timer) -> None:
        """Remove a window whose time is over, even if its trigger fails."""
        _, window, time = timer
        is_event = self.time_domain is TimeDomain.EVENT_TIME
        domain_ends = is_event == self.event_time or time >= END_OF_TIME
        if not domain_ends or time != self._cleanup_time(window):
            return
        self.window = window
        self._forget_window()
        for timers in (self.page.event_timers, self.page.tick_timers):
            times = [other for other in timers.pop(self.key, ()) if other[1] != window]
            if times:
                timers[self.key] = times


class SkippingKeptWindowOperator(KeptWindowOperator, SkippingOperator):
    """Windows of records that are kept by column: only the function itself can fail."""

    def _fire_kept(
        self, key: Any, window: TimeWindow, elements: list[Any], outputs: Outputs
    ) -> None:
        fire = partial(super()._fire_kept, key, window, elements, outputs)
        self.attempt(fire, (key, window), outputs)
