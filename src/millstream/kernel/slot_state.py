"""What a slot keeps beside its pages."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any

from millstream.common.errors import CheckpointError
from millstream.kernel.pages import Directory
from millstream.kernel.time import TimeTable

HEADER = "header"
HEADER_FORMAT = 2
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
