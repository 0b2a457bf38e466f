"""The files of values that slots begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.checkpoint.value_files import BATCH_BYTES, ValueFile, read_values
from millstream.common.errors import CheckpointError


def written(path: Path, values: list[tuple[str, bytes]]) -> bytes:
    file = ValueFile(str(path))
    for name, value in values:
        file.add(name, value)
    return file.close()


def test_values_come_back_in_order(tmp_path: Path) -> None:
    large = bytes(range(256)) * (BATCH_BYTES // 200)
    values = [("a", b""), ("b", large), ("c", b"c"), ("d", large), ("é", b"last")]
    assert list(read_values(written(tmp_path / "new" / "values", values))) == values


def test_a_file_of_nothing(tmp_path: Path) -> None:
    assert list(read_values(written(tmp_path / "values", []))) == []


@pytest.mark.parametrize("left", [0, 0.5, 0.99])
def test_a_file_that_is_cut_short_is_named(tmp_path: Path, left: float) -> None:
    path = tmp_path / "values"
    reference = written(path, [(f"{i}", bytes([i]) * 1_000) for i in range(100)])
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * left)])
    with pytest.raises(CheckpointError, match=str(path)) as caught:
        list(read_values(reference))
    assert caught.value.code == "CHECKPOINT_DAMAGED"


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    reference = written(tmp_path / "values", [("a", b"1")])
    (tmp_path / "values").unlink()
    with pytest.raises(CheckpointError, match=str(tmp_path / "values")):
        list(read_values(reference))


def test_other_values_than_those_written_are_noticed(tmp_path: Path) -> None:
    reference = written(tmp_path / "values", [("a", b"1")])
    written(tmp_path / "values", [("a", b"2")])
    with pytest.raises(CheckpointError, match="not what was restored"):
        list(read_values(reference))


@pytest.mark.parametrize("part", [b"name-1", (7).to_bytes(4, "little"), b"value-1"])
def test_a_changed_byte_is_noticed_in_names_ends_and_values(tmp_path: Path, part: bytes) -> None:
    path = tmp_path / "values"
    reference = written(path, [("name-1", b"value-1")])
    content = path.read_bytes()
    place = content.rindex(part)
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    with pytest.raises(CheckpointError, match=str(path)):
        list(read_values(reference))
