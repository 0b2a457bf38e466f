"""The timers of a key, in the order in which they fire."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

from millstream.kernel.state.pages import Timer, Timers


def add_timer(timers: Timers, key: Any, timer: Timer) -> None:
    """Register a timer of a key, once."""
    times = timers.get(key)
    if times is None:
        timers[key] = [timer]
    elif _firing_order(timer) > _firing_order(times[-1]):
        times.append(timer)
    else:
        place, found = _place_of(times, timer)
        if not found:
            times.insert(place, timer)


def remove_timer(timers: Timers, key: Any, timer: Timer) -> None:
    """Delete a timer of a key, if it is there."""
    times = timers.get(key)
    if times is not None:
        place, found = _place_of(times, timer)
        if found:
            del times[place]
        if not times:
            del timers[key]


def _place_of(times: list[Timer], timer: Timer) -> tuple[int, bool]:
    """Where a timer is, or where it belongs: a key may have a million of them."""
    order = _firing_order(timer)
    first = bisect_left(times, order, key=_firing_order)
    last = bisect_right(times, order, first, key=_firing_order)
    same = times[first:last]
    return (first + same.index(timer), True) if timer in same else (last, False)


def _firing_order(timer: Timer) -> tuple[Any, ...]:
    """By time, then by namespace where namespaces have an order; else as they were registered."""
    namespace = timer[1]
    return (timer[0], namespace) if isinstance(namespace, tuple) else (timer[0],)
