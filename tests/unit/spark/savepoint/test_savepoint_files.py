"""The files of a savepoint: two attempts of one task never write to the same one."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.checkpoint.savepoints import Savepoint, SavepointTable, StateFile
from millstream.spark.savepoint import take as module
from millstream.spark.savepoint.take import ExportTask
from millstream.state_processor.tasks import Copying, Files, files_in

TABLE = ("count", "total")


class OneTable:
    """Gives each page as a row of one table."""

    header = None

    def __init__(self, operators: Any, *, whole: bool) -> None:
        pass

    def add(self, name: str, page: bytes) -> Iterator[tuple[tuple[str, str], pa.Table]]:
        yield TABLE, pa.table({"page": [page]})

    def finish(self) -> Iterator[Any]:
        yield from ()


@pytest.fixture(autouse=True)
def plain_exporter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SlotExporter", OneTable)


def pages(*found: bytes) -> pa.RecordBatch:
    columns = {"slot": [0 for _ in found], "name": ["a" for _ in found], "page": list(found)}
    return pa.RecordBatch.from_pydict(columns)


def dying() -> Iterator[pa.RecordBatch]:
    yield pages(b"half")
    raise ConnectionError("the worker is stopped")


def exported(task: ExportTask, batches: Iterator[pa.RecordBatch]) -> StateFile:
    ((kind, table, file),) = task.run(batches, 3)
    assert (kind, table) == ("file", TABLE)
    return file  # type: ignore[no-any-return]


def savepoint(folder: Path, *files: StateFile) -> Savepoint:
    tables = (SavepointTable(*TABLE, files),)
    return Savepoint(str(folder), "id", "job", "", 0, 0, {}, {}, {}, {}, tables, "arrival")


def test_an_attempt_that_dies_leaves_the_file_of_the_other_alone(tmp_path: Path) -> None:
    """Speculation: the driver has the message of the first attempt when the second one dies."""
    winner = exported(ExportTask(str(tmp_path), "0-1", (), 0, 0), iter([pages(b"a", b"b")]))
    with pytest.raises(ConnectionError):
        list(ExportTask(str(tmp_path), "0-1", (), 0, 0).run(dying(), 3))
    saved = savepoint(tmp_path, winner)
    assert pq.read_table(pa.BufferReader(saved.read(winner)))["page"].to_pylist() == [b"a", b"b"]
    saved.write()
    assert [str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.parquet")] == [winner.path]


def test_an_attempt_in_the_process_of_one_that_died_begins_anew(tmp_path: Path) -> None:
    task = ExportTask(str(tmp_path), "0-1", (), 0, 0)
    with pytest.raises(ConnectionError):
        list(task.run(dying(), 3))
    assert exported(task, iter([pages(b"a", b"b")])).rows == 2


def test_two_attempts_that_copy_a_file_have_a_copy_each(tmp_path: Path) -> None:
    original = tmp_path / "old" / "state" / "part-0.parquet"
    original.parent.mkdir(parents=True)
    original.write_bytes(b"content")
    file = StateFile("state/part-0.parquet", 1, 7, zlib.crc32(b"content"))
    rows = pa.RecordBatch.from_pydict({"side": [0], "state": [0], "file": [json.dumps(vars(file))]})
    copying = Copying(Files(savepoint(tmp_path / "old")), str(tmp_path / "new"), frozenset(), {})
    ((_, _, one),), ((_, _, two),) = (files_in(copying.run(iter([rows]))) for _ in range(2))
    assert one.path != two.path
    for copy in (one, two):
        assert (tmp_path / "new" / copy.path).read_bytes() == b"content"
