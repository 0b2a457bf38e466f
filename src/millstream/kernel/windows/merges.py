"""Windows that an assigner wants to become one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Merge:
    """Windows, and the one that takes their place."""

    windows: list[Any]
    result: Any

    @property
    def shrinks(self) -> bool:
        """Whether the result ends before one of the windows."""
        last = max(window.max_timestamp() for window in self.windows)
        return bool(self.result.max_timestamp() < last)


@dataclass(frozen=True)
class _Collector:
    """Callback of an assigner for each set of windows to merge."""

    merges: list[Merge]

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        self.merges.append(Merge(list(to_be_merged), merge_result))


def merges_of(assigner: Any, windows: Iterable[Any]) -> list[Merge]:
    """The merges that an assigner wants among the windows of a key."""
    collected: list[Merge] = []
    assigner.merge_windows(list(windows), _Collector(collected))
    return collected
