"""What a slot keeps beside its pages, and the values that it begins with."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from millstream.common.errors import CheckpointError
from millstream.kernel.buffers import STATE, Row
from millstream.kernel.pages import Directory, Store
from millstream.kernel.time import TimeTable

HEADER = "header"
HEADER_FORMAT = 2
STATE_PART = 1 << 18
"""Values travel in parts of this size: many rows share a batch."""

States = dict[str, dict[str, dict[str, Any]]]
"""By operator and name, what is known of states."""


@dataclass
class SlotState:
    """What a slot keeps beside its pages.

    ``states``: by operator and name, what is known of the states, as `StateInfo` says it. ``held``: the
    edges of the buffers that wait for other channels, by number.
    """

    table: TimeTable = field(default_factory=TimeTable)
    clocks: dict[str, int] = field(default_factory=dict)
    directories: dict[str, Directory] = field(default_factory=dict)
    states: States = field(default_factory=dict)
    held: dict[int, str] = field(default_factory=dict)
    next_held: int = 0


def decoded_header(data: bytes) -> SlotState:
    """What a slot has kept beside its pages."""
    version, state = pickle.loads(data)
    if version != HEADER_FORMAT:
        raise CheckpointError(
            "HEADER_FORMAT",
            f"the checkpoint has slot format {version}, this is {HEADER_FORMAT}",
            hint="run the Millstream version that wrote it and take a savepoint there",
        )
    loaded: SlotState = state
    return loaded


def encoded_header(state: SlotState) -> bytes:
    """A slot's header as it is stored."""
    return pickle.dumps((HEADER_FORMAT, state), protocol=5)


def state_rows(slot: int, name: str, value: bytes) -> Iterator[Row]:
    """A value of a slot's store as rows that are not too large to travel."""
    parts = -(-len(value) // STATE_PART) or 1
    for part in range(parts):
        header = pickle.dumps((name, part, parts), protocol=5)
        yield Row(slot, STATE, 0, header, value[part * STATE_PART : (part + 1) * STATE_PART])


class Beginning:
    """Puts the values that a slot begins with into its store, as they come."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._parts: dict[str, dict[int, bytes]] = {}

    def add(self, row: Row) -> None:
        name, part, parts = pickle.loads(row.header)
        known = self._parts.setdefault(name, {})
        known[part] = row.payload
        if len(known) == parts:
            self._store.put(name, b"".join(known[i] for i in range(parts)))
            del self._parts[name]
