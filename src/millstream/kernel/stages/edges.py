"""Edges into a keyed stage, or through it, and the records that wait there for other channels."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from millstream.kernel.records.buffers import DATA, BufferRow, Codec, Received, encode
from millstream.kernel.state.pages import Store
from millstream.kernel.state.slot import SlotState
from millstream.kernel.time.watermarks import EpochTime

if TYPE_CHECKING:
    from millstream.kernel.windows.partial_sums import PartialSums


@dataclass
class InEdge:
    """An edge into a keyed stage, or through it: how to decode its buffers, and whose time they have.

    ``timeline`` gives the floors of stamps that a source task made (None: made in a keyed stage, or
    the source has no timestamps); ``ordered_by`` the timeline of records that come from a source;
    ``timelines`` all that their stamps may be of; ``waits_for`` the timelines whose channels may hold
    them back; ``input`` which of the operator's inputs it is; ``name`` says which edge it is in state
    that outlives the program; ``key`` the selector by whose keys its records have their slots, if there
    is one; ``sums`` what adds up records, if partial sums travel on it instead; ``stays`` says that an
    operator of the same stage feeds it, which puts columns into ``handed`` as they are.
    """

    tag: int
    codec: Codec
    timeline: int | None
    input: int = 0
    index: int = 0
    siblings: int = 1
    ordered_by: int | None = None
    name: str = ""
    key: Callable[[Any], Any] | None = None
    timelines: frozenset[int] = frozenset()
    waits_for: frozenset[int] = frozenset()
    sums: PartialSums | None = None
    stays: bool = False
    handed: list[Received] = field(default_factory=list)

    def arrived(self, rows: Iterable[BufferRow], time: EpochTime) -> list[Received]:
        """The buffers of the edge in an epoch, and what has been handed over."""
        found = [*(self.receive(row, time) for row in rows), *self.handed]
        self.handed.clear()
        return found

    def receive(self, row: BufferRow, time: EpochTime) -> Received:
        """A buffer of the edge, with stamps that have had their floors."""
        received = Received.of(row.header, row.payload)
        if self.timeline is not None and not received.raised:
            time.raise_stamps(self.timeline, received.keys)
        return received


class WaitingRoom:
    """Keeps back, in a keyed stage, the records that other channels may still precede.

    ``held``: the edges whose records may wait here. ``own``: the edges into the stage. Their records may
    have waited here when a savepoint was taken, though they do not wait now: those wait on, for the
    channels of the sources, whose timelines are ``ordered``.
    """

    def __init__(
        self, held: Iterable[InEdge], own: Iterable[InEdge], ordered: frozenset[int]
    ) -> None:
        self.held = {edge.tag: edge for edge in held}
        self.own = {edge.tag: edge for edge in own}
        waiting_on = {tag: replace(edge, waits_for=ordered) for tag, edge in self.own.items()}
        self.known = waiting_on | self.held

    def pass_through(
        self,
        slot: int,
        buffers: dict[int, list[BufferRow]],
        state: SlotState,
        store: Store,
        time: EpochTime,
    ) -> Iterator[BufferRow]:
        """Keep back what has to wait; release what is due, and what is due of earlier epochs.

        Released buffers of a later stage or a sink pass on; those of this stage stay in ``buffers``.
        """
        arrived = [row for tag in self.held for row in buffers.pop(tag, ())]
        tags = {edge.name: tag for tag, edge in self.known.items()}
        for number, name in list(state.held.items()):
            header, payload = pickle.loads(store.get(f"held/{number}") or b"")
            waiting = BufferRow(slot, DATA, tags[name], header, payload)
            released, kept = self._divide(waiting, time)
            if kept is not waiting:
                store.remove(f"held/{number}")
                del state.held[number]
                self._keep(kept, state, store)
                yield from self._release(released, buffers)
        for row in arrived:
            released, kept = self._divide(row, time)
            self._keep(kept, state, store)
            yield from self._release(released, buffers)

    def _divide(self, row: BufferRow, time: EpochTime) -> tuple[BufferRow | None, BufferRow | None]:
        """Divide a buffer into records that may be processed, and records that have to wait."""
        edge = self.known[row.tag]
        received = edge.receive(row, time)
        free = time.releasable(received.keys, edge.waits_for)
        if free.all() or not free.any():
            if not received.raised:
                header, payload = received.encoded(raised=True)
                row = row._replace(header=header, payload=payload)
            return (row, None) if free.all() else (None, row)
        records = received.in_columns(edge.codec) or received.decoded(edge.codec)
        parts = []
        for mask in (free, ~free):
            part = records.take(np.flatnonzero(mask))
            header, payload = encode(part, edge.codec, raised=True)
            parts.append(row._replace(header=header, payload=payload))
        return parts[0], parts[1]

    def _keep(self, row: BufferRow | None, state: SlotState, store: Store) -> None:
        if row is not None:
            state.held[state.next_held] = self.known[row.tag].name
            store.put(f"held/{state.next_held}", pickle.dumps((row.header, row.payload)))
            state.next_held += 1

    def _release(
        self, row: BufferRow | None, buffers: dict[int, list[BufferRow]]
    ) -> Iterator[BufferRow]:
        if row is not None:
            if row.tag in self.own:
                buffers.setdefault(row.tag, []).append(row)
            else:
                yield row
