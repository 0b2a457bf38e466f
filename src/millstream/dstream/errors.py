"""Errors of streaming contexts."""

from __future__ import annotations

from millstream.common.errors import PlanError, user_location

__all__ = ["DurationError", "call_error"]


class DurationError(PlanError, ValueError):
    """A duration or a window does not fit the batches. It is a `ValueError` too, as in PySpark."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(code, message, location=user_location(), hint=hint)


def call_error(code: str, message: str, hint: str) -> PlanError:
    """The error of a call that is not possible, with the user's line."""
    return PlanError(code, message, location=user_location(), hint=hint)
