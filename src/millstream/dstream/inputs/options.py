"""Spark's options of streams: numbers, times and switches of the configuration."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.common.errors import PlanError, user_location
from millstream.common.time import to_millis

__all__ = ["is_on", "millis_of", "number_of"]


def number_of(conf: Mapping[str, str], key: str, default: float) -> float:
    """A number of the configuration.

    Examples
    --------
    >>> number_of({"spark.streaming.receiver.maxRate": "100"}, "spark.streaming.receiver.maxRate", 0)
    100.0
    """
    given = conf.get(key)
    if given is None:
        return default
    try:
        return float(given)
    except ValueError:
        raise _wrong(key, given, "a number, such as 1000") from None


def millis_of(conf: Mapping[str, str], key: str, default_ms: int, unit_ms: int = 1) -> int:
    """A time of the configuration in milliseconds; a number without a unit has Spark's unit of the key.

    Examples
    --------
    >>> millis_of({"spark.streaming.blockInterval": "1s"}, "spark.streaming.blockInterval", 200)
    1000
    """
    given = conf.get(key)
    if given is None:
        return default_ms
    text = str(given).strip()
    if text.isdecimal():
        return int(text) * unit_ms
    try:
        return to_millis(text)
    except PlanError:
        raise _wrong(key, given, "a time with a unit, such as 200ms or 60s") from None


def is_on(conf: Mapping[str, str], key: str) -> bool:
    """Whether a switch of the configuration is ``true``; without it, it is not."""
    given = str(conf.get(key, "false")).strip().lower()
    if given not in ("true", "false"):
        raise _wrong(key, given, "true or false")
    return given == "true"


def _wrong(key: str, given: str, wanted: str) -> PlanError:
    return PlanError(
        "STREAMING_OPTION",
        f"{key} cannot be {given!r}",
        location=user_location(),
        hint=f"give {wanted}",
    )
