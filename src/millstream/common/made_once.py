"""Functions that are made for a type or schema, and called for each record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Convert", "MadeOnce"]

Convert = Callable[[Any], Any]
"""Makes one value of another."""


class MadeOnce:
    """A function that is made at its first call, and again in each process: closures do not travel.

    Examples
    --------
    >>> def adding(n):
    ...     return lambda value: value + n
    >>> add = MadeOnce(adding, 2)
    >>> add(1), add(2)
    (3, 4)
    """

    def __init__(self, make: Callable[..., Convert], *arguments: Any) -> None:
        self._make = make
        self._arguments = arguments
        self._made: Convert | None = None

    def __call__(self, value: Any) -> Any:
        made = self._made
        if made is None:
            made = self._made = self._make(*self._arguments)
        return made(value)

    def __reduce__(self) -> tuple[Any, ...]:
        return MadeOnce, (self._make, *self._arguments)
