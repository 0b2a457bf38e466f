"""Names and arguments of PySpark's classes: programs find all of them here, in the same order."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from millstream import dstream


def parameters(function: Any) -> list[tuple[str, Any]]:
    found = inspect.signature(function).parameters.values()
    given = [each for each in found if each.kind is not inspect.Parameter.KEYWORD_ONLY]
    return [(each.name, each.kind) for each in given]


@pytest.mark.parametrize("name", ["StreamingContext", "DStream", "StreamingListener"])
def test_names_are_those_of_pyspark(name: str) -> None:
    streaming = pytest.importorskip("pyspark.streaming")
    expected = {each for each in dir(getattr(streaming, name)) if not each.startswith("_")}
    assert expected - {"Java"} - set(dir(getattr(dstream, name))) == set()


@pytest.mark.parametrize("name", ["StreamingContext", "DStream"])
def test_arguments_are_those_of_pyspark(name: str) -> None:
    streaming = pytest.importorskip("pyspark.streaming")
    theirs, ours = getattr(streaming, name), getattr(dstream, name)
    differ = []
    for method, function in inspect.getmembers(theirs, callable):
        if method.startswith("_"):
            continue
        expected = parameters(function)
        found = parameters(getattr(ours, method, lambda: None))
        if found[: len(expected)] != expected:
            differ.append((method, expected, found))
    assert differ == []


def test_a_context_takes_the_arguments_of_pyspark() -> None:
    names = [name for name, _ in parameters(dstream.StreamingContext.__init__)]
    assert names == ["self", "sparkContext", "batchDuration"]
