"""The size of an operator's state: known from what epochs write, never by reading it all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from millstream.common import Types
from millstream.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millstream.datastream.state import ValueStateDescriptor
from millstream.kernel.records.buffers import REPORT, BufferRow
from millstream.kernel.state.pages import PageStore
from millstream.kernel.state.slot import HEADER, SlotState, decoded_header, encoded_header
from millstream.metrics import StateMetrics
from millstream.plan.options import JobOptions
from millstream.testing.engine.local import LocalJob
from tests.support.strategies import sampled


class Keep(KeyedProcessFunction):
    """Some state and a timer for each key; every third record of a key clears its state."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Iterator[int]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        ctx.timer_service().register_processing_time_timer(10_000 + value)
        if count == 3:
            self.count.clear()
        yield value


def job(slots: int = 2, **options: Any) -> LocalJob:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_collection([n % 1_500 for n in range(4_000)])
    numbers.uid("numbers").key_by(lambda n: n).process(Keep()).uid("keep").print()
    return LocalJob(env._job_graph(), JobOptions(parallelism=1, slots=slots), **options)


def said(one: LocalJob) -> StateMetrics | None:
    return one.metrics.operators["keep"].state


def counted(one: LocalJob) -> StateMetrics:
    """The size as the pages themselves have it."""
    keys = timers = size = 0
    for store in one.committed.stores.values():
        state = decoded_header(store[HEADER])
        for page in PageStore(store, "keep", state.directories["keep"], ["count"]).scan():
            keys += len(page.entries)
            timers += sum(map(len, page.event_timers.values()))
            timers += sum(map(len, page.tick_timers.values()))
        size += sum(len(value) for name, value in store.items() if name.startswith("keep/"))
    return StateMetrics(keys, timers, size)


@pytest.mark.parametrize("slots", [1, 3])
def test_it_is_what_the_pages_have(slots: int) -> None:
    one = job(slots)
    seen = []
    for now_ms in (0, 1, 2, 3, 10_500, 11_600):
        one.epoch(800, now_ms=now_ms)
        assert said(one) == counted(one)
        seen.append(said(one))
    assert seen[1] == StateMetrics(1_500, 1_500, seen[1].bytes)  # type: ignore[union-attr]
    assert seen[-1].keys == 500 and seen[-1].timers == 0  # type: ignore[union-attr]


def test_it_is_known_after_a_restart_and_after_a_savepoint() -> None:
    one = job()
    one.epoch(2_000)
    one.start()
    one.epoch(100)
    assert said(one) == counted(one)
    for slots in (1, 4):
        other = job(slots, savepoint=one.savepoint())
        other.epoch(100)
        assert said(other) == counted(other)


def test_it_is_unknown_in_a_checkpoint_that_does_not_say_it() -> None:
    one = job()
    one.epoch(100)
    for store in one.committed.stores.values():
        state = decoded_header(store[HEADER])
        del state.sizes
        store[HEADER] = encoded_header(state)
    one = _with(job(), one)
    one.epoch(100)
    assert said(one) is None


def _with(new: LocalJob, old: LocalJob) -> LocalJob:
    new.committed = old.committed
    return new


def test_an_operator_is_new_once() -> None:
    state = SlotState()
    directory = state.pages_of("a")
    assert state.pages_of("a") is directory and state.sizes == {"a": (0, 0, 0)}


# -- what travels ----------------------------------------------------------------------------------


class Watched(LocalJob):
    """A job that remembers how many bytes its tasks reported in the last epoch."""

    def _gather(self, rows: list[BufferRow]) -> Any:
        self.reported = sum(len(row.payload) for row in rows if row.kind == REPORT)
        return super()._gather(rows)


def reported(operators: int, *, deep: bool) -> int:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection(list(range(100)))
    last = stream
    for number in range(operators):
        last = (last if deep else stream).key_by(lambda n: n).process(Keep()).uid(f"op-{number}")
        last.map(lambda n: n).uid(f"map-{number}").print().name(f"sink {number}")
    one = Watched(env._job_graph(), JobOptions(parallelism=2, slots=2))
    one.epoch(50)
    one.epoch(50)
    return one.reported


@pytest.mark.parametrize("deep", sampled([True, False], "reports"))
def test_reports_grow_with_the_number_of_operators_and_no_faster(deep: bool) -> None:
    few, many = reported(8, deep=deep), reported(32, deep=deep)
    assert many < 4.5 * few
    assert many < 32 * 2 * 100
