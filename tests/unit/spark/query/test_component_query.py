"""What the driver asks of a query that runs, and its end."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from millstream.kernel.state.pages import NEVER
from millstream.spark.query.component_query import Stream
from millstream.spark.query.control import ControlChannel


class ReadQuery:
    """A query that has read all of its input and rests."""

    isActive = True
    status: ClassVar = {"isDataAvailable": False, "isTriggerActive": False}

    def __init__(self) -> None:
        self.looks = 0

    @property
    def lastProgress(self) -> dict[str, Any]:
        self.looks += 1
        return {"batchId": 0, "durationMs": {}, "sources": [{}, {}]}


def stream(folder: Path, stages: list[Any]) -> Any:
    found: Any = object.__new__(Stream)
    found.query = ReadQuery()
    found.control = ControlChannel(str(folder / "control"), "run", (0,))
    source = SimpleNamespace(id=1)
    found.component = SimpleNamespace(index=0, sources=[source], timelines=lambda: frozenset({1}))
    inputs = {1: SimpleNamespace(at_end=lambda progress: True)}
    found.builder = SimpleNamespace(inputs=inputs, programs=SimpleNamespace(stages=stages))
    found.first_epoch, found.end_epoch, found.noted = 0, None, -1
    found.bounded, found.end_posted, found.tick_waits = True, False, False
    found.writing, found.has_looked = threading.Lock(), False
    found.tick_ms, found.ticked_ms, found.ticked, found.due_ms = None, 0, -1.0, NEVER
    return found


@pytest.mark.parametrize("stages", [[], ["a stage"]], ids=["stateless", "keyed"])
def test_only_operators_of_stages_are_told_of_the_end(tmp_path: Path, stages: list[Any]) -> None:
    query = stream(tmp_path, stages)
    assert query.advance() == (not stages)
    posted = list((tmp_path / "control").iterdir()) if (tmp_path / "control").exists() else []
    assert len(posted) == len(stages)
    assert query.end_posted == bool(stages)


def test_progress_is_looked_at_once_in_an_epoch(tmp_path: Path) -> None:
    found = stream(tmp_path, ["a stage"])
    for _ in range(3):
        found.advance()
    assert found.query.looks == 3

    def look_during_an_epoch(rows: Any, batch: int) -> None:
        for _ in range(3):
            found.advance()

    found._write_epoch = look_during_an_epoch
    found._write(None, 1)
    assert found.query.looks == 4
    found.advance()
    found._write(None, 2)
    assert found.query.looks == 6
