"""What has to stay the same for a checkpoint to fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millstream.checkpoint.differences import describe_difference
from millstream.checkpoint.manifest import manifest_of
from millstream.common import Types, WatermarkStrategy
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import FileSink
from millstream.datastream.window import TumblingEventTimeWindows
from millstream.plan.physical import NOTHING, Stored
from millstream.plan.planner import plan


def operators(type_info: Any, stored: Stored = NOTHING) -> list[dict[str, Any]]:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda record, _: record[1]
    )
    stream = env.from_collection([("a", 1)]).map(lambda record: record, output_type=type_info)
    timed = stream.assign_timestamps_and_watermarks(strategy)
    windows = timed.key_by(lambda record: record[0]).window(TumblingEventTimeWindows.of(5))
    windows.sum(1).uid("sums").print()
    found = manifest_of(plan(env._job_graph(), {}, stored), env._settings.options(None), "4.3.0")
    listed: list[dict[str, Any]] = found["operators"]
    return listed


SUMS = "partial sums of TUPLE(STRING, LONG) in windows of 5 ms every 5 ms"


def test_a_window_that_could_be_by_column_from_now_on_follows_its_checkpoint() -> None:
    """A plain restart cannot convert state, so a type that was declared since changes nothing."""
    before = operators(Types.PICKLED_BYTE_ARRAY())
    typed = Types.TUPLE([Types.STRING(), Types.LONG()])
    stored = Stored({"sums": "windows in pages"}, converts=False)
    assert describe_difference(before, operators(typed, stored)) == []
    stored = Stored({"sums": SUMS}, converts=False)
    assert describe_difference(operators(typed), operators(typed, stored)) == []


def test_a_window_that_can_no_longer_be_by_column_does_not_fit_its_checkpoint() -> None:
    """Only a savepoint can be converted: the state would be left alone, and its records lost."""
    before = operators(Types.TUPLE([Types.STRING(), Types.LONG()]))
    after = operators(Types.PICKLED_BYTE_ARRAY(), Stored({"sums": SUMS}, converts=False))
    (line,) = describe_difference(before, after)
    assert line.endswith(f"state {SUMS} -> windows in pages")


@pytest.mark.parametrize(
    ("path", "stored"),
    [
        ("out", "{cwd}/out"),
        ("/data/out", "/data/out"),
        ("file:/data/out", "/data/out"),
        ("file:///data/out", "/data/out"),
        ("s3://bucket/out", "s3://bucket/out"),
    ],
)
def test_the_folder_of_a_file_sink_is_found_from_any_working_directory(
    path: str, stored: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(["a"]).sink_to(FileSink.text(path)).uid("files")
    found = manifest_of(plan(env._job_graph()), env._settings.options(None), "4.3.0")
    assert found["details"]["files"]["sink"] == {
        "class": "millstream.datastream.connectors.file_system:FileSink",
        "config": {"path": stored.format(cwd=tmp_path)},
    }
