"""What a file sink has published of an epoch that was never committed is taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from millstream.plan.specs import FilesSinkSpec
from millstream.spark.file_sink import FileSink, take_back


def sink(folder: Path) -> FileSink:
    return FileSink(FilesSinkSpec(path=str(folder), format="text"), None, "job", "lines")


def manifest(folder: Path) -> dict[str, Any]:
    return {
        "details": {
            "lines": {"files": str(folder), "query": 0},
            "count": {"query": 0},
        }
    }


def published(folder: Path) -> list[str]:
    return sorted(p.read_text().strip() for p in folder.iterdir() if p.is_file())


def write(to: FileSink, epochs: range) -> None:
    for epoch in epochs:
        to.commit(epoch, [to.stage([f"epoch {epoch}"], epoch, 0)])


def test_later_epochs_go_and_earlier_ones_stay(tmp_path: Path) -> None:
    write(sink(tmp_path), range(10, 14))
    take_back(manifest(tmp_path), "job", first_epoch=10, epochs={0: 2})
    assert published(tmp_path) == ["epoch 10", "epoch 11", "epoch 12"]
    again = sink(tmp_path)
    again.recover()
    assert not again.is_committed(13) and again.is_committed(12)
    write(again, range(13, 14))
    assert published(tmp_path) == [f"epoch {n}" for n in range(10, 14)]


def test_other_jobs_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    write(sink(tmp_path), range(3))
    take_back(manifest(tmp_path), "another job", first_epoch=0, epochs={0: 0})
    assert len(published(tmp_path)) == 3


def test_a_taking_back_that_was_interrupted_is_finished(tmp_path: Path) -> None:
    to = sink(tmp_path)
    write(to, range(2))
    own = tmp_path / "_millstream" / "job-lines"
    (own / "00000001.json").rename(own / "00000001.retracted")
    sink(tmp_path).recover()
    assert published(tmp_path) == ["epoch 0"]
    assert not list(own.glob("*.retracted"))
