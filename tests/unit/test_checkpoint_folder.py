"""Checkpoint folders: what is resumed, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millstream.checkpoint.folder import CheckpointFolder
from millstream.common.errors import CheckpointError


def manifest(*uids: str, slots: int = 2) -> dict[str, Any]:
    operators = [{"uid": uid, "kind": "keyed", "query": 0, "level": 1} for uid in uids]
    return {"operators": operators, "slots": slots, "parallelism": 2, "mode": "arrival"}


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
