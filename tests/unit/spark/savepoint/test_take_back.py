"""What a file sink has published of an epoch that was never committed is taken back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from millstream.checkpoint.sinks import take_back
from millstream.common.errors import CheckpointError, MillstreamError
from millstream.connectors.sink import PartContext, SinkContext
from millstream.datastream.connectors.file_system import FileSink
from millstream.spark.io.file_sink import FileCommitter


def sink(folder: Path, attempt: int = 1) -> FileCommitter:
    found = FileCommitter(str(folder), SinkContext(job_id="job", sink="lines", attempt=attempt))
    found.recover()
    return found


def manifest(folder: Path) -> dict[str, Any]:
    return {
        "details": {
            "lines": {"files": str(folder), "query": 0},
            "count": {"query": 0},
        }
    }


def published(folder: Path) -> list[str]:
    return sorted(p.read_text().strip() for p in folder.iterdir() if p.is_file())


def write(to: FileCommitter, epochs: range) -> None:
    place = to.place
    for epoch in epochs:
        context = PartContext(
            job_id=place.job, sink=place.sink, attempt=to.attempt, epoch=epoch, part=0
        )
        writer = FileSink.text(place.folder).open_part(context)
        writer.write([f"epoch {epoch}"])
        to.commit(epoch, [writer.finish()])


def stopped(epoch: int) -> None:
    """Stand for a driver that is stopped between its commit and the publication."""
    raise KeyboardInterrupt


def test_later_epochs_go_and_earlier_ones_stay(tmp_path: Path) -> None:
    write(sink(tmp_path), range(10, 14))
    take_back(manifest(tmp_path), "job", first_epoch=10, epochs={0: 2})
    assert published(tmp_path) == ["epoch 10", "epoch 11", "epoch 12"]
    again = sink(tmp_path, attempt=2)
    assert not again.is_committed(13) and again.is_committed(12)
    write(again, range(13, 14))
    assert published(tmp_path) == [f"epoch {n}" for n in range(10, 14)]


def test_a_uid_that_leads_elsewhere_stays_in_the_folder(tmp_path: Path) -> None:
    folder, uid = tmp_path / "out", "../../../elsewhere"
    to = FileCommitter(str(folder), SinkContext(job_id="job", sink=uid, attempt=1))
    to.recover()
    write(to, range(2))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    details = {"details": {uid: {"files": str(folder), "query": 0}}}
    take_back(details, "job", first_epoch=0, epochs={0: 0})
    assert published(folder) == ["epoch 0"]


def test_a_folder_that_is_not_where_it_was_is_refused_before_anything_is_done(
    tmp_path: Path,
) -> None:
    """It would keep the epoch, and a restored job would write it again."""
    write(sink(tmp_path / "here"), range(2))
    two = manifest(tmp_path / "here")
    two["details"]["other"] = {"files": str(tmp_path / "moved"), "query": 0}
    with pytest.raises(CheckpointError, match=r"OUTPUT_FOLDER_GONE.*moved"):
        take_back(two, "job", first_epoch=0, epochs={0: 0})
    assert published(tmp_path / "here") == ["epoch 0", "epoch 1"]
    # What the hint says helps.
    (tmp_path / "moved" / "_millstream" / "job-other").mkdir(parents=True)
    take_back(two, "job", first_epoch=0, epochs={0: 0})
    assert published(tmp_path / "here") == ["epoch 0"]


def test_other_jobs_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    write(sink(tmp_path), range(3))
    (tmp_path / "_millstream" / "another job-lines").mkdir()
    take_back(manifest(tmp_path), "another job", first_epoch=0, epochs={0: 0})
    assert len(published(tmp_path)) == 3


def test_a_taking_back_that_was_interrupted_is_finished(tmp_path: Path) -> None:
    to = sink(tmp_path)
    write(to, range(2))
    own = tmp_path / "_millstream" / "job-lines"
    (own / "00000001.json").rename(own / "00000001.retracted")
    sink(tmp_path, attempt=2)
    assert published(tmp_path) == ["epoch 0"]
    assert not list(own.glob("*.retracted"))


def test_a_driver_that_only_seemed_to_be_dead_cannot_commit_again_what_was_taken_back(
    tmp_path: Path,
) -> None:
    to = sink(tmp_path)
    write(to, range(2))
    take_back(manifest(tmp_path), "job", first_epoch=0, epochs={0: 0})
    with pytest.raises(MillstreamError, match="OUTPUT_FOLDER_GONE"):
        write(to, range(1, 2))
    assert published(tmp_path) == ["epoch 0"]


def test_an_epoch_that_is_written_again_after_it_was_taken_back_is_not_taken_as_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(sink(tmp_path), range(2))
    take_back(manifest(tmp_path), "job", first_epoch=0, epochs={0: 0})
    again = sink(tmp_path, attempt=2)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(again, "_publish", stopped)
        write(again, range(1, 2))
    assert published(tmp_path) == ["epoch 0"]
    sink(tmp_path, attempt=3)
    assert published(tmp_path) == ["epoch 0", "epoch 1"]


def test_a_planted_manifest_takes_no_foreign_file_back(tmp_path: Path) -> None:
    write(sink(tmp_path), range(1))
    foreign = tmp_path / "foreign.txt"
    foreign.write_text("mine")
    own = tmp_path / "_millstream" / "job-lines"
    for listed in (["staging/x", "foreign.txt"], [str(foreign), "part-job-x-00000005-0000.txt"]):
        (own / "00000005.json").write_text(json.dumps({"version": 2, "files": [listed]}))
        with pytest.raises(CheckpointError, match=r"CHECKPOINT_DAMAGED.*00000005.json"):
            take_back(manifest(tmp_path), "job", first_epoch=0, epochs={0: 0})
        assert foreign.read_text() == "mine"
