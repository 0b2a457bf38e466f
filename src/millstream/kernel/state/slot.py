"""State of a slot besides its pages: channels, clocks, directories."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any

from millstream.common.errors import CheckpointError
from millstream.kernel.state import stored_pickles
from millstream.kernel.state.pages import NO_SIZE, Directory, PageStore, Size
from millstream.kernel.time.watermarks import TimeTable

HEADER = "header"
HEADER_FORMAT = 2
States = dict[str, dict[str, dict[str, Any]]]
"""By operator and name, what is known of states."""


@dataclass
class SlotState:
    """The state of a slot besides its pages.

    ``states``: by operator and name, what is known of the states, as `StateInfo` says it. ``held``: the
    edges of the buffers that wait for other channels, by number. ``sizes``: how much state operators
    have; headers of older versions do not know.
    """

    table: TimeTable = field(default_factory=TimeTable)
    clocks: dict[str, int] = field(default_factory=dict)
    directories: dict[str, Directory] = field(default_factory=dict)
    states: States = field(default_factory=dict)
    held: dict[int, str] = field(default_factory=dict)
    next_held: int = 0
    sizes: dict[str, Size] = field(default_factory=dict)

    def pages_of(self, uid: str) -> Directory:
        """The directory of an operator's pages."""
        directory = self.directories.get(uid)
        if directory is None:
            directory = self.directories[uid] = Directory()
            self.sizes[uid] = NO_SIZE
        return directory

    def note_size(self, pages: PageStore) -> Size | None:
        """Keep the size of an operator's pages, and return it; None if it was not known before."""
        if pages.uid in self.sizes:
            self.sizes[pages.uid] = pages.size
        return self.sizes.get(pages.uid)


def decoded_header(data: bytes) -> SlotState:
    """Decode the stored state of a slot besides its pages."""
    version, state = stored_pickles.loads(data)
    if version != HEADER_FORMAT:
        raise CheckpointError(
            "HEADER_FORMAT",
            f"the checkpoint has slot format {version}, this is {HEADER_FORMAT}",
            hint="run the Millstream version that wrote it and take a savepoint there",
        )
    loaded: SlotState = state
    vars(loaded).setdefault("sizes", {})
    return loaded


def encoded_header(state: SlotState) -> bytes:
    """A slot's header as it is stored."""
    return pickle.dumps((HEADER_FORMAT, state), protocol=5)
