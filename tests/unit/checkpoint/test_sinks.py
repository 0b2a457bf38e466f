"""Two-phase sinks in manifests: rebuilt without the program, to take back epochs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from millstream.checkpoint.sinks import describe_sink, described_sink, take_back
from millstream.common.errors import CheckpointError, PlanError
from millstream.connectors import Committer, PartContext, PartWriter, SinkContext, TwoPhaseSink

TAKEN: list[Any] = []


@dataclass(frozen=True)
class Table(TwoPhaseSink):
    """Notes what is taken back."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)

    def open_part(self, context: PartContext) -> PartWriter:
        raise NotImplementedError

    def open_committer(self, context: SinkContext) -> Committer:
        return TableCommitter(self, context)


class TableCommitter(Committer):
    def __init__(self, sink: Table, context: SinkContext) -> None:
        self.sink = sink
        self.context = context

    def recover(self) -> int | None:
        raise AssertionError("only what is too much is taken back")

    def commit(self, epoch: int, staged: list[Any]) -> None:
        raise NotImplementedError

    def check_take_back(self) -> None:
        if self.sink.options.get("gone"):
            raise CheckpointError("OUTPUT_FOLDER_GONE", "no such table")

    def take_back(self, epoch: int) -> None:
        TAKEN.append((self.sink.name, self.context.job_id, self.context.sink, epoch))


class NoDataclass(Table):
    def __init__(self) -> None:
        super().__init__("x", {"lock": object()})


@pytest.fixture(autouse=True)
def nothing_taken() -> None:
    TAKEN.clear()


def details(**sinks: Any) -> dict[str, Any]:
    found = {uid: {"query": 1, "sink": sink} for uid, sink in sinks.items()}
    return {"details": {**found, "count": {"query": 1}}}


def test_a_sink_is_described_by_its_class_and_its_fields() -> None:
    found = describe_sink(Table("words", {"n": 1}))
    assert found == {
        "class": f"{__name__}:Table",
        "config": {"name": "words", "options": {"n": 1}},
    }
    assert described_sink({"sink": found}) == found and described_sink({}) is None


def test_every_sink_takes_back_what_comes_after_its_querys_epoch() -> None:
    manifest = details(a=describe_sink(Table("one")), b=describe_sink(Table("two")))
    take_back(manifest, "job", first_epoch=10, epochs={1: 4})
    assert TAKEN == [("one", "job", "a", 14), ("two", "job", "b", 14)]


def test_nothing_is_taken_back_if_one_sink_cannot() -> None:
    manifest = details(a=describe_sink(Table("one")), b=describe_sink(Table("two", {"gone": True})))
    with pytest.raises(CheckpointError, match="OUTPUT_FOLDER_GONE"):
        take_back(manifest, "job", first_epoch=0, epochs={1: 4})
    assert TAKEN == []


@pytest.mark.parametrize(
    "name", ["no_such_module:Table", f"{__name__}:Gone", "os:getcwd", "os.path:join.x"]
)
def test_a_class_that_cannot_be_found_or_is_no_sink_is_refused(name: str) -> None:
    with pytest.raises(CheckpointError, match=r"SINK_NOT_FOUND.*'a'") as caught:
        take_back(details(a={"class": name, "config": {}}), "job", 0, {1: 4})
    assert "PYTHONPATH" in (caught.value.hint or "")


def test_a_sink_that_cannot_be_described_is_refused() -> None:
    with pytest.raises(PlanError, match=r"SINK_CONFIG.*JSON"):
        describe_sink(NoDataclass())


def test_a_sink_that_does_not_say_what_it_is_made_of_is_refused() -> None:
    class Plain(TwoPhaseSink):
        open_part: Any = None
        open_committer: Any = None

    with pytest.raises(PlanError, match="SINK_CONFIG") as caught:
        describe_sink(Plain())
    assert "dataclass" in (caught.value.hint or "")
