"""Fixtures for the tests of the user API."""

from __future__ import annotations

import sys
import types

import pytest

from millstream.datastream import StreamExecutionEnvironment
from tests.support.datastream_support import FakeRuntime


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> FakeRuntime:
    fake = FakeRuntime()
    for name in ("millstream.spark", "millstream.spark.job.submit"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["millstream.spark.job.submit"].submit = fake.submit  # type: ignore[attr-defined]
    return fake


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was accepted without effect during the test, first times and later ones."""
    from millstream.common import _logging

    options: list[str] = []

    class Told(set[str]):
        def __contains__(self, option: object) -> bool:
            options.append(str(option))
            return False

    monkeypatch.setattr(_logging, "_told", Told())
    return options
