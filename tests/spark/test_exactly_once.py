"""Exactly once on real Spark: cancelled and finished runs, and what is in the folder.

Jobs that are killed are in ``test_kill_matrix.py``.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from millstream.common import WatermarkStrategy
from millstream.common.job import JobStatus
from millstream.common.time import MIN_TIMESTAMP
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DataGeneratorSource, FileSink, RateLimiterStrategy
from millstream.kernel.state.pages import NEVER
from millstream.spark.io.writer import EpochReport
from millstream.spark.query.component_query import Stream
from millstream.spark.query.control import ControlChannel
from millstream.spark.query.totals import EpochTotals
from tests.support.spark.spark_programs import ReadClock, Recording, by_time, numbered, text_of
from tests.support.spark.spark_support import (
    Collecting,
    cancel,
    data_files,
    lines_of,
    wait_for_job,
    write_lines,
)

pytestmark = pytest.mark.spark

MakeEnv = Callable[..., StreamExecutionEnvironment]

# -- runs of one checkpoint directory -------------------------------------------------------------


def counting(
    env: StreamExecutionEnvironment, folder: Path, count: int | None = 10
) -> tuple[Any, Collecting]:
    """Start a job whose state notices a gap or a repetition, into the folder's checkpoint."""
    env.set_checkpoint_directory(str(folder / "checkpoint"))
    limit = RateLimiterStrategy.per_checkpoint(4)
    source = DataGeneratorSource(numbered, count, limit)
    pairs = env.from_source(source, WatermarkStrategy.no_watermarks(), "pairs")
    checked, seen = pairs.key_by(lambda pair: pair[0]).process(Recording()), Collecting()
    checked.sink_to(FileSink.text(str(folder / "out"), text_of))
    checked.sink_to(seen)
    return env.execute_async(), seen


def wanted(count: int) -> list[str]:
    return sorted(text_of(numbered(n)) for n in range(count))


def test_a_finished_job_run_again_starts_a_new_run(make_env: MakeEnv, tmp_path: Path) -> None:
    first, _ = counting(make_env(), tmp_path)
    first.wait()
    assert first.get_job_status().result() is JobStatus.FINISHED
    assert sorted(lines_of(tmp_path / "out")) == wanted(10)
    before = {path: path.read_bytes() for path in data_files(tmp_path / "out")}

    second, seen = counting(make_env(), tmp_path)
    second.wait()
    assert second.get_job_id() != first.get_job_id()
    assert sorted(map(text_of, seen.values)) == wanted(10), "the second run has not begun anew"
    assert sorted(lines_of(tmp_path / "out")) == sorted(2 * wanted(10))
    assert {path: path.read_bytes() for path in before} == before
    runs = sorted(p.name for p in (tmp_path / "checkpoint").iterdir() if p.name.isdigit())
    assert runs == ["000001", "000002"]


def test_a_cancelled_job_resumes_where_it_was(make_env: MakeEnv, tmp_path: Path) -> None:
    first, seen = counting(make_env(), tmp_path, None)
    wait_for_job(lambda: len(seen.deliveries) >= 2, first, "two epochs")
    cancel(first)
    assert first.get_job_status().result() is JobStatus.CANCELED
    had = len(lines_of(tmp_path / "out"))
    assert had >= 8

    second, seen = counting(make_env(), tmp_path, None)
    wait_for_job(lambda: len(lines_of(tmp_path / "out")) >= had + 8, second, "two epochs more")
    cancel(second)
    assert second.get_job_id() == first.get_job_id()
    lines = lines_of(tmp_path / "out")
    assert sorted(lines) == wanted(len(lines))
    # Perhaps the last epoch came again, but nothing before it.
    epochs = [epoch for epoch, _ in seen.deliveries]
    assert min(epochs) * 4 >= had - 4


def test_a_run_whose_end_was_committed_but_not_marked_only_finishes(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    """As if the driver had died after the last commit and before it wrote FINISHED."""
    first, _ = counting(make_env(), tmp_path)
    first.wait()
    (tmp_path / "checkpoint" / "000001" / "FINISHED").unlink()

    second, seen = counting(make_env(), tmp_path)
    second.wait()
    assert second.get_job_status().result() is JobStatus.FINISHED
    assert second.get_job_id() == first.get_job_id()
    assert seen.values == []
    assert sorted(lines_of(tmp_path / "out")) == wanted(10)
    assert (tmp_path / "checkpoint" / "000001" / "FINISHED").exists()


def test_a_job_without_a_checkpoint_directory_leaves_nothing_behind(
    make_env: MakeEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    env = make_env()
    env.from_collection([1, 2]).sink_to(Collecting())
    env.execute()
    assert list(tmp_path.iterdir()) == []


def test_the_checkpoint_says_which_program_it_belongs_to(make_env: MakeEnv, tmp_path: Path) -> None:
    client, _ = counting(make_env(), tmp_path)
    client.wait()
    manifest = json.loads((tmp_path / "checkpoint" / "000001" / "job.json").read_text())
    assert manifest["job_id"] == str(client.get_job_id())
    assert {"uid": "keyed-process-1", "kind": "keyed", "query": 0, "level": 1}.items() <= next(
        operator for operator in manifest["operators"] if operator["kind"] == "keyed"
    ).items()


def test_a_run_that_died_before_its_first_word_still_announces_its_files(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    """A file that is listed holds the clock until it is read, also if the driver died at the start."""
    for number, times in enumerate([(10, 20, 30), (5, 15)]):
        path = write_lines(tmp_path / "in" / f"{number}.txt", map(str, times))
        os.utime(path, (1_000 + number, 1_000 + number))
    wanted = {(10, MIN_TIMESTAMP), (20, MIN_TIMESTAMP), (30, MIN_TIMESTAMP)}
    assert clocks(make_env, tmp_path) >= wanted
    run = tmp_path / "checkpoint" / "000001"
    (run / "FINISHED").unlink()
    for left in run.glob("query-*"):
        shutil.rmtree(left)
    assert clocks(make_env, tmp_path) >= wanted


def clocks(make_env: MakeEnv, folder: Path) -> set[tuple[int, int]]:
    """What clock each record saw, one file an epoch."""
    env, sink = make_env(settings={"millstream.epoch.max-files": 1}), Collecting()
    env.set_checkpoint_directory(str(folder / "checkpoint"))
    lines = env.read_text_file(str(folder / "in")).map(lambda line: (line, int(line)))
    timed = lines.assign_timestamps_and_watermarks(by_time(1))
    timed.key_by(lambda pair: "all").process(ReadClock()).sink_to(sink)
    env.execute()
    return {(value[1], clock) for value, clock in sink.values}


def test_ticks_do_not_pile_up_while_an_epoch_takes_long(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Old commands are removed: a pile of ticks would take away those an epoch has yet to hear."""
    seconds = iter(range(1_000))
    clock = SimpleNamespace(monotonic=lambda: next(seconds))
    monkeypatch.setattr("millstream.spark.query.component_query.time", clock)
    stream = object.__new__(Stream)
    stream.query = SlowQuery()  # type: ignore[assignment]
    stream.writing, stream.has_looked = threading.Lock(), False
    stream.control = ControlChannel(str(tmp_path / "control"), "run", (0,))
    stream.totals, stream.component = EpochTotals(), SimpleNamespace(index=0)  # type: ignore[assignment]
    stream.first_epoch = 0
    stream.end_epoch, stream.bounded, stream.tick_waits = None, False, False
    stream.tick_ms, stream.ticked_ms, stream.ticked, stream.due_ms = 200, 0, -1.0, NEVER
    for _ in range(200):
        assert not stream.advance()
    assert len(list((tmp_path / "control").iterdir())) == 1
    stream._on_epoch(0, EpochReport())
    assert not stream.advance()
    assert len(list((tmp_path / "control").iterdir())) == 2


class SlowQuery:
    """A query in the middle of an epoch."""

    isActive = True
    lastProgress: ClassVar = {"batchId": 0, "durationMs": {}}
