"""Spans and points of time, all of them counted in milliseconds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

from millstream.common.errors import PlanError, short_repr, user_location

if TYPE_CHECKING:
    from millstream.common.type_aliases import DurationLike

__all__ = [
    "MAX_TIMESTAMP",
    "MAX_WATERMARK",
    "MIN_TIMESTAMP",
    "Duration",
    "Instant",
    "Time",
    "to_millis",
]

MIN_TIMESTAMP = -(2**63)
"""The timestamp of a record that has none."""

MAX_TIMESTAMP = 2**63 - 1
"""The last timestamp there is."""

MAX_WATERMARK = MAX_TIMESTAMP
"""The watermark of an input that has ended: no record follows."""

_UNIT_MILLIS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_UNIT_NAMES = {
    "ms": ("ms", "milli", "millis", "millisecond", "milliseconds"),
    "s": ("s", "sec", "secs", "second", "seconds"),
    "min": ("min", "m", "mins", "minute", "minutes"),
    "h": ("h", "hour", "hours"),
    "d": ("d", "day", "days"),
}
_MILLIS_OF = {name: _UNIT_MILLIS[unit] for unit, names in _UNIT_NAMES.items() for name in names}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.ASCII)
_ACCEPTED = (
    'a string such as "500 ms", "5 s", "2 min", "1 h", "1 d" or "1h 30min", '
    "a datetime.timedelta, a Time, a Duration, or an int of milliseconds"
)


def _whole(value: object, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise PlanError(
            "INVALID_DURATION",
            f"{what} takes a whole number, got {short_repr(value)}",
            parameters={"value": value},
            location=user_location(),
            hint="use a smaller unit for fractions",
        )
    return value


@dataclass(frozen=True, order=True, init=False)
class Time:
    """A span of time, as windows and timers take it. It may be negative (a window offset).

    Examples
    --------
    >>> Time.seconds(5).to_milliseconds()
    5000
    >>> Time.of(2, "min") == Time.minutes(2)
    True
    """

    _millis: int

    def __init__(self, milliseconds: int) -> None:
        object.__setattr__(self, "_millis", milliseconds)

    @staticmethod
    def of(size: DurationLike, unit: str | None = None) -> Time:
        """A span from a number and a unit, or from anything `to_millis` takes.

        Parameters
        ----------
        size : int or span
            How many units; without a unit, a span in any form.
        unit : str, optional
            ``ms``, ``s``, ``min``, ``h``, ``d`` or their long names.
        """
        if unit is None:
            return Time(to_millis(size, "Time.of", allow_negative=True))
        factor = _MILLIS_OF.get(unit.lower())
        if factor is None:
            raise PlanError(
                "INVALID_DURATION",
                f"Time.of knows no unit {unit!r}",
                location=user_location(),
                hint=f"use one of {', '.join(_UNIT_MILLIS)}",
            )
        return Time(_whole(size, "Time.of") * factor)

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """A span of milliseconds."""
        return Time(_whole(milliseconds, "Time.milliseconds"))

    @staticmethod
    def seconds(seconds: int) -> Time:
        """A span of seconds."""
        return Time(_whole(seconds, "Time.seconds") * 1_000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """A span of minutes."""
        return Time(_whole(minutes, "Time.minutes") * 60_000)

    @staticmethod
    def hours(hours: int) -> Time:
        """A span of hours."""
        return Time(_whole(hours, "Time.hours") * 3_600_000)

    @staticmethod
    def days(days: int) -> Time:
        """A span of days of 24 hours."""
        return Time(_whole(days, "Time.days") * 86_400_000)

    def to_milliseconds(self) -> int:
        """The span in milliseconds."""
        return self._millis

    def __repr__(self) -> str:
        return f"Time({self._millis} ms)"


@dataclass(frozen=True, order=True)
class Duration:
    """A span of time, as watermark strategies and state time-to-live take it.

    Examples
    --------
    >>> Duration.of_minutes(1).to_millis()
    60000
    >>> Duration.of_nanos(1_999_999).to_millis()
    1
    """

    _nanos: int

    @staticmethod
    def of_days(days: int) -> Duration:
        """A span of days of 24 hours."""
        return Duration.of_millis(_whole(days, "Duration.of_days") * 86_400_000)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """A span of hours."""
        return Duration.of_millis(_whole(hours, "Duration.of_hours") * 3_600_000)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """A span of minutes."""
        return Duration.of_millis(_whole(minutes, "Duration.of_minutes") * 60_000)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """A span of seconds."""
        return Duration.of_millis(_whole(seconds, "Duration.of_seconds") * 1_000)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """A span of milliseconds."""
        return Duration(_whole(millis, "Duration.of_millis") * 1_000_000)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """A span of nanoseconds."""
        return Duration(_whole(nanos, "Duration.of_nanos"))

    def to_millis(self) -> int:
        """The whole milliseconds in the span; a rest of nanoseconds is left out."""
        return self._nanos // 1_000_000

    def __repr__(self) -> str:
        millis, rest = divmod(self._nanos, 1_000_000)
        return f"Duration({self._nanos} ns)" if rest else f"Duration({millis} ms)"


@dataclass(frozen=True, order=True)
class Instant:
    """A point in time: seconds since 1970-01-01 UTC and nanoseconds within that second.

    Examples
    --------
    >>> Instant.of_epoch_milli(-1)
    Instant(seconds=-1, nanos=999000000)
    >>> Instant.of_epoch_milli(-1).to_epoch_milli()
    -1
    """

    seconds: int
    nanos: int

    def to_epoch_milli(self) -> int:
        """Milliseconds since 1970-01-01 UTC, a rest of nanoseconds rounded down."""
        return self.seconds * 1_000 + self.nanos // 1_000_000

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """The point this many milliseconds after 1970-01-01 UTC."""
        seconds, millis = divmod(_whole(epoch_milli, "Instant.of_epoch_milli"), 1_000)
        return Instant(seconds, millis * 1_000_000)


_ABOVE_ZERO = 'give a span above zero, such as "5 s"; one millisecond is the shortest'


def positive_millis(value: object, what: str, hint: str = _ABOVE_ZERO) -> int:
    """A span of time in milliseconds, see `to_millis`, that must be longer than zero.

    Examples
    --------
    >>> positive_millis("5 s", "the interval")
    5000
    """
    millis = to_millis(value, what)
    if millis == 0:
        raise PlanError(
            "INVALID_DURATION",
            f"{what} must be longer than zero",
            location=user_location(),
            hint=hint,
        )
    return millis


def to_millis(value: object, what: str = "duration", *, allow_negative: bool = False) -> int:
    """A span of time in milliseconds, from any form a user may write it in.

    Parameters
    ----------
    value : str, timedelta, Time, Duration or int
        The span: ``"1h 30min"``, a number of milliseconds, or one of the classes.
    what : str
        What the span is for; the error names it.
    allow_negative : bool
        Accept spans below zero.

    Returns
    -------
    int
        Whole milliseconds.

    Raises
    ------
    PlanError
        ``INVALID_DURATION``: not a span, below zero, not a whole number of milliseconds, or
        beyond 64 bits.

    Examples
    --------
    >>> to_millis("1h 30min"), to_millis("0.5 s"), to_millis(timedelta(seconds=2)), to_millis(7)
    (5400000, 500, 2000, 7)
    """
    exact = _exact_millis(value)
    if exact is None:
        raise _invalid(what, value, "is not a span of time")
    if exact.denominator != 1:
        raise _invalid(what, value, "is not a whole number of milliseconds")
    millis = exact.numerator
    if millis < 0 and not allow_negative:
        raise _invalid(what, value, "is negative")
    if not MIN_TIMESTAMP <= millis <= MAX_TIMESTAMP:
        raise _invalid(what, value, "is more than 64 bits of milliseconds hold")
    return millis


def _exact_millis(value: object) -> Fraction | None:
    if isinstance(value, Time):
        return Fraction(value.to_milliseconds())
    if isinstance(value, Duration):
        return Fraction(value._nanos, 1_000_000)
    if isinstance(value, timedelta):
        return Fraction(value // timedelta(microseconds=1), 1_000)
    if isinstance(value, str):
        return _parse(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value)
    return None


def _parse(text: str) -> Fraction | None:
    rest = text.strip().lower()
    sign = -1 if rest.startswith("-") else 1
    rest = rest[1:].lstrip() if sign < 0 else rest
    parts = list(_PART.finditer(rest))
    if not parts or sum(len(part[0]) for part in parts) != len(rest):
        return None
    if len(parts) == 1 and not parts[0][2]:
        return sign * Fraction(parts[0][1])
    if any(part[2] not in _MILLIS_OF for part in parts):
        return None
    return sign * sum((Fraction(part[1]) * _MILLIS_OF[part[2]] for part in parts), Fraction(0))


def _invalid(what: str, value: object, problem: str) -> PlanError:
    return PlanError(
        "INVALID_DURATION",
        f"{what}: {short_repr(value)} {problem}",
        parameters={"what": what, "value": value},
        location=user_location(),
        hint=f"give {_ACCEPTED}",
    )
