"""Checks of arguments."""

from __future__ import annotations

from millstream.common.errors import PlanError, user_location


def positive_int(what: str, number: object) -> int:
    """Return a number if it is a whole one and at least 1."""
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise PlanError(
            "BAD_NUMBER",
            f"{what} must be a whole number of at least 1, got {number!r}",
            location=user_location(),
        )
    return number
