"""Whether batch programs run in memory: `millstream.testing.in_memory` says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["memory_tasks", "running_in_memory"]

_tasks: ContextVar[int | None] = ContextVar("memory_tasks", default=None)


def memory_tasks() -> int | None:
    """The number of tasks that programs in memory have; None: programs run on Spark.

    Examples
    --------
    >>> memory_tasks() is None
    True
    >>> with running_in_memory(tasks=2):
    ...     memory_tasks()
    2
    """
    return _tasks.get()


@contextmanager
def running_in_memory(tasks: int) -> Iterator[None]:
    """Let DataSets, iterations and what stands on them run in memory inside the block."""
    token = _tasks.set(tasks)
    try:
        yield
    finally:
        _tasks.reset(token)
