"""Storage levels, by PySpark's names."""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = ["StorageLevel"]


class StorageLevel:
    """How values are kept. Programs may name any level; here all of them mean memory of the driver.

    Examples
    --------
    >>> print(StorageLevel.MEMORY_AND_DISK)
    Disk Memory Serialized 1x Replicated
    """

    NONE: ClassVar[StorageLevel]
    DISK_ONLY: ClassVar[StorageLevel]
    DISK_ONLY_2: ClassVar[StorageLevel]
    DISK_ONLY_3: ClassVar[StorageLevel]
    MEMORY_ONLY: ClassVar[StorageLevel]
    MEMORY_ONLY_2: ClassVar[StorageLevel]
    MEMORY_AND_DISK: ClassVar[StorageLevel]
    MEMORY_AND_DISK_2: ClassVar[StorageLevel]
    OFF_HEAP: ClassVar[StorageLevel]
    MEMORY_AND_DISK_DESER: ClassVar[StorageLevel]
    # Scala's names, which programs for receivers have.
    MEMORY_ONLY_SER: ClassVar[StorageLevel]
    MEMORY_ONLY_SER_2: ClassVar[StorageLevel]
    MEMORY_AND_DISK_SER: ClassVar[StorageLevel]
    MEMORY_AND_DISK_SER_2: ClassVar[StorageLevel]

    def __init__(
        self,
        useDisk: bool,
        useMemory: bool,
        useOffHeap: bool,
        deserialized: bool,
        replication: int = 1,
    ) -> None:
        self.useDisk = useDisk
        self.useMemory = useMemory
        self.useOffHeap = useOffHeap
        self.deserialized = deserialized
        self.replication = replication

    @staticmethod
    def of(level: Any) -> StorageLevel:
        """A level of this class or of PySpark's."""
        if isinstance(level, StorageLevel):
            return level
        return StorageLevel(
            level.useDisk,
            level.useMemory,
            level.useOffHeap,
            level.deserialized,
            level.replication,
        )

    def _fields(self) -> tuple[bool, bool, bool, bool, int]:
        return (
            self.useDisk,
            self.useMemory,
            self.useOffHeap,
            self.deserialized,
            self.replication,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorageLevel) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def __repr__(self) -> str:
        return f"StorageLevel{self._fields()}"

    def __str__(self) -> str:
        words = [
            "Disk " * self.useDisk,
            "Memory " * self.useMemory,
            "OffHeap " * self.useOffHeap,
            "Deserialized " if self.deserialized else "Serialized ",
        ]
        return f"{''.join(words)}{self.replication}x Replicated"


_DISK, _MEMORY, _OFF_HEAP = (True, False, False), (False, True, False), (True, True, True)
_BOTH = (True, True, False)
StorageLevel.NONE = StorageLevel(False, False, False, False)
StorageLevel.DISK_ONLY = StorageLevel(*_DISK, False)
StorageLevel.DISK_ONLY_2 = StorageLevel(*_DISK, False, 2)
StorageLevel.DISK_ONLY_3 = StorageLevel(*_DISK, False, 3)
StorageLevel.MEMORY_ONLY = StorageLevel.MEMORY_ONLY_SER = StorageLevel(*_MEMORY, False)
StorageLevel.MEMORY_ONLY_2 = StorageLevel.MEMORY_ONLY_SER_2 = StorageLevel(*_MEMORY, False, 2)
StorageLevel.MEMORY_AND_DISK = StorageLevel.MEMORY_AND_DISK_SER = StorageLevel(*_BOTH, False)
StorageLevel.MEMORY_AND_DISK_2 = StorageLevel(*_BOTH, False, 2)
StorageLevel.MEMORY_AND_DISK_SER_2 = StorageLevel.MEMORY_AND_DISK_2
StorageLevel.OFF_HEAP = StorageLevel(*_OFF_HEAP, False)
StorageLevel.MEMORY_AND_DISK_DESER = StorageLevel(*_BOTH, True)
