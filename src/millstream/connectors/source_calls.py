"""Calls of the methods that the author of a source writes: failures are named, answers are checked."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.errors import (
    Location,
    MillstreamError,
    PlanError,
    short_repr,
    user_code_error,
)
from millstream.connectors.source import ChannelName, ChannelSource, Chunk, Limits, Position

BEGUN = "@first"
"""The key of an offset with the first positions of channels that are new in it, if they are not 0.

A source may answer otherwise when it is asked again, and a replayed epoch must begin where it began.
"""
LONGEST_NAME = 4_096
"""Characters in the name of a channel: as long as a path. Each offset in the log has all names."""
_FAILED = (
    "a job starts again after a failure if it has a restart strategy; failures that pass by themselves "
    "can also be tried again in the method"
)


@dataclass(frozen=True)
class SourceCalls:
    """A source whose methods are called for a job.

    ``name`` and ``location``: the source in the program, for errors.
    """

    source: ChannelSource
    name: str = "source"
    location: Location | None = None

    # -- life ------------------------------------------------------------------------------------

    def open(self) -> None:
        with self._named("open()"):
            self.source.open()

    def close(self) -> None:
        with self._named("close()"):
            self.source.close()

    def commit(self, positions: Mapping[ChannelName, Position]) -> None:
        with self._named("commit", positions):
            self.source.commit(positions)

    # -- on the driver ---------------------------------------------------------------------------

    def latest(self, positions: Mapping[str, Position]) -> dict[ChannelName, Position | None]:
        """All channels, and how far they can be read by a job that stands at some positions."""
        with self._named("latest()"):
            answer = self.source.latest_after(positions)
            if isinstance(answer, Mapping):
                answer = dict(answer)
        if not isinstance(answer, dict):
            raise self.broken(
                f"latest() gives {short_repr(answer)}",
                'return a dictionary of channels and positions: {"a": 17, "b": 4}',
            )
        self._check_names(answer)
        endless = next((channel for channel, at in answer.items() if at is None), None)
        if endless is not None and self.source.bounded:
            raise self.broken(
                f"latest() gives no end of channel {_shown(endless)}, and the source is bounded",
                "say bounded = False, or give the end in latest()",
            )
        return {
            channel: None if at is None else self.plain(at, "latest()", channel)
            for channel, at in answer.items()
        }

    def _check_names(self, channels: Iterable[Any]) -> None:
        found: dict[str, Any] = {}
        for channel in channels:
            if not isinstance(channel, str | int) or isinstance(channel, bool):
                raise self.broken(
                    f"latest() names the channel {short_repr(channel)}, which is neither a text nor a "
                    "whole number",
                    "a savepoint knows channels by their names: join the parts to a text",
                )
            name = str(channel)
            if name in found:
                raise self.broken(
                    f"latest() names the channels {found[name]!r} and {channel!r}",
                    "a savepoint knows channels by their names as texts: give each another one",
                )
            found[name] = channel
            reason = _bad_name(name)
            if reason is not None:
                raise self.broken(
                    f"latest() names the channel {short_repr(channel)}, {reason}",
                    "give it another name: a short text that is written down in each offset",
                )

    def first(self, channel: ChannelName) -> Position:
        """Where a channel begins."""
        with self._named("first", channel):
            answer = self.source.first(channel)
        return self.plain(answer, f"first({_shown(channel)})")

    def advance(
        self, channel: ChannelName, start: Position, stop: Position, records: int | None
    ) -> Position:
        """Where an epoch ends that begins at a position."""
        with self._named("advance", channel, start, stop, records):
            answer = self.source.advance(channel, start, stop, records)
        call = f"advance({_shown(channel, start, stop, records)})"
        found = self.plain(answer, call)
        if not self.number(start) <= self.number(found) <= self.number(stop):
            raise self.broken(
                f"{call} gives {found!r}", "a position between the two must come back"
            )
        return found

    def limits(self) -> Limits:
        with self._named("limits()"):
            limits: Any = self.source.limits()
        if not isinstance(limits, Limits):
            raise self.broken(
                f"limits() gives {short_repr(limits)}",
                "return Limits(per_epoch=..., per_second=...)",
            )
        for count in (limits.per_epoch, limits.per_second):
            if count is not None and not (isinstance(count, int | float) and 0 < count < math.inf):
                raise self.broken(
                    f"limits() gives {limits}", "a limit is a number above 0; None: there is none"
                )
        return limits

    def is_final(self, channel: ChannelName) -> bool:
        with self._named("is_final", channel):
            return self.source.is_final(channel)

    def announces(self, channel: ChannelName) -> bool:
        with self._named("announces", channel):
            return self.source.announces(channel)

    def turn(self, channel: ChannelName) -> int:
        with self._named("turn", channel):
            turn: Any = self.source.turn(channel)
        if type(turn) is not int:
            raise self.broken(
                f"turn({_shown(channel)}) gives {short_repr(turn)}", "return a whole number"
            )
        return turn

    # -- positions -------------------------------------------------------------------------------

    @property
    def cuts_anywhere(self) -> bool:
        """Whether each whole number between two positions is a position: unless `advance` says where."""
        return type(self.source).advance is ChannelSource.advance

    def number(self, position: Position) -> int:
        """The whole number of a position."""
        with self._named("number", position):
            number = self.source.number(position)
        if type(number) is int and -(2**63) <= number < 2**63:
            return number
        raise self.broken(
            f"number({short_repr(position)}) is {short_repr(number)}",
            "use whole numbers of 64 bits as positions, or override number(): it gives one that grows "
            "along the channel",
        )

    def plain(self, position: Position, call: str, channel: ChannelName | None = None) -> Position:
        """A position that a method has given, as it comes back from a log."""
        try:
            found = position
            if type(position) is not int:
                found = json.loads(json.dumps(position, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            place = "" if channel is None else f" for channel {_shown(channel)}"
            raise self.broken(
                f"{call} gives {short_repr(position)}{place}, and the position "
                f"cannot be written as JSON: {error}",
                "use whole numbers, or texts and lists of them",
            ) from None
        if found is None:
            raise self.broken(f"{call} gives None", "return a position in the channel")
        self.number(found)
        return found

    # -- in a task -------------------------------------------------------------------------------

    def read(self, channel: ChannelName, start: Position, stop: Position) -> Iterator[Chunk]:
        """The chunks of a range."""
        call = f"read({_shown(channel, start, stop)})"
        with self._named(call):
            chunks: Any = self.source.read(channel, start, stop)
            if not isinstance(chunks, Iterable) or isinstance(chunks, str | bytes | Chunk):
                raise self.broken(
                    f"{call} returns {short_repr(chunks)}",
                    "make it a generator: yield Chunk([...])",
                )
            iterator = iter(chunks)
        end = object()
        while True:
            # No reader stands in this block while it has a chunk: its exceptions are not the source's.
            with self._named(call):
                chunk: Any = next(iterator, end)
            if chunk is end:
                return
            self._check_chunk(call, chunk)
            yield chunk

    def _check_chunk(self, call: str, chunk: Any) -> None:
        if not isinstance(chunk, Chunk):
            raise self.broken(
                f"{call} yields {short_repr(chunk)}", "yield chunks of records: Chunk([...])"
            )
        if not isinstance(chunk.values, list | pa.RecordBatch | pa.Array):
            raise self.broken(
                f"{call} yields a chunk of a {type(chunk.values).__name__}",
                "the values of a Chunk are a list, a pyarrow.RecordBatch or a pyarrow.Array",
            )
        self._check_positions(call, chunk)
        times = chunk.timestamps
        if times is None:
            return
        if not hasattr(times, "__len__") or len(times) != len(chunk):
            count = len(times) if hasattr(times, "__len__") else short_repr(times)
            raise self.broken(
                f"{call} yields a chunk of {len(chunk)} records and {count} timestamps",
                "give one timestamp for each record, or none at all",
            )
        wrong = _bad_time(times)
        if wrong is not None:
            raise self.broken(
                f"{call} yields a chunk with the timestamp {short_repr(wrong)}",
                "event times are whole numbers of milliseconds; None for a record without one",
            )

    def _check_positions(self, call: str, chunk: Chunk) -> None:
        given = chunk.positions
        if given is None:
            return
        whole = isinstance(given, np.ndarray) and given.dtype == np.int64
        if not whole and not all(type(one) is int for one in given):
            raise self.broken(
                f"{call} yields a chunk with the positions {short_repr(given)}",
                "give number(position) of each record, a whole number",
            )
        if len(given) != len(chunk):
            raise self.broken(
                f"{call} yields a chunk of {len(chunk)} records and {len(given)} positions",
                "give one position for each record, or none at all",
            )

    # -- errors ----------------------------------------------------------------------------------

    def broken(self, message: str, hint: str) -> PlanError:
        """The error for an answer that the contract does not allow."""
        message = f"source {self.name!r}: {message}"
        return PlanError("BAD_SOURCE", message, location=self.location, hint=hint)

    @contextmanager
    def _named(self, method: str, *arguments: Any) -> Iterator[None]:
        """Say which call of which source an exception belongs to."""
        try:
            yield
        except MillstreamError:
            raise
        except Exception as error:
            call = f"{method}({_shown(*arguments)})" if arguments else method
            raise user_code_error(
                error,
                self.name,
                location=self.location,
                subject=f"source {self.name!r}: {call}",
                hint=_FAILED,
            ) from error


def _shown(*arguments: Any) -> str:
    return ", ".join(map(short_repr, arguments))


def _bad_name(name: str) -> str | None:
    """Why a text cannot be the name of a channel."""
    if name == BEGUN:
        return "a word that offsets use for something else"
    if len(name) > LONGEST_NAME:
        return f"which has {len(name):,} characters; {LONGEST_NAME:,} are possible"
    try:
        name.encode()
    except UnicodeEncodeError:
        return "which has characters that cannot be written as UTF-8"
    return None


def _bad_time(times: Any) -> Any:
    """The first event time that is none; None if all are."""
    if isinstance(times, np.ndarray):
        return None if times.dtype == np.int64 and times.ndim == 1 else times
    for time in times:
        if type(time) is not int and time is not None:
            if not isinstance(time, int | np.integer) or isinstance(time, bool):
                return time
        if time is not None and not -(2**63) <= time < 2**63:
            return time
    return None
