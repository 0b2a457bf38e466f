"""What is read out of Spark's checkpoints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from millstream.checkpoint.spark_files import QueryFiles, parsed_offset
from millstream.common.errors import CheckpointError


def write(folder: Path, name: str, *lines: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines))


def entry(name: str) -> str:
    return json.dumps({"path": f"file:///in/{name}", "timestamp": 1, "batchId": 0})


def test_offsets_by_name_and_by_place(tmp_path: Path) -> None:
    write(tmp_path, "offsets/3", "v2", "{}", 'source_a:{"0": 4}', 'source_b:{"logOffset":1}')
    write(tmp_path, "offsets/4", "v1", "{}", '{"logOffset":0}', "-")
    query = QueryFiles(str(tmp_path))
    assert query.offsets(3) == {"source_a": '{"0": 4}', "source_b": '{"logOffset":1}'}
    assert query.offsets(4) == {"0": '{"logOffset":0}', "1": "-"}
    assert parsed_offset('{"0": 4}') == {"0": 4} and parsed_offset("-") is None


def test_only_committed_epochs_with_offsets_count(tmp_path: Path) -> None:
    for name in ("offsets/1", "offsets/2", "offsets/10", "commits/0", "commits/1", "commits/10"):
        write(tmp_path, name, "v1", "{}")
    assert QueryFiles(str(tmp_path)).committed() == [1, 10]
    assert QueryFiles(str(tmp_path / "nowhere")).committed() == []


def test_files_read_are_those_of_the_log_up_to_an_entry(tmp_path: Path) -> None:
    log = "sources/source_a"
    write(tmp_path, f"{log}/8", "v1", entry("old"))
    write(tmp_path, f"{log}/9.compact", "v1", entry("a"), entry("b"), entry("c"))
    write(tmp_path, f"{log}/10", "v1", entry("d"))
    write(tmp_path, f"{log}/11", "v1", entry("e"))
    query = QueryFiles(str(tmp_path))
    assert query.files_read("source_a", 10) == [f"file:///in/{n}" for n in "abcd"]
    assert query.files_read("source_a", -1) == []
    assert query.files_read("source_b", 3) == []


def test_a_file_that_is_cut_short_is_named(tmp_path: Path) -> None:
    write(tmp_path, "offsets/3", "v")
    with pytest.raises(CheckpointError, match=r"CHECKPOINT_DAMAGED.*offsets/3"):
        QueryFiles(str(tmp_path)).offsets(3)
