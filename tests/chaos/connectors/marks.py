"""Sinks that leave a file for each point that they have come to: by these files a run is broken."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from millstream.checkpoint.sinks import describe_sink
from millstream.connectors.sink import (
    Committer,
    IdempotentSink,
    IdempotentWriter,
    PartContext,
    PartSink,
    PartWriter,
    SinkContext,
    TwoPhaseSink,
)

PARTS = ("opened", "finishing", "finished")
"""The points of a part: its writer is open, makes sure of its records, has made sure of them."""

COMMITS = ("committing", "published")
"""The points of an epoch of a two-phase sink: the driver commits it, has committed it."""


def marked(sink: PartSink, marks: Path) -> PartSink:
    """A sink that does what another one does, and leaves files in the folder ``marks``."""
    if isinstance(sink, IdempotentSink):
        return MarkedIdempotentSink(sink, marks)
    assert isinstance(sink, TwoPhaseSink), f"{sink} does not write exactly once"
    return MarkedTwoPhaseSink(sink, marks)


def _mark(marks: Path, point: str, epoch: int, rest: str) -> None:
    """Leave a file; it says which process has left it."""
    marks.mkdir(parents=True, exist_ok=True)
    (marks / f"{point}-{epoch:04d}-{rest}").write_text(str(os.getpid()))


class _MarkedSink(PartSink):
    def __init__(self, sink: Any, marks: Path) -> None:
        self.sink, self.marks = sink, marks
        self.changelog = sink.changelog
        self.takes_columns = sink.takes_columns
        self.prefers_columns = sink.prefers_columns

    def validate(self) -> None:
        self.sink.validate()

    def start(self, context: SinkContext) -> None:
        self.sink.start(context)

    def close(self) -> None:
        self.sink.close()


class MarkedIdempotentSink(_MarkedSink, IdempotentSink):
    """An idempotent sink with marks."""

    def open_part(self, context: PartContext) -> IdempotentWriter:
        return _MarkedIdempotentWriter(self.sink.open_part(context), self.marks, context)

    def last_epoch(self, context: SinkContext) -> int | None:
        found: int | None = self.sink.last_epoch(context)
        return found


class MarkedTwoPhaseSink(_MarkedSink, TwoPhaseSink):
    """A two-phase sink with marks."""

    def open_part(self, context: PartContext) -> PartWriter:
        return _MarkedWriter(self.sink.open_part(context), self.marks, context)

    def open_committer(self, context: SinkContext) -> Committer:
        return _MarkedCommitter(self.sink.open_committer(context), self.marks, context.sink)

    def to_config(self) -> Mapping[str, Any]:
        return describe_sink(self.sink)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        raise NotImplementedError("a run makes no savepoint of a dead job")


class _MarkedWriter(PartWriter):
    def __init__(self, writer: Any, marks: Path, context: PartContext) -> None:
        self.writer, self.marks, self.context = writer, marks, context
        self.mark("opened")

    def mark(self, point: str) -> None:
        _mark(self.marks, point, self.context.epoch, f"{self.context.sink}.{self.context.part}")

    def write(self, batch: Any) -> None:
        self.writer.write(batch)

    def write_timed(self, batch: Any, times: Any) -> None:
        self.writer.write_timed(batch, times)

    def finish(self) -> Any:
        self.mark("finishing")
        staged = self.writer.finish()
        self.mark("finished")
        return staged

    def close(self) -> None:
        self.writer.close()


class _MarkedIdempotentWriter(_MarkedWriter, IdempotentWriter):
    def begin(self) -> str | None:
        found: str | None = self.writer.begin()
        return found


class _MarkedCommitter(Committer):
    def __init__(self, committer: Committer, marks: Path, sink: str) -> None:
        self.committer, self.marks, self.sink = committer, marks, sink

    def recover(self) -> int | None:
        return self.committer.recover()

    def commit(self, epoch: int, staged: list[Any]) -> None:
        _mark(self.marks, "committing", epoch, self.sink)
        self.committer.commit(epoch, staged)
        _mark(self.marks, "published", epoch, self.sink)

    def take_back(self, epoch: int) -> None:
        self.committer.take_back(epoch)

    def check_take_back(self) -> None:
        self.committer.check_take_back()

    def abort(self, epoch: int, staged: list[Any]) -> None:
        self.committer.abort(epoch, staged)

    def close(self) -> None:
        self.committer.close()
