"""Avro files: schemas that fit, and files that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fastavro
import pytest

from millstream.common.errors import MillstreamError
from millstream.connectors.files.avro import CHUNK, AvroReader, schema_of_file
from millstream.connectors.files.opening import Fragment

SCHEMA = {
    "type": "record",
    "name": "R",
    "fields": [{"name": "s", "type": ["null", "string"]}, {"name": "n", "type": "int"}],
}


def written(path: Path, count: int) -> Path:
    with path.open("wb") as file:
        fastavro.writer(file, SCHEMA, [{"s": None if n % 2 else "a", "n": n} for n in range(count)])
    return path


def rows(path: Path, schema: str) -> list[tuple[Any, ...]]:
    blocks = AvroReader(schema).read(Fragment(str(path)))
    return [row for block in blocks for row in zip(*(c.to_pylist() for c in block), strict=True)]


def test_records_come_in_chunks(tmp_path: Path) -> None:
    path = written(tmp_path / "a.avro", CHUNK + 1)
    found = rows(path, schema_of_file(str(path)))
    assert found[:2] == [("a", 0), (None, 1)]
    assert len(found) == CHUNK + 1


def test_a_schema_that_fits(tmp_path: Path) -> None:
    path = written(tmp_path / "a.avro", 2)
    wanted = {**SCHEMA, "fields": [{"name": "n", "type": "long"}]}
    assert rows(path, json.dumps(wanted)) == [(0,), (1,)]


@pytest.mark.parametrize("cut", [3, -5])
def test_no_avro(tmp_path: Path, cut: int) -> None:
    path = written(tmp_path / "a.avro", 100)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(MillstreamError, match="SOURCE_FILE_UNREADABLE"):
        rows(path, json.dumps(SCHEMA))
