"""The task's side of the file sink: buckets and sizes, and the contract with both."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from millstream.checkpoint import durable
from millstream.common import Types
from millstream.connectors.sink import PartContext, SinkContext
from millstream.datastream.connectors.file_policies import BucketAssigner, RollingPolicy
from millstream.datastream.connectors.file_system import FileSink
from millstream.plan.specs import FilesSinkSpec
from millstream.spark.io import file_writer
from millstream.spark.io.file_sink import FileCommitter, StagedPart
from millstream.spark.io.file_writer import FileWriter
from millstream.testing.connectors import check_sink
from tests.support.strategies import sampled, scaled

TRIPLE = Types.TUPLE([Types.STRING(), Types.BOOLEAN(), Types.STRING()])


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable, "_sync", lambda path, flags: os.stat(path))


def published(folder: Path) -> list[Path]:
    """The files that a plain reader sees."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(p[0] in "._" for p in path.relative_to(folder).parts)
    ]


def lines(folder: Path) -> list[str]:
    return [line for path in published(folder) for line in path.read_text().splitlines()]


def part(folder: Path, records: list[Any], epoch: int = 0, **spec: Any) -> StagedPart:
    context = PartContext(job_id="job", sink="lines", attempt=1, epoch=epoch, part=0)
    writer = FileWriter(FilesSinkSpec(path=str(folder), format="text", **spec), context)
    writer.write(records)
    return writer.finish()


def committer(folder: Path) -> FileCommitter:
    found = FileCommitter(str(folder), SinkContext(job_id="job", sink="lines", attempt=1))
    found.recover()
    return found


def test_a_file_that_is_large_enough_is_followed_by_another_one(tmp_path: Path) -> None:
    sink = committer(tmp_path)
    records = [f"{n:09d}" for n in range(2_500)]
    staged = part(tmp_path, records, part_size=1_000)
    assert [file.records for file in staged.files] == [1_000, 1_000, 500]
    sink.commit(0, [staged])
    assert sorted(lines(tmp_path)) == records
    assert len({path.name for path in published(tmp_path)}) == 3


def test_many_buckets_do_not_open_many_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_writer, "MOST_OPEN", 3)
    sink = committer(tmp_path)
    context = PartContext(job_id="job", sink="lines", attempt=1, epoch=0, part=0)
    writer = FileWriter(FilesSinkSpec(path=str(tmp_path), format="text", bucketed=True), context)
    for some in range(3):
        writer.write([(f"b={n}", False, f"{some}.{n}") for n in range(10)])
        assert len(writer.open) <= 3
    sink.commit(0, [writer.finish()])
    assert sorted(lines(tmp_path)) == sorted(f"{some}.{n}" for some in range(3) for n in range(10))


def test_a_marker_belongs_to_the_epoch_that_brought_it(tmp_path: Path) -> None:
    sink = committer(tmp_path)
    marker = tmp_path / "h=1" / "_SUCCESS"
    sink.commit(0, [part(tmp_path, [("h=1", False, "a")], 0, bucketed=True)])
    assert not marker.exists()
    sink.commit(1, [part(tmp_path, [("h=1", True, None)], 1, bucketed=True)])
    sink.commit(2, [part(tmp_path, [("h=1", False, "late")], 2, bucketed=True)])
    sink.commit(3, [part(tmp_path, [("h=1", True, None)], 3, bucketed=True)])
    assert marker.exists() and lines(tmp_path) == ["a", "late"]
    sink.take_back(2)
    assert marker.exists(), "epoch 1 has brought it, not epoch 3"
    sink.take_back(0)
    assert not marker.exists() and lines(tmp_path) == ["a"]


def read_triples(folder: Path) -> Iterable[Any]:
    for path in published(folder):
        for line in path.read_text().splitlines():
            yield (str(path.parent.relative_to(folder)), False, line)


@pytest.mark.slow
def test_a_sink_with_buckets_and_sizes_keeps_its_contract() -> None:
    def make(folder: Path) -> FileSink:
        builder = FileSink.text(str(folder)).to_builder()
        builder.with_bucket_assigner(BucketAssigner.field_bucket_assigner("x"))
        builder.with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=1))
        return builder.build()

    check_sink(
        make,
        read_triples,
        record=lambda n: (f"b={n % 2}/c={n % 3}", False, f"line {n}"),
        type_info=TRIPLE,
        crashes=scaled(3, fewest=1),
    )


def read_rows(path: Path, kind: str) -> Iterable[tuple[Any, ...]]:
    """The rows of a file, as a reader of its format gives them."""
    import fastavro
    import pyarrow.parquet as pq
    from pyarrow import csv, orc

    if kind == "json":
        return [tuple(json.loads(line)) for line in path.read_text().splitlines()]
    if kind == "avro":
        with path.open("rb") as file:
            rows: Any = fastavro.reader(file)
            return [tuple(row.values()) for row in rows]
    read = {"csv": csv.read_csv, "orc": orc.read_table, "parquet": pq.read_table}[kind]
    return [tuple(row.values()) for row in read(path).to_pylist()]


@pytest.mark.parametrize("kind", sampled(["orc", "avro", "csv", "json", "parquet"], "contract"))
def test_sinks_of_all_formats_keep_their_contract(kind: str) -> None:
    def read(folder: Path) -> Iterable[Any]:
        return [row for path in published(folder) for row in read_rows(path, kind)]

    check_sink(
        lambda folder: getattr(FileSink, kind)(str(folder)), read, crashes=scaled(3, fewest=1)
    )


def test_a_marker_is_never_there_without_all_files(tmp_path: Path) -> None:
    """A reader that waits for the marker, at every line at which a driver can die."""
    from millstream.testing.connectors.crash import Crash, CrashAt

    staged = [("h=1", False, "a"), ("h=1", True, None)]
    line = 0
    while True:
        folder = tmp_path / str(line)
        sink = committer(folder)
        files = part(folder, staged, bucketed=True)
        crash = CrashAt("millstream", line)
        with contextlib.suppress(Crash):
            crash.run(partial(sink.commit, 0, [files]))
        if (folder / "h=1" / "_SUCCESS").exists():
            assert lines(folder) == ["a"]
        again = FileCommitter(str(folder), SinkContext(job_id="job", sink="lines", attempt=2))
        if again.recover() == 0:
            assert (folder / "h=1" / "_SUCCESS").exists() and lines(folder) == ["a"]
        if crash.lines < line:
            break
        line += 7
