"""The settings of one job, as the environment hands them to planner and runtime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

RunMode = Literal["streaming", "batch", "automatic"]
ChannelOrder = Literal["arrival", "watermark"]


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """Everything about a run that is not in the graph.

    ``slots`` is the number of parts the key space is cut into (default: the parallelism).
    ``checkpoint_interval_ms`` None: epochs follow each other without a pause. ``checkpoint_dir``
    None: a folder of this run alone, removed when the job ends; nothing to resume from.
    """

    name: str = "millstream job"
    mode: RunMode = "automatic"
    parallelism: int = 2
    slots: int | None = None
    channel_order: ChannelOrder = "arrival"
    auto_watermark_interval_ms: int = 0
    checkpoint_interval_ms: int | None = None
    checkpoint_dir: str | None = None
    show_progress: bool | None = None
    configuration: Mapping[str, str] = field(default_factory=dict)

    @property
    def slot_count(self) -> int:
        return self.parallelism if self.slots is None else self.slots
