"""A job is planned once, before Spark is asked for anything."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from millstream.common.errors import PlanError
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DiscardingSink
from millstream.plan.graph import JobGraph
from millstream.plan.options import JobOptions
from millstream.plan.planner import plan
from millstream.spark.job import submit as job


class Stopped(Exception):
    """Where the test ends."""


def graph() -> JobGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([("a", 1)]).key_by(0).sum(1).sink_to(DiscardingSink())
    return env._job_graph()


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The calls of the planner."""
    calls: list[Any] = []

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return plan(*arguments)

    monkeypatch.setattr(job, "plan", counted)
    return calls


@pytest.mark.parametrize("mode", ["streaming", "batch", "automatic"])
@pytest.mark.parametrize("kept", [True, False])
def test_a_submit_plans_once(
    monkeypatch: pytest.MonkeyPatch, plans: list[Any], tmp_path: Path, mode: Any, kept: bool
) -> None:
    def stop(*arguments: Any, **options: Any) -> Any:
        raise Stopped

    monkeypatch.setattr(job, "get_session", lambda *_, **__: SimpleNamespace(version="4.3.0"))
    monkeypatch.setattr(job, "StreamRun", stop)
    monkeypatch.setattr(job, "BatchRun", stop)
    options = JobOptions(mode=mode, checkpoint_dir=str(tmp_path / "c") if kept else None)
    with pytest.raises(Stopped):
        job.submit(graph(), options)
    assert len(plans) == 1


def test_a_wrong_program_fails_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch, plans: list[Any]
) -> None:
    monkeypatch.setattr(job, "get_session", lambda *_, **__: pytest.fail("Spark has started"))
    with pytest.raises(PlanError, match="NO_SINK"):
        job.submit(JobGraph(), JobOptions())


def test_nothing_is_kept_locked_if_spark_does_not_start(
    monkeypatch: pytest.MonkeyPatch, plans: list[Any], tmp_path: Path
) -> None:
    def stop(*arguments: Any, **options: Any) -> Any:
        raise Stopped

    monkeypatch.setattr(job, "get_session", stop)
    options = JobOptions(checkpoint_dir=str(tmp_path / "c"))
    for _ in range(2):  # the second would find the lease of the first
        with pytest.raises(Stopped):
            job.submit(graph(), options)
    assert len(plans) == 2
