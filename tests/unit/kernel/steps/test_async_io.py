"""Requests at the same time: their order, number, time limits, repetitions and failures."""

from __future__ import annotations

import asyncio
import selectors
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import cloudpickle
import numpy as np
import pytest

from millstream.common.errors import MillstreamError, UserCodeError
from millstream.common.types import Row
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo
from millstream.kernel.calls.reports import Reports
from millstream.kernel.records.order import OrderKeys
from millstream.kernel.steps import async_io
from millstream.kernel.steps.async_io import AsyncSpec, AsyncStep
from millstream.kernel.steps.stateless import Flow, Step

INFO = OperatorInfo("ask", "ask-uid")
PATIENCE = 20
"""Seconds after which a test that waits for a thread gives up; none should."""


class JumpingSelector(selectors.SelectSelector):
    """Waits for events, but for no timer: the clock is set to it instead, when `gate` is open."""

    gate: threading.Event | None = None

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        events = super().select(0)
        if not events:
            if self.gate is not None:
                assert self.gate.wait(PATIENCE)
            self.now += timeout
        return events


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose time passes only when there is nothing else to do, and then at once."""

    def __init__(self) -> None:
        self.clock = JumpingSelector()
        super().__init__(self.clock)

    def time(self) -> float:
        return self.clock.now


@pytest.fixture
def virtual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(async_io, "new_event_loop", VirtualLoop)


def now() -> float:
    return round(asyncio.get_running_loop().time(), 6)


@dataclass
class Retry:
    """A strategy with these delays, in milliseconds."""

    delays: list[int] = field(default_factory=list)
    result: Callable[[list[Any]], bool] | None = None
    error: Callable[[Exception], bool] | None = None

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= len(self.delays)

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return self.delays[current_attempts - 1]

    def get_retry_predicate(self) -> Retry:
        return self

    def result_predicate(self) -> Any:
        return self.result

    def exception_predicate(self) -> Any:
        return self.error


class Collect(Step):
    def __init__(self) -> None:
        super().__init__(INFO)
        self.flows: list[Flow] = []

    def push(self, flow: Flow) -> None:
        self.flows.append(flow)


class Asker:
    """An `AsyncFunction` made of a plain function."""

    def __init__(self, invoke: Callable[..., Any]) -> None:
        self.async_invoke = invoke


def new_step(
    function: Any, *, timeout_ms: int = 60_000, capacity: int = 100, retry: Retry | None = None
) -> AsyncStep:
    step = AsyncStep(INFO, AsyncSpec(function, timeout_ms, capacity, True, retry or Retry()))
    step.children.append(Collect())
    return step


def flow_of(values: list[Any]) -> Flow:
    keys = OrderKeys.of_fragment(np.zeros(len(values), np.int64), 0, 0, 0)
    return Flow(values, np.arange(len(values)) * 10, keys)


@contextmanager
def opened(step: AsyncStep, reports: Reports | None = None) -> Iterator[AsyncStep]:
    counted = Reports() if reports is None else reports
    step.open(lambda info, cursor: KernelRuntimeContext(info, counted, 0, 1, cursor))
    try:
        yield step
    finally:
        step.close()


def sent(step: AsyncStep) -> Flow:
    (collect,) = step.children
    assert isinstance(collect, Collect)
    return collect.flows[-1]


def push(step: AsyncStep, values: list[Any]) -> list[Any]:
    """What is sent on for a batch."""
    step.push(flow_of(values))
    return list(sent(step).values)


def results(function: Any, values: list[Any], **options: Any) -> list[Any]:
    with opened(new_step(function, **options)) as step:
        return push(step, values)


def failure(function: Any, values: list[Any], **options: Any) -> UserCodeError:
    with opened(new_step(function, **options)) as step, pytest.raises(UserCodeError) as caught:
        push(step, values)
    return caught.value


def own_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("async ask-uid")]


def assert_no_threads() -> None:
    for thread in own_threads():
        thread.join(PATIENCE)
    assert own_threads() == []


class TestResults:
    @pytest.mark.usefixtures("virtual")
    def test_results_are_in_the_order_of_records_not_of_answers(self) -> None:
        answered = []

        async def ask(number: int) -> int:
            await asyncio.sleep(10 - number)
            answered.append(number)
            return number * 2

        assert results(ask, [1, 2, 3, 4]) == [2, 4, 6, 8]
        assert answered == [4, 3, 2, 1]

    def test_plain_function_gives_one_result_even_a_list(self) -> None:
        async def ask(number: int) -> list[int]:
            return [number, number]

        assert results(ask, [1, 2]) == [[1, 1], [2, 2]]
        assert results(lambda number: [number], [1, 2]) == [[1], [2]]

    def test_async_invoke_gives_none_one_or_many(self) -> None:
        async def ask(number: int) -> list[str]:
            return [f"{number}.{part}" for part in range(number)]

        with opened(new_step(Asker(ask))) as step:
            assert push(step, [2, 0, 1]) == ["2.0", "2.1", "1.0"]
            assert sent(step).records().keys.pos.tolist() == [0, 0, 2]
            assert sent(step).timestamps().tolist() == [0, 0, 20]

    def test_rows_of_a_batch_that_was_filtered_stay(self) -> None:
        async def ask(number: int) -> list[int]:
            return [number, -number]

        with opened(new_step(Asker(ask))) as step:
            step.push(flow_of([1, 2, 3]).keep([0, 2]))
            assert sent(step).values == [1, -1, 3, -3]
            assert sent(step).records().keys.pos.tolist() == [0, 0, 2, 2]

    def test_no_results_at_all_send_nothing(self) -> None:
        async def ask(number: int) -> list[int]:
            return []

        step = new_step(Asker(ask))
        with opened(step):
            step.push(flow_of([1, 2]))
        (collect,) = step.children
        assert collect.flows == []  # type: ignore[attr-defined]

    def test_list_that_the_function_goes_on_using_is_copied(self) -> None:
        shared: list[int] = []

        async def ask(number: int) -> list[int]:
            shared[:] = [number]
            return shared

        assert results(Asker(ask), [1, 2]) == [1, 2]

    @pytest.mark.parametrize("bad", [None, "text", b"bytes", 3, {"a": 1}, Row(1, 2)])
    def test_what_is_no_list_of_results_fails(self, bad: Any) -> None:
        async def ask(number: int) -> Any:
            return bad

        error = failure(Asker(ask), [7])
        assert error.record == "7"
        assert f"a list of results is needed, got {bad!r}" in error.message

    def test_any_kind_of_function_may_be_async(self) -> None:
        class Callable:
            async def __call__(self, number: int) -> int:
                return number + 1

        async def ask(number: int) -> int:
            return number + 1

        assert results(Callable(), [1]) == [2]
        assert results(lambda number: ask(number), [1]) == [2]


class TestThreads:
    def test_function_that_is_not_async_runs_in_a_thread_of_its_own(self) -> None:
        names = results(lambda _: threading.current_thread().name, [1])
        assert names == ["async ask-uid call"]

    def test_threads_are_used_again(self) -> None:
        with opened(new_step(lambda _: threading.get_ident(), capacity=2)) as step:
            found = {ident for batch in range(5) for ident in push(step, [batch] * 4)}
        assert 1 <= len(found) <= 2

    def test_calls_that_block_run_at_the_same_time(self) -> None:
        together = threading.Barrier(3)

        def ask(number: int) -> int:
            together.wait(PATIENCE)  # Broken unless three are here.
            return number

        assert results(ask, list(range(9)), capacity=3) == list(range(9))

    def test_never_more_than_the_capacity(self) -> None:
        lock, counts, most = threading.Lock(), [0], [0]
        pair = threading.Barrier(2)

        def ask(number: int) -> int:
            with lock:
                counts[0] += 1
                most[0] = max(most[0], counts[0])
            pair.wait(PATIENCE)
            with lock:
                counts[0] -= 1
            return number

        assert results(ask, list(range(10)), capacity=2) == list(range(10))
        assert most == [2]

    def test_number_of_threads_has_a_bound(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(async_io, "MOST_THREADS", 5)

        async def ask(number: int) -> int:
            return number

        assert new_step(lambda n: n, capacity=100).in_flight == 5
        assert new_step(lambda n: n, capacity=3).in_flight == 3
        assert new_step(ask, capacity=100).in_flight == 100

    def test_generator_runs_in_the_thread_and_may_go_on_changing_what_it_yields(self) -> None:
        threads = set()

        def ask(number: int) -> Iterator[list[int]]:
            found: list[int] = []
            for part in range(number):
                threads.add(threading.current_thread().name)
                found.append(part)
                yield found

        assert results(Asker(ask), [2]) == [[0], [0, 1]]
        assert threads == {"async ask-uid call"}


class TestCapacity:
    @pytest.mark.usefixtures("virtual")
    @pytest.mark.parametrize(("capacity", "expected"), [(1, 1), (3, 3), (10, 10), (100, 10)])
    def test_it_is_reached_and_never_passed(self, capacity: int, expected: int) -> None:
        in_flight, seen = [0], []

        async def ask(number: int) -> int:
            in_flight[0] += 1
            seen.append(in_flight[0])
            await asyncio.sleep(number % 3)
            in_flight[0] -= 1
            return number

        assert results(ask, list(range(10)), capacity=capacity) == list(range(10))
        assert max(seen) == expected

    @pytest.mark.usefixtures("virtual")
    def test_place_that_becomes_free_is_taken_at_once(self) -> None:
        started = []

        async def ask(seconds: int) -> int:
            started.append((seconds, now()))
            await asyncio.sleep(seconds)
            return seconds

        results(ask, [10, 1, 2, 3], capacity=2)
        assert started == [(10, 0), (1, 0), (2, 1), (3, 3)]

    @pytest.mark.usefixtures("virtual")
    def test_request_that_waits_for_its_next_attempt_keeps_its_place(self) -> None:
        started = []

        async def ask(number: int) -> int:
            started.append((number, now()))
            if len(started) == 1:
                raise OSError
            return number

        retry = Retry([5_000], error=lambda _: True)
        assert results(ask, [1, 2], capacity=1, retry=retry) == [1, 2]
        assert started == [(1, 0), (1, 5), (2, 5)]


async def forever(_: Any) -> None:
    await asyncio.Event().wait()


class Impatient:
    """Waits for ever for odd numbers, and has a substitute."""

    def __init__(self) -> None:
        self.ends: list[tuple[int, float]] = []

    async def async_invoke(self, number: int) -> list[Any]:
        try:
            if number % 2:
                await forever(number)
        except asyncio.CancelledError:
            self.ends.append((number, now()))
            raise
        return [number]

    def timeout(self, number: int) -> Any:
        return ["late", number]


@pytest.mark.usefixtures("virtual")
class TestTimeout:
    def test_by_default_it_fails_and_names_the_record(self) -> None:
        error = failure(forever, [7], timeout_ms=2_000)
        assert (error.operator, error.uid, error.record) == ("ask", "ask-uid", "7")
        assert "TimeoutError: no result in time for 7" in error.message
        assert "allow more time" in (error.hint or "")

    def test_substitute_takes_the_place_of_the_late_record_only(self) -> None:
        function = Impatient()
        assert results(function, [1, 2, 3, 4], timeout_ms=2_500) == ["late", 1, 2, "late", 3, 4]
        assert function.ends == [(1, 2.5), (3, 2.5)]

    def test_substitute_may_be_nothing_or_a_coroutine(self) -> None:
        class Nothing(Impatient):
            def timeout(self, number: int) -> Any:
                return []

        class Later(Impatient):
            async def timeout(self, number: int) -> Any:  # type: ignore[override]
                await asyncio.sleep(1)
                return [-number]

        assert results(Nothing(), [1, 2]) == [2]
        assert results(Later(), [1, 2]) == [-1, 2]

    def test_substitute_must_be_a_list_as_well(self) -> None:
        class Wrong(Impatient):
            def timeout(self, number: int) -> Any:
                return "text"

        error = failure(Wrong(), [1])
        assert "a list of results is needed, got 'text'" in error.message
        assert "allow more time" not in (error.hint or "")

    def test_error_in_the_substitute_fails(self) -> None:
        class Failing(Impatient):
            def timeout(self, number: int) -> Any:
                raise LookupError("no substitute")

        error = failure(Failing(), [2, 1])
        assert "LookupError: no substitute" in error.message
        assert error.record == "1"

    def test_time_of_a_record_begins_with_its_own_request(self) -> None:
        ends = []

        async def ask(number: int) -> int:
            await asyncio.sleep(6)
            ends.append(now())
            return number

        assert results(ask, [1, 2, 3], capacity=1, timeout_ms=7_000) == [1, 2, 3]
        assert ends == [6, 12, 18]

    @pytest.mark.parametrize(("timeout_ms", "attempts"), [(10_000, 2), (11_000, 2), (13_000, 3)])
    def test_all_attempts_and_delays_count(self, timeout_ms: int, attempts: int) -> None:
        started = []

        async def ask(number: int) -> int:
            started.append(now())
            await asyncio.sleep(2)
            raise OSError("down")

        retry = Retry([4_000] * 9, error=lambda _: True)
        error = failure(ask, [1], timeout_ms=timeout_ms, retry=retry)
        assert "TimeoutError" in error.message
        assert started == [0, 6, 12][:attempts]

    def test_time_error_of_the_function_itself_is_an_error_like_others(self) -> None:
        class OwnLimit(Impatient):
            async def async_invoke(self, number: int) -> list[Any]:
                async with asyncio.timeout(1):
                    await forever(number)
                return []

        error = failure(OwnLimit(), [1])
        assert "TimeoutError" in error.message
        assert "no result in time" not in error.message

    def test_limit_of_the_function_is_over_before_the_limit_of_the_step(self) -> None:
        attempts = []

        async def ask(number: int) -> int:
            attempts.append(now())
            async with asyncio.timeout(1):
                await asyncio.sleep(0 if len(attempts) == 3 else 5)
            return number

        retry = Retry([500] * 5, error=lambda error: isinstance(error, TimeoutError))
        assert results(ask, [1], retry=retry) == [1]
        assert attempts == [0, 1.5, 3]

    def test_cancellation_that_the_function_turns_into_an_error_is_late_too(self) -> None:
        class Turning(Impatient):
            async def async_invoke(self, number: int) -> list[Any]:
                try:
                    return await super().async_invoke(number)
                except asyncio.CancelledError:
                    raise ConnectionError from None

        function = Turning()
        retry = Retry([1_000] * 9, error=lambda _: True)
        assert results(function, [1, 2], timeout_ms=3_000, retry=retry) == ["late", 1, 2]
        assert function.ends == [(1, 3)]

    def test_call_in_a_thread_is_given_up(self) -> None:
        release = threading.Event()

        class Blocking:
            def async_invoke(self, number: int) -> list[str]:
                release.wait(PATIENCE)
                return ["too late"]

            def timeout(self, number: int) -> list[str]:
                return ["substitute"]

        try:
            # The second record waits for the only thread until its own time is over.
            found = results(Blocking(), [1, 2], capacity=1, timeout_ms=1_000)
        finally:
            release.set()
        assert found == ["substitute", "substitute"]
        assert_no_threads()

    def test_call_whose_time_is_over_before_a_thread_is_free_is_never_made(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun, release, called = threading.Event(), threading.Event(), []
        monkeypatch.setattr(JumpingSelector, "gate", begun)

        class Blocking:
            def async_invoke(self, number: int) -> list[int]:
                called.append(number)
                begun.set()
                release.wait(PATIENCE)
                return [number]

            def timeout(self, number: int) -> list[int]:
                return [-number]

        try:
            assert results(Blocking(), [1, 2, 3], capacity=1) == [-1, -2, -3]
        finally:
            release.set()
        assert_no_threads()
        assert called == [1]


class TestRetries:
    @pytest.mark.usefixtures("virtual")
    def test_delays_are_those_of_the_strategy(self) -> None:
        started = []

        async def ask(number: int) -> int:
            started.append(now())
            if len(started) < 4:
                raise OSError
            return number

        retry = Retry([1_000, 2_000, 4_000, 8_000], error=lambda _: True)
        assert results(ask, [5], retry=retry) == [5]
        assert started == [0, 1, 3, 7]

    @pytest.mark.usefixtures("virtual")
    def test_others_go_on_while_one_waits(self) -> None:
        order = []

        async def ask(number: int) -> int:
            order.append(number)
            if order.count(1) == 1 and number == 1:
                raise OSError
            return number

        retry = Retry([1_000], error=lambda _: True)
        assert results(ask, [1, 2, 3], retry=retry) == [1, 2, 3]
        assert order == [1, 2, 3, 1]

    def test_last_error_counts_when_attempts_are_used_up(self) -> None:
        attempts = []

        async def ask(number: int) -> int:
            attempts.append(number)
            raise OSError(f"attempt {len(attempts)}")

        error = failure(ask, [1], retry=Retry([0, 0], error=lambda _: True))
        assert "OSError: attempt 3" in error.message
        assert len(attempts) == 3

    def test_last_results_count_when_attempts_are_used_up(self) -> None:
        attempts = []

        async def ask(number: int) -> list[int]:
            attempts.append(number)
            return [len(attempts)]

        retry = Retry([0, 0], result=lambda found: True)
        assert results(Asker(ask), [1], retry=retry) == [3]

    def test_predicates_decide(self) -> None:
        seen: list[Any] = []

        async def ask(number: int) -> list[int]:
            seen.append("asked")
            if len(seen) == 1:
                raise ConnectionError
            return [] if len(seen) < 5 else [number]

        def empty(found: list[Any]) -> bool:
            seen.append(found)
            return not found

        def broken(error: Exception) -> bool:
            return isinstance(error, OSError)

        assert results(Asker(ask), [9], retry=Retry([0] * 9, empty, broken)) == [9]
        assert seen == ["asked", "asked", [], "asked", [], "asked", [9]]

    def test_error_that_the_predicate_refuses_fails_at_once(self) -> None:
        attempts = []

        async def ask(number: int) -> int:
            attempts.append(number)
            raise ValueError("bad")

        retry = Retry([0] * 9, error=lambda error: isinstance(error, OSError))
        assert "ValueError: bad" in failure(ask, [1], retry=retry).message
        assert attempts == [1]

    def test_without_predicates_nothing_is_tried_again(self) -> None:
        attempts = []

        async def ask(number: int) -> list[int]:
            attempts.append(number)
            return []

        with opened(new_step(Asker(ask), retry=Retry([0] * 9))) as step:
            step.push(flow_of([1]))
        assert attempts == [1]

    def test_result_of_a_plain_function_is_a_list_of_one_to_predicates(self) -> None:
        seen = []

        def look(found: list[Any]) -> bool:
            seen.append(found)
            return False

        async def ask(number: int) -> None:
            return None

        assert results(ask, [1], retry=Retry([0], result=look)) == [None]
        assert seen == [[None]]

    def test_calls_in_threads_are_tried_again(self) -> None:
        attempts = []

        def ask(number: int) -> int:
            attempts.append(number)
            if len(attempts) < 3:
                raise OSError
            return number

        assert results(ask, [4], retry=Retry([0] * 5, error=lambda _: True)) == [4]
        assert attempts == [4, 4, 4]

    def test_error_in_a_predicate_fails_with_the_record(self) -> None:
        def broken(found: list[Any]) -> bool:
            return bool(1 // 0)

        async def ask(number: int) -> int:
            return number

        error = failure(ask, [3], retry=Retry([0], result=broken))
        assert "ZeroDivisionError" in error.message
        assert error.record == "3"


async def broken(number: int) -> int:
    return 12 // (number - 3)


def broken_in_thread(number: int) -> int:
    return 12 // (number - 3)


class TestErrors:
    @pytest.mark.parametrize("function", [broken, broken_in_thread])
    def test_exception_names_operator_uid_record_and_line(self, function: Any) -> None:
        error = failure(function, [1, 2, 3, 4], capacity=1)
        assert (error.operator, error.uid, error.record) == ("ask", "ask-uid", "3")
        assert "ZeroDivisionError" in error.message
        assert isinstance(error.__cause__, ZeroDivisionError)
        lines = error.user_traceback.splitlines()
        assert len(lines) == 2, error.user_traceback
        assert f"in {function.__name__}: return 12 // (number - 3)" in lines[1]

    def test_others_are_cancelled_and_awaited(self) -> None:
        ended = []

        async def ask(number: int) -> int:
            try:
                if number == 3:
                    await asyncio.sleep(0)
                    raise ValueError
                await forever(number)
            finally:
                await asyncio.sleep(0)
                ended.append(number)
            return number

        async def tasks() -> int:
            return len(asyncio.all_tasks())

        with opened(new_step(ask, capacity=3)) as step:
            with pytest.raises(UserCodeError):
                push(step, [1, 2, 3, 4])
            assert sorted(ended) == [1, 2, 3], "the fourth was never asked"
            assert step.spec.loop.run(tasks()) == 2, "this one, and the one that waits for the end"

    def test_step_works_on_after_a_failure(self) -> None:
        with opened(new_step(broken)) as step:
            with pytest.raises(UserCodeError):
                push(step, [1, 3])
            assert push(step, [1, 4]) == [-6, 12]

    def test_cancellation_by_the_function_itself_is_no_hole(self) -> None:
        async def ask(number: int) -> int:
            if number == 2:
                raise asyncio.CancelledError
            return number

        error = failure(ask, [1, 2, 3])
        assert (error.record, error.parameters["exception"]) == ("2", "CancelledError")

    def test_batch_ends_quietly_when_the_thread_that_waits_is_interrupted(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        begun, ended = threading.Event(), []

        async def ask(number: int) -> None:
            begun.set()
            try:
                await forever(number)
            finally:
                ended.append(number)

        class Interrupted:
            def __init__(self, coroutine: Any, loop: Any) -> None:
                self.future = submit(coroutine, loop)

            def result(self) -> Any:
                assert begun.wait(PATIENCE)
                raise KeyboardInterrupt

            def cancel(self) -> None:
                self.future.cancel()

        submit = asyncio.run_coroutine_threadsafe
        monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", Interrupted)
        with opened(new_step(ask)) as step, pytest.raises(KeyboardInterrupt):
            push(step, [1, 2])
        assert sorted(ended) == [1, 2]
        assert caplog.text == ""

    def test_function_that_swallows_its_own_cancellation_leaves_no_hole(self) -> None:
        async def ask(number: int) -> int:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()  # As old clients do for their time limits, without taking it back.
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
            if number == 2 and not again:
                again.append(number)
                raise OSError
            return number

        again: list[int] = []
        retry = Retry([0], error=lambda _: True)
        assert results(ask, [1, 2, 3, 4], capacity=1, retry=retry) == [1, 2, 3, 4]

    @pytest.mark.parametrize("outcome", ["result", "error"])
    def test_function_that_swallows_the_cancellation_of_others_ends_all_the_same(
        self, outcome: str
    ) -> None:
        asked = []

        async def ask(number: int) -> int:
            asked.append(number)
            if number == 2:
                await asyncio.sleep(0)
                raise ValueError("the first")
            try:
                await forever(number)
            except asyncio.CancelledError:
                if outcome == "error":
                    raise OSError from None
            return number

        retry = Retry([0] * 9, error=lambda error: isinstance(error, OSError))
        error = failure(ask, [1, 2, 3, 4], capacity=2, retry=retry)
        assert (error.record, asked) == ("2", [1, 2])

    def test_exit_fails_the_record_and_not_the_loop(self) -> None:
        async def ask(number: int) -> int:
            sys.exit(3)

        def ask_in_thread(number: int) -> int:
            sys.exit(3)

        for function in (ask, ask_in_thread):
            assert "SystemExit: 3" in failure(function, [1]).message

    def test_stop_iteration_in_a_thread_does_not_hang(self) -> None:
        assert "StopIteration" in failure(lambda n: next(iter([])), [1]).message

    def test_error_of_millstream_stays_what_it_is(self) -> None:
        async def ask(number: int) -> int:
            raise MillstreamError("SOME_CODE", "as it is")

        with opened(new_step(ask)) as step, pytest.raises(MillstreamError, match="SOME_CODE"):
            push(step, [1])

    def test_nothing_is_left_for_asyncio_to_complain_about(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        import gc

        async def ask(number: int) -> int:
            if number == 1:
                raise ValueError
            await forever(number)
            return number

        def late(number: int, future: Any) -> None:
            future.complete_exceptionally(OSError("nobody waits"))
            raise ValueError

        failure(ask, [3, 2, 1])
        failure(Asker(late), [1, 2])
        gc.collect()
        assert caplog.text == ""


class Client:
    """A function with a life, that notes what happens to it."""

    def __init__(self) -> None:
        self.notes: list[Any] = []

    def open(self, context: Any) -> None:
        self.notes.append("open")
        self.asked = context.get_metrics_group().counter("asked")

    async def async_invoke(self, number: int) -> list[int]:
        self.asked.inc()
        return [number + 1]

    def close(self) -> None:
        self.notes.append("close")


class AsyncClient(Client):
    async def open(self, context: Any) -> None:  # type: ignore[override]
        super().open(context)
        self.loop = asyncio.get_running_loop()

    async def async_invoke(self, number: int) -> list[int]:
        assert asyncio.get_running_loop() is self.loop
        return await super().async_invoke(number)

    async def close(self) -> None:  # type: ignore[override]
        assert asyncio.get_running_loop() is self.loop
        super().close()


class TestLife:
    @pytest.mark.parametrize("kind", [Client, AsyncClient])
    def test_open_and_close_once_and_metrics_count(self, kind: type[Client]) -> None:
        client, reports = kind(), Reports()
        with opened(new_step(client), reports) as step:
            assert client.notes == ["open"]
            assert push(step, [1, 2]) == [2, 3]
            assert push(step, [3]) == [4]
        assert client.notes == ["open", "close"]
        assert reports.of(step.info).function.counters["asked"].get_count() == 3

    def test_loop_and_threads_end_with_the_step(self) -> None:
        with opened(new_step(lambda n: n)) as step:
            push(step, [1, 2, 3])
            assert len(own_threads()) >= 2
        assert_no_threads()

    def test_threads_keep_no_process_from_ending(self) -> None:
        with opened(new_step(lambda n: n)) as step:
            push(step, [1])
            assert all(thread.daemon for thread in own_threads())

    @pytest.mark.parametrize("failing", ["open", "close"])
    @pytest.mark.parametrize("kind", [Client, AsyncClient])
    def test_failing_open_or_close_names_the_operator_and_ends_the_loop(
        self, kind: type[Client], failing: str
    ) -> None:
        def fail(self: Any, *_: Any) -> None:
            raise RuntimeError(f"no {failing}")

        async def fail_later(self: Any, *_: Any) -> None:
            fail(self)

        failure = fail_later if kind is AsyncClient else fail
        client = type("Failing", (kind,), {failing: failure})()
        with (
            pytest.raises(
                UserCodeError, match=f"operator 'ask' failed: RuntimeError: no {failing}"
            ),
            opened(new_step(client)),
        ):
            pass
        assert_no_threads()

    def test_task_that_the_function_left_behind_is_cancelled(self) -> None:
        ended = []

        async def background() -> None:
            try:
                await forever(None)
            finally:
                ended.append(True)

        class Starts(Client):
            async def async_invoke(self, number: int) -> list[int]:
                self.task = asyncio.create_task(background())
                await asyncio.sleep(0)
                return [number]

        with opened(new_step(Starts())) as step:
            push(step, [1])
            assert ended == []
        assert ended == [True]

    def test_step_is_pickled_before_it_is_opened(self) -> None:
        copy: AsyncStep = cloudpickle.loads(cloudpickle.dumps(new_step(Client())))
        with opened(copy):
            assert push(copy, [1]) == [2]
        assert copy.function.notes == ["open", "close"]

    def test_step_can_be_pickled_again_once_it_is_closed(self) -> None:
        step = new_step(broken)
        with opened(step):
            push(step, [1])
        copy: AsyncStep = cloudpickle.loads(cloudpickle.dumps(step))
        with opened(copy):
            assert push(copy, [1]) == [-6]

    def test_steps_of_one_operator_share_their_loop(self) -> None:
        """An operator behind a union has a step in each branch, and one function for all of them."""
        client = AsyncClient()
        first = new_step(client)
        second = AsyncStep(INFO, first.spec)
        second.children.append(Collect())
        with opened(first):
            with opened(second):
                assert push(first, [1]) == [2]
                assert push(second, [2]) == [3]
            assert push(first, [3]) == [4]
        assert client.notes == ["open", "open", "close", "close"]
        assert_no_threads()

    def test_works_where_a_loop_is_running(self) -> None:
        async def notebook() -> list[int]:
            return results(broken, [1, 4])

        assert asyncio.run(notebook()) == [-6, 12]


class TestResultFutures:
    """Flink's Java form: results are given to a future."""

    def test_results_may_come_from_any_thread(self) -> None:
        def ask(number: int, future: Any) -> None:
            threading.Thread(target=future.complete, args=([number, -number],)).start()

        assert results(Asker(ask), [1, 2]) == [1, -1, 2, -2]

    def test_results_may_come_from_the_loop(self) -> None:
        async def ask(number: int, future: Any) -> None:
            asyncio.get_running_loop().call_soon(future.complete, [number])

        assert results(Asker(ask), [1, 2]) == [1, 2]

    def test_error_fails_or_is_tried_again(self) -> None:
        attempts = []

        def ask(number: int, future: Any) -> None:
            attempts.append(number)
            if len(attempts) < 3:
                future.complete_exceptionally(OSError(f"attempt {len(attempts)}"))
            future.complete([number])

        assert "OSError: attempt 1" in failure(Asker(ask), [8]).message
        assert results(Asker(ask), [8], retry=Retry([0], error=lambda _: True)) == [8]
        assert attempts == [8, 8, 8]

    def test_only_the_first_answer_counts(self) -> None:
        def ask(number: int, future: Any) -> None:
            future.complete([1])
            future.complete([2])
            future.complete_exceptionally(ValueError())

        assert results(Asker(ask), [0]) == [1]

    @pytest.mark.usefixtures("virtual")
    def test_answer_that_never_comes_is_late(self) -> None:
        futures = []

        async def ask(number: int, future: Any) -> None:
            futures.append(future)

        assert "no result in time" in failure(Asker(ask), [1]).message
        futures[0].complete([1])  # The loop is gone; nobody hears it, and nothing breaks.

    def test_exception_before_the_answer_fails(self) -> None:
        def ask(number: int, future: Any) -> None:
            raise LookupError("never asked")

        assert "LookupError: never asked" in failure(Asker(ask), [1]).message
