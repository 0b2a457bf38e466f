"""Runs commands in this process, on jobs and savepoints that do not exist."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from millstream.cli.main import main
from tests.support.cli.fakes import Json, Registry, Run, Savepoints


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    fake = Registry()
    for name in ("find_jobs", "known", "lives", "request"):
        monkeypatch.setattr(f"millstream.checkpoint.registry.{name}", getattr(fake, name))
    return fake


@pytest.fixture
def savepoints(monkeypatch: pytest.MonkeyPatch) -> Savepoints:
    fake = Savepoints()
    module = ModuleType("millstream.checkpoint.savepoints")
    reader = ModuleType("millstream.state_processor")
    for name in ("describe", "dispose", "retained"):
        setattr(module, name, getattr(fake, name))
    taking = ModuleType("millstream.spark.savepoint.take")
    taking.take_offline = fake.take_offline  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, taking.__name__, taking)
    reader.SavepointReader = SimpleNamespace(read=fake.load)  # type: ignore[attr-defined]
    reader.diff = fake.diff  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(sys.modules, reader.__name__, reader)

    @contextmanager
    def session() -> Iterator[str]:
        yield "spark"

    monkeypatch.setattr("millstream.cli.jobs.spark_session", session)
    monkeypatch.setattr("millstream.cli.states.spark_session", session)
    return fake


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in this process: its exit code, and what it wrote."""

    def run_command(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(arguments)
        except SystemExit as end:
            code = end.code  # type: ignore[assignment]
        written = capsys.readouterr()
        return code, written.out, written.err

    return run_command


@pytest.fixture
def run_json(run: Run) -> Json:
    """Runs a command with --json: its exit code, and what stdout holds; stderr stays empty."""

    def run_command(*arguments: str) -> tuple[int, Any]:
        code, out, err = run("--json", *arguments)
        assert err == ""
        return code, json.loads(out)

    return run_command
