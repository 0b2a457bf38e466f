"""State interfaces, descriptors and time to live."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

import pytest

from millstream.common import _logging
from millstream.common.errors import PlanError
from millstream.common.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    AppendingState,
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    MergingState,
    OperatorStateStore,
    ReadOnlyBroadcastState,
    ReducingState,
    ReducingStateDescriptor,
    State,
    StateDescriptor,
    StateTtlConfig,
    ValueState,
    ValueStateDescriptor,
)
from millstream.common.time import Duration, Time
from millstream.common.typeinfo import Types

PICKLED = Types.PICKLED_BYTE_ARRAY()


class Count:
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, one: int, other: int) -> int:
        return one + other


class Sum:
    def reduce(self, one: int, other: int) -> int:
        return one + other


class DictMap(MapState[str, int]):
    def __init__(self) -> None:
        self.data: dict[str, int] = {}

    def get(self, key: str) -> int | None:
        return self.data.get(key)

    def put(self, key: str, value: int) -> None:
        self.data[key] = value

    def put_all(self, dict_value: Mapping[str, int]) -> None:
        self.data.update(dict_value)

    def remove(self, key: str) -> None:
        self.data.pop(key, None)

    def contains(self, key: str) -> bool:
        return key in self.data

    def items(self) -> Iterable[tuple[str, int]]:
        return self.data.items()

    def keys(self) -> Iterable[str]:
        return self.data.keys()

    def values(self) -> Iterable[int]:
        return self.data.values()

    def is_empty(self) -> bool:
        return not self.data

    def clear(self) -> None:
        self.data.clear()


class PlainList(ListState[int]):
    def __init__(self) -> None:
        self.data: list[int] = []

    def get(self) -> Iterable[int]:
        return self.data

    def add(self, value: int) -> None:
        self.data.append(value)

    def add_all(self, values: Iterable[int]) -> None:
        self.data.extend(values)

    def update(self, values: Iterable[int]) -> None:
        self.data = list(values)

    def clear(self) -> None:
        self.data = []


def test_map_state_works_like_a_dict() -> None:
    state = DictMap()
    state["a"] = 1
    state.put_all({"b": 2})
    assert state["a"] == 1 and "b" in state and "c" not in state
    assert list(state) == ["a", "b"]
    del state["a"]
    assert list(state.items()) == [("b", 2)]


def test_list_state_is_iterable() -> None:
    state = PlainList()
    state.add(1)
    state.add_all([2, 3])
    assert list(state) == [1, 2, 3]


@pytest.mark.parametrize(
    "interface",
    [
        State, ValueState, AppendingState, MergingState, ListState, MapState, ReducingState,
        AggregatingState, ReadOnlyBroadcastState, BroadcastState, OperatorStateStore,
    ],
)  # fmt: skip
def test_interfaces_cannot_be_instantiated(interface: Any) -> None:
    with pytest.raises(TypeError):
        interface()


def test_read_only_broadcast_state_has_no_writers() -> None:
    for name in ("put", "put_all", "remove", "__setitem__", "__delitem__"):
        assert not hasattr(ReadOnlyBroadcastState, name) and hasattr(BroadcastState, name)
    assert issubclass(BroadcastState, ReadOnlyBroadcastState)


def test_descriptors() -> None:
    value = ValueStateDescriptor("v", Types.LONG())
    listed = ListStateDescriptor("l", Types.LONG())
    mapped = MapStateDescriptor("m", Types.STRING(), Types.LONG())
    reducing = ReducingStateDescriptor("r", operator.add, Types.LONG())
    aggregating = AggregatingStateDescriptor("a", Count(), Types.LONG())
    assert [d.kind for d in (value, listed, mapped, reducing, aggregating)] == [
        "value", "list", "map", "reducing", "aggregating",
    ]  # fmt: skip
    assert value.type_info == reducing.type_info == aggregating.type_info == Types.LONG()
    assert (listed.type_info, listed.elem_type_info) == (Types.LIST(Types.LONG()), Types.LONG())
    assert mapped.type_info == Types.MAP(Types.STRING(), Types.LONG())
    assert (mapped.key_type_info, mapped.value_type_info) == (Types.STRING(), Types.LONG())
    assert reducing.get_reduce_function() is operator.add is reducing.reduce_function
    assert isinstance(aggregating.get_agg_function(), Count)
    assert value.get_name() == value.name == "v" and value.ttl_config is None


def test_descriptors_without_types_are_pickled() -> None:
    assert ValueStateDescriptor("v").type_info == PICKLED
    assert ListStateDescriptor("l").elem_type_info == PICKLED
    assert MapStateDescriptor("m").key_type_info == PICKLED
    assert MapStateDescriptor("m").value_type_info == PICKLED
    assert ReducingStateDescriptor("r", operator.add).type_info == PICKLED
    assert AggregatingStateDescriptor("a", Count()).type_info == PICKLED


def test_pyflinks_argument_names() -> None:
    ValueStateDescriptor(name="v", value_type_info=Types.LONG())
    ListStateDescriptor(name="l", elem_type_info=Types.LONG())
    MapStateDescriptor(name="m", key_type_info=Types.LONG(), value_type_info=Types.LONG())
    ReducingStateDescriptor(name="r", reduce_function=Sum(), type_info=Types.LONG())
    AggregatingStateDescriptor(name="a", agg_function=Count(), state_type_info=Types.LONG())


@pytest.mark.parametrize("name", ["", None, 3])
def test_state_needs_a_name(name: Any) -> None:
    with pytest.raises(PlanError, match="INVALID_STATE_NAME"):
        ValueStateDescriptor(name)


def test_state_types_must_be_types() -> None:
    with pytest.raises(PlanError, match="NOT_A_TYPE"):
        ValueStateDescriptor("v", int)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="NOT_A_TYPE"):
        MapStateDescriptor("m", Types.STRING)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        lambda: ReducingStateDescriptor("r", 3),  # type: ignore[arg-type]
        lambda: AggregatingStateDescriptor("a", operator.add),  # type: ignore[arg-type]
        lambda: AggregatingStateDescriptor("a", Count),  # type: ignore[arg-type]
    ],
)
def test_state_functions_are_checked(make: Any) -> None:
    with pytest.raises(PlanError, match="INVALID_STATE_FUNCTION"):
        make()


def test_descriptors_can_be_pickled() -> None:
    descriptor = ValueStateDescriptor("v", Types.LONG())
    descriptor.enable_time_to_live(StateTtlConfig.new_builder("1 h").build())
    twin: StateDescriptor = pickle.loads(pickle.dumps(descriptor))
    assert vars(twin) == vars(descriptor) and twin.kind == "value"


def test_enable_time_to_live() -> None:
    descriptor = ListStateDescriptor("l")
    ttl = StateTtlConfig.new_builder(Time.seconds(1)).build()
    descriptor.enable_time_to_live(ttl)
    assert descriptor.ttl_config is ttl
    with pytest.raises(PlanError, match="INVALID_STATE_TTL"):
        descriptor.enable_time_to_live(Time.seconds(1))  # type: ignore[arg-type]


def test_ttl_defaults() -> None:
    ttl = StateTtlConfig.new_builder(Time.hours(1)).build()
    assert ttl.ttl_ms == 3_600_000 and ttl.get_ttl() == Duration.of_hours(1)
    assert ttl.update_type is StateTtlConfig.UpdateType.OnCreateAndWrite is ttl.get_update_type()
    assert ttl.visibility is StateTtlConfig.StateVisibility.NeverReturnExpired
    assert ttl.get_state_visibility() is ttl.visibility
    processing = StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
    assert ttl.get_ttl_time_characteristic() is processing
    assert ttl.cleanup_in_background is True and ttl.is_enabled()


def test_ttl_builder_sets_everything() -> None:
    ttl = (
        StateTtlConfig.new_builder(Time.seconds(1))
        .set_ttl(timedelta(seconds=2))
        .update_ttl_on_create_and_write()
        .update_ttl_on_read_and_write()
        .never_return_expired()
        .return_expired_if_not_cleaned_up()
        .use_processing_time()
        .disable_cleanup_in_background()
        .build()
    )
    assert (ttl.ttl_ms, ttl.cleanup_in_background) == (2000, False)
    assert ttl.update_type is StateTtlConfig.UpdateType.OnReadAndWrite
    assert ttl.visibility is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp


def test_ttl_setters() -> None:
    builder = StateTtlConfig.new_builder("5 s")
    builder.set_update_type(StateTtlConfig.UpdateType.Disabled)
    builder.set_state_visibility(StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp)
    builder.set_ttl_time_characteristic(StateTtlConfig.TtlTimeCharacteristic.ProcessingTime)
    assert not builder.build().is_enabled()
    with pytest.raises(PlanError, match="OnReadAndWrite"):
        builder.set_update_type("Disabled")  # type: ignore[arg-type]


@pytest.mark.parametrize("ttl", [0, -1, "soon", None])
def test_ttl_must_be_a_span_above_zero(ttl: Any) -> None:
    with pytest.raises(PlanError, match="time to live"):
        StateTtlConfig.new_builder(ttl)


def test_cleanup_strategies_are_accepted_and_explained(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_logging, "_told", set())
    builder = StateTtlConfig.new_builder("5 s")
    plain = builder.build()
    for _ in range(2):
        builder.cleanup_full_snapshot()
        builder.cleanup_incrementally(10, run_cleanup_for_every_record=True)
        builder.cleanup_in_rocksdb_compact_filter(1000, Duration.of_days(1))
    assert len(caplog.records) == 3
    assert builder.build() == plain
    with pytest.raises(PlanError, match="cleanup_size"):
        builder.cleanup_incrementally(0, True)
    with pytest.raises(PlanError, match="query_time_after_num_entries"):
        builder.cleanup_in_rocksdb_compact_filter("x")  # type: ignore[arg-type]


def test_ttl_enums_look_and_pickle_as_parts_of_the_config() -> None:
    member = StateTtlConfig.UpdateType.Disabled
    assert repr(member) == "<UpdateType.Disabled: 0>"
    assert pickle.loads(pickle.dumps(member)) is member is copy.deepcopy(member)
