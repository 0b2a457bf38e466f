"""Checks of the arguments of windows."""

from __future__ import annotations

from typing import Any, Literal

from millstream.common.errors import PlanError, short_repr, user_location

__all__ = ["Lateness", "checked_function", "checked_lateness", "wrong_function"]

Lateness = Literal["channel", "operator"]


def checked_function(found: Any, wanted: type, call: str) -> Any:
    """Return a function that has the class that a call needs."""
    if isinstance(found, wanted):
        return found
    raise wrong_function(call, (wanted,), found)


def wrong_function(call: str, wanted: tuple[type, ...], found: object) -> PlanError:
    """Return the error of a call with a function of another class."""
    names = " or ".join(kind.__name__ for kind in wanted)
    article = "an" if names[0] in "AEIOU" else "a"
    hint = f"give an object of {names}"
    if isinstance(found, type) and issubclass(found, wanted):
        hint = f"make an object of it, as in {call}({found.__name__}(...))"
    return PlanError(
        "WRONG_FUNCTION_KIND",
        f"{call} needs {article} {names}, got {short_repr(found)}",
        location=user_location(),
        hint=hint,
    )


def checked_lateness(lateness: object) -> Lateness:
    """Return the rule by which records are late, if there is such a rule."""
    if lateness in ("channel", "operator"):
        return lateness
    raise PlanError(
        "BAD_LATENESS",
        f"lateness is judged by 'channel' or by 'operator', got {lateness!r}",
        location=user_location(),
        hint='leave it out, or write lateness="operator" for Flink\'s rule',
    )
