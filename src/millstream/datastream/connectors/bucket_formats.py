"""Names of subdirectories by time: Java's patterns of dates, and when the time of a name is over."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from millstream.common.errors import PlanError, short_repr, user_location

__all__ = ["TimeFormat"]

_PARTS = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|.", re.DOTALL)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The units, the finest last, and where the next one begins.
_UNITS = "yMdHms"
_FIELDS = {"y": "year", "M": "month", "d": "day", "H": "hour", "m": "minute", "s": "second"}


@dataclass(frozen=True)
class TimeFormat:
    """A pattern such as ``'day='yyyy-MM-dd/'hour='HH``, and the zone whose clock it shows.

    Examples
    --------
    >>> hours = TimeFormat("'day='yyyy-MM-dd/'hour='HH", "Asia/Tokyo")
    >>> hours.name(0)
    'day=1970-01-01/hour=09'
    >>> hours.end_ms(1)
    3600000
    """

    pattern: str
    zone: str | None = None

    def __post_init__(self) -> None:
        unknown = [found[0] for found in _PARTS.finditer(self.pattern) if _is_unknown(found)]
        if unknown or not self._letters():
            raise self._refused(f"it cannot show {unknown[0]!r}" if unknown else "it shows no time")
        try:
            self._zone()
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise self._refused(f"there is no time zone {self.zone!r}") from error

    def _refused(self, why: str) -> PlanError:
        return PlanError(
            "BAD_BUCKET_FORMAT",
            f"{short_repr(self.pattern)} is no pattern of buckets: {why}",
            location=user_location(),
            hint="use yyyy, MM, dd, HH, mm and ss, text in single quotes, and a zone such as "
            "'Europe/Berlin'",
        )

    def _letters(self) -> set[str]:
        found = (part[1] for part in _PARTS.finditer(self.pattern) if part[1])
        return {"y" if letter == "u" else letter for letter in found}

    def _zone(self) -> tzinfo | None:
        """The zone; None is that of the machine."""
        return None if self.zone is None else ZoneInfo(self.zone)

    def name(self, time_ms: int) -> str:
        """The name of the bucket of a time."""
        return _name(self, time_ms if "s" in self._letters() else time_ms - time_ms % 60_000)

    def end_ms(self, time_ms: int) -> int:
        """When the bucket of a time is over, as the finest unit of its name says."""
        finest = max(_UNITS.index(letter) for letter in self._letters())
        moment = self._local(time_ms)
        begin = {_FIELDS[unit]: 1 if unit in "Md" else 0 for unit in _UNITS[finest + 1 :]}
        start = moment.replace(microsecond=0, **begin)  # type: ignore[arg-type]
        end = _next(start, _UNITS[finest])
        # Where the clock is set back, a name has two hours; where it is set forward, one has none.
        return max(_millis(end), _millis(end.replace(fold=1)))

    def _local(self, time_ms: int) -> datetime:
        return (_EPOCH + timedelta(milliseconds=time_ms)).astimezone(self._zone())


@lru_cache(1_000)
def _name(times: TimeFormat, time_ms: int) -> str:
    """Kept for the next records, which have about the same time."""
    moment = times._local(time_ms)
    return _PARTS.sub(lambda found: _shown(found, moment), times.pattern)


def _next(start: datetime, unit: str) -> datetime:
    if unit == "y":
        return start.replace(year=start.year + 1)
    if unit == "M":
        later = start.replace(day=28) + timedelta(days=4)
        return later.replace(day=1)
    return start + timedelta(**{f"{_FIELDS[unit]}s": 1})


def _millis(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _is_unknown(found: re.Match[str]) -> bool:
    letter, text = found[1], found[0]
    if letter is None:
        return False
    if letter in "yu":
        return len(text) not in (1, 4)
    return letter not in _UNITS or len(text) > 2


def _shown(found: re.Match[str], moment: datetime) -> str:
    letter, text = found[1], found[0]
    if letter is None:
        return text if not text.startswith("'") else text[1:-1].replace("''", "'") or "'"
    number = getattr(moment, _FIELDS["y" if letter == "u" else letter])
    return f"{number:0{len(text)}d}"
