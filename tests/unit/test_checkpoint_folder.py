"""Checkpoint folders: what is resumed, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millstream.checkpoint.folder import CheckpointFolder
from millstream.common.errors import CheckpointError


def manifest(*uids: str, slots: int = 2, **signatures: str) -> dict[str, Any]:
    operators = [{"uid": uid, "kind": "keyed", "query": 0, "level": 1} for uid in uids]
    details = {
        uid: {
            "number": number,
            "kind": "keyed",
            "hosted": True,
            "named": False,
            "signature": signatures.get(uid, f"process {uid}"),
        }
        for number, uid in enumerate(uids, start=1)
    }
    settings = {"slots": slots, "parallelism": 2, "mode": "arrival"}
    return {"operators": operators, "details": details, **settings}


def test_an_unfinished_run_is_resumed_under_its_job_id(tmp_path: Path) -> None:
    first = CheckpointFolder(str(tmp_path)).open_run(manifest("a"))
    again = CheckpointFolder(str(tmp_path)).open_run(manifest("a"))
    assert (again.path, again.job_id, again.resumed) == (first.path, first.job_id, True)


def test_a_finished_run_is_followed_by_a_new_one(tmp_path: Path) -> None:
    folder = CheckpointFolder(str(tmp_path))
    first = folder.open_run(manifest("a"))
    folder.finish(first)
    second = folder.open_run(manifest("b"))
    assert second.path != first.path and second.job_id != first.job_id and not second.resumed


def test_a_changed_program_is_refused_with_what_changed(tmp_path: Path) -> None:
    folder = CheckpointFolder(str(tmp_path))
    folder.open_run(manifest("a", "b"))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(CheckpointError) as caught:
        folder.open_run(manifest("b", "c", slots=4))
    text = str(caught.value)
    assert "- operator 'a' (keyed) is gone" in text
    assert "+ operator 'c' (keyed) is new" in text
    assert "slots: 2 -> 4" in text
    assert sorted(tmp_path.rglob("*")) == before


def test_another_operator_in_the_place_of_one_without_a_uid_is_refused(tmp_path: Path) -> None:
    folder = CheckpointFolder(str(tmp_path))
    folder.open_run(manifest("a", "b", a="process Count", b="process Sum"))
    with pytest.raises(CheckpointError) as caught:
        folder.open_run(manifest("a", "b", a="process Sum", b="process Count"))
    assert "'a' has no uid, and where 'process Count' was, there is 'process Sum'" in str(
        caught.value
    )


def test_a_damaged_manifest_is_named(tmp_path: Path) -> None:
    folder = CheckpointFolder(str(tmp_path))
    run = folder.open_run(manifest("a"))
    Path(run.path, "job.json").write_text('{"format": 2, "job')
    with pytest.raises(CheckpointError, match=r"CHECKPOINT_DAMAGED.*000001/job.json"):
        folder.open_run(manifest("a"))


class Saved:
    """What an origin asks of a savepoint."""

    def __init__(self, name: str) -> None:
        self.id, self.path, self.job_id, self.epoch = name, f"/saved/{name}", "job", 7
        self.numbers = {"a": 4}


def test_a_savepoint_begins_a_new_run_that_counts_on(tmp_path: Path) -> None:
    folder = CheckpointFolder(str(tmp_path))
    old = folder.open_run(manifest("a"))
    origin = folder.origin(Saved("one"))
    assert origin.numbers == {"a": 4}
    run = folder.open_run(manifest("a"), origin)
    assert run.path != old.path and run.job_id != old.job_id and not run.resumed
    assert (run.first_epoch, run.savepoint) == (8, "/saved/one")


def test_a_run_that_began_from_a_savepoint_goes_on_if_it_is_named_again(tmp_path: Path) -> None:
    folder = CheckpointFolder(str(tmp_path))
    run = folder.open_run(manifest("a"), folder.origin(Saved("one")))
    assert folder.origin(Saved("one")).stored is None, "no epoch was planned yet: begin anew"
    offsets = Path(run.path, "query-1", "offsets")
    offsets.mkdir(parents=True)
    # The first ones are removed in time.
    (offsets / "104").touch()
    again = folder.open_run(manifest("a"), folder.origin(Saved("one")))
    assert (again.path, again.resumed, again.first_epoch) == (run.path, True, 8)
    other = folder.open_run(manifest("a"), folder.origin(Saved("two")))
    assert other.path != run.path
