"""Functions that cannot be sent to the workers are refused where they are passed, without a JVM."""

from __future__ import annotations

import functools
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from millstream.common import WatermarkStrategy
from millstream.common.errors import PlanError
from millstream.datastream import (
    CoMapFunction,
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from millstream.datastream.connectors import DataGeneratorSource
from millstream.datastream.connectors.file_system import FileSink
from millstream.plan import travel

LOCK = threading.Lock()


def env_of() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def locked(value: Any, *_: Any) -> Any:
    """Pickled by name where this module is found; the closures below are not."""
    return value


class Holds(MapFunction, ProcessFunction, KeyedProcessFunction, CoMapFunction):  # type: ignore[misc]
    def __init__(self) -> None:
        self.parts = {"guard": threading.Lock()}

    def map(self, value: Any) -> Any:
        return value

    map1 = map2 = map

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


def places() -> list[tuple[str, Callable[[DataStream, Any], Any]]]:
    return [
        ("map", lambda s, f: s.map(f)),
        ("flat_map", lambda s, f: s.flat_map(f)),
        ("filter", lambda s, f: s.filter(f)),
        ("key_by", lambda s, f: s.key_by(f)),
        ("reduce", lambda s, f: s.key_by(str).reduce(lambda a, b: f(a))),
        ("add_sink", lambda s, f: s.add_sink(f)),
        ("encoder", lambda s, f: s.sink_to(FileSink.text("/out", encoder=f))),
        (
            "timestamps",
            lambda s, f: s.assign_timestamps_and_watermarks(
                WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
                    lambda value, ts: f(value)
                )
            ),
        ),
        (
            "source",
            lambda s, f: env_of().from_source(
                DataGeneratorSource(f, 3), WatermarkStrategy.no_watermarks(), "numbers"
            ),
        ),
    ]


@pytest.mark.parametrize(("name", "build"), places(), ids=[name for name, _ in places()])
def test_the_place_that_gets_it_refuses_it(name: str, build: Callable[..., Any]) -> None:
    guard = threading.Lock()
    stream = env_of().from_collection([1])
    with pytest.raises(PlanError) as caught:
        build(stream, lambda value: (guard, value)[1])
    assert caught.value.code == "UNPICKLABLE_FUNCTION"
    assert "guard is a _thread.lock" in caught.value.message
    assert caught.value.location is not None and caught.value.location.file == __file__
    assert "open()" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "build",
    [
        lambda s: s.map(Holds()),
        lambda s: s.process(Holds()),
        lambda s: s.key_by(str).process(Holds()),
        lambda s: s.connect(s).map(Holds()),
        lambda s: s.map(Holds().map),
        lambda s: s.map(functools.partial(locked, Holds())),
    ],
)
def test_the_way_to_the_culprit_is_shown(build: Callable[..., Any]) -> None:
    with pytest.raises(PlanError, match=r"parts\['guard'\] is a _thread.lock"):
        build(env_of().from_collection([1]))


def test_an_error_is_found_although_its_cause_cannot_be() -> None:
    guard = threading.Lock()

    def recursive(value: Any) -> Any:
        return (guard, recursive, later, value)[3]

    with pytest.raises(PlanError, match=r"cannot pickle '_thread\.lock' object"):
        env_of().from_collection([1]).map(recursive)
    later = 1


def test_the_operator_is_not_added() -> None:
    env, guard = env_of(), threading.Lock()
    numbers = env.from_collection([1])
    with pytest.raises(PlanError):
        numbers.map(lambda value: (guard, value)[1])
    numbers.map(lambda value: value).print()
    assert [node.name for node in env._job_graph()] == ["Collection", "Map", "Print"]


def test_functions_that_stay_on_the_driver_may_hold_anything() -> None:
    guard = threading.Lock()
    env_of().from_collection([1]).foreach_batch(lambda df, epoch: (guard, None)[1])


def test_a_large_closure_is_not_pickled_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(travel, "_CHECKED_BYTES", 1 << 20)
    asked = []

    class Last:
        def __reduce__(self) -> Any:
            asked.append(1)
            return str, ()

    model = [*(bytes([i]) * 100_000 for i in range(200)), Last()]
    env_of().from_collection([1]).map(lambda value: (model, value)[1])
    assert not asked


def test_arrays_are_not_copied() -> None:
    model = np.zeros(40_000_000)
    began = time.process_time()
    env_of().from_collection([1]).map(lambda value: value + model[0])
    assert time.process_time() - began < 0.1


MAIN = """
import threading
from millstream.datastream import MapFunction, StreamExecutionEnvironment

class Holder:
    def __init__(self):
        self.guard = threading.Lock()

HOLDER = Holder()

class Add(MapFunction):
    def map(self, value):
        return HOLDER, value

class Fine(MapFunction):
    def map(self, value):
        return LATER, value

stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
stream.map(Fine())
LATER = 1
stream.map(lambda value: value + LATER)
stream.map(Add())
"""


@pytest.mark.slow
def test_what_classes_of_the_main_script_use_is_found_without_a_jvm(tmp_path: Path) -> None:
    script = tmp_path / "app.py"
    script.write_text(MAIN)
    done = subprocess.run(
        [sys.executable, str(script)],
        env={"PATH": "", "PYTHONPATH": str(Path(travel.__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "[UNPICKLABLE_FUNCTION]" in done.stderr
    assert "HOLDER.guard is a _thread.lock" in done.stderr
    assert f"{script.name}:23: stream.map(Add())" in done.stderr
