"""Compaction: each record once for a plain reader, whatever fails."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from millstream.checkpoint import durable
from millstream.common import Types
from millstream.common.errors import CheckpointError, PlanError
from millstream.connectors.sink import Committer, PartContext, SinkContext
from millstream.datastream.connectors.file_policies import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
)
from millstream.datastream.connectors.file_system import FileSink
from millstream.spark.io import file_sink
from millstream.spark.io.file_compaction import _manifest, _numbers, _read, _waiting
from millstream.spark.io.sink_folder import SinkFolder
from millstream.testing.connectors import check_sink
from millstream.testing.connectors.crash import Crash, CrashAt
from tests.support.strategies import sampled, scaled

CONCAT = FileCompactor.concat_file_compactor()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable, "_sync", lambda path, flags: os.stat(path))


def every(epochs: int) -> FileCompactStrategy:
    return FileCompactStrategy.builder().enable_compaction_on_checkpoint(epochs).build()


def compacting(
    folder: Path, epochs: int = 2, compactor: FileCompactor = CONCAT, **more: Any
) -> FileSink:
    builder = FileSink.text(str(folder)).to_builder().enable_compact(every(epochs), compactor)
    return builder._with(**more).build()


def visible(folder: Path) -> list[Path]:
    """The files that a plain reader sees."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(p[0] in "._" for p in path.relative_to(folder).parts)
    ]


def lines(folder: Path) -> list[str]:
    return [line for path in visible(folder) for line in path.read_text().splitlines()]


def start(sink: FileSink, attempt: int = 1) -> Committer:
    committer = sink.open_committer(SinkContext(job_id="job", sink="lines", attempt=attempt))
    committer.recover()
    return committer


def staged(sink: FileSink, epoch: int, records: list[Any], attempt: int = 1, part: int = 0) -> Any:
    context = PartContext(job_id="job", sink="lines", attempt=attempt, epoch=epoch, part=part)
    writer = sink.open_part(context)
    writer.write(records)
    return writer.finish()


def write(sink: FileSink, committer: Committer, *epochs: int, attempt: int = 1) -> None:
    for epoch in epochs:
        parts = [staged(sink, epoch, [f"{epoch}.{n}"], attempt, n) for n in range(2)]
        committer.commit(epoch, parts)


def test_files_of_some_epochs_become_one_before_they_are_seen(tmp_path: Path) -> None:
    sink = compacting(tmp_path, 3)
    committer = start(sink)
    write(sink, committer, 0, 1)
    assert visible(tmp_path) == []
    write(sink, committer, 2)
    (path,) = visible(tmp_path)
    assert path.name.startswith("compacted-part-")
    assert path.read_text().split() == ["0.0", "0.1", "1.0", "1.1", "2.0", "2.1"], "in order"
    write(sink, committer, 3, 4, 5)
    assert len(visible(tmp_path)) == 2 and len(lines(tmp_path)) == 12


def test_what_waits_at_the_end_is_published(tmp_path: Path) -> None:
    sink = compacting(tmp_path, 3)
    committer = start(sink)
    write(sink, committer, 0, 1, 2, 3)
    committer.close()
    assert sorted(lines(tmp_path)) == sorted(f"{e}.{n}" for e in range(4) for n in range(2))
    assert len(visible(tmp_path)) == 2


def test_a_size_is_enough_too(tmp_path: Path) -> None:
    strategy = FileCompactStrategy.builder().set_size_threshold(16).build()
    sink = FileSink.text(str(tmp_path)).to_builder().enable_compact(strategy, CONCAT).build()
    committer = start(sink)
    write(sink, committer, 0)
    assert visible(tmp_path) == [], "8 bytes"
    write(sink, committer, 1)
    assert len(visible(tmp_path)) == 1


def test_files_may_be_published_as_they_are(tmp_path: Path) -> None:
    sink = compacting(tmp_path, 2, FileCompactor.identical_file_compactor())
    write(sink, start(sink), 0, 1)
    assert len(visible(tmp_path)) == 4 and sorted(lines(tmp_path)) == ["0.0", "0.1", "1.0", "1.1"]


def test_each_bucket_has_its_own_files_and_a_complete_one_does_not_wait(tmp_path: Path) -> None:
    hours = BucketAssigner.event_time_bucket_assigner()
    sink = compacting(tmp_path, 3, buckets=hours)
    committer = start(sink)
    committer.commit(0, [staged(sink, 0, [("h=1", False, "a"), ("h=2", False, "b")])])
    committer.commit(1, [staged(sink, 1, [("h=1", False, "c"), ("h=1", True, None)])])
    assert lines(tmp_path) == ["a", "c"] and (tmp_path / "h=1/_SUCCESS").exists()
    assert len(visible(tmp_path)) == 1


def test_parquet_is_merged(tmp_path: Path) -> None:
    builder = FileSink.parquet(str(tmp_path)).to_builder()
    sink = builder.enable_compact(every(2), CONCAT).build()
    committer = start(sink)
    for epoch in range(2):
        committer.commit(epoch, [staged(sink, epoch, [(epoch, "x")])])
    (path,) = visible(tmp_path)
    assert pq.ParquetFile(path).read().to_pydict() == {"f0": [0, 1], "f1": ["x", "x"]}


# -- crashes ---------------------------------------------------------------------------------------


def all_lines(folder: Path) -> Iterable[str]:
    """What a plain reader sees, and what waits; a file is not seen and waiting at once."""
    yield from lines(folder)
    for own in folder.glob("_millstream/*"):
        job, _, name = own.name.partition("-")
        place = SinkFolder(pafs.LocalFileSystem(), str(folder), job, name)
        manifests = {n: _read(place, _manifest(place, n)) for n in _numbers(place)}
        for infos in _waiting(place, manifests).values():
            for info in infos:
                yield from Path(info.path).read_text().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("epochs", sampled([1, 2], "compaction"))
def test_a_sink_with_compaction_keeps_its_contract(epochs: int) -> None:
    check_sink(
        lambda folder: compacting(folder, epochs),
        lines if epochs == 1 else all_lines,
        record=lambda n: f"line {n}",
        type_info=Types.STRING(),
        crashes=scaled(5, fewest=2),
    )


def test_no_reader_sees_a_record_twice_wherever_a_driver_dies(tmp_path: Path) -> None:
    """A plain listing between any two lines of the commit that merges."""
    line = 0
    while True:
        folder = tmp_path / str(line)
        sink = compacting(folder, 2)
        committer = start(sink)
        write(sink, committer, 0)
        parts = [staged(sink, 1, [f"1.{n}"], 1, n) for n in range(2)]
        crash = CrashAt("millstream", line)
        with contextlib.suppress(Crash):
            crash.run(partial(committer.commit, 1, parts))
        seen = Counter(lines(folder))
        assert set(seen.values()) <= {1}
        again = start(sink, attempt=2)
        assert Counter(lines(folder)) >= seen, "what was seen stays"
        write(sink, again, 1, attempt=2)
        write(sink, again, 2, attempt=2)
        again.close()
        assert sorted(lines(folder)) == sorted(f"{e}.{n}" for e in range(3) for n in range(2))
        if crash.lines < line:
            break
        line += max(1, 138 // scaled(6))


def test_a_zombie_merges_nothing(tmp_path: Path) -> None:
    sink = compacting(tmp_path, 2)
    zombie = start(sink)
    write(sink, zombie, 0, 1, 2)
    start(sink, attempt=2)
    with contextlib.suppress(FileNotFoundError):
        zombie.close()
    assert sorted(lines(tmp_path)) == ["0.0", "0.1", "1.0", "1.1"]
    with pytest.raises(CheckpointError, match="LEASE_LOST"):
        write(sink, zombie, 3)


# -- taking back, switching off, cleaning up -------------------------------------------------------


def test_an_epoch_that_is_merged_with_others_is_taken_back(tmp_path: Path) -> None:
    sink = compacting(tmp_path, 2)
    committer = start(sink)
    write(sink, committer, 0, 1, 2, 3, 4)
    offline = type(sink).from_config(sink.to_config())
    offline.open_committer(SinkContext(job_id="job", sink="lines")).take_back(2)
    assert sorted(lines(tmp_path)) == ["0.0", "0.1", "1.0", "1.1", "2.0", "2.1"]
    again = start(sink, attempt=2)
    write(sink, again, 3, 4, attempt=2)
    again.close()
    assert sorted(lines(tmp_path)) == sorted(f"{e}.{n}" for e in range(5) for n in range(2))


def test_a_job_that_does_not_merge_any_more_publishes_what_waits(tmp_path: Path) -> None:
    sink = compacting(tmp_path, 9)
    write(sink, start(sink), 0, 1)
    plain = sink.to_builder().disable_compact().build()
    again = start(plain, attempt=2)
    assert sorted(lines(tmp_path)) == ["0.0", "0.1", "1.0", "1.1"]
    write(plain, again, 2, attempt=2)
    assert len(lines(tmp_path)) == 6


def test_merged_files_are_deleted_when_their_epochs_cannot_be_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_sink, "KEPT_MANIFESTS", 4)
    sink = compacting(tmp_path, 2)
    committer = start(sink)
    write(sink, committer, *range(20))
    own = tmp_path / "_millstream/job-lines"
    assert len([p for p in (own / "pending").rglob("*") if p.is_file()]) <= 14
    assert len(list((own / "compacted").glob("*.json"))) <= 4
    again = start(sink, attempt=2)
    again.close()
    assert sorted(lines(tmp_path)) == sorted(f"{e}.{n}" for e in range(20) for n in range(2))


@pytest.mark.parametrize("strategy", [(None, None, 1), (0, None, 1), (None, 0, 1), (1, None, 0)])
def test_strategies_that_never_merge(strategy: tuple[Any, Any, int]) -> None:
    builder = FileCompactStrategy.builder()
    epochs, size, threads = strategy
    builder.set_num_compact_threads(threads)
    if epochs is not None:
        builder.enable_compaction_on_checkpoint(epochs)
    if size is not None:
        builder.set_size_threshold(size)
    with pytest.raises(PlanError, match="BAD_COMPACTION"):
        builder.build()
