"""Asynchronous functions in programs: what is accepted, what types come out, what a run gives."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from millstream.common import Row, Time, Types, WatermarkStrategy
from millstream.common.errors import PlanError, UserCodeError
from millstream.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryPredicate,
    AsyncRetryStrategies,
    AsyncRetryStrategy,
    DataStream,
    MapFunction,
    ResultFuture,
    RetryPredicates,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millstream.datastream.functions.asynchronous import (
    NO_RETRY_STRATEGY,
    RetryPredicate,
    exception_type_predicate,
)
from millstream.testing import rebatch, run_local
from tests.support.datastream_support import check_error, last
from tests.support.strategies import crossed, schedules, thinned

Env = StreamExecutionEnvironment
CALLS = [
    AsyncDataStream.unordered_wait,
    AsyncDataStream.ordered_wait,
    functools.partial(
        AsyncDataStream.unordered_wait_with_retry, async_retry_strategy=NO_RETRY_STRATEGY
    ),
    functools.partial(
        AsyncDataStream.ordered_wait_with_retry, async_retry_strategy=NO_RETRY_STRATEGY
    ),
]


async def double(number: int) -> int:
    await asyncio.sleep(0)
    return number * 2


def double_in_thread(number: int) -> int:
    return number * 2


class Parts(AsyncFunction):
    """As many results as the number says; larger numbers answer sooner."""

    async def async_invoke(self, value: int) -> list[tuple[int, int]]:
        for _ in range(20 - value):
            await asyncio.sleep(0)
        return [(value, part) for part in range(value % 4)]


class PartsInThread(AsyncFunction):
    def async_invoke(self, value: int) -> list[tuple[int, int]]:
        return [(value, part) for part in range(value % 4)]


class PartsByFuture(AsyncFunction):
    def async_invoke(self, value: int, result_future: ResultFuture) -> None:  # type: ignore[override]
        result_future.complete([(value, part) for part in range(value % 4)])


class AtOnce(AsyncRetryStrategy):
    """Tries again without delay."""

    def __init__(self, attempts: int) -> None:
        self.attempts = attempts

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self.attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return 0

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return RetryPredicate(
            RetryPredicates.EMPTY_RESULT_PREDICATE, RetryPredicates.HAS_EXCEPTION_PREDICATE
        )


class TestPrograms:
    @pytest.mark.parametrize("call", CALLS)
    @pytest.mark.parametrize("function", [double, double_in_thread])
    def test_plain_function_gives_one_result(self, call: Any, function: Any) -> None:
        def program(env: Env) -> Any:
            return call(env.from_collection([1, 2, 3]), function, timeout="5 s")

        assert run_local(program).values() == [2, 4, 6]

    @pytest.mark.parametrize("call", CALLS)
    @pytest.mark.parametrize("function", [Parts(), PartsInThread(), PartsByFuture()])
    def test_async_function_gives_any_number_in_order(self, call: Any, function: Any) -> None:
        def program(env: Env) -> Any:
            return call(env.from_collection([1, 4, 3, 2]), function, timeout="5 s")

        expected = [(1, 0), (3, 0), (3, 1), (3, 2), (2, 0), (2, 1)]
        for options in ({}, {"epochs": 1}, {"epochs": 3, "splits": 2}, {"batch": True}):
            assert run_local(program, **options).values() == expected

    def test_results_have_the_event_times_of_their_records(self) -> None:
        def program(env: Env) -> Any:
            strategy = WatermarkStrategy.for_monotonous_timestamps()
            strategy = strategy.with_timestamp_assigner(lambda number, _: number * 100)
            numbers = env.from_collection([1, 2]).assign_timestamps_and_watermarks(strategy)
            return AsyncDataStream.ordered_wait(numbers, Parts(), "5 s")

        assert run_local(program).records() == [((1, 0), 100), ((2, 0), 200), ((2, 1), 200)]

    @pytest.mark.parametrize(
        ("capacity", "call"), crossed(thinned([1, 3, 100], "async", one_in=2), CALLS[:2])
    )
    def test_same_results_under_every_schedule(self, call: Any, capacity: int) -> None:
        def program(env: Env) -> Any:
            numbers = env.from_collection(list(range(12)))
            parts = call(numbers, Parts(), "5 s", capacity=capacity)
            sums = parts.key_by(lambda pair: pair[1]).reduce(lambda a, b: (a[0] + b[0], a[1]))
            return {"parts": parts, "later": call(sums, lambda pair: pair[0] + pair[1], "5 s")}

        def parts_only(env: Env) -> Any:
            return {"parts": program(env)["parts"]}

        rebatch(parts_only, **schedules(cuts=(1, 5, "all"), slots=(1, 2)))
        report = rebatch(program, **schedules(cuts=(1, 5, "all"), slots=(1, 2)), batch=False)
        assert len(report.results.values("parts")) == 18
        assert report.results.values("later")[-3:] == [54, 40, 23]

    def test_operator_behind_a_union_opens_one_client_on_one_loop(self) -> None:
        class Client(AsyncFunction):
            async def open(self, runtime_context: RuntimeContext) -> None:
                self.loop = asyncio.get_running_loop()

            async def async_invoke(self, value: int) -> list[int]:
                return [value] if asyncio.get_running_loop() is self.loop else []

        def program(env: Env) -> Any:
            both = env.from_collection([1, 2]).union(env.from_collection([3, 4]))
            return AsyncDataStream.unordered_wait(both, Client(), "5 s")

        assert sorted(run_local(program).values()) == [1, 2, 3, 4]

    def test_stream_may_be_keyed_and_is_not_any_more(self) -> None:
        def program(env: Env) -> Any:
            by_parity = env.from_collection([1, 2, 3]).key_by(lambda number: number % 2)
            doubled = AsyncDataStream.unordered_wait(by_parity, double, "5 s")
            assert type(doubled) is DataStream
            return doubled

        assert run_local(program).values() == [2, 4, 6]

    def test_function_has_open_close_metrics_and_accumulators(self) -> None:
        notes: list[str] = []

        class Client(AsyncFunction):
            def open(self, runtime_context: RuntimeContext) -> None:
                notes.append(f"open {runtime_context.get_task_name()}")
                self.asked = runtime_context.get_metrics_group().counter("asked")
                self.total = runtime_context.get_int_counter("total")

            async def async_invoke(self, value: int) -> list[int]:
                self.asked.inc()
                self.total.add(value)
                return [value]

            def close(self) -> None:
                notes.append("close")

        def program(env: Env) -> Any:
            numbers = env.from_collection([1, 2, 3])
            return AsyncDataStream.unordered_wait(numbers, Client(), "5 s").name("client")

        results = run_local(program, epochs=1, copy_functions=False)
        assert notes == ["open client", "close"]
        assert results.metrics.operator("client").counters["asked"] == 3
        assert results.get_accumulator_result("total") == 6

    def test_bad_answers_are_asked_for_again(self) -> None:
        class Flaky(AsyncFunction):
            def open(self, runtime_context: RuntimeContext) -> None:
                self.attempts: dict[int, int] = {}

            async def async_invoke(self, value: int) -> list[tuple[int, int]]:
                attempt = self.attempts[value] = self.attempts.get(value, 0) + 1
                if attempt == 1:
                    raise ConnectionError
                return [] if attempt == 2 and value % 2 else [(value, attempt)]

        def program(env: Env, attempts: int = 2) -> Any:
            numbers = env.from_collection([1, 2])
            return AsyncDataStream.unordered_wait_with_retry(
                numbers,
                Flaky(),
                Time.seconds(5),
                AtOnce(attempts),
                10,
                Types.TUPLE([Types.INT()] * 2),
            )

        assert run_local(program).values() == [(1, 3), (2, 2)]
        assert run_local(functools.partial(program, attempts=1)).values() == [(2, 2)]

    def test_failure_names_the_operator_and_its_line(self) -> None:
        async def broken(number: int) -> float:
            return 1 / number

        def program(env: Env) -> Any:
            numbers = env.from_collection([1, 0])
            return AsyncDataStream.ordered_wait(numbers, broken, "5 s").uid("divide")

        with pytest.raises(UserCodeError) as caught:
            run_local(program)
        error = caught.value
        assert (error.operator, error.uid, error.record) == ("Ordered Wait", "divide", "0")
        assert error.location is not None
        assert error.location.file == __file__
        assert "ordered_wait(numbers" in (error.location.code or "")

    def test_crash_asks_again_for_the_epoch_only(self) -> None:
        asked: list[int] = []

        async def fails_once(number: int) -> int:
            asked.append(number)
            if asked.count(3) == 1 and number == 3:
                raise ConnectionError
            return number

        def program(env: Env) -> Any:
            numbers = env.from_collection([1, 2, 3, 4])
            return AsyncDataStream.unordered_wait(numbers, fails_once, "5 s", capacity=1)

        results = run_local(program, epochs=2, restarts=1, copy_functions=False)
        assert results.values() == [1, 2, 3, 4]
        assert asked == [1, 2, 3, 3, 4]

    def test_rows_are_rows_behind_it(self) -> None:
        row_type = Types.ROW_NAMED(["name", "size"], [Types.STRING(), Types.INT()])

        async def measure(name: str) -> tuple[str, int]:
            return name, len(name)

        def program(env: Env) -> Any:
            names = env.from_collection(["a", "bb"])
            rows = AsyncDataStream.unordered_wait(names, measure, "5 s", output_type=row_type)
            return rows.map(lambda row: row.size)

        assert run_local(program).values() == [1, 2]


class TestOperator:
    def test_it_is_one_stateless_operator(self, env: Env) -> None:
        stream = AsyncDataStream.unordered_wait(env.from_collection([1]), double, "2 s", 7)
        node = last(env)
        assert (node.kind, node.name, node.inputs) == ("async", "Unordered Wait", (1,))
        spec = node.function
        assert (spec.function, spec.timeout_ms, spec.capacity) == (double, 2_000, 7)
        assert (spec.ordered, spec.retry) == (False, NO_RETRY_STRATEGY)
        assert "Unordered Wait [async-1]" in str(stream.explain())

    def test_defaults_and_order_of_arguments_are_those_of_pyflink(self, env: Env) -> None:
        retry = AtOnce(1)
        stream = env.from_collection([1])
        AsyncDataStream.ordered_wait_with_retry(
            stream, Parts(), Time.milliseconds(5), retry, 3, Types.PICKLED_BYTE_ARRAY()
        )
        spec = last(env).function
        assert (spec.timeout_ms, spec.retry, spec.capacity, spec.ordered) == (5, retry, 3, True)
        assert last(env).output_type == Types.PICKLED_BYTE_ARRAY()
        AsyncDataStream.ordered_wait(stream, Parts(), 5)
        assert last(env).function.capacity == 100

    @pytest.mark.parametrize(
        ("function", "expected"),
        [
            (double, Types.LONG()),
            (double_in_thread, Types.LONG()),
            (Parts(), Types.TUPLE([Types.LONG(), Types.LONG()])),
            (PartsByFuture(), Types.PICKLED_BYTE_ARRAY()),
            (lambda number: number, Types.PICKLED_BYTE_ARRAY()),
        ],
    )
    def test_type_is_that_of_one_result(self, env: Env, function: Any, expected: Any) -> None:
        stream = AsyncDataStream.unordered_wait(env.from_collection([1]), function, "5 s")
        assert stream.get_type() == expected

    def test_declared_type_counts(self, env: Env) -> None:
        numbers = env.from_collection([1])
        stream = AsyncDataStream.unordered_wait(numbers, double, "5 s", output_type=float)
        assert stream.get_type() == Types.DOUBLE()


async def generate_later(value: int) -> AsyncIterator[int]:
    yield value


def generate(value: int) -> Iterator[int]:
    yield value


class Upper(MapFunction):
    def map(self, value: Any) -> Any:
        return value


class TwoMore(AsyncFunction):
    async def async_invoke(self, value: Any, one: Any, two: Any) -> Any:  # type: ignore[override]
        return []


class NoPredicate(AtOnce):
    def get_retry_predicate(self) -> Any:
        return None


class TestRefusals:
    @pytest.mark.parametrize(
        ("changes", "code", "hint"),
        [
            ({"data_stream": [1]}, "NOT_A_STREAM", "stream first"),
            ({"async_function": Parts}, "FUNCTION_CLASS", "Parts(...)"),
            ({"async_function": Upper()}, "WRONG_FUNCTION_KIND", "an AsyncFunction or a function"),
            ({"async_function": None}, "WRONG_FUNCTION_KIND", "an AsyncFunction or a function"),
            ({"async_function": lambda: 1}, "WRONG_ARITY", "a function of (value)"),
            ({"async_function": lambda a, b: 1}, "WRONG_ARITY", "a function of (value)"),
            ({"async_function": TwoMore()}, "WRONG_ARITY", "(value, result_future)"),
            ({"async_function": generate}, "GENERATOR_FUNCTION", "return the result"),
            ({"async_function": generate_later}, "GENERATOR_FUNCTION", "return the result"),
            ({"timeout": 0}, "INVALID_DURATION", "above zero"),
            ({"timeout": "-1 s"}, "INVALID_DURATION", "give a string"),
            ({"timeout": None}, "INVALID_DURATION", "give a string"),
            ({"capacity": 0}, "BAD_NUMBER", ""),
            ({"capacity": 1.5}, "BAD_NUMBER", ""),
            ({"output_type": 3}, "NOT_A_TYPE", "Types"),
            ({"async_retry_strategy": None}, "NOT_A_RETRY_STRATEGY", "fixed_delay"),
            ({"async_retry_strategy": AtOnce}, "NOT_A_RETRY_STRATEGY", "fixed_delay"),
            ({"async_retry_strategy": NoPredicate(1)}, "NOT_A_RETRY_STRATEGY", "AsyncRetryPred"),
        ],
    )
    def test_bad_argument_is_refused_with_line_and_hint(
        self, env: Env, changes: dict[str, Any], code: str, hint: str
    ) -> None:
        arguments = {
            "data_stream": env.from_collection([1]),
            "async_function": double,
            "timeout": "5 s",
            "async_retry_strategy": NO_RETRY_STRATEGY,
        }
        with pytest.raises(PlanError) as caught:
            AsyncDataStream.unordered_wait_with_retry(**arguments | changes)  # type: ignore[call-overload]
        check_error(caught.value, code, here=__file__, hint=hint)
        assert len(env._graph.nodes) == 1, "what is refused must leave no operator behind"

    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            ((0, 100, None, OSError), "BAD_NUMBER"),
            ((3, 0, None, OSError), "INVALID_DURATION"),
            ((3, "soon", None, OSError), "INVALID_DURATION"),
            ((3, 100), "NO_RETRY_PREDICATE"),
            ((3, 100, 5), "NOT_A_PREDICATE"),
            ((3, 100, None, "OSError"), "NOT_A_PREDICATE"),
            ((3, 100, None, (OSError, 5)), "NOT_A_PREDICATE"),
        ],
    )
    def test_bad_delay_strategy(self, arguments: Any, code: str) -> None:
        with pytest.raises(PlanError) as caught:
            AsyncRetryStrategy.fixed_delay(*arguments)
        check_error(caught.value, code, here=__file__, hint="")

    @pytest.mark.parametrize("multiplier", [0, -1, "2", True, float("nan")])
    def test_bad_multiplier(self, multiplier: Any) -> None:
        with pytest.raises(PlanError) as caught:
            AsyncRetryStrategy.exponential_backoff(3, 1, 9, multiplier, None, OSError)
        check_error(caught.value, "BAD_NUMBER", here=__file__, hint="")


class TestStrategies:
    def test_fixed_delay(self) -> None:
        strategy = AsyncRetryStrategy.fixed_delay(2, "1 s", exception_predicate=OSError)
        assert [strategy.can_retry(n) for n in (1, 2, 3)] == [True, True, False]
        assert [strategy.get_backoff_time_millis(n) for n in (1, 2)] == [1_000, 1_000]

    def test_exponential_backoff_grows_to_its_limit_for_each_record_anew(self) -> None:
        strategy = AsyncRetryStrategy.exponential_backoff(5_000, 10, "1 min", 1.5, None, OSError)
        first = [strategy.get_backoff_time_millis(n) for n in range(1, 5)]
        assert first == [10, 15, 22, 33]
        assert strategy.get_backoff_time_millis(4_000) == 60_000
        assert [strategy.get_backoff_time_millis(n) for n in range(1, 5)] == first

    def test_no_restart(self) -> None:
        strategy = AsyncRetryStrategy.no_restart()
        assert not strategy.can_retry(1)
        assert strategy.get_retry_predicate().result_predicate() is None
        assert strategy.get_retry_predicate().exception_predicate() is None

    def test_names_of_the_java_api_are_the_same_strategies(self) -> None:
        assert AsyncRetryStrategies.no_restart() is AsyncRetryStrategies.NO_RETRY_STRATEGY
        fixed = AsyncRetryStrategies.fixed_delay(3, 100, len)  # type: ignore[arg-type]
        assert (fixed.get_backoff_time_millis(1), fixed.can_retry(4)) == (100, False)
        growing = AsyncRetryStrategies.exponential_backoff(3, 100, 150, 2, len)  # type: ignore[arg-type]
        assert growing.get_backoff_time_millis(2) == 150

    @pytest.mark.parametrize(
        ("predicate", "retried"),
        [
            (RetryPredicates.HAS_EXCEPTION_PREDICATE, {OSError, ValueError, KeyError}),
            (OSError, {OSError}),
            ((OSError, KeyError), {OSError, KeyError}),
            (RetryPredicates.create_exception_type_predicate(ValueError), {ValueError}),
            (
                functools.partial(exception_type_predicate, expected_error_type=LookupError),
                {KeyError},
            ),
            (lambda error: error.args == ("x",), {OSError, ValueError, KeyError}),
        ],
    )
    def test_exceptions_to_try_again_after(self, predicate: Any, retried: set[Any]) -> None:
        strategy = AsyncRetryStrategy.fixed_delay(1, 1, exception_predicate=predicate)
        decide = strategy.get_retry_predicate().exception_predicate()
        assert decide is not None
        assert {kind for kind in (OSError, ValueError, KeyError) if decide(kind("x"))} == retried

    def test_results_to_ask_for_again(self) -> None:
        strategy = AsyncRetryStrategy.fixed_delay(1, 1, RetryPredicates.EMPTY_RESULT_PREDICATE)
        decide = strategy.get_retry_predicate().result_predicate()
        assert decide is not None
        assert (decide([]), decide([None]), decide([Row(1)])) == (True, False, False)

    def test_default_timeout_method_names_the_record(self) -> None:
        with pytest.raises(TimeoutError, match="no result in time for 'order 7'"):
            Parts().timeout("order 7")
