"""Broadcast state as a slot holds it: maps that the broadcast side writes and the other side reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millstream.common import state as api
from millstream.common.errors import CheckpointError, PlanError
from millstream.common.pickling import dumps
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.state import large, stored_pickles
from millstream.kernel.state.cells import Cursor, MapCell
from millstream.kernel.state.large import LargeCell, moved_out
from millstream.kernel.state.pages import Store

FORMAT = 2


class BroadcastCell(MapCell, api.BroadcastState[Any, Any]):
    """A broadcast map as the broadcast side sees it."""


class ReadOnlyCell(BroadcastCell):
    """A broadcast map as the other side sees it."""

    __slots__ = ("_info",)

    def __init__(self, cursor: Cursor, index: Any, info: OperatorInfo) -> None:
        super().__init__(cursor, index)
        self._info = info

    def clear(self) -> None:
        raise PlanError(
            "READ_ONLY_STATE",
            f"operator {self._info.name!r} writes broadcast state {self._index!r} for a record of "
            "its other input: only broadcast records may write it",
            location=self._info.location,
            hint="write it in process_broadcast_element, or keep state per key",
        )

    def put(self, key: Any, value: Any) -> None:
        self.clear()

    def put_all(self, dict_value: Any) -> None:
        self.clear()

    def remove(self, key: Any) -> None:
        self.clear()


class BroadcastMaps:
    """The broadcast maps of the slot at hand; a large one lies in store values of its own."""

    def __init__(self, info: OperatorInfo, names: Iterable[str]) -> None:
        self._info = info
        self.names = tuple(names)
        self._cursor = Cursor()
        self._store: Store | None = None
        self._stored: bytes | None = None
        self._handles: list[LargeCell] = []
        self.writable = {name: BroadcastCell(self._cursor, name) for name in self.names}
        self.read_only = {name: ReadOnlyCell(self._cursor, name, info) for name in self.names}

    @property
    def _place(self) -> str:
        return f"{self._info.uid}/broadcast"

    def load(self, store: Store) -> None:
        """Read what the slot has stored."""
        self._store = store
        self._stored = store.get(self._place)
        maps = {} if self._stored is None else decoded_maps(self._stored, self._info.uid)
        self._handles = [content for content in maps.values() if isinstance(content, LargeCell)]
        for handle in self._handles:
            handle.bind(store, self._info.uid)
        self._cursor.cells = dict.fromkeys(self.names) | maps

    def save(self) -> None:
        """Write what has changed. A value may have been changed in place: the content counts."""
        assert self._store is not None
        maps = {name: content for name, content in self._cursor.cells.items() if content}
        kept = {id(content) for content in maps.values()}
        for handle in self._handles:
            if id(handle) in kept:
                handle.flush()
            else:
                handle.drop()
        data = dumps((FORMAT, maps))
        if len(data) > large.LARGE_BYTES:
            moved = {name: self._moved(name, content) for name, content in maps.items()}
            data = dumps((FORMAT, moved))
        if not maps:
            if self._stored is not None:
                self._store.remove(self._place)
        elif data != self._stored:
            self._store.put(self._place, data)

    def _moved(self, name: str, content: Any) -> Any:
        if isinstance(content, LargeCell):
            return content
        assert self._store is not None
        place = f"broadcast/{name}"
        return moved_out(content, place, self._store, self._info.uid) or content

    def find(self, among: dict[str, Any], descriptor: Any) -> Any:
        """The map of a descriptor. The program must have given the descriptor to ``broadcast``."""
        name = getattr(descriptor, "name", descriptor)
        found = among.get(name)
        if found is None:
            raise PlanError(
                "UNKNOWN_BROADCAST_STATE",
                f"operator {self._info.name!r} asks for broadcast state {name!r}, "
                "which it does not have",
                location=self._info.location,
                hint=f"give its descriptor to broadcast(...); there {_are(self.names)}",
            )
        return found


def decoded_maps(data: bytes, uid: str) -> dict[str, Any]:
    """The stored broadcast maps of an operator by name, or the handles of large ones."""
    version, maps = stored_pickles.loads(data)
    if version != FORMAT:
        raise CheckpointError(
            "BROADCAST_FORMAT",
            f"broadcast state of operator {uid!r} has format {version}, this is {FORMAT}",
            hint="run the Millstream version that wrote it and take a savepoint there",
        )
    found: dict[str, Any] = maps
    return found


def _are(names: tuple[str, ...]) -> str:
    return ("is " if len(names) == 1 else "are ") + ", ".join(map(repr, names))
