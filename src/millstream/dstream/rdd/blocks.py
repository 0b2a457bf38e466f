"""Values that are kept: each reader gets its own, as if they had been sent to another process."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Generic, TypeVar

from millstream.common.errors import TypeMismatchError
from millstream.common.pickling import dumps

__all__ = ["Block", "private_copy"]

T = TypeVar("T")
_ATOMS = frozenset(
    {bool, int, float, complex, str, bytes, type(None), Decimal, date, datetime, time, timedelta}
)


class Block(Generic[T]):
    """Values of one partition. A function that changes what it reads does not change the block.

    Values that cannot change are kept as they are, others pickled; what cannot be pickled is shared.

    Examples
    --------
    >>> block = Block([[1], [2]])
    >>> for value in block:
    ...     value.append(0)
    >>> list(block)
    [[1], [2]]
    """

    __slots__ = ("_pickled", "_values", "size")

    def __init__(self, values: Iterable[T]) -> None:
        found = list(values)
        self.size = len(found)
        self._values: list[T] | None = found
        self._pickled: bytes | None = None
        if not _cannot_change(found):
            try:
                self._pickled = dumps(found)
            except TypeMismatchError:
                return
            self._values = None

    def __iter__(self) -> Iterator[T]:
        if self._values is None:
            assert self._pickled is not None
            return iter(pickle.loads(self._pickled))
        return iter(self._values)

    def __len__(self) -> int:
        return self.size


def private_copy(value: T) -> T:
    """The value as another process would get it.

    Examples
    --------
    >>> zero = []
    >>> private_copy(zero) is zero
    False
    """
    return next(iter(Block([value])))


def _cannot_change(values: Iterable[Any]) -> bool:
    kinds = {type(value) for value in values}
    if kinds <= _ATOMS:
        return True
    if not kinds <= _ATOMS | {tuple}:
        return False
    return all(_cannot_change(value) for value in values if type(value) is tuple)
