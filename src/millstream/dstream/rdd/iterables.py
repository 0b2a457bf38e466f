"""The values of a key, as `groupByKey` and `cogroup` give them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

__all__ = ["ResultIterable"]

T = TypeVar("T")


class ResultIterable(Generic[T]):
    """The values of one key: they can be read any number of times, counted and pickled.

    Examples
    --------
    >>> values = ResultIterable([3, 4])
    >>> len(values), sum(values), list(values)
    (2, 7, [3, 4])
    """

    def __init__(self, data: Sequence[T]) -> None:
        self.data = data
        self.maxindex = len(data)

    def __iter__(self) -> Iterator[T]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ResultIterable) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ResultIterable({list(self.data)!r})"
