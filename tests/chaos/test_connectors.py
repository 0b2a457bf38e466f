"""What runs with real servers rely on: what they look for, what their seeds stand for, their marks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from millstream.datastream import StreamExecutionEnvironment
from millstream.testing import run_local
from tests.chaos import processes
from tests.chaos.connectors import pipelines
from tests.chaos.connectors.job import RESULT
from tests.chaos.connectors.marks import marked
from tests.chaos.connectors.pipelines import PIPELINES, Place, event, expected
from tests.chaos.connectors.run import KINDS, Scenario

RECORDS = 60


def test_the_loss_of_any_record_shows_in_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = expected(RECORDS)
    for lost in range(RECORDS):
        # A record without a number adds nothing to the sum of its window.
        one = event(lost)
        without = {one: (one[0], 0, one[2])}
        monkeypatch.setattr(pipelines, "event", lambda n, w=without: w.get(event(n), event(n)))
        assert expected(RECORDS) != whole, lost
        monkeypatch.undo()


def test_sixty_seeds_in_a_row_break_each_pipeline_at_all_points_of_its_sinks() -> None:
    scenarios = [Scenario.of(seed) for seed in range(1, 61)]
    found = {(one.pipeline, one.kind, one.breaks[0].event) for one in scenarios}
    for name, pipeline in PIPELINES.items():
        for kind in KINDS:
            assert found >= {(name, kind, point) for point in pipeline.points}


def test_a_sink_with_marks_writes_what_the_sink_writes(tmp_path: Path) -> None:
    pipeline = PIPELINES["delta"]
    place = Place("", "", tmp_path, str(tmp_path / "table"))
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection(list(expected(RECORDS)), RESULT)
    for name, sink in pipeline.sinks(place).items():
        stream.sink_to(marked(sink, tmp_path / "marks")).uid(name)
    run_local(env, write=True)
    assert pipeline.found(place) == {"table": expected(RECORDS)}
    left = {path.name.partition("-")[0] for path in (tmp_path / "marks").iterdir()}
    assert left == set(pipeline.points)


def test_workers_of_all_daemons_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs have workers of Spark's daemon and of Millstream's."""
    commands = {
        2: "java org.apache.spark.deploy.SparkSubmit",
        3: "python -m pyspark.daemon pyspark.worker",
        4: "python -m millstream.spark.session.worker_daemon pyspark.worker",
        5: "python -m pyspark.sql.streaming.python_streaming_source_runner",
    }
    children = {1: [2], 2: [3, 4, 5], 3: [6], 4: [7]}
    monkeypatch.setattr(processes, "_command", lambda pid: commands.get(pid, ""))
    monkeypatch.setattr(processes, "_children", lambda pid: children.get(pid, []))
    assert processes.workers_of(1) == [6, 7, 5]


def test_only_the_jvm_of_spark_is_taken_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it starts, Java is asked for its version: to kill that breaks nothing."""
    commands = {2: "java -version", 3: "/opt/java/bin/java org.apache.spark.deploy.SparkSubmit"}
    monkeypatch.setattr(processes, "_command", commands.__getitem__)
    monkeypatch.setattr(processes, "_children", lambda pid: [2, 3])
    assert processes.jvms_of(1) == [3]


def test_a_process_that_waits_is_told_from_one_that_works() -> None:
    assert processes.is_working(os.getpid())
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        os.kill(other.pid, signal.SIGSTOP)
        os.waitpid(other.pid, os.WUNTRACED)
        assert not processes.is_working(other.pid)
        other.kill()
    assert not processes.is_working(other.pid)
