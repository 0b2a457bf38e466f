"""Nothing is left in the folder for temporary files."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest

from millstream.checkpoint.folder import CheckpointFolder
from millstream.common.errors import CheckpointError
from millstream.plan.graph import JobGraph
from millstream.plan.options import JobOptions
from millstream.spark.job import submit as job
from millstream.spark.job import temporary
from millstream.state_processor import SavepointReader, reader

SOURCE = Path(__file__).resolve().parents[4] / "src" / "millstream"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(temporary, "_made", set())
    return tmp_path / "temporary"


def fail(*args: object, **options: object) -> Any:
    raise CheckpointError("SAVEPOINT_DAMAGED", "it cannot be used")


def test_a_job_that_cannot_begin_from_its_savepoint(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("plan", "with_numbers", "manifest_of", "refuse_unfit"):
        monkeypatch.setattr(job, name, lambda *args: {})
    monkeypatch.setattr(job, "new_manifest", lambda *args: {"job_id": "x", "first_epoch": 0})
    monkeypatch.setattr(job, "_prepare", fail)
    with pytest.raises(CheckpointError, match="SAVEPOINT_DAMAGED"):
        job._open_place(JobGraph(), JobOptions(), "4.3.0", True)
    assert os.listdir(place) == []


def test_what_a_late_task_makes_anew_goes_when_the_process_ends(place: Path) -> None:
    folder = temporary.temporary_folder()
    temporary.forget_folder(folder)
    assert os.listdir(place) == []
    Path(folder, "query-0/state").mkdir(parents=True)
    temporary._forget_all()
    assert os.listdir(place) == []


def test_a_checkpoint_that_cannot_be_read_as_a_savepoint(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"slots": 1, "parallelism": 1, "mode": "arrival", "queries": []}
    CheckpointFolder(f"{tmp_path}/job").open_run({"operators": [], "details": {}, **settings})
    monkeypatch.setattr(reader, "take_offline", fail)
    with pytest.raises(CheckpointError, match="SAVEPOINT_DAMAGED"):
        SavepointReader.read(None, f"{tmp_path}/job")  # type: ignore[arg-type]
    assert os.listdir(place) == []


def test_examples_in_docstrings_leave_nothing() -> None:
    found = [
        str(path) for path in SOURCE.rglob("*.py") if re.search(r">>>.*mkdtemp", path.read_text())
    ]
    assert found == []
