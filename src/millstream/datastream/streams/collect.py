"""Bringing a stream's records to the program that started the job."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from threading import Condition, get_ident
from typing import TYPE_CHECKING, Any, Self

from millstream.common.errors import PlanError, user_location
from millstream.common.type_variables import T
from millstream.datastream.job_client import JobClient, JobListener

if TYPE_CHECKING:
    from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["CloseableIterator", "CollectBuffer", "LaterCollector"]

_MAX_WAITING = 100_000


class CollectBuffer:
    """Holds records between the job, which delivers them, and the program, which takes them.

    ``deliver`` waits while so many records lie here that the program must be slower than the job:
    that slows the job down instead of filling the memory.

    Parameters
    ----------
    max_waiting
        From how many waiting records on the job has to wait.
    """

    def __init__(self, max_waiting: int = _MAX_WAITING) -> None:
        self._values: deque[Any] = deque()
        self._changed = Condition()
        self._ended = False
        self._max_waiting = max_waiting
        self._program = get_ident()

    def deliver(self, epoch: int, records: list[tuple[Any, int | None]]) -> None:
        """Take the records of an epoch; the sink's part."""
        with self._changed:
            # A job in memory runs on the program's own thread, which takes nothing meanwhile.
            if get_ident() != self._program:
                self._changed.wait_for(lambda: self._ended or len(self._values) < self._max_waiting)
            if not self._ended:
                self._values.extend(value for value, _ in records)
                self._changed.notify_all()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until records are here or the job has ended, at most this many seconds.

        Raises
        ------
        TimeoutError
            The time is over, and there are none.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._values or self._ended, timeout):
                raise TimeoutError(f"the job has given no record in {timeout} s")

    def take(self) -> list[Any]:
        """Wait for records and return all there are; none once the job has ended."""
        with self._changed:
            self.wait()
            values = list(self._values)
            self._values.clear()
            self._changed.notify_all()
            return values

    def end(self) -> None:
        """Let nobody wait any longer: the job has ended, or nobody wants its records."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()


class CloseableIterator(Iterator[T]):
    """The records of a running job. Closing it stops the job.

    After the last record it raises the job's error, if the job failed.
    """

    def __init__(self, buffer: CollectBuffer, client: JobClient) -> None:
        self._buffer = buffer
        self._client = client
        self._result = client.get_job_execution_result()
        self._result.add_done_callback(lambda _: buffer.end())
        self._ready: Iterator[T] = iter(())
        self._closed = False

    def __next__(self) -> T:
        for value in self._ready:
            return value
        if self._closed:
            raise StopIteration
        self._ready = iter(self._buffer.take())
        for value in self._ready:
            return value
        self._closed = True
        self._result.result()
        raise StopIteration

    def next(self) -> T:
        """Return the next record."""
        return self.__next__()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the first record is here, or the job has ended, at most this many seconds."""
        self._buffer.wait(timeout)

    def take(self, limit: int) -> list[T]:
        """Return the first records, at most ``limit``, and stop the job."""
        with self:
            return [value for _, value in zip(range(limit), self, strict=False)]

    def close(self) -> None:
        """Stop the job, if it still runs, and forget what it has delivered."""
        self._closed = True
        self._ready = iter(())
        self._buffer.end()
        if not self._result.done():
            self._client.cancel().result()

    def __del__(self) -> None:
        # Nobody can take records any more: without this the job would wait forever.
        self._buffer.end()
        if not self._closed and not self._result.done():
            self._client.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class LaterCollector(CloseableIterator[T], JobListener):
    """The records of the next job of an environment; see ``stream.collect_async()``."""

    def __init__(self, env: StreamExecutionEnvironment) -> None:
        # The program may be waiting for the end of the job, so that the job must not wait for it.
        self._buffer = CollectBuffer(max_waiting=sys.maxsize)
        self._started = False
        self._closed = True
        self._env = env
        env.register_job_listener(self)

    def deliver(self, epoch: int, records: list[tuple[Any, int | None]]) -> None:
        """Take the records of an epoch."""
        self._buffer.deliver(epoch, records)

    def on_job_submitted(self, job_client: JobClient | None, throwable: Any = None) -> None:
        """Belong to the job that has started."""
        self._env._listeners.remove(self)
        if job_client is not None:
            super().__init__(self._buffer, job_client)
            self._started = True

    def on_job_executed(self, job_execution_result: Any, throwable: Any = None) -> None:
        """Nothing more to do: the iterator ends by itself."""

    def __next__(self) -> T:
        if not self._started:
            raise PlanError(
                "NOT_EXECUTED",
                "the records of collect_async() come with the job, which has not started",
                location=user_location(),
                hint="call env.execute() or env.execute_async() first",
            )
        return super().__next__()

    def close(self) -> None:
        """Stop the job, if it runs."""
        if self._started:
            super().close()

    def __del__(self) -> None:
        if self._started:
            super().__del__()
