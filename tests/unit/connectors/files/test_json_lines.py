"""Lines of JSON: what Arrow takes is what is read line by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.connectors.files.json_lines import ARROW, JsonReader, is_simple
from millstream.connectors.files.json_values import rows_of
from millstream.connectors.files.opening import Fragment
from tests.support.strategies import examples

TYPES = {f"c{place}": kind for place, kind in enumerate(ARROW)}
READER = JsonReader(TYPES)

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**65), 2**65),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["NaN", "INF", "\ud800", "\ufffd"]),
)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=2), max_leaves=4)
objects = st.dictionaries(st.sampled_from([*TYPES, "x"]), values, max_size=5)


def read(path: Path) -> list[tuple[Any, ...]]:
    blocks = READER.read(Fragment(str(path)))
    return [row for block in blocks for row in zip(*(c.to_pylist() for c in block), strict=True)]


@examples(80)
@given(lines=st.lists(objects, min_size=1, max_size=4), escaped=st.booleans())
def test_arrow_and_lines_agree(lines: list[dict[str, Any]], escaped: bool) -> None:
    texts = [json.dumps(line, ensure_ascii=escaped) for line in lines]
    data = [text.encode(errors="replace") for text in texts]
    array = pa.array(data, pa.binary())
    by_arrow = READER._by_arrow(array) if is_simple(array) else None
    by_line = READER._by_line(array)
    assert len(by_line[0]) == len(lines)
    if by_arrow is not None:
        assert [repr(c.to_pylist()) for c in by_arrow] == [repr(c.to_pylist()) for c in by_line]


@examples(80)
@given(
    line=objects,
    changes=st.lists(
        st.tuples(st.integers(0, 200), st.sampled_from(list(b"{}[]\",:'\\ 0e+-.n\xc3")))
    ),
)
def test_broken_lines_are_rows_too(line: dict[str, Any], changes: list[tuple[int, int]]) -> None:
    data = bytearray(json.dumps(line).encode())
    for place, byte in changes:
        data[place % len(data)] = byte
    array = pa.array([bytes(data)], pa.binary())
    by_arrow = READER._by_arrow(array) if is_simple(array) else None
    if by_arrow is not None:
        (row,) = rows_of(bytes(data), TYPES)
        assert repr([c[0].as_py() for c in by_arrow]) == repr(row)


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        (b"[]", []),
        (b" \t", []),
        (b'{"c0": {"a" : [1, "x"]} , "c4": 7}', [('{"a" : [1, "x"]}', 7)]),
        (b'{"c0": 1.50, "c4": 1.5}', [("1.50", None)]),
        (b'{"c0": "a"} more', [("a", None)]),
        (b'{"c0": "a"', [(None, None)]),
        (b'[{"c4": 1}, {"c4": 2}]', [(None, 1), (None, 2)]),
        (b'[{"c4": 1}, 2]', [(None, None)]),
        (b'{"c0": "\\ud800 \\ufffd"}', [("? \ufffd", None)]),
        (b'{"x":' + b"[" * 999 + b"]" * 999 + b',"c0":"a"}', [("a", None)]),
        (b'{"x":' + b"[" * 1000 + b"]" * 1000 + b',"c0":"a"}', [(None, None)]),
    ],
)
def test_lines(tmp_path: Path, line: bytes, rows: list[Any]) -> None:
    """Each of these was seen in what Spark's reader gives."""
    path = tmp_path / "a.json"
    path.write_bytes(line)
    assert [(row[0], row[4]) for row in read(path)] == rows


def test_one_bad_line_among_many(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    lines = [f'{{"c4": {n}}}' for n in range(1000)]
    lines[500] = "{'c4': 500} and more"
    path.write_text("\n".join(lines))
    assert [row[4] for row in read(path)] == list(range(1000))
