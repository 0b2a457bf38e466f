"""Inputs of streams without a context: a site with a clock that stands, and batches one by one."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from millstream.dstream.inputs.base import Input, InputSite
from millstream.dstream.rdd import SparkContext

BATCH_MS = 1000


def site(
    folder: str | None = None,
    *,
    number: int = 0,
    batch_ms: int = BATCH_MS,
    tell: Callable[..., None] = lambda callback, **values: None,
) -> InputSite:
    """What an input gets to know."""
    return InputSite(number, folder, batch_ms, 0, lambda: 0, tell, batch_ms)


class Batches:
    """An input whose batches a test takes.

    What a batch takes is pickled, as in the batch log.
    """

    def __init__(self, source: Input[Any], **options: Any) -> None:
        self.source = source
        self.context = SparkContext("local[2]")
        self.log: list[tuple[int, bytes]] = []
        source.open(site(**options))

    def take(self, time_ms: int) -> list[Any]:
        """The records of the next batch."""
        return self.parts(time_ms, flat=True)

    def parts(self, time_ms: int, *, flat: bool = False) -> list[Any]:
        """The partitions of the next batch."""
        self.log.append((time_ms, pickle.dumps(self.source.take(time_ms))))
        self.source.confirm(pickle.loads(self.log[-1][1]), time_ms)
        found = self.again(self.source, -1)
        return [record for part in found for record in part] if flat else found

    def again(self, source: Input[Any], number: int) -> list[Any]:
        """The partitions of a batch in the log."""
        time_ms, taken = self.log[number]
        rdd = source.rdd(self.context, pickle.loads(taken), time_ms)
        assert rdd is not None
        return rdd.glom().collect()

    def recovered(self, source: Input[Any], **options: Any) -> Batches:
        """Another input that goes on behind the log, as after a crash."""
        for time_ms, taken in self.log:
            source.restore(pickle.loads(taken), time_ms)
        return Batches(source, **options)
