"""How the transcripts build their windows: most of them list their records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.datastream.window import (
    EventTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from tests.support.semantics.transcript_functions import LATE, Listed

__all__ = ["aside", "evicting", "listed", "on", "purging", "session", "sliding", "tumbling"]

Build = Callable[[Any], Any]


def listed(
    assigner: Any,
    trigger: Any = None,
    evictor: Any = None,
    *,
    lateness: int = 0,
    aside: bool = False,
) -> Build:
    """Builds windows of a keyed stream that list their records."""

    def build(stream: Any) -> Any:
        windowed = stream.window(assigner)
        windowed = windowed if trigger is None else windowed.trigger(trigger)
        windowed = windowed if evictor is None else windowed.evictor(evictor)
        windowed = windowed if lateness == 0 else windowed.allowed_lateness(lateness)
        windowed = windowed.side_output_late_data(LATE) if aside else windowed
        return windowed.process(Listed())

    return build


def tumbling(size: int = 10, offset: int = 0, lateness: int = 0) -> Build:
    return listed(TumblingEventTimeWindows.of(size, offset), lateness=lateness)


def sliding(size: int, slide: int, offset: int = 0, lateness: int = 0) -> Build:
    return listed(SlidingEventTimeWindows.of(size, slide, offset), lateness=lateness)


def session(gap: int = 10, lateness: int = 0, trigger: Any = None) -> Build:
    return listed(EventTimeSessionWindows.with_gap(gap), trigger, lateness=lateness)


def aside(assigner: Any, lateness: int = 0) -> Build:
    """Windows whose late records go to the side output."""
    return listed(assigner, lateness=lateness, aside=True)


def on(assigner: Any, trigger: Any, lateness: int = 0) -> Build:
    """Windows with a trigger."""
    return listed(assigner, trigger, lateness=lateness)


def evicting(assigner: Any, evictor: Any, trigger: Any = None, lateness: int = 0) -> Build:
    """Windows with an evictor."""
    return listed(assigner, trigger, evictor, lateness=lateness)


def purging(trigger: Any) -> PurgingTrigger:
    return PurgingTrigger.of(trigger)
