"""The memory of the state processor's tasks: what the session says of workers holds for them."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from millstream.common.errors import ConfigurationError, MillstreamError
from millstream.spark.tasks.memory import ARENA, ARENA_BYTES, SETTING, session_bytes
from millstream.spark.tasks.worker import find_error
from millstream.state_processor.tasks import Call

BOTH = pytest.mark.parametrize("travels", [True, False])


class Session:
    """As much of a Spark session as the tasks ask for."""

    def __init__(self, **conf: str) -> None:
        self.conf = conf


def session(said: str | None) -> Any:
    return Session(**({} if said is None else {SETTING: said}))


@dataclass(frozen=True)
class Looking:
    """Tells how much memory the process may have."""

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
        yield pa.RecordBatch.from_pydict({"limit": [soft]})


@dataclass(frozen=True)
class Failing:
    """Takes too much."""

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        raise MemoryError
        yield


cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.mark.parametrize(
    ("said", "meant"), [("8 gb", 8 << 30), ("none", 0), (None, None), ("2147483648", 2 << 30)]
)
def test_a_session_says_it_as_an_environment_does(said: str | None, meant: int | None) -> None:
    assert session_bytes(session(said)) == meant


def test_nonsense_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="cannot be 'much'") as caught:
        session_bytes(session("much"))
    assert caught.value.code == "INVALID_OPTION_VALUE"


@BOTH
def test_the_limit_of_the_session_holds_while_a_task_runs(
    travels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ARENA, raising=False)
    before = resource.getrlimit(resource.RLIMIT_DATA)
    (batch,) = Call(Looking(), session("40 gb"), travels=travels)(iter(()))
    assert batch.to_pydict() == {"limit": [(40 << 30) + ARENA_BYTES]}
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


@BOTH
def test_a_session_may_set_no_limit(travels: bool) -> None:
    before, _ = resource.getrlimit(resource.RLIMIT_DATA)
    (batch,) = Call(Looking(), session("none"), travels=travels)(iter(()))
    assert batch.to_pydict() == {"limit": [before]}


@BOTH
def test_a_task_that_needs_more_says_so(travels: bool) -> None:
    with pytest.raises((RuntimeError, MillstreamError)) as caught:
        list(Call(Failing(), session("40 gb"), travels=travels)(iter(())))
    error = find_error(str(caught.value)) if travels else caught.value
    assert isinstance(error, MillstreamError)
    assert error.code == "WORKER_MEMORY"
    assert "40,960 MB" in str(error)
    assert SETTING in str(error.hint)
