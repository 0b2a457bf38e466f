"""What is read out of Spark's checkpoints."""

from __future__ import annotations

import json
import zipfile
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


def test_files_that_an_epoch_needs_and_that_are_gone(tmp_path: Path) -> None:
    log = "sources/source_a"

    def planned(name: str, number: int) -> str:
        path = (tmp_path / name).as_uri()
        return json.dumps({"path": path, "timestamp": 1, "batchId": number})

    (tmp_path / "d e.txt").write_text("x")
    write(tmp_path, f"{log}/9.compact", "v1", planned("a", 8), planned("b", 9))
    write(tmp_path, f"{log}/10", "v1", planned("c", 10), planned("d e.txt", 10))
    write(tmp_path, f"{log}/11", "v1", planned("d e.txt", 11), planned("s3", 11))
    for epoch, last in enumerate(["-", '{"logOffset":9}', '{"logOffset":9}', '{"logOffset":11}']):
        write(tmp_path, f"offsets/{epoch}", "v2", "{}", f"source_a:{last}", "source_b:-")
    query = QueryFiles(str(tmp_path))
    uri = tmp_path.as_uri()
    write(tmp_path, f"{log}/8", "v1", planned("a", 8))
    for number in range(8):
        write(tmp_path, f"{log}/{number}", "v1", "")
    assert query.missing_files("source_a", 0) == []
    assert query.missing_files("source_a", 1) == [f"{uri}/a", f"{uri}/b"]
    assert query.missing_files("source_a", 2) == []
    assert query.missing_files("source_a", 3) == [f"{uri}/c", f"{uri}/s3"]
    assert query.missing_files("source_b", 3) == []


def test_of_a_compacted_log_only_the_lines_of_the_epoch_are_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has all files that were ever read, and comes every tenth epoch."""

    def planned(number: int) -> str:
        return json.dumps({"path": f"file:///in/{number}", "timestamp": 1, "batchId": number})

    write(tmp_path, "sources/0/19.compact", "v1", *map(planned, range(20)), planned(190))
    write(tmp_path, "offsets/0", "v1", "{}", '{"logOffset":18}')
    write(tmp_path, "offsets/1", "v1", "{}", '{"logOffset":19}')
    looked_at: list[str] = []
    parsed: list[str] = []
    loads, is_whole = json.loads, QueryFiles._is_whole
    monkeypatch.setattr(json, "loads", lambda text: parsed.append(text) or loads(text))
    monkeypatch.setattr(
        QueryFiles, "_is_whole", lambda self, name: looked_at.append(name) or is_whole(self, name)
    )
    assert QueryFiles(str(tmp_path)).missing_files("0", 1) == ["file:///in/19"]
    assert [text for text in parsed if "path" in text] == [planned(19)]
    assert [name for name in looked_at if name.startswith("sources")] == []


def test_a_planned_entry_that_is_cut_short_is_named(tmp_path: Path) -> None:
    write(tmp_path, "sources/0/0", "v1", '{"path":"file:///a","batchId":0')
    write(tmp_path, "offsets/0", "v1", "{}", '{"logOffset":0}')
    with pytest.raises(CheckpointError, match=r"CHECKPOINT_DAMAGED.*sources/0/0"):
        QueryFiles(str(tmp_path)).missing_files("0", 0)


def test_files_elsewhere_are_sparks_business(tmp_path: Path) -> None:
    line = json.dumps({"path": "s3a://bucket/x", "timestamp": 1, "batchId": 0})
    write(tmp_path, "sources/0/0", "v1", line)
    write(tmp_path, "offsets/0", "v1", "{}", '{"logOffset":0}')
    assert QueryFiles(str(tmp_path)).missing_files("0", 0) == []


def test_a_file_that_is_cut_short_is_named(tmp_path: Path) -> None:
    write(tmp_path, "offsets/3", "v")
    with pytest.raises(CheckpointError, match=r"CHECKPOINT_DAMAGED.*offsets/3"):
        QueryFiles(str(tmp_path)).offsets(3)


LOG = 'v1\n{"batchWatermarkMs":0}\nsource_a:{"0": 4}\nsource_b:-'


@pytest.mark.parametrize(
    ("name", "content", "whole"),
    [
        ("offsets/3", LOG, True),
        ("offsets/3", LOG[:-20], False),
        ("offsets/3", "", False),
        ("offsets/3", "\0" * 40, False),
        ("commits/3", 'v1\n{"nextBatchWatermarkMs":0}', True),
        ("commits/3", 'v1\n{"nextBatchWat', False),
        ("sources/source_b/0", f"v1\n{entry('a')}\n{entry('b')}", True),
        ("sources/source_b/0", f"v1\n{entry('a')}\n{entry('b')[:-9]}", False),
        ("metadata", '{"id":"8f1c"}', True),
        ("metadata", '{"id":"8f', False),
        ("metadata", "", False),
        ("state/0/_metadata/v2/0", 'v2\n{"operatorInfo":{}}', True),
        ("state/0/_metadata/v2/0", 'v2\n{"operatorInf', False),
        ("state/0/0/4.zip", "PK cut short", False),
        ("state/0/0/4.changelog", "", False),
    ],
)
def test_a_damaged_file_is_found_without_its_checksum(
    tmp_path: Path, name: str, content: str, whole: bool
) -> None:
    write(tmp_path, "offsets/3", LOG)
    write(tmp_path, "commits/3", "v1", "{}")
    write(tmp_path, name, content)
    expected = [] if whole else [f"{tmp_path}/{name}"]
    assert QueryFiles(str(tmp_path)).damaged() == expected


def test_checksums_and_files_that_spark_is_about_to_write_are_no_logs(tmp_path: Path) -> None:
    write(tmp_path, "sources/source_b/.0.crc", "\0\1\2")
    write(tmp_path, "sources/source_b/.1.tmp", "")
    assert QueryFiles(str(tmp_path)).damaged() == []


def test_a_snapshot_is_whole_if_it_can_be_unpacked(tmp_path: Path) -> None:
    write(tmp_path, "offsets/3", LOG)
    write(tmp_path, "commits/3", "v1", "{}")
    snapshot = tmp_path / "state" / "0" / "0" / "4.zip"
    snapshot.parent.mkdir(parents=True)
    with zipfile.ZipFile(snapshot, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("MANIFEST", "x" * 10_000)
    query = QueryFiles(str(tmp_path))
    assert query.damaged() == []
    data = bytearray(snapshot.read_bytes())
    data[45] ^= 255
    snapshot.write_bytes(bytes(data))
    assert query.damaged() == [str(snapshot)]
