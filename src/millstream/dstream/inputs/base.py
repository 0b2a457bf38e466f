"""The contract of inputs: what belongs to a batch, and how it is read, now and after a crash."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from millstream.dstream.listener import StreamingListener
from millstream.dstream.rdd import RDD, SparkContext

__all__ = ["Input", "InputSite"]

T = TypeVar("T")


@dataclass(frozen=True)
class InputSite:
    """Facts that an input gets to know when the context starts.

    Parameters
    ----------
    number : int
        The number of the input in its context, from 0.
    folder : str, optional
        A folder of its own beside the checkpoint, which is kept over restarts; None if the context has
        no checkpoint, and nothing needs to outlive the process.
    batch_ms : int
        The length of a batch.
    start_ms : int
        The end of the first batch of the program is this time and one batch. After a recovery it is
        that of the first start.
    now_ms : callable
        The clock of the context.
    tell : callable
        Calls the listeners: the name of their method, and the values of the event.
    remember_ms : int
        For how long operators need the records of a batch again.
    """

    number: int
    folder: str | None
    batch_ms: int
    start_ms: int
    now_ms: Callable[[], int]
    tell: Callable[..., None]
    remember_ms: int


class Input(ABC, Generic[T]):
    """An input of a context. It says for each batch which records belong to it.

    At the end of a batch the context calls `take` once. What it returns describes the records: it is
    written into the batch log if there is a checkpoint, and from then on it alone decides what the batch
    is. `rdd` makes the records of it, as often as they are needed, and again after a crash.

    The input is pickled with the program, before it is opened: threads, connections and locks are made
    in `open`.
    """

    def open(self, site: InputSite) -> None:
        """Begin to receive. `restore` has been called for the batches in the log."""

    def close(self) -> None:
        """Stop to receive. `take` may be called once more, for what has come until now."""

    def end(self) -> None:
        """Let go what `rdd` needs: the context has stopped, and processes no batch any more."""

    def idle(self) -> bool:
        """Whether all that has come was taken, for a stop that waits for the rest."""
        return True

    @abstractmethod
    def take(self, time_ms: int) -> Any:
        """Describe what has come since the last call: the records of the batch that ends at a time.

        The description can be pickled if the context has a checkpoint. None is an empty batch.
        """

    @abstractmethod
    def rdd(self, context: SparkContext, taken: Any, time_ms: int) -> RDD[T] | None:
        """The records of a batch, from its description. It is called for empty batches too."""

    def listener(self) -> StreamingListener | None:
        """The listener that hears of batches while the context runs, if any; asked for after `open`."""
        return None

    def restore(self, taken: Any, time_ms: int) -> None:
        """Hear what a batch in the log has taken, before `open`: oldest first, after a recovery."""

    def confirm(self, taken: Any, time_ms: int) -> None:
        """Hear that the description is in the batch log, on disk if there is a checkpoint."""

    def forget(self, taken: Any, time_ms: int) -> None:
        """Hear that nobody will ask for the records of this batch any more."""

    def records(self, taken: Any) -> int:
        """How many records listeners are told about."""
        return 0

    def description(self, taken: Any) -> str:
        """Where the records of a batch come from, for listeners."""
        return ""
