"""Errors of streaming contexts."""

from __future__ import annotations

from millstream.common.errors import PlanError, user_location

__all__ = ["DurationError", "call_error", "milliseconds"]


class DurationError(PlanError, ValueError):
    """A duration or a window does not fit the batches. It is a `ValueError` too, as in PySpark."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(code, message, location=user_location(), hint=hint)


def milliseconds(seconds: float) -> int:
    """A duration of the program, which is in seconds.

    Examples
    --------
    >>> milliseconds(8.2)
    8200
    """
    try:
        return round(seconds * 1000)
    except (TypeError, ValueError, OverflowError) as error:
        raise DurationError(
            "DSTREAM_DURATION",
            f"a duration is a number of seconds, not {seconds!r}",
            "1 is a second, 0.5 half a second",
        ) from error


def call_error(code: str, message: str, hint: str) -> PlanError:
    """The error of a call that is not possible, with the user's line."""
    return PlanError(code, message, location=user_location(), hint=hint)
