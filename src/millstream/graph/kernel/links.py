"""The vertices of a task, the far ends of its edges, and values that travel between the two.

An edge belongs to the task that owns its near end. The distinct far ends are the task's slots, in
order of the task that owns them, then of their ids. At the beginning every task tells the owners
which of their vertices it has as slots, and in which order. From then on a value travels without
its id: its place in that order says to which vertex it belongs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from millstream.common.errors import PlanError
from millstream.graph.kernel.ids import (
    IdIndex,
    distinct_ids,
    first_ids,
    merged_ids,
    pick_ids,
)
from millstream.iteration import Task

__all__ = ["Links", "Parts"]

Parts = list[dict[str, Any] | None]

# A message has either all values, or some with their places: bytes of a place.
_PLACE_BYTES = 4


class Links:
    """The knowledge of a task about its vertices and the far ends of its edges.

    Parameters
    ----------
    task
        The task.
    near, far
        The ids of the two ends of its edges. It owns all near ends.
    vertices
        The ids of its vertices; None: those that its edges, and the edges of others, have.

    Examples
    --------
    >>> near, far = np.array([1, 1, 2]), np.array([2, 3, 3])
    >>> links = Links(Task(0, 1), near, far, np.array([1, 2, 3]))
    >>> links.link(links.announce())
    >>> links.near, links.far
    (array([0, 0, 1], dtype=int32), array([0, 1, 1], dtype=int32))
    """

    def __init__(self, task: Task, near: Any, far: Any, vertices: Any = None) -> None:
        self.index = task.index
        self.count = task.count
        far_ids, codes = distinct_ids(far)
        owner = np.asarray(task.owner_of(far_ids)) if len(far_ids) else np.zeros(0, np.int64)
        order = np.argsort(owner, kind="stable")
        slot_of_code = np.empty(len(order), np.int32)
        slot_of_code[order] = np.arange(len(order), dtype=np.int32)
        self.slot_ids = pick_ids(far_ids, order)
        self.cuts = np.searchsorted(owner[order], np.arange(task.count + 1))
        self.far = slot_of_code[codes] if len(codes) else codes
        self._near_ids, self._near_codes = distinct_ids(near)
        self.near: Any = None
        self.inbound: list[Any] = []
        self.own: IdIndex | None = None
        self._given = vertices is not None
        if vertices is not None:
            self._own(IdIndex(_all_different(vertices)))

    @property
    def slots(self) -> int:
        """How many slots there are."""
        return len(self.slot_ids)

    @property
    def vertices(self) -> IdIndex:
        """The vertices of this task; known when the tasks are linked."""
        assert self.own is not None, "link() comes first"
        return self.own

    def _own(self, own: IdIndex) -> None:
        self.own = own
        places = own.find(self._near_ids)
        missing = np.flatnonzero(places < 0)
        if len(missing):
            raise unknown_vertices(first_ids(self._near_ids, missing), len(missing))
        self.near = places[self._near_codes] if len(places) else self._near_codes

    def announce(self) -> Parts:
        """The first messages: the ids of the slots, to their owners."""
        parts: Parts = []
        for task in range(self.count):
            low, high = int(self.cuts[task]), int(self.cuts[task + 1])
            parts.append({"ids": self.slot_ids[low:high]} if high > low else None)
        return parts

    def link(self, inbox: Sequence[dict[str, Any] | None]) -> None:
        """Read the announcements of all tasks."""
        received = [part["ids"] if part else None for part in inbox]
        if not self._given:
            columns = [self._near_ids, *(ids for ids in received if ids is not None)]
            columns = [ids for ids in columns if len(ids)] or columns[:1]
            self._own(IdIndex(merged_ids(columns)))
        self.inbound = [self._places(ids) for ids in received]

    def _places(self, ids: Any) -> Any:
        if ids is None:
            return np.zeros(0, np.int32)
        places = self.vertices.find(ids)
        missing = np.flatnonzero(places < 0)
        if len(missing):
            raise unknown_vertices(first_ids(ids, missing), len(missing))
        return places

    def state(self) -> dict[str, Any]:
        """The knowledge that came from other tasks."""
        ids = None if self._given or self.own is None else self.own.ids
        return {"own": ids, "inbound": self.inbound}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what was learned."""
        self.inbound = list(state["inbound"])
        if state["own"] is not None:
            self._own(IdIndex(state["own"]))

    # Values of slots, to their owners

    def to_owners(self, name: str, values: Any, slots: Any = None) -> Parts:
        """Messages with the values of some slots, or of all.

        Parameters
        ----------
        name
            What the values are called in the message.
        values
            A value per slot.
        slots
            Which to send, ascending; None for all.
        """
        parts: Parts = []
        ends = self.cuts if slots is None else np.searchsorted(slots, self.cuts)
        for task in range(self.count):
            low, high = int(self.cuts[task]), int(self.cuts[task + 1])
            if slots is None:
                parts.append({name: values[low:high]} if high > low else None)
            else:
                chosen = slots[ends[task] : ends[task + 1]]
                parts.append(_message(name, values[low:high], chosen - low))
        return parts

    def from_slots(
        self, name: str, inbox: Sequence[dict[str, Any] | None]
    ) -> Iterator[tuple[Any, Any]]:
        """The places of own vertices and the values that slots of other tasks have for them.

        One pair per sender; a place comes once in it.
        """
        for places, part in zip(self.inbound, inbox, strict=False):
            if part is not None and name in part:
                at = part.get(name + "@")
                yield (places if at is None else places[at]), part[name]

    # Values of own vertices, to the tasks that have them as slots

    def to_slots(self, name: str, values: Any, places: Any = None) -> Parts:
        """Messages with the values of some own vertices, or of all, for the tasks that have them as
        slots.

        Parameters
        ----------
        name
            What the values are called in the message.
        values
            A value per own vertex.
        places
            Which to send, ascending; None for all.
        """
        parts: Parts = []
        for there in self.inbound:
            if places is None:
                parts.append({name: values[there]} if len(there) else None)
            elif len(there) and len(places):
                at = _common(there, places, len(values))
                parts.append(_message(name, None, at, values[there[at]], len(there)))
            else:
                parts.append(None)
        return parts

    def from_owners(
        self, name: str, inbox: Sequence[dict[str, Any] | None]
    ) -> Iterator[tuple[Any, Any]]:
        """Slots and the values that their owners have sent: one pair per owner."""
        for task, part in enumerate(inbox):
            if part is not None and name in part:
                low = int(self.cuts[task])
                at = part.get(name + "@")
                if at is None:
                    yield np.arange(low, int(self.cuts[task + 1])), part[name]
                else:
                    yield at + low, part[name]


def _message(
    name: str, all_values: Any, at: Any, values: Any = None, size: int | None = None
) -> dict[str, Any] | None:
    """All values, or some with their places, if these are fewer bytes."""
    if not len(at):
        return None
    if all_values is not None:
        size = len(all_values)
        item = all_values.dtype.itemsize
        if len(at) * (item + _PLACE_BYTES) >= size * item:
            return {name: all_values}
        values = all_values[at]
    elif len(at) == size:
        return {name: values}
    return {name + "@": at.astype(np.int32), name: values}


def _common(there: Any, places: Any, count: int) -> Any:
    """Where in the ascending array ``there`` the values of the ascending array ``places`` stand."""
    if len(places) * 16 < len(there):
        at = np.minimum(np.searchsorted(there, places), len(there) - 1)
        return at[there[at] == places]
    flags = np.zeros(count, np.bool_)
    flags[places] = True
    return np.flatnonzero(flags[there])


def joined(*several: Parts) -> Parts:
    """Messages to the same tasks as one message each."""
    parts: Parts = []
    for ones in zip(*several, strict=True):
        found = [part for part in ones if part is not None]
        parts.append({name: column for part in found for name, column in part.items()} or None)
    return parts


def unknown_vertices(shown: str, count: int) -> PlanError:
    """The error for edges whose ends are no vertices."""
    return PlanError(
        "GRAPH_UNKNOWN_VERTEX",
        f"edges refer to {count} vertices that the graph does not have: {shown}",
        parameters={"count": count},
        hint="add the vertices, or leave out such edges",
    )


def _all_different(vertices: Any) -> Any:
    ids, places = distinct_ids(vertices)
    if len(ids) < len(places):
        twice = np.flatnonzero(np.bincount(places) > 1)
        raise PlanError(
            "GRAPH_DUPLICATE_VERTEX",
            f"{len(twice)} vertices have more than one value: {first_ids(ids, twice)}",
            hint="keep one vertex of each id, with distinct on the DataSet of vertices for instance",
        )
    return ids
