"""Whether the state processor unpickles what it reads, if the user does not say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.checkpoint.folder import CheckpointFolder
from millstream.checkpoint.savepoints import Savepoint
from millstream.common.errors import CheckpointError
from millstream.state_processor import SavepointReader, SavepointWriter

Foreign = Callable[[Path], None]


@pytest.fixture
def savepoint(tmp_path: Path) -> Path:
    (tmp_path / "one").mkdir()
    Savepoint(
        path=str(tmp_path / "one"),
        id="abc",
        job_id="job",
        name="count",
        epoch=7,
        created_ms=1,
        operators={},
        states={},
        sources={},
        time={},
        tables=(),
        channel_order="arrival",
    ).write()
    return tmp_path / "one"


def trusted(path: Path, choice: bool | None = None) -> tuple[bool, bool]:
    """What a reader and a writer make of it."""
    spark: object = None
    reader = SavepointReader.read(spark, str(path), trusted=choice)  # type: ignore[arg-type]
    writer = SavepointWriter.from_existing(spark, str(path), trusted=choice)  # type: ignore[arg-type]
    return reader._trusted, writer._trusted


def test_a_savepoint_of_ones_own_is_trusted(savepoint: Path) -> None:
    assert trusted(savepoint) == (True, True)
    assert trusted(savepoint, False) == (False, False)


def test_a_savepoint_of_somebody_else_is_not(savepoint: Path, foreign: Foreign) -> None:
    foreign(savepoint)
    assert trusted(savepoint) == (False, False)
    assert trusted(savepoint.parent) == (False, False), "found in the folder above"
    assert trusted(savepoint, True) == (True, True)


def test_nor_is_one_that_everybody_can_write_to(savepoint: Path) -> None:
    (savepoint / "savepoint.json").chmod(0o666)
    assert trusted(savepoint) == (False, False)


@pytest.mark.parametrize("part", ["job", "job/000001", "job/000001/job.json"])
def test_a_checkpoint_of_somebody_else_is_refused(
    tmp_path: Path, foreign: Foreign, part: str
) -> None:
    manifest = {
        "operators": [], "details": {}, "queries": [], "slots": 1, "parallelism": 1, "mode": "arrival",
    }  # fmt: skip
    CheckpointFolder(str(tmp_path / "job")).open_run(manifest)
    foreign(tmp_path / part)
    with pytest.raises(CheckpointError) as caught:
        SavepointReader.read(None, str(tmp_path / "job"))  # type: ignore[arg-type]
    assert caught.value.code == "NOT_TRUSTED"
