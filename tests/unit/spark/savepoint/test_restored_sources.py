"""The files that a source has read, as a savepoint lists them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from millstream.checkpoint.folder import Run
from millstream.checkpoint.savepoints import Savepoint
from millstream.common.errors import CheckpointError
from millstream.spark.savepoint.restore import note_sources


def savepoint(folder: Path) -> Savepoint:
    files = {"lines": {"source": "files", "offset": None, "files": "sources/lines.json"}}
    texts: dict[str, Any] = dict.fromkeys(("id", "job_id", "name", "channel_order"), "x")
    parts: dict[str, Any] = {"operators": {}, "states": {}, "time": {}, "tables": ()}
    (folder / "sources").mkdir(parents=True)
    return Savepoint(path=str(folder), epoch=1, created_ms=1, sources=files, **texts, **parts)


def test_a_run_knows_the_files_that_were_read(tmp_path: Path) -> None:
    saved, run = savepoint(tmp_path / "saved"), Run(str(tmp_path / "run"), "job", False)
    (tmp_path / "saved/sources/lines.json").write_text(json.dumps(["/in/a", "/in/b"]))
    note_sources(saved, run)
    assert run.files_read("lines") == ["/in/a", "/in/b"]


@pytest.mark.parametrize("text", [None, "", '["/in/a"', "{}", "7", "[7]", "[" * 100_000])
def test_a_list_that_is_none_is_damage(tmp_path: Path, text: str | None) -> None:
    saved, run = savepoint(tmp_path / "saved"), Run(str(tmp_path / "run"), "job", False)
    if text is not None:
        (tmp_path / "saved/sources/lines.json").write_text(text)
    with pytest.raises(CheckpointError) as caught:
        note_sources(saved, run)
    assert caught.value.code == "SAVEPOINT_DAMAGED"
    assert "sources/lines.json" in str(caught.value)
