"""The marks among the elements of a `TestSource`, and where they stand."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from millstream.common.errors import MillstreamError, PlanError, short_repr, user_location
from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.datastream.timestamped_value import TimestampedValue
from millstream.testing.engine.records import StreamRecord

__all__ = [
    "Abort",
    "AbortError",
    "Eof",
    "Epoch",
    "Fuses",
    "MarkedChannel",
    "SetWatermark",
    "parsed",
]


class AbortError(MillstreamError):
    """A `TestSource` has come to an ABORT mark: the run has crashed, as the test wanted it."""


@dataclass(frozen=True)
class SetWatermark:
    """Sets the watermark of the channel."""

    timestamp: int


@dataclass(frozen=True)
class Abort:
    """Lets the run fail, once."""


@dataclass(frozen=True)
class Eof:
    """Ends the channel in this run; the next run goes on behind it."""


@dataclass(frozen=True)
class Epoch:
    """Ends the epoch."""


Mark = SetWatermark | Abort | Eof | Epoch


@dataclass(frozen=True)
class MarkedChannel:
    """The records of a channel, and its marks by the number of records before them."""

    values: tuple[Any, ...]
    times: tuple[int | None, ...]
    watermarks: dict[int, int] = field(default_factory=dict)
    aborts: tuple[int, ...] = ()
    eofs: tuple[int, ...] = ()
    epochs: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.values)


def parsed(elements: Iterable[Any], timestamped: bool) -> MarkedChannel:
    """Elements and marks of a channel, apart from each other."""
    values: list[Any] = []
    times: list[int | None] = []
    watermarks: dict[int, int] = {}
    places: dict[type[Mark], set[int]] = {Abort: set(), Eof: set(), Epoch: set()}
    for element in elements:
        if isinstance(element, type) and issubclass(element, Mark):
            raise _error(f"{element.__name__} is a class", "call it: TestSource.ABORT()")
        if isinstance(element, SetWatermark):
            _check_watermark(element, len(values))
            watermarks[len(values)] = max(element.timestamp, watermarks.get(len(values), -(2**63)))
        elif isinstance(element, Mark):
            places[type(element)].add(len(values))
        else:
            value, time = _timed(element, timestamped)
            values.append(value)
            times.append(time)
    if 0 in places[Eof]:
        raise _error("an EOF mark comes before the first record", "put a record before it")
    # Nothing would follow: epochs end there anyway, and so does the channel.
    last = {0, len(values)}
    return MarkedChannel(
        tuple(values),
        tuple(times),
        watermarks,
        tuple(sorted(places[Abort])),
        tuple(sorted(places[Eof] - last)),
        tuple(sorted(places[Epoch] - last)),
    )


def _timed(element: Any, timestamped: bool) -> tuple[Any, int | None]:
    if isinstance(element, TimestampedValue):
        return element.value, checked_time(element.timestamp)
    if isinstance(element, StreamRecord):
        return element.value, None if element.timestamp is None else checked_time(element[1])
    if not timestamped:
        return element, None
    if not isinstance(element, tuple) or len(element) != 2:
        raise _error(
            f"the element {short_repr(element)} is no (value, timestamp)",
            "with timestamped=True every element is a pair, or a TimestampedValue",
        )
    return element[0], checked_time(element[1])


def checked_time(time: object) -> int:
    """An event time, if it is one."""
    if type(time) is int and MIN_TIMESTAMP < time < MAX_TIMESTAMP:
        return time
    raise PlanError(
        "BAD_TIMESTAMP",
        f"{short_repr(time)} is no timestamp",
        location=user_location(),
        hint="give whole milliseconds since 1970",
    )


def _check_watermark(mark: SetWatermark, records: int) -> None:
    checked_time(mark.timestamp)
    if records == 0:
        raise _error(
            f"WATERMARK({mark.timestamp}) comes before the first record of its channel",
            "a channel has no watermark before its first record: put the mark behind it",
        )


def _error(message: str, hint: str) -> PlanError:
    return PlanError("BAD_TEST_SOURCE", message, location=user_location(), hint=hint)


class Fuses:
    """Remembers which marks have acted. Copies in other processes share the memory: a folder.

    Examples
    --------
    >>> fuses = Fuses()
    >>> fuses.burn("0-3"), fuses.burn("0-3")
    (True, False)
    """

    def __init__(self) -> None:
        self._burnt: set[str] = set()
        self._folder: str | None = None

    def burn(self, name: str) -> bool:
        """Whether this is the first time."""
        if self._folder is not None:
            return self._burn_file(self._folder, name)
        is_first = name not in self._burnt
        self._burnt.add(name)
        return is_first

    def mend(self) -> None:
        """Reset: every mark acts once more."""
        self._burnt.clear()
        if self._folder is not None:
            for name in os.listdir(self._folder):
                os.remove(os.path.join(self._folder, name))

    def _burn_file(self, folder: str, name: str) -> bool:
        try:
            os.close(os.open(os.path.join(folder, name), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def __getstate__(self) -> dict[str, Any]:
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="millstream-marks-")
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            for name in self._burnt:
                self._burn_file(self._folder, name)
        return {"_burnt": set(), "_folder": self._folder}
