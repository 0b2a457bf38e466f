"""Records and state that cannot be pickled: an error names the operator, the line and the part."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from millstream.common import Types
from millstream.common.errors import TypeMismatchError
from millstream.datastream import AggregateFunction, KeyedProcessFunction
from millstream.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from millstream.testing import run_local

ANY = Types.PICKLED_BYTE_ARRAY()


class Keeps(KeyedProcessFunction):
    """Keeps a lock in a state of some kind."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def open(self, runtime_context: Any) -> None:
        if self.kind == "value":
            self.state = runtime_context.get_state(ValueStateDescriptor("kept", ANY))
        elif self.kind == "list":
            self.state = runtime_context.get_list_state(ListStateDescriptor("kept", ANY))
        else:
            self.state = runtime_context.get_map_state(MapStateDescriptor("kept", ANY, ANY))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        lock = {"a lock": [threading.Lock()]}
        if self.kind == "map":
            self.state.put("lock", lock)
        else:
            (self.state.update if self.kind == "value" else self.state.add)(lock)
        yield value


class Locked(AggregateFunction):
    def create_accumulator(self) -> Any:
        return [threading.Lock()]

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator

    def get_result(self, accumulator: Any) -> int:
        return 1

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a


def locks(env: Any) -> Any:
    return env.from_collection([1, 2]).map(lambda value: (value, [threading.Lock()]))


PROGRAMS = {
    "record to a key": (lambda env: locks(env).key_by(lambda v: v[0]).reduce(max), "Reduce"),
    "record to a sink": (locks, None),
    "value state": (lambda env: numbers(env).process(Keeps("value")), "Keyed Process"),
    "list state": (lambda env: numbers(env).process(Keeps("list")), "Keyed Process"),
    "map state": (lambda env: numbers(env).process(Keeps("map")), "Keyed Process"),
    "window": (lambda env: numbers(env).count_window(3).aggregate(Locked()), "Window Aggregate"),
}


def numbers(env: Any) -> Any:
    return env.from_collection([1, 2]).key_by(lambda value: value)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_error_names_the_operator_the_line_and_the_part(name: str) -> None:
    program, operator = PROGRAMS[name]
    with pytest.raises(TypeMismatchError, match="of type lock, cannot be pickled") as found:
        run_local(program, epochs=1)
    error = found.value
    assert error.code == "UNPICKLABLE_VALUE"
    assert error.location is not None
    assert error.message.startswith(f"operator {operator!r}: " if operator else "operator ")
