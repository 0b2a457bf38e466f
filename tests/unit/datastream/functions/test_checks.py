"""What is wrong with a function is said where it is given, not where it runs."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pytest

from millstream.common.errors import PlanError
from millstream.datastream import (
    FilterFunction,
    MapFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from millstream.datastream.functions.checks import FLAT_MAP, MAP, REDUCE, check_function
from tests.support.datastream_support import check_error

Env = StreamExecutionEnvironment


class Good(MapFunction):
    def map(self, value: Any) -> Any:
        return value


class Short(MapFunction):
    def map(self) -> Any:  # type: ignore[override]
        return None


class Keep(FilterFunction):
    def filter(self, value: Any) -> bool:
        return True


class Process(ProcessFunction):
    def process_element(self, value: Any) -> Any:  # type: ignore[override]
        return None


async def later(value: Any) -> Any:
    return value


def generate(value: Any) -> Iterator[Any]:
    yield value


def nothing() -> None:
    pass


@pytest.mark.parametrize(
    ("call", "function", "code", "hint"),
    [
        ("map", nothing, "WRONG_ARITY", "a function of (value) or a MapFunction"),
        ("map", lambda a, b: a, "WRONG_ARITY", "(value)"),
        ("map", Short(), "WRONG_ARITY", "(value)"),
        ("map", Good, "FUNCTION_CLASS", "map(Good(...))"),
        ("map", Keep(), "WRONG_FUNCTION_KIND", "a FilterFunction goes into filter(...)"),
        ("map", Process(), "WRONG_FUNCTION_KIND", "(value)"),
        ("map", 3, "WRONG_FUNCTION_KIND", "(value)"),
        ("map", None, "WRONG_FUNCTION_KIND", "(value)"),
        ("map", later, "ASYNC_FUNCTION", "plain function"),
        ("map", generate, "GENERATOR_FUNCTION", "flat_map"),
        ("filter", generate, "GENERATOR_FUNCTION", "flat_map"),
        ("filter", Good(), "WRONG_FUNCTION_KIND", "map(...)"),
        ("flat_map", Good(), "WRONG_FUNCTION_KIND", "map(...)"),
        ("flat_map", nothing, "WRONG_ARITY", "(value)"),
        ("process", lambda value: None, "WRONG_FUNCTION_KIND", "a ProcessFunction"),
        ("process", Process(), "WRONG_ARITY", "a ProcessFunction"),
    ],
)
def test_refused_with_line_and_hint(
    env: Env, call: str, function: Any, code: str, hint: str
) -> None:
    stream = env.from_collection([1])
    with pytest.raises(PlanError) as info:
        getattr(stream, call)(function)
    check_error(info.value, code, here=__file__, hint=hint)
    assert len(env._graph.nodes) == 1, "a refused function must leave no operator behind"


@pytest.mark.parametrize(
    "function",
    [
        str,
        int,
        len,
        max,
        "{:>3}".format,
        functools.partial(lambda a, b: b, 1),
        lambda value, extra=1: value,
        lambda *values: values,
        Good(),
        Good().map,
    ],
)
def test_whatever_can_be_called_with_a_record_is_accepted(function: Any) -> None:
    check_function(function, MAP)


def test_generators_may_flat_map() -> None:
    check_function(generate, FLAT_MAP)


def test_the_message_names_function_and_arguments() -> None:
    with pytest.raises(PlanError) as info:
        check_function(lambda value: value, REDUCE)
    assert "(value1, value2)" in info.value.message
    assert "<lambda>(value)" in info.value.message
