"""Functions that wait for something outside: many requests at once, on an event loop or in threads.

A batch of records is a batch of requests. They run at the same time, and their results take the places
of their records, regardless of which came first: the order is the same as without concurrency.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from millstream.common.errors import MillstreamError, short_repr
from millstream.common.types import Row
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo
from millstream.kernel.records.columns import as_list
from millstream.kernel.records.copying import frozen
from millstream.kernel.records.side_outputs import without_sides
from millstream.kernel.steps.stateless import FlatMapStep, Flow

MOST_THREADS = 256
"""As many calls that block run at once in one operator, whatever its capacity."""

new_event_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
"""Makes the loop of an operator. Timeouts and delays go by its clock."""

T = TypeVar("T")


class RetryTest(Protocol):
    """Decides which results and exceptions are tried again."""

    def result_predicate(self) -> Callable[[list[Any]], bool] | None: ...

    def exception_predicate(self) -> Callable[[Exception], bool] | None: ...


class RetryStrategy(Protocol):
    """How often, and after how long, a request is tried again."""

    def can_retry(self, current_attempts: int) -> bool: ...

    def get_backoff_time_millis(self, current_attempts: int) -> int: ...

    def get_retry_predicate(self) -> RetryTest: ...


class _Running(NamedTuple):
    loop: asyncio.AbstractEventLoop
    stopping: asyncio.Event
    thread: threading.Thread


class LoopThread:
    """An event loop in a thread of its own, for all steps of one operator in a process.

    The thread that pushes records may have a loop that runs already, as in a notebook. Nothing exists
    before `start`: until then it can be pickled.
    """

    def __init__(self) -> None:
        self._users = 0
        self._running: _Running | None = None

    def start(self, name: str) -> None:
        """Take part in the loop; the first to do so starts it."""
        if self._running is None:
            loop, stopping = new_event_loop(), asyncio.Event()
            thread = threading.Thread(target=_serve, args=(loop, stopping), name=name, daemon=True)
            thread.start()
            self._running = _Running(loop, stopping, thread)
        self._users += 1

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop, and wait for it."""
        assert self._running is not None, "the step is not open"
        future = asyncio.run_coroutine_threadsafe(_outcome(coroutine), self._running.loop)
        try:
            result, error = future.result()
        except BaseException:
            future.cancel()  # This thread was interrupted.
            raise
        if error is not None:
            raise error
        return cast(T, result)

    def stop(self) -> None:
        """Leave the loop. The last to do so ends it; tasks that still run are cancelled first."""
        self._users -= 1
        if self._users or self._running is None:
            return
        loop, stopping, thread = self._running
        self._running = None
        with suppress(RuntimeError):  # A function may have ended the loop by sys.exit.
            loop.call_soon_threadsafe(stopping.set)
        thread.join()


def _serve(loop: asyncio.AbstractEventLoop, stopping: asyncio.Event) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(stopping.wait())


async def _outcome(coroutine: Coroutine[Any, Any, T]) -> tuple[T | None, Exception | None]:
    """The result of a coroutine. If nobody asks for it any more, asyncio does not complain."""
    try:
        return await coroutine, None
    except Exception as error:
        return None, error


class Answer:
    """The answer to a request. Any thread may give it; only the first one counts."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        # An outcome instead of an exception: a future cannot hold a StopIteration, and complains
        # about exceptions that nobody was waiting for any more.
        self._outcome: asyncio.Future[tuple[Any, BaseException | None]] = self._loop.create_future()

    def complete(self, result: Any) -> None:
        self._give(result, None)

    def complete_exceptionally(self, error: BaseException) -> None:
        self._give(None, error)

    def is_over(self) -> bool:
        return self._outcome.done()

    async def given(self) -> Any:
        result, error = await self._outcome
        if error is not None:
            raise error
        return result

    def _give(self, result: Any, error: BaseException | None) -> None:
        with suppress(RuntimeError):  # The loop is closed: nobody is waiting.
            self._loop.call_soon_threadsafe(self._settle, result, error)

    def _settle(self, result: Any, error: BaseException | None) -> None:
        if not self._outcome.done():
            self._outcome.set_result((result, error))


class Threads:
    """At most ``limit`` threads for calls that block.

    They are daemons, which those of `concurrent.futures` are not: a call that hangs must not keep a
    process from ending.
    """

    def __init__(self, limit: int, name: str) -> None:
        self._limit = limit
        self._name = name
        self._calls: SimpleQueue[tuple[Callable[[], Any], Answer] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._open_calls = 0
        self._count = 0

    async def run(self, call: Callable[[], Any]) -> Any:
        """Call in a thread. When this is cancelled, a call that runs already goes on, for nothing."""
        answer = Answer()
        with self._lock:
            self._open_calls += 1
            wanted = min(self._open_calls, self._limit)
        if self._count < wanted:
            self._count += 1
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        self._calls.put((call, answer))
        return await answer.given()

    def _work(self) -> None:
        while (waiting := self._calls.get()) is not None:
            call, answer = waiting
            result, error = None, None
            if not answer.is_over():
                try:
                    result = call()
                except BaseException as raised:
                    error = raised
            with self._lock:
                self._open_calls -= 1
            answer._give(result, error)

    def stop(self) -> None:
        """Let the threads end. One that is in a call ends when the call does: nobody waits for it."""
        for _ in range(self._count):
            self._calls.put(None)


@dataclass(frozen=True)
class AsyncSpec:
    """A function and how to call it.

    ``function`` has a method ``async_invoke`` that gives any number of results, or is a plain function
    that gives one. ``ordered`` is for the reader of a plan: results are in order either way.
    """

    function: Any
    timeout_ms: int
    capacity: int
    ordered: bool
    retry: RetryStrategy
    loop: LoopThread = field(default_factory=LoopThread, compare=False, repr=False)


class AsyncStep(FlatMapStep):
    """Calls a function for all records of a batch, at most ``capacity`` of them at a time.

    An ``async def`` runs on the loop, any other function in a thread.
    """

    method = "async_invoke"

    takes_weights = False

    def __init__(self, info: OperatorInfo, spec: AsyncSpec) -> None:
        super().__init__(info, spec.function)
        self.spec = spec
        self.gives_many = hasattr(spec.function, self.method)
        self.is_async = is_async(self.call)
        self.takes_answer = self.gives_many and not takes(self.call, 1)
        self.in_flight = spec.capacity if self.is_async else min(spec.capacity, MOST_THREADS)
        self.threads: Threads | None = None
        self.has_failed = False
        predicate = spec.retry.get_retry_predicate()
        self.repeats_result = predicate.result_predicate() or _never
        self.repeats_error = predicate.exception_predicate() or _never

    # -- the life of the function ----------------------------------------------------------------

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        self.spec.loop.start(f"async {self.info.uid}")
        self.threads = Threads(self.in_flight, f"async {self.info.uid} call")
        try:
            super().open(make_context)
        except BaseException:
            self._stop()
            raise

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._stop()

    def _stop(self) -> None:
        if self.threads is not None:
            self.threads.stop()
            self.threads = None
            self.spec.loop.stop()

    def _guarded(self, call: Callable[[], Any]) -> None:
        """Call ``open`` or ``close``, which may be coroutines: then they run on the loop."""
        super()._guarded(lambda: self._finished(call()))

    def _finished(self, given: Any) -> None:
        if inspect.isawaitable(given):
            self.spec.loop.run(_awaited(given))

    # -- a batch ---------------------------------------------------------------------------------

    def results(self, flow: Flow) -> tuple[Flow, list[list[Any]]]:
        return flow, self.spec.loop.run(self._batch(as_list(flow.values)))

    async def _batch(self, values: list[Any]) -> list[list[Any]]:
        results: list[list[Any]] = [[] for _ in values]
        waiting = iter(enumerate(values))
        self.has_failed = False

        async def work() -> None:
            for place, value in waiting:
                results[place] = await self._request(value)
                if self.has_failed:
                    break  # This was cancelled, and the function did not let that pass.

        try:
            # A group cancels all others when one fails, and waits for them.
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.in_flight, len(values))):
                    group.create_task(work())
        except BaseExceptionGroup as errors:
            first = errors.exceptions[0]
            raise first from first.__cause__
        return results

    async def _request(self, value: Any) -> list[Any]:
        try:
            return without_sides(await self._in_time(value))
        except (Exception, asyncio.CancelledError, SystemExit, KeyboardInterrupt) as error:
            # All of these: a task that is cancelled, by the function itself, say, would leave a
            # hole in the results, and an exit would end the loop, not the process.
            self.has_failed = True
            if isinstance(error, MillstreamError):
                raise
            raise self.failure(error, value) from error

    async def _in_time(self, value: Any) -> list[Any]:
        try:
            async with asyncio.timeout(self.spec.timeout_ms / 1000) as limit:
                return await self._attempts(value, limit)
        except Exception:
            if not limit.expired():
                raise
            # Late, whatever the function has made of its cancellation.
        return await self._too_late(value)

    async def _too_late(self, value: Any) -> list[Any]:
        instead = getattr(self.function, "timeout", None) if self.gives_many else None
        try:
            if instead is None:
                raise TimeoutError(f"no result in time for {short_repr(value)}")
            given = instead(value)
            return gathered(await given if inspect.isawaitable(given) else given)
        except TimeoutError as error:
            failure = self.failure(error, value)
            failure.hint = (
                "allow more time, or let AsyncFunction.timeout(value) return a substitute"
            )
            raise failure from error

    async def _attempts(self, value: Any, limit: asyncio.Timeout) -> list[Any]:
        retry, attempt = self.spec.retry, 1

        def ends() -> bool:
            return self.has_failed or limit.expired() or not retry.can_retry(attempt)

        while True:
            try:
                results = await self._attempt(value)
            except Exception as error:
                if not self.repeats_error(error) or ends():
                    raise
            else:
                if not self.repeats_result(results) or ends():
                    return results
            await asyncio.sleep(retry.get_backoff_time_millis(attempt) / 1000)
            attempt += 1

    async def _attempt(self, value: Any) -> list[Any]:
        answer = Answer() if self.takes_answer else None
        arguments = (value,) if answer is None else (value, answer)
        if self.is_async:
            given = await self.call(*arguments)
        else:
            assert self.threads is not None
            given = await self.threads.run(lambda: self._blocking(*arguments))
            if inspect.isawaitable(given):  # A lambda around an ``async def``.
                given = await given
        if answer is not None:
            given = await answer.given()
        return gathered(given) if self.gives_many else [given]

    def _blocking(self, *arguments: Any) -> Any:
        given = self.call(*arguments)
        if self.gives_many and isinstance(given, Iterator):
            # Its code belongs into the thread too. It may go on changing what it has yielded.
            return [frozen(result) for result in given]
        return given


def is_async(function: Any) -> bool:
    """Whether a function, or an object that can be called, is an ``async def``."""
    call = type(function).__call__ if callable(function) else None
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def takes(function: Any, count: int) -> bool:
    """Whether a function can be called with so many arguments, as far as it tells."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # Some built-ins do not tell.
        return True
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True


def gathered(given: Any) -> list[Any]:
    """The results that a function gave for a record."""
    # These can be iterated over, and were meant as one result.
    if isinstance(given, str | bytes | Mapping | Row) or not isinstance(given, Iterable):
        raise TypeError(f"a list of results is needed, got {short_repr(given)}")
    return list(given)


async def _awaited(given: Any) -> Any:
    return await given


def _never(_: Any) -> bool:
    return False
