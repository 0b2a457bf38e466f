"""Specifications of operators of two inputs. Apart from the operators: the user API makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from millstream.common.output_tag import OutputTag


@dataclass(frozen=True)
class BroadcastSpec:
    """A function with broadcast state, and the names of the maps it has."""

    function: Any
    states: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class IntervalJoinSpec:
    """Specification of an interval join. Both bounds belong to the interval."""

    function: Any
    lower_ms: int
    upper_ms: int
    lateness: Literal["channel", "operator"] = "channel"
    late_tags: tuple[OutputTag | None, OutputTag | None] = (None, None)
