"""Serializers as programs for Flink write them; values are pickled, or Arrow columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from io import BytesIO
from typing import Generic, TypeVar

__all__ = ["TypeSerializer", "VoidNamespaceSerializer"]

T = TypeVar("T")


class TypeSerializer(ABC, Generic[T]):
    """Writes values to a stream of bytes and reads them; two with the same fields are equal."""

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Write a value."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """Read a value."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class VoidNamespaceSerializer(TypeSerializer[bytes]):
    """Writes nothing.

    Examples
    --------
    >>> VoidNamespaceSerializer().deserialize(BytesIO())
    b''
    """

    def serialize(self, element: bytes, stream: BytesIO) -> None:
        return None

    def deserialize(self, stream: BytesIO) -> bytes:
        return b""
