"""Snapshots of loops: whole or not there, and only the loop's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from millstream.common.errors import CheckpointError
from millstream.iteration.kernel.resident import Rhythm
from millstream.iteration.kernel.snapshots import Snapshots

IDENTITY = {"name": "ranks"}


def snapshots(folder: Path, identity: dict[str, str] = IDENTITY) -> Snapshots:
    return Snapshots(str(folder), "ranks-1", identity)


def taken(folder: Path, *steps: int) -> Snapshots:
    found = snapshots(folder)
    found.claim()
    for step in steps:
        parts = [found.write(step, task, {"n": np.array([step, task])}) for task in range(2)]
        found.commit(step, parts)
    return found


def test_the_last_one_that_is_whole_counts(tmp_path: Path) -> None:
    found = taken(tmp_path, 2, 4)
    found.write(6, 0, {"n": np.array([6, 0])})
    last = snapshots(tmp_path).last()
    assert last is not None
    assert (last.step, last.tasks) == (4, 2)
    assert found.read(last, 1)["n"].tolist() == [4, 1]


def test_old_ones_go(tmp_path: Path) -> None:
    taken(tmp_path, 1, 2, 10, 11)
    names = sorted(path.name for path in (tmp_path / "ranks-1").iterdir())
    assert names == ["10", "11", "manifest-10.json", "manifest-11.json", "owner"]


def test_the_end_of_a_loop_leaves_nothing(tmp_path: Path) -> None:
    taken(tmp_path, 1).forget()
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_part_is_an_error(tmp_path: Path) -> None:
    found = taken(tmp_path, 3)
    last = found.last()
    assert last is not None
    part = tmp_path / "ranks-1" / "3" / "0"
    part.write_bytes(part.read_bytes()[:-1] + b"x")
    with pytest.raises(CheckpointError, match=r"CHECKPOINT_DAMAGED.*3/0.*checksum"):
        found.read(last, 0)
    part.unlink()
    with pytest.raises(CheckpointError, match=r"CHECKPOINT_DAMAGED.*3/0"):
        found.read(last, 0)


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 1, "loop": {}, "checksums": [-1]}'])
def test_a_damaged_manifest_is_an_error(tmp_path: Path, text: str) -> None:
    found = taken(tmp_path, 3)
    (tmp_path / "ranks-1" / "manifest-3.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"CHECKPOINT_DAMAGED.*manifest-3\.json"):
        found.last()


def test_a_snapshot_of_another_loop_is_refused(tmp_path: Path) -> None:
    taken(tmp_path, 3)
    with pytest.raises(CheckpointError, match="LOOP_OTHER_SNAPSHOT"):
        snapshots(tmp_path, {"name": "hubs"}).last()


def test_tasks_of_an_earlier_run_commit_nothing(tmp_path: Path) -> None:
    earlier = taken(tmp_path, 2)
    snapshots(tmp_path).claim()
    with pytest.raises(CheckpointError, match="LOOP_TAKEN_OVER"):
        earlier.commit(4, [earlier.write(4, 0, None)])
    last = snapshots(tmp_path).last()
    assert last is not None
    assert last.step == 2


def test_a_folder_that_only_the_driver_sees_is_an_error(tmp_path: Path) -> None:
    found = snapshots(tmp_path)
    parts = [found.write(2, 0, None)]
    with pytest.raises(CheckpointError, match=r"LOOP_SNAPSHOT.*not there for a worker"):
        found.commit(2, parts)


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="LOOP_SNAPSHOT"):
        snapshots(tmp_path / "file").claim()
    with pytest.raises(CheckpointError, match="LOOP_SNAPSHOT"):
        snapshots(tmp_path / "file").write(1, 0, None)


def test_snapshots_by_the_time() -> None:
    times = iter([5.0, 14.0, 15.0, 16.0, 30.0])
    rhythm = Rhythm(None, 10.0, clock=lambda: next(times))
    assert [rhythm.is_due(step) for step in range(5)] == [False, False, True, False, True]
