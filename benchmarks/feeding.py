"""A process that writes records to a topic, at a rate or up to a number."""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from typing import Any

import topics

MOST_AT_ONCE = 2_000
PAUSE_SECONDS = 0.005
# Fork would copy the threads of Kafka's client badly.
_processes = multiprocessing.get_context("spawn")


class Feeder:
    """Writes the records 0, 1, 2, ... of a topic, see `topics.line`.

    At a rate, record n is due at ``began + (n - first) / rate``, whatever was late before it.
    """

    def __init__(self, servers: str, topic: str, keys: int) -> None:
        self._goal: Synchronized[int] = _processes.Value("q", 0)
        self._rate: Synchronized[float] = _processes.Value("d", 0.0)
        self._written: Synchronized[int] = _processes.Value("q", 0)
        self._began: Synchronized[float] = _processes.Value("d", 0.0)
        self._done = _processes.Event()
        self.began = 0.0
        self.first = 0
        shared = (self._goal, self._rate, self._written, self._began, self._done)
        self.process = _processes.Process(
            target=_feed, args=(servers, topic, keys, *shared), daemon=True
        )
        self.process.start()

    @property
    def written(self) -> int:
        return self._written.value

    def write_up_to(self, number: int) -> None:
        """Write until so many records are there, as fast as possible."""
        self._goal.value = number

    def write_at(self, rate: float) -> None:
        """Write so many records per second from now on."""
        while self.written < self._goal.value:
            time.sleep(PAUSE_SECONDS)
        self.first = self.written
        self._rate.value = rate
        # The process may still be starting, and records are due from the moment it begins.
        while not self._began.value:
            time.sleep(PAUSE_SECONDS)
        self.began = self._began.value

    def due(self, number: Any) -> Any:
        """When a record was due, in seconds of the time of day."""
        return self.began + (number - self.first) / self._rate.value

    def close(self) -> int:
        """Stop, wait until all is written, and tell how many records that are."""
        self._done.set()
        self.process.join(60)
        if self.process.exitcode != 0:
            raise SystemExit("records could not be written to the topic")
        return self.written


def _feed(
    servers: str,
    topic: str,
    keys: int,
    goal: Synchronized[int],
    rate: Synchronized[float],
    written: Synchronized[int],
    begun: Synchronized[float],
    done: Event,
) -> None:
    to = topics.producer(servers, **{"linger.ms": 5, "compression.type": "lz4"})
    number, began, first = 0, 0.0, 0
    while not done.is_set():
        if rate.value and not began:
            began, first = time.time(), number
            begun.value = began
        due = first + int((time.time() - began) * rate.value) if began else goal.value
        end = min(due, number + MOST_AT_ONCE)
        if end <= number:
            to.poll(0)
            time.sleep(PAUSE_SECONDS)
            continue
        topics.write(to, topic, number, end, keys)
        number = end
        written.value = number
    if to.flush(60):
        raise SystemExit(1)
