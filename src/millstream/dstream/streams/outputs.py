"""Outputs of a stream: what happens with each batch."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from millstream.common.errors import PlanError
from millstream.dstream.rdd import RDD
from millstream.dstream.streams.base import StreamBase, with_time

__all__ = ["Outputs", "file_name"]

T = TypeVar("T")


class Outputs(StreamBase[T]):
    """Outputs of a stream. They run for each complete batch, in the order of batches."""

    def foreachRDD(self, func: Callable[[RDD[T]], Any] | Callable[[datetime, RDD[T]], Any]) -> None:
        """Call a function of ``rdd``, or of ``time`` and ``rdd``, for each batch, in the driver process.

        After a crash the batch that was being processed comes again, with the same time and the same
        records: an output that writes under the time of the batch has each batch once.
        """
        self._output(func, "foreachRDD")

    def _output(self, func: Callable[..., Any], label: str) -> None:
        self._ssc._check_open()
        self._ssc._graph.add_output(self._node, with_time(func, 1, label), label)

    def pprint(self, num: int = 10) -> None:
        """Print the time and the first values of each batch.

        Examples
        --------
        >>> from millstream.dstream import ManualClock, StreamingContext
        >>> clock = ManualClock()
        >>> ssc = StreamingContext(None, 1, clock=clock)
        >>> ssc.queueStream([["a", "b", "c"]]).pprint(2)
        >>> ssc.start()
        >>> clock.advance(1)  # doctest: +ELLIPSIS
        -------------------------------------------
        Time: 1970-01-01 ...:00:01
        -------------------------------------------
        a
        b
        ...
        <BLANKLINE>
        >>> ssc.stop()
        """
        self._output(_printing(num), "pprint")

    def print(self, num: int = 10) -> None:
        """Print the first values of each batch, as `pprint` does: Scala's name of it."""
        self._output(_printing(num), "print")

    def saveAsTextFiles(self, prefix: str, suffix: str | None = None) -> None:
        """Write each batch as a folder of text files: ``prefix-<time in ms>[.suffix]``.

        A folder is there only when it is complete. One that is there already, because the batch came
        again after a crash, stays as it is.
        """
        self._output(_saving("saveAsTextFile", prefix, suffix), "saveAsTextFiles")

    def saveAsPickleFiles(self, prefix: str, suffix: str | None = None) -> None:
        """Write each batch as a folder of pickles, which ``sparkContext.pickleFile`` reads."""
        self._output(_saving("saveAsPickleFile", prefix, suffix), "saveAsPickleFiles")

    saveAsObjectFiles = saveAsPickleFiles


def file_name(prefix: str, suffix: str | None, at: datetime) -> str:
    """The name of the folder of a batch.

    Examples
    --------
    >>> from datetime import datetime
    >>> file_name("out/words", "txt", datetime.fromtimestamp(1.5))
    'out/words-1500.txt'
    """
    name = f"{prefix}-{round(at.timestamp() * 1000)}"
    return name if suffix is None else f"{name}.{suffix}"


def _printing(num: int) -> Callable[[datetime, RDD[Any]], None]:
    def show(time: datetime, rdd: RDD[Any]) -> None:
        taken = rdd.take(num + 1)
        lines = ["-" * 43, f"Time: {time}", "-" * 43, *map(str, taken[:num])]
        if len(taken) > num:
            lines.append("...")
        print("\n".join(lines), end="\n\n", flush=True)

    return show


def _saving(method: str, prefix: str, suffix: str | None) -> Callable[[datetime, RDD[Any]], None]:
    def save(time: datetime, rdd: RDD[Any]) -> None:
        try:
            getattr(rdd, method)(file_name(prefix, suffix, time))
        except PlanError as error:
            # Folders appear when they are complete: the batch was written before a crash.
            if error.code != "OUTPUT_EXISTS":
                raise

    return save
