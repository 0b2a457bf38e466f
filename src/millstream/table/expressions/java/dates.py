"""Dates and times by Java's patterns: `DateTimeFormatter` and the lenient `SimpleDateFormat`.

Moments are integers, as everywhere in the functions: days since 1970 of a DATE, milliseconds of
the day of
a TIME, nanoseconds since 1970-01-01 00:00:00 of a TIMESTAMP. Names of months and days are English.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

__all__ = [
    "DAY_NANOS",
    "DateError",
    "DatePatternError",
    "Fields",
    "civil",
    "days_of",
    "format_pattern",
    "iso_week",
    "local_nanos",
    "parse_pattern",
    "pattern_tokens",
    "utc_nanos",
    "zone_of",
]

DAY_NANOS = 86_400_000_000_000
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_SHORT_ZONES = {
    "PST": "America/Los_Angeles",
    "CST": "America/Chicago",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "ECT": "Europe/Paris",
    "CTT": "Asia/Shanghai",
    "AET": "Australia/Sydney",
    "PLT": "Asia/Karachi",
    "ART": "Africa/Cairo",
    "CNT": "America/St_Johns",
}
_FIXED_ZONES = {"EST": -5, "MST": -7, "HST": -10}


class DateError(ValueError):
    """A text that is no date, or a pattern that is none."""


class DatePatternError(DateError):
    """A pattern that Java refuses."""


def days_of(year: int, month: int, day: int) -> int:
    """Days since 1970 of a date of the proleptic calendar, of any year.

    Examples
    --------
    >>> days_of(1970, 2, 1)
    31
    """
    shift = (year - 2000) // 400 * 400  # the calendar repeats after 400 years
    return date(year - shift, month, day).toordinal() - _EPOCH_ORDINAL + shift // 400 * 146_097


def civil(days: int) -> tuple[int, int, int]:
    """The year, month and day of days since 1970."""
    cycles, rest = divmod(days + _EPOCH_ORDINAL - 730_120, 146_097)  # 730_120 is 2000-01-01
    found = date.fromordinal(rest + 730_120)
    return found.year + cycles * 400, found.month, found.day


def iso_week(days: int) -> tuple[int, int]:
    """The ISO year and week of days since 1970."""
    year, month, day = civil(days)
    shift = (year - 2000) // 400 * 400
    found = date(year - shift, month, day).isocalendar()
    return found.year + shift, found.week


@lru_cache(maxsize=256)
def zone_of(name: str) -> tzinfo:
    """A time zone by its name in Java: a region, an abbreviation, or an offset such as GMT-08:00."""
    offset = re.fullmatch(r"(?:GMT|UTC|UT)?([+-])(\d{1,2})(?::?(\d{2}))?", name)
    if offset:
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        return timezone(timedelta(minutes=minutes if offset[1] == "+" else -minutes))
    if name in ("UTC", "GMT", "Z", "UT"):
        return UTC
    if name in _FIXED_ZONES:
        return timezone(timedelta(hours=_FIXED_ZONES[name]))
    try:
        return ZoneInfo(_SHORT_ZONES.get(name, name))
    except (KeyError, ValueError, OSError):
        raise DateError(f"unknown time zone {name!r}") from None


def local_nanos(nanos: int, zone: tzinfo) -> int:
    """The time on the clock of a zone at a moment."""
    if zone is UTC:
        return nanos
    moment = datetime.fromtimestamp(_safe_second(nanos // 1_000_000_000), tz=zone)
    offset = moment.utcoffset() or timedelta()
    return nanos + int(offset.total_seconds()) * 1_000_000_000


def utc_nanos(local: int, zone: tzinfo, *, later: bool = False) -> int:
    """The moment of a time on a clock: the earlier (or later) one of two, and behind a gap by its
    length.
    """
    if zone is UTC:
        return local
    second = _safe_second(local // 1_000_000_000)
    naive = datetime(1970, 1, 1) + timedelta(seconds=second)
    offset = naive.replace(tzinfo=zone).utcoffset() or timedelta()
    if later:
        offset = min(offset, naive.replace(tzinfo=zone, fold=1).utcoffset() or timedelta())
    return local - int(offset.total_seconds()) * 1_000_000_000


def _safe_second(second: int) -> int:
    return max(-62_135_510_400, min(253_402_214_400, second))


@dataclass
class Fields:
    """The fields that a pattern has found in a text."""

    values: dict[str, int] = field(default_factory=dict)
    zone: tzinfo | None = None
    lenient: bool = False  # numbers that are too large count on, as a month 13

    def nanos(self) -> int:
        """The local time; what is missing is taken from 1970-01-01 00:00:00."""
        get = self.values.get
        year = get("year", 1970)
        month, day = get("month", 1), get("day", 1)
        if self.lenient:
            days = days_of(year + (month - 1) // 12, (month - 1) % 12 + 1, 1) + day - 1
        elif "day_of_year" in self.values:
            days = days_of(year, 1, 1) + get("day_of_year", 1) - 1
        else:
            days = days_of(year, month, min(day, _month_length(year, month)))
        hour = get("hour", 0)
        if "hour12" in self.values:
            hour = get("hour12", 0) % 12 + 12 * get("half", 0)
        seconds = hour * 3600 + get("minute", 0) * 60 + get("second", 0)
        return days * DAY_NANOS + seconds * 1_000_000_000 + get("nano", 0)


def _month_length(year: int, month: int) -> int:
    following = (year + 1, 1) if month == 12 else (year, month + 1)
    return days_of(*following, 1) - days_of(year, month, 1)


@lru_cache(maxsize=256)
def pattern_tokens(pattern: str) -> tuple[tuple[str, str], ...]:
    """Letters with their count, and texts, of a pattern."""
    found: list[tuple[str, str]] = []
    for part in re.finditer(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+|'", pattern):
        text = part[0]
        if part[2]:
            found.append(("field", text))
        elif text == "''":
            found.append(("text", "'"))
        elif part[1] is not None:
            found.append(("text", part[1].replace("''", "'")))
        elif text == "'":
            raise DateError("a quote of the pattern is not closed")
        else:
            found.append(("text", text))
    return tuple(found)


def format_pattern(
    nanos: int, pattern: str, zone: tzinfo | None = None, *, simple: bool = False
) -> str:
    """A local time by a pattern; with `simple`, by the rules of `SimpleDateFormat`.

    Examples
    --------
    >>> format_pattern(0, "EEE, dd MMM yyyy 'at' HH:mm")
    'Thu, 01 Jan 1970 at 00:00'
    """
    days, rest = divmod(nanos, DAY_NANOS)
    out: list[str] = []
    for kind, text in pattern_tokens(pattern):
        if kind == "text":
            if not simple and any(character in "{}#" for character in text):
                raise DateError(f"pattern has a reserved character: {pattern}")
            out.append(text.replace("[", "").replace("]", "") if not simple else text)
        else:
            out.append(_field_text(text[0], len(text), days, rest, zone, simple))
    return "".join(out)


def _field_text(
    letter: str, count: int, days: int, rest: int, zone: tzinfo | None, simple: bool
) -> str:
    year, month, day = civil(days)
    weekday = (days + 3) % 7  # 0 is Monday
    hour, second = rest // 3_600_000_000_000, rest // 1_000_000_000
    if letter in "yu" and not (letter == "u" and simple):
        shown = year if letter == "u" or year > 0 else 1 - year
        return str(shown % 100).zfill(2) if count == 2 else str(shown).zfill(count)
    if letter in "ML":
        return _named(month, count, _MONTHS[month - 1])
    if letter == "E":
        return (
            _DAYS[weekday]
            if count == 4 or (simple and count > 4)
            else _DAYS[weekday][: 1 if count == 5 else 3]
        )
    if letter == "a":
        return "AM" if hour < 12 else "PM"
    if letter == "G":
        return (
            ("AD", "BC")[year <= 0]
            if count < 4 or simple
            else ("Anno Domini", "Before Christ")[year <= 0]
        )
    if letter == "S":
        if simple:
            return str(rest // 1_000_000 % 1000).zfill(count)
        return str(rest % 1_000_000_000).zfill(9).ljust(count, "0")[:count]
    if letter in "XxZzVO":
        return _zone_text(letter, count, days * DAY_NANOS + rest, zone)
    numbers = {
        "d": day,
        "H": hour,
        "k": hour or 24,
        "h": hour % 12 or 12,
        "K": hour % 12,
        "m": rest // 60_000_000_000 % 60,
        "s": second % 60,
        "D": days - days_of(year, 1, 1) + 1,
        "n": rest % 1_000_000_000,
        "N": rest,
        "A": rest // 1_000_000,
        "u": weekday + 1,
        "F": (day - 1) // 7 + 1 if simple else (day - 1) % 7 + 1,
    }
    if letter in "wWYec":
        return _week_text(letter, count, days, weekday)
    if letter in "Qq":
        quarter = (month + 2) // 3
        return (
            str(quarter).zfill(count)
            if count < 3
            else (f"Q{quarter}" if count == 3 else _quarter(quarter))
        )
    if letter not in numbers or (not simple and letter in "dHkhKms" and count > 2):
        raise DatePatternError(f"Unknown pattern letter: {letter}")
    return str(numbers[letter]).zfill(count)


def _quarter(number: int) -> str:
    return ("1st", "2nd", "3rd", "4th")[number - 1] + " quarter"


def _named(number: int, count: int, name: str) -> str:
    if count <= 2:
        return str(number).zfill(count)
    return name[:3] if count == 3 else (name if count == 4 else name[0])


def _week_text(letter: str, count: int, days: int, weekday: int) -> str:
    """Weeks as in the United States: they begin on Sunday, the first has one day."""
    year, _, day = civil(days)
    sunday_based = (weekday + 1) % 7
    if letter in "ec":
        if count >= 3:
            return _DAYS[weekday][:3] if count == 3 else _DAYS[weekday]
        return str(sunday_based + 1).zfill(count)
    if letter == "W":
        first = (sunday_based - (day - 1)) % 7
        return str((day - 1 + first) // 7 + 1).zfill(count)
    week_year = year
    if days - sunday_based + 6 >= days_of(year + 1, 1, 1):
        week_year = year + 1
    if letter == "Y":
        return str(week_year % 100).zfill(2) if count == 2 else str(week_year).zfill(count)
    start = days_of(week_year, 1, 1)
    start -= (start + 4) % 7  # the Sunday before
    return str((days - start) // 7 + 1).zfill(count)


def _zone_text(letter: str, count: int, local: int, zone: tzinfo | None) -> str:
    if zone is None:
        raise DateError("Unable to extract ZoneId from temporal")
    seconds = (local - utc_nanos(local, zone)) // 1_000_000_000
    if letter in "zV":
        moment = datetime.fromtimestamp(
            _safe_second(utc_nanos(local, zone) // 1_000_000_000), tz=zone
        )
        return moment.tzname() or "UTC"
    if seconds == 0 and letter == "X":
        return "Z"
    sign, minutes = ("-" if seconds < 0 else "+"), abs(seconds) // 60
    hours, minutes = divmod(minutes, 60)
    if letter in "Xx" and count == 1:
        return f"{sign}{hours:02}" + (f"{minutes:02}" if minutes else "")
    return f"{sign}{hours:02}{':' if letter in 'Xx' and count in (3, 5) else ''}{minutes:02}"


_NUMERIC = set("ydMLHhkKmsSDuwen")


def parse_pattern(text: str, pattern: str, *, simple: bool = False) -> Fields:
    """The fields of a text by a pattern.

    With `simple` a text may have more at its end, and numbers may be too large.

    Examples
    --------
    >>> parse_pattern("2 Jan 1970", "d MMM yyyy").nanos() // DAY_NANOS
    1
    """
    compiled, letters = _parser(pattern, simple)
    match = compiled.match(text) if simple else compiled.fullmatch(text)
    if match is None:
        raise DateError(f"Text {text!r} could not be parsed by {pattern!r}")
    found = Fields(lenient=simple)
    for at, letter in enumerate(letters):
        value = match[at + 1]
        if value is not None:
            _keep(found, letter, value, simple)
    return found


@lru_cache(maxsize=256)
def _parser(pattern: str, simple: bool) -> tuple[re.Pattern[str], tuple[str, ...]]:
    tokens = pattern_tokens(pattern)
    out: list[str] = []
    letters: list[str] = []
    for at, (kind, text) in enumerate(tokens):
        if kind == "text":
            plain = re.escape(text)
            if not simple:
                plain = plain.replace("\\[", "(?:").replace("\\]", ")?")
            out.append(plain)
            continue
        follows = (
            at + 1 < len(tokens)
            and tokens[at + 1][0] == "field"
            and tokens[at + 1][1][0] in _NUMERIC
        )
        out.append(f"({_field_expression(text, follows, simple)})")
        letters.append(text)
    return re.compile("".join(out), re.IGNORECASE if simple else 0), tuple(letters)


def _field_expression(text: str, follows: bool, simple: bool) -> str:
    letter, count = text[0], len(text)
    if (letter in "ML" and count >= 3) or letter == "E":
        names = _DAYS if letter == "E" else _MONTHS
        full = (
            [*names, *(name[:3] for name in names)]
            if simple
            else (names if count == 4 else [name[:3] for name in names])
        )
        return "|".join(full)
    if letter == "a":
        return "AM|PM"
    if letter == "G":
        return "AD|BC"
    if letter in "XxZ":
        return "Z|[+-]\\d{2}(?::?\\d{2})?" if letter == "X" else "[+-]\\d{2}:?\\d{2}"
    if letter in "zV":
        return "[A-Za-z][A-Za-z_/+-]*(?:[+-]\\d{2}:\\d{2})?"
    if letter not in _NUMERIC and letter != "Y":
        raise DatePatternError(f"Unknown pattern letter: {letter}")
    if simple:
        return f"-?\\d{{{count}}}" if follows else " *-?\\d+"
    if letter in "yuY":
        if count == 2:
            return "\\d{2}"
        return (
            f"\\d{{{count}}}"
            if follows
            else f"\\d{{{count}}}|\\+\\d{{{count + 1},10}}|-\\d{{{count},10}}"
        )
    if letter == "S":
        return f"\\d{{{count}}}"
    return f"\\d{{{count}}}" if count >= 2 or follows else "\\d{1,2}"


_NAMES = {
    "d": "day",
    "H": "hour",
    "k": "hour",
    "m": "minute",
    "s": "second",
    "h": "hour12",
    "K": "hour12",
    "D": "day_of_year",
}
_LIMITS = {
    "d": (1, 31),
    "H": (0, 23),
    "m": (0, 59),
    "s": (0, 59),
    "h": (1, 12),
    "K": (0, 11),
    "k": (1, 24),
    "D": (1, 366),
}


def _keep(found: Fields, letters: str, value: str, simple: bool) -> None:
    letter, values = letters[0], found.values
    if letter in "yuY":
        number = int(value)
        if len(letters) == 2 and (not simple or len(value) == 2):
            number += 2000
            if simple and number > 2045:
                number -= 100
        values["year"] = number
    elif letter in "ML":
        month = (
            int(value)
            if value.strip().isdigit()
            else 1 + [name[:3].lower() for name in _MONTHS].index(value[:3].lower())
        )
        if not simple and not 1 <= month <= 12:
            raise DateError("Invalid value for MonthOfYear")
        values["month"] = month
    elif letter == "a":
        values["half"] = int(value.upper() == "PM")
    elif letter == "S":
        values["nano"] = int(value) * 1_000_000 if simple else int(value.ljust(9, "0")[:9])
    elif letter == "n":
        values["nano"] = int(value)
    elif letter in "XxZzV":
        found.zone = UTC if value == "Z" else zone_of(value)
    elif letter in _NAMES:
        low, high = _LIMITS[letter]
        if not simple and not low <= int(value) <= high:
            raise DateError(f"Invalid value for {_NAMES[letter]}: {value}")
        values[_NAMES[letter]] = int(value) % 24 if letter == "k" else int(value)
