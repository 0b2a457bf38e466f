"""Every JSON file of a checkpoint, savepoint or sink that is damaged gives an error with its name."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from millstream.checkpoint.folder import CheckpointFolder, Run
from millstream.checkpoint.savepoints import Savepoint
from millstream.checkpoint.small_files import Unreadable, read_small
from millstream.common.errors import CheckpointError
from millstream.spark.io.sink_folder import SinkFolder
from tests.support.strategies import thinned

Ask = Callable[[Path], object]
LOCAL = pafs.LocalFileSystem()
SINK = SinkFolder(LOCAL, "/out", "job", "lines")

FILES: dict[str, Ask] = {
    "job/000001/job.json": lambda root: CheckpointFolder(f"{root}/job").origin(),
    "job/000001/states.json": lambda root: Run(f"{root}/job/000001", "job", True).states(),
    "job/000001/restored/sources.json": lambda root: Run(
        f"{root}/job/000001", "job", True, savepoint="/sp"
    ).sources(),
    "saved/savepoint.json": lambda root: Savepoint.load(f"{root}/saved"),
    "out/_millstream/job-lines/00000003.json": lambda root: SinkFolder(
        LOCAL, f"{root}/out", "job", "lines"
    ).files(f"{root}/out/_millstream/job-lines/00000003.json"),
}
"""Who reads each file."""

OWN_SHAPE = {
    "job/000001/job.json": {"format": 3, "job_id": "../x"},
    "job/000001/states.json": {"count": {"total": 7}},
    "job/000001/restored/sources.json": {"lines": {"files_read": [7]}},
    "saved/savepoint.json": {"format": 1, "id": 7},
    "out/_millstream/job-lines/00000003.json": {"version": 2, "files": [[1, 2]]},
}
"""A JSON object of which a field is not what it has to be."""

TEXTS = {
    "nothing": "",
    "cut short": '{"format": 3, "jo',
    "a list": "[]",
    "a number": "7",
    "deep": '{"a":' * 100_000,
    "no text": "\udcff",
    "huge number": '{"format": ' + "9" * 10_000 + "}",
}
KINDS = (*TEXTS, "wrong field", "a pipe", "a link")


def plant(path: Path, kind: str, name: str) -> None:
    path.parent.mkdir(parents=True)
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a link":
        elsewhere = path.with_suffix(".elsewhere")
        elsewhere.write_text(json.dumps({"secret": 1}))
        path.symlink_to(elsewhere)
    else:
        text = json.dumps(OWN_SHAPE[name]) if kind == "wrong field" else TEXTS[kind]
        path.write_text(text, errors="surrogateescape")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, name: str, kind: str) -> None:
    plant(tmp_path / name, kind, name)
    with pytest.raises(CheckpointError) as caught:
        FILES[name](tmp_path)
    if (name, kind) == ("saved/savepoint.json", "a pipe"):
        assert caught.value.code == "NO_SAVEPOINT", "only a file makes a folder a savepoint"
        return
    assert caught.value.code in ("CHECKPOINT_DAMAGED", "SAVEPOINT_DAMAGED")
    assert name in str(caught.value)
    assert caught.value.hint


TEXT_FIELDS = dict.fromkeys(("id", "job_id", "name", "channel_order", "taken_of"), "x")
EMPTY_FIELDS: dict[str, object] = {k: {} for k in ("operators", "states", "time", "versions")}
WITH_NAMES: dict[str, Callable[[list[str]], object]] = {
    "job/000001/job.json": lambda names: {
        "format": 3, "job_id": "x", "first_epoch": 0, "restored": None, "operators": [],
        "details": {}, "queries": [], "slots": 1, "parallelism": 1, "mode": "arrival",
        "more": names,
    },
    "job/000001/states.json": lambda names: {"count": {name: {} for name in names}},
    "job/000001/restored/sources.json": lambda names: {"lines": {"files_read": names}},
    "saved/savepoint.json": lambda names: {
        "format": 1, "epoch": 1, "created_ms": 1, "tables": [], **TEXT_FIELDS, **EMPTY_FIELDS,
        "sources": {"lines": {"source": "files", "offset": names}},
    },
    "out/_millstream/job-lines/00000003.json": lambda names: {
        "version": 2,
        "files": [
            [f"staging/1/{number:080d}", SINK.name("part", 3, number, "txt")]
            for number in range(len(names))
        ],
    },
}  # fmt: skip
"""The content of each file with many names of files in it."""


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(FILES, "large"))
def test_a_large_file_of_many_names_is_read(tmp_path: Path, name: str) -> None:
    """A source may have read a million files: these lists have no small limit."""
    content = WITH_NAMES[name]([f"/in/{number:0100d}" for number in range(60_000)])
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content))
    assert path.stat().st_size > 5 << 20
    FILES[name](tmp_path)


def test_a_manifest_that_cannot_be_read_now_is_not_taken_for_a_bad_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fails for a moment must not make a committed epoch one that is not."""
    name = "out/_millstream/job-lines/00000003.json"
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(json.dumps({"version": 2, "files": []}))

    def fail(*args: object) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "open", fail)
    with pytest.raises(OSError, match="Input/output error"):
        FILES[name](tmp_path)
    with pytest.raises(Unreadable, match="it cannot be read"):
        read_small(LOCAL, str(tmp_path / name), {})
