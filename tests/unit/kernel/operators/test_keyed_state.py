"""States as a function sees them, and their time to live."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millstream.common.errors import PlanError
from millstream.common.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo
from millstream.kernel.calls.reports import Reports
from millstream.kernel.state.cells import Cursor, bind, sweep
from tests.support.kernel_support import Function, keyed_job, values


class Mean:
    """An `AggregateFunction` with a mutable accumulator."""

    def create_accumulator(self) -> list[int]:
        return [0, 0]

    def add(self, value: int, accumulator: list[int]) -> list[int]:
        accumulator[0] += value
        accumulator[1] += 1
        return accumulator

    def get_result(self, accumulator: list[int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, one: list[int], other: list[int]) -> list[int]:
        return [one[0] + other[0], one[1] + other[1]]


def plus(one: int, other: int) -> int:
    return one + other


DESCRIPTORS: dict[str, Callable[[], StateDescriptor]] = {
    "value": lambda: ValueStateDescriptor("s"),
    "list": lambda: ListStateDescriptor("s"),
    "map": lambda: MapStateDescriptor("s"),
    "reducing": lambda: ReducingStateDescriptor("s", plus),
    "aggregating": lambda: AggregatingStateDescriptor("s", Mean()),
}


class Bench:
    """A state over a cell of its own, with a clock."""

    def __init__(self, kind: str, ttl: StateTtlConfig | None = None) -> None:
        descriptor = DESCRIPTORS[kind]()
        if ttl is not None:
            descriptor.enable_time_to_live(ttl)
        self.cursor = Cursor()
        self.cursor.cells = [None]
        self.state: Any = bind(descriptor, self.cursor, 0)

    @property
    def cell(self) -> Any:
        return self.cursor.cells[0]

    def at(self, now_ms: int) -> Any:
        self.cursor.now_ms = now_ms
        return self.state


class TestPlainStates:
    def test_value_state_reads_what_was_written(self) -> None:
        state = Bench("value").state
        assert state.value() is None
        state.update(0)
        assert state.value() == 0
        state.clear()
        assert state.value() is None

    def test_list_state_adds_replaces_and_clears(self) -> None:
        bench = Bench("list")
        assert list(bench.state.get()) == []
        bench.state.add(1)
        bench.state.add_all([2, 3])
        assert list(bench.state) == list(bench.state.get()) == [1, 2, 3]
        bench.state.update(iter([4]))
        assert list(bench.state.get()) == [4]
        bench.state.update([])
        assert bench.cell is None

    def test_list_state_keeps_its_own_list(self) -> None:
        bench, mine = Bench("list"), [1]
        bench.state.update(mine)
        mine.append(2)
        assert list(bench.state.get()) == [1]

    def test_map_state_is_a_map(self) -> None:
        bench = Bench("map")
        state = bench.state
        assert (state.get("a"), state.contains("a"), state.is_empty()) == (None, False, True)
        state.put("a", 1)
        state.put_all({"b": 2, "c": None})
        state["d"] = 4
        assert (state["a"], "c" in state, state.is_empty()) == (1, True, False)
        assert list(state) == list(state.keys()) == ["a", "b", "c", "d"]
        assert dict(state.items()) == {"a": 1, "b": 2, "c": None, "d": 4}
        assert list(state.values()) == [1, 2, None, 4]
        for key in "abcx":
            state.remove(key)
        del state["d"]
        assert bench.cell is None

    def test_map_state_may_change_while_it_is_walked(self) -> None:
        state = Bench("map").state
        state.put_all({"a": 1, "b": 2})
        for key in state:
            state.remove(key)
        assert state.is_empty()

    def test_reducing_state_reduces_from_the_first_value_on(self) -> None:
        state = Bench("reducing").state
        assert state.get() is None
        for number in (1, 2, 3):
            state.add(number)
        assert state.get() == 6
        state.clear()
        assert state.get() is None

    def test_reducing_state_takes_an_object_with_reduce(self) -> None:
        class Longest:
            def reduce(self, one: str, other: str) -> str:
                return max(one, other, key=len)

        cursor = Cursor()
        cursor.cells = [None]
        state: Any = bind(ReducingStateDescriptor("s", Longest()), cursor, 0)
        for word in ("a", "ccc", "bb"):
            state.add(word)
        assert state.get() == "ccc"

    def test_aggregating_state_gives_the_result_of_its_accumulator(self) -> None:
        state = Bench("aggregating").state
        assert state.get() is None
        for number in (1, 2, 6):
            state.add(number)
        assert state.get() == 3.0

    def test_states_of_one_key_are_apart(self) -> None:
        cursor = Cursor()
        cursor.cells = [None, None]
        one: Any = bind(ValueStateDescriptor("a"), cursor, 0)
        other: Any = bind(ValueStateDescriptor("b"), cursor, 1)
        one.update(1)
        assert other.value() is None

    def test_state_of_another_kind_than_asked_for_is_refused(self) -> None:
        with pytest.raises(PlanError, match="STATE_KIND"):
            context(Cursor()).get_map_state(ValueStateDescriptor("s"))

    def test_state_without_a_key_is_refused(self) -> None:
        with pytest.raises(PlanError, match="STATE_WITHOUT_KEY"):
            context(None).get_state(ValueStateDescriptor("s"))


def context(cursor: Cursor | None) -> KernelRuntimeContext:
    return KernelRuntimeContext(OperatorInfo("op", "uid"), Reports(), 0, 1, cursor)


def ttl(*, on_read: bool = False, show_expired: bool = False) -> StateTtlConfig:
    builder = StateTtlConfig.new_builder(100)
    if on_read:
        builder.update_ttl_on_read_and_write()
    if show_expired:
        builder.return_expired_if_not_cleaned_up()
    return builder.build()


WRITE: dict[str, Callable[[Any], None]] = {
    "value": lambda state: state.update(4),
    "list": lambda state: state.add(4),
    "map": lambda state: state.put("k", 4),
    "reducing": lambda state: state.add(4),
    "aggregating": lambda state: state.add(4),
}
READ: dict[str, Callable[[Any], Any]] = {
    "value": lambda state: state.value(),
    "list": lambda state: next(iter(state.get()), None),
    "map": lambda state: state.get("k"),
    "reducing": lambda state: state.get(),
    "aggregating": lambda state: state.get(),
}
KINDS = pytest.mark.parametrize("kind", list(DESCRIPTORS))


class TestTimeToLive:
    @KINDS
    def test_state_expires_when_last_use_plus_ttl_is_not_after_now(self, kind: str) -> None:
        bench = Bench(kind, ttl())
        WRITE[kind](bench.at(1_000))
        assert READ[kind](bench.at(1_099)) == 4
        assert READ[kind](bench.at(1_100)) is None

    @KINDS
    def test_expired_state_is_removed_when_met(self, kind: str) -> None:
        bench = Bench(kind, ttl())
        WRITE[kind](bench.at(0))
        READ[kind](bench.at(100))
        assert bench.cell is None

    @KINDS
    def test_writing_lets_it_live_on(self, kind: str) -> None:
        bench = Bench(kind, ttl())
        WRITE[kind](bench.at(0))
        WRITE[kind](bench.at(60))
        assert READ[kind](bench.at(159)) is not None
        assert READ[kind](bench.at(160)) is None

    @KINDS
    def test_reading_lets_it_live_on_only_where_configured(self, kind: str) -> None:
        for on_read in (False, True):
            bench = Bench(kind, ttl(on_read=on_read))
            WRITE[kind](bench.at(0))
            READ[kind](bench.at(60))
            assert (READ[kind](bench.at(100)) is not None) == on_read

    @KINDS
    def test_expired_state_is_returned_once_where_configured(self, kind: str) -> None:
        bench = Bench(kind, ttl(show_expired=True))
        WRITE[kind](bench.at(0))
        assert READ[kind](bench.at(500)) == 4
        assert READ[kind](bench.at(500)) is None

    @KINDS
    def test_reading_does_not_revive_expired_state(self, kind: str) -> None:
        bench = Bench(kind, ttl(on_read=True, show_expired=True))
        WRITE[kind](bench.at(0))
        READ[kind](bench.at(100))
        assert READ[kind](bench.at(101)) is None

    @KINDS
    def test_disabled_ttl_is_none(self, kind: str) -> None:
        config = (
            StateTtlConfig.new_builder(100)
            .set_update_type(StateTtlConfig.UpdateType.Disabled)
            .build()
        )
        bench = Bench(kind, config)
        WRITE[kind](bench.at(0))
        assert READ[kind](bench.at(10**9)) == 4

    def test_elements_of_a_list_expire_one_by_one(self) -> None:
        bench = Bench("list", ttl())
        bench.at(0).add("old")
        bench.at(50).add_all(["new", "newer"])
        assert list(bench.at(99).get()) == ["old", "new", "newer"]
        assert list(bench.at(100).get()) == ["new", "newer"]
        bench.at(120).update(["newest"])
        assert list(bench.at(219).get()) == ["newest"]
        assert list(bench.at(220).get()) == []

    def test_entries_of_a_map_expire_one_by_one(self) -> None:
        bench = Bench("map", ttl())
        bench.at(0).put("old", 1)
        bench.at(50).put("new", 2)
        state = bench.at(100)
        assert list(state.keys()) == ["new"]
        assert (state.contains("old"), state.get("old"), state.is_empty()) == (False, None, False)
        assert list(state.items()) == [("new", 2)]
        assert list(state.values()) == [2]
        assert bench.at(150).is_empty()

    def test_reading_an_entry_of_a_map_lets_only_that_one_live_on(self) -> None:
        bench = Bench("map", ttl(on_read=True))
        bench.at(0).put_all({"a": 1, "b": 2})
        bench.at(60).get("a")
        assert list(bench.at(100).keys()) == ["a"]

    def test_reducing_begins_anew_after_expiry(self) -> None:
        bench = Bench("reducing", ttl())
        bench.at(0).add(5)
        bench.at(100).add(1)
        assert bench.state.get() == 1

    def test_aggregating_begins_anew_after_expiry(self) -> None:
        bench = Bench("aggregating", ttl())
        bench.at(0).add(5)
        bench.at(100).add(1)
        assert bench.state.get() == 1.0

    @KINDS
    def test_sweep_removes_what_has_expired_and_nothing_else(self, kind: str) -> None:
        bench = Bench(kind, ttl())
        WRITE[kind](bench.at(0))
        kinds = [(0, kind, bench.state._ttl)]
        bench.at(99)
        assert not sweep(bench.cursor.cells, kinds)
        bench.at(100)
        assert sweep(bench.cursor.cells, kinds)
        assert bench.cursor.cells == [None]

    def test_sweep_of_a_list_keeps_its_live_elements(self) -> None:
        bench = Bench("list", ttl())
        bench.at(0).add("old")
        bench.at(50).add("new")
        bench.at(100)
        assert not sweep(bench.cursor.cells, [(0, "list", bench.state._ttl)])
        assert list(bench.state.get()) == ["new"]


class TestTimeToLiveInAJob:
    EVENTS = [(("a", 1), 0), (("b", 1), 1), (("b", 2), 2), (("a", 2), 3)]

    def remembering(self, config: StateTtlConfig) -> Function:
        def descriptor(context: Any) -> Any:
            wanted = ValueStateDescriptor("last")
            wanted.enable_time_to_live(config)
            return context.get_state(wanted)

        def process(function: Any, value: Any, ctx: Any) -> Any:
            before = function.last.value()
            function.last.update(value[1])
            return [(value, before)]

        return Function(process, last=descriptor)

    def test_state_expires_in_processing_time(self) -> None:
        started = keyed_job(self.EVENTS, self.remembering(ttl()))
        started.epoch(2, now_ms=0)
        assert values(started.epoch(1, now_ms=99)) == [(("b", 2), 1)]
        assert values(started.epoch(1, now_ms=100)) == [(("a", 2), None)]

    def test_expired_state_of_other_keys_goes_when_their_page_is_in_hand(self) -> None:
        started = keyed_job(self.EVENTS[:3], self.remembering(ttl()))
        started.epoch(2, now_ms=0)
        started.epoch(1, now_ms=100)
        (page,) = [v for n, v in started.committed.stores[(0, 0)].items() if n != "header"]
        assert b"b" in page
        assert b"\x8c\x01a" not in page

    def test_expired_state_goes_without_being_touched_again(self) -> None:
        """design.md 6: each epoch sweeps a few pages in turn."""
        started = keyed_job(self.EVENTS, self.remembering(ttl()))
        started.epoch(2, now_ms=0)
        for now_ms in range(100, 150):
            started.epoch(0, now_ms=now_ms)
        assert started.state_entries() == 0

    def test_without_background_cleanup_expired_state_stays_until_it_is_read(self) -> None:
        config = (
            StateTtlConfig.new_builder(100)
            .return_expired_if_not_cleaned_up()
            .disable_cleanup_in_background()
            .build()
        )
        started = keyed_job(self.EVENTS, self.remembering(config))
        started.epoch(2, now_ms=0)
        started.epoch(1, now_ms=100)
        assert values(started.epoch(1, now_ms=100)) == [(("a", 2), 1)]
