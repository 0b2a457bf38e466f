"""The windows of a key before a call, to restore them if the call fails.

A record that an assigner, a trigger or a fold fails on has not come. A window whose function or evictor
fails when it fires has fired without a result; its life goes on, and it is cleared in time.

The table of a key's windows may hold much. So it is not copied before each record: of the windows that a
record touches, what is folded and the states are; records themselves are only ever added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.kernel.records.copying import frozen
from millstream.kernel.state.undo import SavedKey
from millstream.kernel.windows.contents import WINDOWS, Entry
from millstream.kernel.windows.contexts import WindowCells

if TYPE_CHECKING:
    from millstream.kernel.windows.operator import WindowOperator


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

    def __init__(self, operator: WindowOperator) -> None:
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
            self._touched[window] = SavedEntry(content, states, self._operator.contents.folds)

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

    def __init__(self, operator: WindowOperator, entry: Entry) -> None:
        super().__init__(operator.page, operator.key, operator.cursor.cells, WINDOWS + 1)
        self._cursor, self._entry = operator.window_cursor, entry
        # An evictor is given the records themselves.
        copied = operator.contents.folds or operator.spec.evictor is not None
        self._before = SavedEntry(entry[0], self._cursor.cells, copied)

    def undo(self) -> None:
        super().undo()
        self._entry[0] = self._before.content()
        self._cursor.cells = self._before.states
