"""Clocks of streaming contexts: the system's, and one that a test moves."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from contextvars import copy_context
from functools import partial
from typing import Any, Protocol

__all__ = ["Clock", "ManualClock", "SystemClock", "Ticking"]


class Ticking(Protocol):
    """The side of a running context that a clock drives."""

    def next_ms(self) -> int | None:
        """When the next batch ends; None if there is no next one."""

    def tick(self) -> None:
        """End the batch, which is processed in another thread."""

    def settle(self) -> None:
        """Wait until all batches that have ended are processed."""

    def held(self) -> AbstractContextManager[Any]:
        """No batch is processed inside the block."""


class Clock(Protocol):
    """A clock of a context."""

    def now_ms(self) -> int:
        """The time."""

    def start(self, context: Ticking) -> None:
        """Begin to drive a context."""

    def stop(self, context: Ticking) -> None:
        """Leave a context alone."""

    def wait(self, done: Callable[[float | None], bool], seconds: float | None) -> bool:
        """Wait until something is done: ``done(seconds)`` waits for it."""


class SystemClock:
    """The time of the machine. A thread ends batches when it is time."""

    def __init__(self) -> None:
        self._stopping: threading.Event | None = None

    def now_ms(self) -> int:
        """The time."""
        return time.time_ns() // 1_000_000

    def start(self, context: Ticking) -> None:
        """Start the thread."""
        stopping = self._stopping = threading.Event()

        def run() -> None:
            while (due := context.next_ms()) is not None:
                if stopping.wait(max(0, due - self.now_ms()) / 1000):
                    return
                if self.now_ms() >= due:
                    context.tick()

        ticks = partial(copy_context().run, run)
        threading.Thread(target=ticks, name="millstream batches", daemon=True).start()

    def stop(self, context: Ticking) -> None:
        """End the thread."""
        if self._stopping is not None:
            self._stopping.set()

    def wait(self, done: Callable[[float | None], bool], seconds: float | None) -> bool:
        """Wait until something is done, or for that long."""
        return done(seconds)


class ManualClock:
    """A clock that a program moves, for tests: batches are processed while it moves, none is waited for.

    Examples
    --------
    >>> from millstream.dstream import StreamingContext
    >>> clock = ManualClock()
    >>> ssc = StreamingContext(None, 2, clock=clock)
    >>> ssc.queueStream([[1, 2], [3]]).count().foreachRDD(lambda rdd: print(rdd.first()))
    >>> ssc.start()
    >>> clock.advance(5)
    2
    1
    >>> ssc.awaitTerminationOrTimeout(1)
    0
    False
    >>> ssc.stop()
    """

    def __init__(self, now_ms: int = 0) -> None:
        self._now_ms = now_ms
        self._contexts: list[Ticking] = []

    def now_ms(self) -> int:
        """The time that it was moved to."""
        return self._now_ms

    def advance(self, seconds: float, *, late: bool = False) -> None:
        """Move the clock, and return when all batches that end until then are processed.

        With ``late`` all of them end before the first one is processed, as in a slow program.
        """
        time_ms = self._now_ms + int(seconds * 1000)
        if late:
            with ExitStack() as stack:
                for context in self._contexts:
                    stack.enter_context(context.held())
                self._tick_until(time_ms, settle=False)
            for context in list(self._contexts):
                context.settle()
        else:
            self._tick_until(time_ms, settle=True)

    def _tick_until(self, time_ms: int, *, settle: bool) -> None:
        while (due := self._first_due(time_ms)) is not None:
            at, context = due
            self._now_ms = max(self._now_ms, at)
            context.tick()
            if settle:
                context.settle()
        self._now_ms = max(self._now_ms, time_ms)

    def _first_due(self, time_ms: int) -> tuple[int, Ticking] | None:
        due = [(at, context) for context in self._contexts if (at := context.next_ms()) is not None]
        first = min(due, key=lambda pair: pair[0], default=None)
        return first if first is not None and first[0] <= time_ms else None

    def start(self, context: Ticking) -> None:
        """Drive a context from now on. Batches that should have ended already do."""
        self._contexts.append(context)
        context.settle()
        self._tick_until(self._now_ms, settle=True)

    def stop(self, context: Ticking) -> None:
        """Leave a context alone."""
        if context in self._contexts:
            self._contexts.remove(context)

    def wait(self, done: Callable[[float | None], bool], seconds: float | None) -> bool:
        """Move the clock by that long: a program that waits for its batches sees them processed."""
        if seconds is not None and not done(0):
            self.advance(seconds)
        return done(0 if seconds is not None else None)
