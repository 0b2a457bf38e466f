"""The panes of windows between epochs: buffers in the state that are written once."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from millstream.common.errors import CheckpointError
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.records.buffers import ArrowCodec, BufferRow, BufferWriter, Received, Records
from millstream.kernel.records.columns import Columns
from millstream.kernel.records.groups import Groups
from millstream.kernel.records.order import Ints
from millstream.kernel.state.pages import Store
from millstream.kernel.time.clock import Clock
from millstream.kernel.windows.panes import Panes


@dataclass
class _Chunk:
    """An addition to a pane: the numbers of its buffers. ``level``: how often merged."""

    level: int
    buffers: list[int]


@dataclass
class _State:
    """The chunks of each pane; ``next`` numbers the buffers."""

    panes: dict[int, list[_Chunk]] = field(default_factory=dict)
    next: int = 0


FIRED = 1 << 19
"""So many records are looked at at once, counted for each of their windows."""
MERGED = 16
"""So many chunks of one level become one of the next: each record is written a few times, not often."""
FORMAT = 1


class PaneStore:
    """The records of a slot's panes. ``combined`` makes the records of several chunks into one."""

    def __init__(
        self,
        store: Store,
        uid: str,
        codec: ArrowCodec,
        combined: Callable[[list[Records]], Records],
    ) -> None:
        self._store = store
        self._uid = uid
        self._codec = codec
        self._combined = combined
        self._stored = store.get(f"{uid}/panes")
        self.state = _State() if self._stored is None else self._decode(self._stored)

    def _decode(self, data: bytes) -> _State:
        version, panes, following = pickle.loads(data)
        if version != FORMAT:
            raise CheckpointError(
                "PANE_FORMAT",
                f"state of operator {self._uid!r} has pane format {version}, this is {FORMAT}",
                hint="run the Millstream version that wrote it and take a savepoint there",
            )
        chunks = {pane: [_Chunk(*chunk) for chunk in found] for pane, found in panes.items()}
        return _State(chunks, following)

    def epoch(
        self, new: dict[int, Records], panes: Panes, clock: Clock
    ) -> Iterator[tuple[list[int], list[Records]]]:
        """Give the windows that have `fired`; then store what is `waiting`, and drop what is over."""
        yield from self.fired(new, panes, clock)
        for pane, arrived in self.waiting(new, panes, clock):
            self.add(pane, arrived)
        self.close()

    def fired(
        self, new: dict[int, Records], panes: Panes, clock: Clock
    ) -> Iterator[tuple[list[int], list[Records]]]:
        """The windows that the clock passes, with all records of their panes, old and new.

        As many windows at a time as fit, for numpy likes it large.
        """
        known = sorted(new.keys() | self.state.panes.keys())
        content: dict[int, list[Records]] = {}
        loaded, size, windows = 0, 0, []
        for window in panes.due(np.array(known, np.int64), clock):
            first = window * panes.per_slide
            while loaded < len(known) and known[loaded] < first + panes.per_window:
                pane = known[loaded]
                content[pane] = [*self.load(pane), *([new[pane]] if pane in new else [])]
                loaded += 1
                size += sum(map(len, content[pane]))
            windows.append(window)
            if size * panes.overlap >= FIRED:
                yield windows, [part for parts in content.values() for part in parts]
                windows = []
                for pane in [pane for pane in content if pane < first + panes.per_slide]:
                    size -= sum(map(len, content.pop(pane)))
        if windows:
            yield windows, [part for parts in content.values() for part in parts]

    def waiting(
        self, new: dict[int, Records], panes: Panes, clock: Clock
    ) -> list[tuple[int, Records]]:
        """The new records whose panes some window will still ask for; panes that are over go."""
        for pane in [pane for pane in self.state.panes if panes.is_over(pane, clock)]:
            self.drop(pane)
        return [(pane, part) for pane, part in new.items() if not panes.is_over(pane, clock)]

    def load(self, pane: int) -> list[Records]:
        """The stored buffers of a pane, one by one."""
        return self._read(pane, self.state.panes.get(pane, []))

    def _read(self, pane: int, chunks: list[_Chunk]) -> list[Records]:
        found = []
        for number in [number for chunk in chunks for number in chunk.buffers]:
            header, payload = pickle.loads(self._store.get(self._name(pane, number)) or b"")
            received = Received.of(header, payload)
            values = Columns(self._codec.type_info, self._codec.columns([received.data]))
            found.append(Records(values, received.ts, received.keys, received.hashes))
        return found

    def add(self, pane: int, records: Records) -> None:
        """Keep more of a pane."""
        chunks = self.state.panes.setdefault(pane, [])
        chunks.append(_Chunk(0, self._written(pane, self._combined([records]))))
        while len(same := [chunk for chunk in chunks if chunk.level == chunks[-1].level]) == MERGED:
            whole = self._combined(self._read(pane, same))
            del chunks[-MERGED:]
            self._remove(pane, same)
            chunks.append(_Chunk(same[0].level + 1, self._written(pane, whole)))

    def _written(self, pane: int, records: Records) -> list[int]:
        numbers: list[int] = []

        def put(row: BufferRow) -> None:
            numbers.append(self.state.next)
            self.state.next += 1
            name = self._name(pane, numbers[-1])
            self._store.put(name, pickle.dumps((row.header, row.payload)))

        writer = BufferWriter(0, 0, self._codec, True, put)
        writer.add(records)
        writer.flush()
        return numbers

    def _remove(self, pane: int, chunks: list[_Chunk]) -> None:
        for chunk in chunks:
            for number in chunk.buffers:
                self._store.remove(self._name(pane, number))

    def drop(self, pane: int) -> None:
        """Forget a pane."""
        self._remove(pane, self.state.panes.pop(pane))

    def close(self) -> None:
        """Write down what there is."""
        name = f"{self._uid}/panes"
        if not self.state.panes:
            if self._stored is not None:
                self._store.remove(name)
            return
        panes = {
            pane: [(chunk.level, chunk.buffers) for chunk in chunks]
            for pane, chunks in self.state.panes.items()
        }
        data = pickle.dumps((FORMAT, panes, self.state.next), protocol=5)
        if data != self._stored:
            self._store.put(name, data)

    def _name(self, pane: int, number: int) -> str:
        return f"{self._uid}/pane/{pane}.{number}"


def by_pane(records: Records, panes: Ints) -> dict[int, Records]:
    """The records of each pane."""
    if not len(records):
        return {}
    groups = Groups.by([panes])
    ends = [*groups.starts[1:].tolist(), len(panes)]
    spans = zip(groups.starts.tolist(), ends, strict=True)
    return {
        int(panes[groups.order[start]]): records.take(groups.order[start:end])
        for start, end in spans
    }


def refuse_other_key(info: OperatorInfo, found: Any, key: Any, what: str = "window") -> None:
    """Refuse a window of a key that its records do not have by today's key selector."""
    if found != key:
        raise CheckpointError(
            "KEYS_CHANGED",
            f"operator {info.uid!r} has a {what} of key {key!r}, and by the key selector of this "
            f"program the key of its records is {found!r}",
            parameters={"uid": info.uid},
            location=info.location,
            hint="key by the same values as before, or give the operator another uid to start empty",
        )
