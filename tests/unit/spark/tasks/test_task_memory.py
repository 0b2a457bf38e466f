"""The memory limit of a job holds for the tasks of its savepoints too."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from millstream.checkpoint.folder import Run
from millstream.checkpoint.manifest import manifest_of
from millstream.plan.options import JobOptions
from millstream.plan.planner import JobPlan
from millstream.spark.query import builder
from millstream.spark.savepoint import restore
from millstream.spark.savepoint import take as savepoint
from millstream.spark.tasks.memory import SETTING, bytes_in_manifest

LIMIT = 3 << 30


class Sent(Exception):
    """A task is on its way to the workers, with a limit."""

    def __init__(self, memory: int | None) -> None:
        self.memory = memory


@pytest.fixture(autouse=True)
def _nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(key: str, task: Any, memory: int | None = None) -> Any:
        raise Sent(memory)

    for module in (restore, savepoint):
        monkeypatch.setattr(module, "ProgramRef", SimpleNamespace(of=of))
        monkeypatch.setattr(module, "session_beside", lambda spark, settings: spark)


def options(**configuration: str) -> JobOptions:
    return JobOptions(configuration=configuration)


def test_a_manifest_says_what_the_job_has_said() -> None:
    for said, known in (({SETTING: str(LIMIT)}, LIMIT), ({SETTING: "0"}, 0), ({}, None)):
        manifest = manifest_of(JobPlan(()), options(**said), "4.3.0")
        assert bytes_in_manifest(manifest) == known


def test_the_tasks_of_a_savepoint_have_the_limit_of_the_job() -> None:
    manifest: Mapping[str, Any] = {
        "slots": 1, "parallelism": 1, "details": {}, "operators": [], "worker_memory": str(LIMIT),
    }  # fmt: skip
    taking = savepoint._Taking(
        MagicMock(), Run("/run", "job", False), manifest, "/sp", {}, "stopped"
    )
    with pytest.raises(Sent) as sent:
        taking._export(savepoint._Stage(0, 0, 0, "pages_0_a"), 5, {})
    assert sent.value.memory == LIMIT


def test_the_tasks_of_a_restore_have_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("time_from_json", "first_header", "BuildTask"):
        monkeypatch.setattr(restore, name, MagicMock())
    work = restore.Restore(MagicMock(), Run("/run", "job", False), None, LIMIT)
    work.__dict__.update(savepoint=MagicMock(tables=()), operators={})
    program = MagicMock(operators=())
    with pytest.raises(Sent) as sent:
        work.prepare(0, 0, program, (), MagicMock(), frozenset(), (0,), 1)
    assert sent.value.memory == LIMIT


def test_a_query_tells_its_restore(monkeypatch: pytest.MonkeyPatch) -> None:
    def restoring(spark: Any, run: Run, on_progress: Any, memory: int | None = None) -> Any:
        raise Sent(memory)

    monkeypatch.setattr(builder, "Restore", restoring)
    query = object.__new__(builder.QueryBuilder)
    query.__dict__.update(
        spark=None,
        run_info=Run("/run", "job", False, savepoint="/sp"),
        options=options(**{SETTING: str(LIMIT)}),
    )
    with pytest.raises(Sent) as sent:
        query.restore()
    assert sent.value.memory == LIMIT
