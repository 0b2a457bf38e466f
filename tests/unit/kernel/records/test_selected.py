"""A key selector is asked once for each record; its keys go with the records."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import count, product
from typing import Any

import numpy as np
import pytest

from millstream.common import Types, WatermarkStrategy
from millstream.common.output_tag import OutputTag
from millstream.common.state import MapStateDescriptor, ValueStateDescriptor
from millstream.datastream import (
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from millstream.datastream.connectors import DiscardingSink
from millstream.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    TumblingEventTimeWindows,
)
from millstream.kernel.keys.hashing import stable_hash
from millstream.kernel.records.buffers import (
    PickleCodec,
    Received,
    Records,
    concat_records,
    decode,
    encode,
)
from millstream.kernel.records.order import OrderKeys
from millstream.kernel.records.selected import NotSelected, Selected
from millstream.plan.options import JobOptions
from millstream.testing import LocalJob
from tests.support.strategies import crossed

RECORD = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
VALUES = [(name, n, 10 * n) for n, name in enumerate("abcabcaabbca")]
WINDOWS = TumblingEventTimeWindows.of(30)
RULES = MapStateDescriptor("rules")
DEAD = OutputTag("dead")


class Counting:
    """A key selector that counts its calls by record."""

    def __init__(self) -> None:
        self.calls: dict[Any, int] = {}

    def __call__(self, value: Any) -> Any:
        self.calls[value] = self.calls.get(value, 0) + 1
        return value[0]


class Pass(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


class CoPass(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield value


class Ruled(KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        yield value


class Listed(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        return [(key, tuple(elements))]


class Paired(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        yield left, right


def by(stream: DataStream, key: Any) -> Any:
    return stream.key_by(key)


def joined(s: DataStream, key: Any) -> DataStream:
    return by(s, key).interval_join(by(s, lambda r: r[0])).between(-5, 5).process(Paired())


OPERATORS: dict[str, Callable[[DataStream, Any], DataStream]] = {
    "process": lambda s, k: by(s, k).process(Pass()),
    "reduce": lambda s, k: by(s, k).reduce(lambda a, b: a),
    "aligned window": lambda s, k: by(s, k).window(WINDOWS).process(Listed()),
    "window sum": lambda s, k: by(s, k).window(WINDOWS).sum(1),
    "any window": lambda s, k: by(s, k).window(WINDOWS).trigger(CountTrigger(2)).process(Listed()),
    "session": lambda s, k: by(s, k).window(EventTimeSessionWindows.with_gap(5)).sum(1),
    "two inputs": lambda s, k: s.connect(s).key_by(k, lambda r: r[0]).process(CoPass()),
    "interval join": joined,
    "broadcast": lambda s, k: by(s, k).connect(s.broadcast(RULES)).process(Ruled()),
}


def job(
    build: Callable[[DataStream], Any], *, typed: bool = False, slots: int = 4, **options: Any
) -> LocalJob:
    env = StreamExecutionEnvironment.get_execution_environment()
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda record, _: record[2]
    )
    stream = env.from_collection(VALUES, type_info=RECORD if typed else None)
    build(stream.assign_timestamps_and_watermarks(times)).sink_to(DiscardingSink())
    return LocalJob(env._job_graph(), JobOptions(parallelism=2, slots=slots, **options))


def results(running: LocalJob) -> list[Any]:
    (found,) = running.run_all(5).values()
    return [value for value, _ in found]


@pytest.mark.parametrize(
    ("name", "skips", "typed"),
    [(name, *way) for name, way in crossed(OPERATORS, product([True, False], repeat=2))],
)
def test_a_selector_sees_each_record_once(name: str, typed: bool, skips: bool) -> None:
    counting = Counting()

    def build(stream: DataStream) -> DataStream:
        built = OPERATORS[name](stream, counting)
        return built.on_error("skip") if skips else built

    got = results(job(build, typed=typed))
    assert counting.calls == dict.fromkeys(VALUES, 1)
    assert got == results(job(lambda s: OPERATORS[name](s, lambda r: r[0]), typed=typed))


class WhereAmI(KeyedProcessFunction):
    """Says whether a key is in its own slot, and how often it has been seen."""

    def open(self, runtime_context: Any) -> None:
        self.context = runtime_context
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.seen.update((self.seen.value() or 0) + 1)
        key = ctx.get_current_key()
        here = self.context.get_index_of_this_subtask()
        yield key, stable_hash(key) % 4 == here, self.seen.value()


@pytest.mark.parametrize("skips", [True, False])
def test_a_selector_that_never_says_the_same_twice_gives_each_record_one_place(skips: bool) -> None:
    numbers = count()

    def build(stream: DataStream) -> DataStream:
        built = stream.key_by(lambda _: next(numbers) % 5).process(WhereAmI())
        return built.on_error("skip") if skips else built

    got = results(job(build))
    assert all(at_home for _, at_home, _ in got)
    assert sorted(key for key, _, _ in got) == sorted(n % 5 for n in range(len(VALUES)))
    assert max(seen for *_, seen in got) == 3


def bad_a(value: Any) -> Any:
    if value[0] == "a":
        raise ValueError("a is no key")
    return value[0].upper()


def test_a_record_without_a_key_is_one_dead_letter_in_its_place() -> None:
    def build(stream: DataStream) -> DataStream:
        passed = stream.key_by(bad_a).process(Pass()).on_error("skip", DEAD)
        return passed.get_side_output(DEAD)

    letters = results(job(build))
    assert [letter.value for letter in letters] == [v for v in VALUES if v[0] == "a"]
    assert {letter.error for letter in letters} == {"ValueError: a is no key"}


def test_a_selector_that_fails_only_once_gives_a_dead_letter_too() -> None:
    """The record is where no key has sent it: the key that comes later is not the key there."""
    calls = count()

    def flaky(value: Any) -> Any:
        if value == VALUES[0] and next(calls) == 0:
            raise ValueError("not yet")
        return value[0].upper()

    def build(stream: DataStream) -> DataStream:
        passed = stream.key_by(flaky).process(Pass()).on_error("skip", DEAD)
        return passed.get_side_output(DEAD)

    (letter,) = results(job(build))
    assert letter.value == VALUES[0]
    assert "the key selector failed for this record, and gave 'A' the second time" in letter.error


# -- buffers ---------------------------------------------------------------------------------------


def records(values: list[Any], keys: list[Any] | None) -> Records:
    n = len(values)
    order = OrderKeys.of_fragment(np.zeros(n, np.int64), 1, 0, 0)
    hashes = np.arange(n, dtype=np.uint32)
    own = None if keys is None else Selected.of(keys)
    return Records(values, np.zeros(n, np.int64), order, hashes, own)


@pytest.mark.parametrize(
    "keys", [["x", "y"], [("a", 1), ("a", 2)], [[1], [2]], [1.0, True], ["x", "x"], None]
)
def test_keys_travel_as_they_are(keys: list[Any] | None) -> None:
    header, payload = encode(records(["a", "b"], keys), PickleCodec(), raised=True)
    back = decode(header, payload, PickleCodec())
    assert back.values == ["a", "b"]
    assert repr(None if back.selected is None else back.selected.tolist()) == repr(keys)
    again = Received.of(*Received.of(header, payload).encoded(raised=True))
    assert again.decoded(PickleCodec()).values == ["a", "b"]


def test_buffers_without_keys_ask_for_them() -> None:
    both = concat_records([records(["a"], None), records(["b"], ["k"])])
    assert both.selected is not None
    assert both.selected.tolist() == [NotSelected.UNASKED, "k"]


def test_records_that_waited_in_an_older_version_have_no_keys() -> None:
    """Their buffers have no place for them."""
    counting = Counting()

    def build(stream: DataStream) -> DataStream:
        other = stream.get_execution_environment().from_collection(VALUES)
        times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda record, _: record[2]
        )
        both = stream.union(other.assign_timestamps_and_watermarks(times))
        return both.key_by(counting).process(Pass())

    whole = job(build, channel_order="watermark")
    expected = results(whole)
    running = job(build, channel_order="watermark")
    running.epoch({(0, 0): 9, (1, 0): 0})
    held = 0
    for store in running.committed.stores.values():
        for name, data in store.items():
            if name.startswith("held/"):
                header, payload = pickle.loads(data)
                received = Received.of(header, payload)
                assert received.selected_keys is not None
                received.selected_keys = None
                old = received.encoded(raised=True)
                assert len(pickle.loads(old[0])) == 5
                store[name] = pickle.dumps(old)
                held += 1
    assert held
    counting.calls.clear()
    assert results(running) == expected
    # Nothing that the other channel may bring precedes the first record, which has not waited.
    assert counting.calls == dict.fromkeys(VALUES, 2) | {VALUES[0]: 1}
