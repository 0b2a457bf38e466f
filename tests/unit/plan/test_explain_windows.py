"""The plan says how windows are computed."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.common import Types, WatermarkStrategy
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.window import CountTrigger, TumblingEventTimeWindows

RECORD = Types.TUPLE([Types.STRING(), Types.LONG()])


@pytest.mark.parametrize(
    ("build", "how"),
    [
        (lambda windows: windows.sum(1), "by column"),
        (lambda windows: windows.reduce(lambda a, b: a), "all records of a page at once"),
        (lambda windows: windows.trigger(CountTrigger.of(2)).sum(1), "record by record"),
    ],
)
def test_how_windows_are_computed(build: Any, how: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda record, _: record[1]
    )
    stream = env.from_collection([("a", 1)], type_info=RECORD)
    keyed = stream.assign_timestamps_and_watermarks(strategy).key_by(0)
    plan = str(build(keyed.window(TumblingEventTimeWindows.of("5 s"))).explain())
    assert f"windows: {how}" in plan
