"""A savepoint of a checkpoint whose job does not run, or only seems not to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from millstream.checkpoint.folder import FORMAT
from millstream.checkpoint.lease import Lease, current_holder
from millstream.common.errors import CheckpointError
from millstream.connectors.sink import PartContext, SinkContext
from millstream.datastream.connectors.file_system import FileSink
from millstream.spark.io.file_sink import FileCommitter
from millstream.spark.savepoint import take as module
from millstream.spark.savepoint.take import take_offline

NO_SPARK: Any = None


def commit(run: Path, epoch: int) -> None:
    """Write what Spark writes when an epoch is planned and committed."""
    for folder, text in (("offsets", '{"batchWatermarkMs":0}'), ("commits", '{"nextBatch":0}')):
        (run / "query-0" / folder).mkdir(parents=True, exist_ok=True)
        (run / "query-0" / folder / f"{epoch}").write_text(f"v1\n{text}\n")


def sink(folder: Path, attempt: int = 1) -> FileCommitter:
    found = FileCommitter(str(folder), SinkContext(job_id="job", sink="lines", attempt=attempt))
    found.recover()
    return found


def write(to: FileCommitter, epoch: int) -> None:
    place = to.place
    context = PartContext(
        job_id=place.job,
        sink=place.sink,
        attempt=to.attempt,
        epoch=epoch,
        part=0,
        task_attempt=epoch,
    )
    writer = FileSink.text(place.folder).open_part(context)
    writer.write([f"epoch {epoch}"])
    to.commit(epoch, [writer.finish()])


def published(folder: Path) -> list[str]:
    return sorted(p.read_text().strip() for p in folder.iterdir() if p.is_file())


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def run(tmp_path: Path, out: Path) -> Path:
    """A run with two committed epochs and a third one that only its file sink has."""
    run = tmp_path / "checkpoint" / "000001"
    run.mkdir(parents=True)
    settings = {"slots": 2, "parallelism": 2, "mode": "arrival", "queries": [0], "operators": []}
    details = {"lines": {"number": 1, "query": 0, "files": str(out)}}
    manifest = {"format": FORMAT, "job_id": "job", "first_epoch": 0, "restored": None}
    (run / "job.json").write_text(json.dumps({**manifest, **settings, "details": details}))
    to = sink(out)
    for epoch in range(3):
        write(to, epoch)
    commit(run, 0)
    commit(run, 1)
    return run


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[dict[int, int]]:
    """The epochs that savepoints were made of; the tables are not written."""
    found: list[dict[int, int]] = []

    def take(
        spark: Any, run: Any, manifest: Any, path: str, epochs: dict[int, int], **_: Any
    ) -> str:
        found.append(epochs)
        return path

    monkeypatch.setattr(module, "take", take)
    return found


def test_what_a_dead_driver_has_published_too_much_is_taken_back(
    run: Path, out: Path, taken: list[dict[int, int]]
) -> None:
    assert take_offline(NO_SPARK, str(run), "saved") == "saved"
    assert taken == [{0: 1}] and published(out) == ["epoch 0", "epoch 1"]
    holder = current_holder(str(run.parent))
    assert holder is not None and not holder.alive, "the next driver need not wait"


def test_nothing_is_taken_back_while_a_driver_works_there(
    run: Path, out: Path, taken: list[dict[int, int]]
) -> None:
    """A supervisor may start the job again after somebody has seen that it does not run."""
    lease = Lease.take(str(run.parent), "the driver that was started again")
    before = published(out)
    with pytest.raises(CheckpointError, match="CHECKPOINT_IN_USE"):
        take_offline(NO_SPARK, str(run), "saved")
    lease.check()
    assert published(out) == before and taken == []
    take_offline(NO_SPARK, str(run), "saved", only_to_read=True)
    take_offline(NO_SPARK, str(run), "saved", epoch=0)
    assert published(out) == before and taken == [{0: 1}, {0: 0}]


def test_an_epoch_that_is_committed_until_the_lease_is_held_counts(
    run: Path, out: Path, taken: list[dict[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    take = Lease.take

    def taken_late(directory: str, holder: str) -> Lease:
        commit(run, 2)
        return take(directory, holder)

    monkeypatch.setattr(Lease, "take", taken_late)
    take_offline(NO_SPARK, str(run), "saved")
    assert taken == [{0: 2}] and published(out) == ["epoch 0", "epoch 1", "epoch 2"]
