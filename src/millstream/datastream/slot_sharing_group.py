"""Flink's slot sharing groups: which operators may share a task slot, and what that slot needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

__all__ = ["MemorySize", "SlotSharingGroup"]


@dataclass(frozen=True, order=True)
class MemorySize:
    """An amount of memory.

    Examples
    --------
    >>> MemorySize.of_mebi_bytes(2).get_kibi_bytes()
    2048
    """

    bytes_size: int

    def __post_init__(self) -> None:
        if not isinstance(self.bytes_size, int) or self.bytes_size < 0:
            raise ValueError(f"a memory size is a number of bytes, got {self.bytes_size!r}")

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """Return a size from a number of mebibytes."""
        return MemorySize(mebi_bytes << 20)

    def get_bytes(self) -> int:
        """Return the size in bytes."""
        return self.bytes_size

    def get_kibi_bytes(self) -> int:
        """Return the whole kibibytes."""
        return self.bytes_size >> 10

    def get_mebi_bytes(self) -> int:
        """Return the whole mebibytes."""
        return self.bytes_size >> 20

    def get_gibi_bytes(self) -> int:
        """Return the whole gibibytes."""
        return self.bytes_size >> 30

    def get_tebi_bytes(self) -> int:
        """Return the whole tebibytes."""
        return self.bytes_size >> 40


@dataclass(frozen=True)
class SlotSharingGroup:
    """A named group. Spark places tasks itself, so it describes and does not decide.

    Examples
    --------
    >>> group = SlotSharingGroup.builder("heavy").set_cpu_cores(2).build()
    >>> group.get_name(), group.get_cpu_cores()
    ('heavy', 2.0)
    """

    name: str
    cpu_cores: float | None = None
    task_heap_memory: MemorySize | None = None
    task_off_heap_memory: MemorySize | None = None
    managed_memory: MemorySize | None = None
    external_resources: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        """Return a builder for a group with this name."""
        return SlotSharingGroup.Builder(name)

    def get_name(self) -> str:
        """Return the name."""
        return self.name

    def get_cpu_cores(self) -> float | None:
        """Return how many cores a slot needs."""
        return self.cpu_cores

    def get_task_heap_memory(self) -> MemorySize | None:
        """Return how much heap a slot needs."""
        return self.task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """Return how much memory beside the heap a slot needs."""
        return self.task_off_heap_memory

    def get_managed_memory(self) -> MemorySize | None:
        """Return how much managed memory a slot needs."""
        return self.managed_memory

    def get_external_resources(self) -> dict[str, float]:
        """Return what else a slot needs, such as GPUs."""
        return dict(self.external_resources)

    class Builder:
        """Collects what a group needs."""

        def __init__(self, name: str) -> None:
            if not isinstance(name, str) or not name:
                raise ValueError(f"a slot sharing group needs a name, got {name!r}")
            self._name = name
            self._cores: float | None = None
            self._memory: dict[str, MemorySize] = {}
            self._external: dict[str, float] = {}

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            """Set the cores of a slot."""
            if cpu_cores <= 0:
                raise ValueError(f"a slot needs a positive number of cores, got {cpu_cores!r}")
            self._cores = float(cpu_cores)
            return self

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the heap of a slot."""
            self._memory["task_heap_memory"] = task_heap_memory
            return self

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the heap of a slot in mebibytes."""
            return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(
            self, task_off_heap_memory: MemorySize
        ) -> SlotSharingGroup.Builder:
            """Set the memory beside the heap."""
            self._memory["task_off_heap_memory"] = task_off_heap_memory
            return self

        def set_task_off_heap_memory_mb(
            self, task_off_heap_memory_mb: int
        ) -> SlotSharingGroup.Builder:
            """Set the memory beside the heap in mebibytes."""
            return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the managed memory."""
            self._memory["managed_memory"] = managed_memory
            return self

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the managed memory in mebibytes."""
            return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            """Set how much of something else a slot needs."""
            self._external[name] = value
            return self

        def build(self) -> SlotSharingGroup:
            """Return the group."""
            return SlotSharingGroup(
                self._name,
                self._cores,
                external_resources=MappingProxyType(dict(self._external)),
                **self._memory,
            )
