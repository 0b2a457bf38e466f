"""Lines of fragments: each line of a file is in one of them, however the file is cut."""

from __future__ import annotations

import itertools
import random
import re
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.connectors.files.lines import MARK, blocks_of_lines, border_after, lines_of
from millstream.connectors.files.opening import Fragment
from tests.support.strategies import examples


def lines(path: Path, *cuts: int, block: int = 1 << 20) -> list[list[bytes]]:
    """The lines of each fragment."""
    borders = [0, *cuts, None]
    return [
        [
            line
            for data in blocks_of_lines(Fragment(str(path), start or 0, stop), block)
            for line in lines_of(data).to_pylist()
        ]
        for start, stop in itertools.pairwise(borders)
    ]


def expected(data: bytes) -> list[bytes]:
    found = re.split(rb"\r\n|\n|\r", data.removeprefix(MARK))
    return found[:-1] if not found[-1] else found


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", []),
        (b"\n", [b""]),
        (b"a", [b"a"]),
        (b"a\r\nb\rc\n\nd", [b"a", b"b", b"c", b"", b"d"]),
        (b"a\r", [b"a"]),
        (MARK, []),
        (MARK + MARK + b"a\n", [MARK + b"a"]),
    ],
)
def test_lines_end_as_hadoop_sees_it(tmp_path: Path, data: bytes, found: list[bytes]) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    assert lines(path) == [found]
    assert lines(path, block=3) == [found]


@examples(60)
@given(
    data=st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r", b"\r\n", MARK]), max_size=30),
    cuts=st.sets(st.integers(1, 40), max_size=4),
    block=st.integers(3, 20),
)
def test_each_line_is_in_the_fragment_in_which_it_begins(
    tmp_path_factory: pytest.TempPathFactory, data: list[bytes], cuts: set[int], block: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    content = b"".join(data)
    path.write_bytes(content)
    within = sorted(cut for cut in cuts if cut < len(content))
    found = lines(path, *within, block=block)
    assert [line for part in found for line in part] == expected(content)
    # The last line of a fragment may go on behind it, and the one after that begins behind it.
    for cut, part in zip(within, found, strict=False):
        # The mark is the beginning of the first line.
        before = expected(content[:cut]) or [MARK] * (content[:cut] == MARK)
        assert len(part) <= len(before)


def test_a_line_of_many_blocks(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    long = bytes(random.Random(1).choices(b"abc", k=10_000))
    path.write_bytes(b"first\n" + long + b"\nlast")
    assert lines(path, block=16) == [[b"first", long, b"last"]]
    assert lines(path, 5_000, block=16) == [[b"first", long], [b"last"]]


@examples(40)
@given(st.lists(st.sampled_from([b"a", b"bc", b"", b"\n", b"\r", b"\r\n"])), st.data())
def test_a_border_lies_behind_so_many_lines(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "borders"
    path.write_bytes(b"".join(parts))
    size = path.stat().st_size
    start = data.draw(st.integers(0, size))
    count = data.draw(st.integers(1, 4))
    with patch("millstream.connectors.files.lines.BLOCK_BYTES", data.draw(st.integers(1, 5))):
        border = border_after(str(path), start, count)
    whole = lines(path, start)[1] if start else lines(path)[0]
    if border is None:
        assert len(whole) <= count
        return
    assert border > start
    between = lines(path, start, border)[1] if start else lines(path, border)[0]
    assert between == whole[:count]


@pytest.mark.parametrize("size", range(1, 8))
def test_an_end_of_two_bytes_is_one_end_also_between_two_blocks(tmp_path: Path, size: int) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"aa\r\nb\r\n\r\nc\r")
    with patch("millstream.connectors.files.lines.BLOCK_BYTES", size):
        assert [border_after(str(path), 0, count) for count in (1, 2, 3, 4)] == [4, 7, 9, 11]


def test_a_header_and_blank_lines_before_it_are_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"\n \r\nhead\n1\n2\n")
    assert border_after(str(path), 0, 1, header=True) == len(b"\n \r\nhead\n1\n")
    assert border_after(str(path), 9, 1, header=True) == len(b"\n \r\nhead\n1\n")
    assert border_after(str(path), 0, 1) == 1
    assert border_after(str(path), 0, 3, header=True) is None
