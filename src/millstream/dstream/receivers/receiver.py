"""Receivers: classes of the program that get records from outside, in threads of the driver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Protocol

from millstream.common.errors import PlanError, user_location
from millstream.dstream.rdd.storage import StorageLevel

__all__ = ["Receiver", "Supervisor"]


class Supervisor(Protocol):
    """The side of a receiver's runner that it calls."""

    def push(self, records: list[Any], *, block: bool) -> None:
        """Take records: as a block of their own, or with others."""

    def report(self, message: str, error: BaseException | None) -> None:
        """Tell the listeners about an error."""

    def restart(self, message: str, error: BaseException | None, delay_ms: int | None) -> None:
        """Stop the receiver and start it again."""

    def stop(self, message: str, error: BaseException | None) -> None:
        """Stop the receiver."""

    @property
    def started(self) -> bool:
        """Whether the receiver runs."""

    @property
    def stopped(self) -> bool:
        """Whether the receiver shall end."""


class Receiver(ABC):
    """A source of records that the program writes, for ``ssc.receiverStream(receiver)``.

    `onStart` begins to receive, usually in a thread of its own, which calls `store` and ends when
    `isStopped` says so; `onStop` cleans up. All of this happens in the driver process.

    ``store([a, b])`` or ``store(iterator)`` stores several records as one block, which is one partition.
    With a checkpoint folder they are on disk when the method returns: a receiver that confirms records
    to its source afterwards loses none. ``store(record)`` stores a single record together with others,
    five times per second; a crash may lose the last of them.

    Parameters
    ----------
    storageLevel : StorageLevel
        Accepted as in Spark. Blocks are kept on disk if there is a checkpoint folder, else in memory.

    Examples
    --------
    >>> class Numbers(Receiver):
    ...     def onStart(self):
    ...         self.store([1, 2, 3])
    """

    streamId: int = -1
    """The number of the input that the receiver belongs to."""
    storageLevel: StorageLevel = StorageLevel.MEMORY_AND_DISK_2
    _supervisor: Supervisor | None = None

    def __init__(self, storageLevel: Any = StorageLevel.MEMORY_AND_DISK_2) -> None:
        self.storageLevel = StorageLevel.of(storageLevel)

    @abstractmethod
    def onStart(self) -> None:
        """Begin to receive. An exception here restarts the receiver after a while."""

    def onStop(self) -> None:  # noqa: B027
        """Clean up what `onStart` has opened."""

    def preferredLocation(self) -> str | None:
        """None. Receivers run in the driver process, whatever a program says here."""
        return None

    def store(self, data: Any, metadata: Any = None) -> None:
        """Store records: a list or an iterator has several, everything else is one.

        A list that is one record goes into another one: ``store([[1, 2]])``.
        """
        if isinstance(data, (list, Iterator)):
            self._running().push(list(data), block=True)
        else:
            self._running().push([data], block=False)

    def reportError(self, message: str, throwable: BaseException | None = None) -> None:
        """Tell the listeners about an error, and go on."""
        self._running().report(message, throwable)

    def restart(
        self,
        message: str,
        error: BaseException | None = None,
        millisecond: int | None = None,
    ) -> None:
        """Call `onStop`, and after a while `onStart`; the method itself returns at once.

        The while is ``spark.streaming.receiverRestartDelay``, two seconds without it.
        """
        self._running().restart(message, error, millisecond)

    def stop(self, message: str, error: BaseException | None = None) -> None:
        """Stop this receiver for good. The context goes on."""
        self._running().stop(message, error)

    def isStarted(self) -> bool:
        """Whether the receiver runs."""
        return self._running().started

    def isStopped(self) -> bool:
        """Whether threads of the receiver shall end."""
        return self._running().stopped

    def _running(self) -> Supervisor:
        if self._supervisor is None:
            raise PlanError(
                "RECEIVER_NOT_STARTED",
                f"the receiver {type(self).__name__} belongs to no running context",
                location=user_location(),
                hint="store records from onStart() or from a thread that it starts",
            )
        return self._supervisor

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_supervisor"}
