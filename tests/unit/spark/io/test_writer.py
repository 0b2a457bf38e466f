"""The writer: a driver that was replaced has no effect any more, wherever it was stopped."""

from __future__ import annotations

import json
import pickle
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millstream.checkpoint.lease import Fence, Lease
from millstream.common.errors import CheckpointError
from millstream.common.fencing import FencingToken
from millstream.connectors.simple_sinks import CalledFunction, CollectingSink, ForeachBatchSink
from millstream.connectors.sink import Sink
from millstream.datastream import SinkFunction
from millstream.datastream.connectors import FileSink
from millstream.kernel.records.buffers import DATA
from millstream.plan.compile import SinkEdge
from millstream.plan.graph import SinkNode
from millstream.spark.io import writer as writer_module
from millstream.spark.io.writer import Writer
from millstream.spark.tasks.worker import ProgramRef

EFFECTS: list[str] = []
"""What sinks have done; sink functions travel as pickles, so they find it by its name."""

HOOK: list[Callable[[], None]] = []
"""What happens in the middle of the next sink function."""


@pytest.fixture(autouse=True)
def plain_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let buffers be plain pickles: what they look like is the kernel's business."""
    EFFECTS.clear()
    HOOK.clear()
    monkeypatch.setattr(writer_module, "record_count", lambda header: 1)
    monkeypatch.setattr(writer_module, "merged", lambda parts: parts[0])
    monkeypatch.setattr(
        writer_module,
        "decode",
        lambda header, payload, codec: SimpleNamespace(
            values=pickle.loads(payload), ts=np.array([1])
        ),
    )
    monkeypatch.setattr(Writer, "_decoded", lambda self, number, rows: f"frame of {number}")


class Rows:
    """An epoch's rows: one record for each edge, in one task."""

    def __init__(self, sinks: int, after_tasks: Callable[[], None] = lambda: None) -> None:
        self.tags = range(sinks)
        self.after_tasks = after_tasks

    def persist(self) -> Rows:
        return self

    def unpersist(self) -> None:
        pass

    def mapInArrow(self, task: Callable[..., Iterator[pa.RecordBatch]], schema: str) -> Rows:
        columns = {
            "kind": [DATA for _ in self.tags],
            "tag": list(self.tags),
            "header": [b"" for _ in self.tags],
            "payload": [pickle.dumps(["record"]) for _ in self.tags],
        }
        self.found = list(task(iter([pa.RecordBatch.from_pydict(columns)])))
        self.after_tasks()
        return self

    def collect(self) -> list[dict[str, bytes]]:
        return [row for batch in self.found for row in batch.to_pylist()]


class Driver:
    """A driver with its lease; ``sinks`` are written in the writer's order."""

    def __init__(self, folder: Path, *sinks: Sink) -> None:
        self.folder = folder
        self.lease = Lease.take(str(folder / "checkpoint"), "old")
        self.count = len(sinks)
        nodes = tuple(
            SinkNode(id=n, name=f"sink {n}", uid=f"sink-{n}", sink=spec)
            for n, spec in enumerate(sinks)
        )
        self.done: list[int] = []
        self.writer = Writer(
            nodes,
            [SinkEdge(n, n, None) for n in range(len(sinks))],
            {n: f"sink-{n}" for n in range(len(sinks))},
            "job",
            lambda name, program: ProgramRef.of(f"{folder.name}-{name}", program),
            lambda epoch, report: self.done.append(epoch),
            self.lease.fence,
        )

    def replace(self) -> None:
        """Let another driver take over, as one on another machine does after a while."""
        lease = self.folder / "checkpoint" / "lease"
        content = json.loads((lease / "00000001.json").read_text())
        (lease / "00000002.json").write_text(json.dumps({**content, "holder": "new"}))

    def write(self, epoch: int = 0, after_tasks: Callable[[], None] = lambda: None) -> None:
        self.writer.write(Rows(self.count, after_tasks), epoch)  # type: ignore[arg-type]

    def is_refused(self, **options: Any) -> None:
        with pytest.raises(CheckpointError, match="LEASE_LOST"):
            self.write(**options)

    def published(self) -> list[str]:
        out = self.folder / "out"
        return sorted(p.name for p in out.iterdir() if p.is_file()) if out.exists() else []


def effect(name: str) -> ForeachBatchSink:
    def function(frame: Any, epoch: int) -> None:
        EFFECTS.append(name)
        while HOOK:
            HOOK.pop()()

    return ForeachBatchSink(function)


class Invoked(SinkFunction):
    def open(self, runtime_context: Any) -> None:
        self.token = runtime_context.get_fencing_token()

    def invoke(self, value: Any) -> None:
        EFFECTS.append(f"invoke {value} {self.token.epoch} {self.token.attempt}")


def all_sinks(folder: Path) -> list[Sink]:
    return [
        effect("first"),
        effect("second"),
        FileSink.text(str(folder / "out")),
        CalledFunction(Invoked()),
        CollectingSink(lambda epoch, records: EFFECTS.append("deliver")),
    ]


ALL = ["invoke record 0 1", "first", "second", "deliver"]


def test_a_driver_that_holds_its_lease_writes_to_all_sinks(tmp_path: Path) -> None:
    driver = Driver(tmp_path, *all_sinks(tmp_path))
    driver.write()
    assert ALL == EFFECTS and len(driver.published()) == 1 and driver.done == [0]


def test_stopped_before_the_check_it_does_nothing(tmp_path: Path) -> None:
    driver = Driver(tmp_path, *all_sinks(tmp_path))
    driver.replace()
    driver.is_refused()
    assert EFFECTS == [] and driver.published() == [] and driver.done == []


def test_stopped_in_the_tasks_it_calls_no_function_and_commits_no_file(tmp_path: Path) -> None:
    driver = Driver(tmp_path, *all_sinks(tmp_path))
    driver.is_refused(after_tasks=driver.replace)
    assert ALL[:1] == EFFECTS and driver.published() == [] and driver.done == []


def test_stopped_in_a_function_it_goes_on_to_no_other_sink(tmp_path: Path) -> None:
    driver = Driver(tmp_path, *all_sinks(tmp_path))
    HOOK.append(driver.replace)
    driver.is_refused()
    assert ALL[:2] == EFFECTS and driver.published() == [] and driver.done == []


def test_stopped_between_the_files_and_the_next_sink_it_delivers_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driver(tmp_path, *all_sinks(tmp_path))
    sink = driver.writer.driver.committers[2]
    commit = sink.commit

    def then_replaced(epoch: int, files: Any) -> None:
        commit(epoch, files)
        driver.replace()

    monkeypatch.setattr(sink, "commit", then_replaced)
    driver.is_refused()
    assert ALL[:3] == EFFECTS and driver.done == []


def test_stopped_after_the_last_effect_it_does_not_tell_spark_that_the_epoch_is_done(
    tmp_path: Path,
) -> None:
    driver = Driver(tmp_path, effect("only"))
    driver.writer.on_epoch = lambda epoch, report: driver.replace()
    driver.is_refused()
    assert EFFECTS == ["only"]


def test_a_task_that_comes_late_calls_no_sink_function(tmp_path: Path) -> None:
    driver = Driver(tmp_path, CalledFunction(Invoked()))
    rows = Rows(1)
    task: list[Any] = []
    rows.mapInArrow = lambda run, schema: task.append(run) or rows  # type: ignore[assignment, method-assign]
    rows.found = []
    driver.writer._run_tasks(rows, 0, 0)  # type: ignore[arg-type]
    driver.replace()
    with pytest.raises(RuntimeError, match="LEASE_LOST"):
        Rows(1).mapInArrow(task[0], "")
    assert EFFECTS == []


def test_a_worker_that_does_not_reach_the_checkpoint_directory_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driver(tmp_path, CalledFunction(Invoked()))
    answers = iter([None, PermissionError("not for workers")])

    def check(self: Fence) -> None:
        answer = next(answers, None)
        if answer is not None:
            raise answer

    monkeypatch.setattr(Fence, "check", check)
    driver.write()
    assert ALL[:1] == EFFECTS and driver.done == [0]


def test_a_function_is_given_a_token_that_tells_when_it_is_out_of_date(tmp_path: Path) -> None:
    seen: list[Any] = []

    def function(frame: Any, epoch: int, token: FencingToken) -> None:
        seen.append((epoch, token.epoch, token.attempt, token.job_id, token.is_current()))
        driver.replace()
        seen.append(token.is_current())

    driver = Driver(tmp_path, ForeachBatchSink(function, takes_token=True))
    driver.is_refused(epoch=7)
    assert seen == [(7, 7, 1, "job", True), False]


def test_each_attempt_of_a_driver_has_its_own_token(tmp_path: Path) -> None:
    driver = Driver(tmp_path, effect("only"))
    earlier = driver.writer.sinks[0].context.token(3)
    driver.lease.next_attempt()
    assert not earlier.is_current()
    later = FencingToken("job", 3, driver.lease.number, check=driver.lease.fence.check)
    assert later.is_current() and later.attempt > earlier.attempt
    assert not pickle.loads(pickle.dumps(earlier)).is_current(), "it travels to tasks"


# -- a database -----------------------------------------------------------------------------------


class Database:
    """The recipe of docs/operate/fault-tolerance.md."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, frame: Any, epoch: int, token: FencingToken) -> None:
        rows = [(epoch, f"attempt {token.attempt}")]
        while HOOK:
            HOOK.pop()()
        with closing(sqlite3.connect(self.path, isolation_level=None)) as database:
            database.execute("create table if not exists line (epoch, text)")
            database.execute(
                "create table if not exists writer "
                "(job, sink, attempt, epoch, primary key (job, sink))"
            )
            database.execute("begin immediate")
            with database:
                found = database.execute(
                    "select attempt, epoch from writer where job = ? and sink = ?",
                    (token.job_id, token.sink),
                ).fetchone()
                attempt, last = found or (0, -1)
                if attempt > token.attempt:
                    raise RuntimeError("a later driver writes here")
                if epoch <= last:
                    return
                database.execute(
                    "insert or replace into writer values (?, ?, ?, ?)",
                    (token.job_id, token.sink, token.attempt, epoch),
                )
                database.executemany("insert into line values (?, ?)", rows)


def test_two_sinks_of_a_job_write_their_epochs_to_one_database(tmp_path: Path) -> None:
    path = tmp_path / "db"
    one = ForeachBatchSink(Database(path), takes_token=True)
    driver = Driver(tmp_path, one, one)
    for epoch in (0, 0, 1):
        driver.write(epoch=epoch)
    with closing(sqlite3.connect(path)) as database:
        found = database.execute("select epoch, count(*) from line group by epoch").fetchall()
    assert found == [(0, 2), (1, 2)]


def test_the_token_of_a_sink_function_names_its_sink(tmp_path: Path) -> None:
    driver = Driver(tmp_path, CalledFunction(Named()), CalledFunction(Named()))
    driver.write()
    assert EFFECTS == ["sink-0", "sink-1"]


class Named(SinkFunction):
    """Notes the name of the sink that its token has."""

    def open(self, runtime_context: Any) -> None:
        self.token = runtime_context.get_fencing_token()

    def invoke(self, value: Any, context: Any = None) -> None:
        EFFECTS.append(self.token.sink)


def test_a_database_that_compares_the_token_takes_nothing_from_a_replaced_driver(
    tmp_path: Path,
) -> None:
    """Stopped between the last check and the transaction: no check can see that."""
    path = tmp_path / "db"
    write = Database(path)
    driver = Driver(tmp_path, ForeachBatchSink(write, takes_token=True))
    driver.write(epoch=0)

    def replaced() -> None:
        driver.replace()
        for epoch in (1, 2):
            write(None, epoch, FencingToken("job", epoch, 2, "sink-0"))

    HOOK.append(replaced)
    with pytest.raises(Exception, match="a later driver writes here"):
        driver.write(epoch=1)
    write(None, 2, FencingToken("job", 2, 2, "sink-0"))
    with closing(sqlite3.connect(path)) as database:
        found = database.execute("select * from line order by epoch").fetchall()
    assert found == [(0, "attempt 1"), (1, "attempt 2"), (2, "attempt 2")]
