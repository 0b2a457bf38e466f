"""Classes whose values travel in a way that the program says."""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["TravellingType"]


@dataclass(frozen=True)
class TravellingType:
    """A class, and how its values become bytes and come back.

    Examples
    --------
    >>> import pickle, threading
    >>> class Handle:
    ...     def __init__(self, number):
    ...         self.number, self.lock = number, threading.Lock()
    >>> TravellingType(Handle, lambda h: bytes([h.number]), lambda data: Handle(data[0])).register()
    """

    type: type
    write: Callable[[Any], bytes]
    read: Callable[[bytes], Any]

    def register(self) -> None:
        """Let pickle in this process know."""
        copyreg.pickle(self.type, self._reduced)

    def _reduced(self, value: Any) -> tuple[Any, ...]:
        return self.read, (self.write(value),)
