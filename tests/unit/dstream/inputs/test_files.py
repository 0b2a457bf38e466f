"""New files of a folder by Spark's rules."""

from __future__ import annotations

import gzip
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from millstream.common.errors import MillstreamError, PlanError
from millstream.dstream.context import StreamingContext
from millstream.dstream.inputs.files import (
    FileInput,
    fixed_records,
    is_not_hidden,
    text_records,
)
from millstream.dstream.streams import DStream
from millstream.dstream.testing import rebatch
from tests.support.dstream.inputs import Batches


def written(path: Path, text: str | bytes, modified_ms: int) -> Path:
    """A file with a time of its last change."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    os.utime(path, ns=(0, modified_ms * 1_000_000))
    return path


def text_files(folder: Path | str, **options: Any) -> FileInput[str]:
    given: dict[str, Any] = {
        "accept": is_not_hidden,
        "new_files_only": True,
        "now_ms": 10_000,
        "conf": {},
    }
    return FileInput(str(folder), text_records, **(given | options))


def test_a_file_is_taken_by_the_batch_that_it_was_changed_before(tmp_path: Path) -> None:
    batches = Batches(text_files(tmp_path))
    written(tmp_path / "a", "one\ntwo\n", 10_500)
    written(tmp_path / "b", "three", 11_500)
    assert [batches.parts(time) for time in (11_000, 12_000, 13_000)] == [
        [["one", "two"]],
        [["three"]],
        [],
    ]


def test_files_of_before_the_start_are_left_out(tmp_path: Path) -> None:
    written(tmp_path / "old", "old", 10_000)
    written(tmp_path / "new", "new", 10_001)
    assert Batches(text_files(tmp_path)).take(11_000) == ["new"]
    assert Batches(text_files(tmp_path, new_files_only=False)).take(11_000) == ["new", "old"]


def test_a_path_is_taken_once_while_it_is_remembered(tmp_path: Path) -> None:
    batches = Batches(text_files(tmp_path))
    written(tmp_path / "a", "one", 10_500)
    assert batches.take(11_000) == ["one"]
    written(tmp_path / "a", "changed", 11_500)
    assert batches.take(12_000) == []


def test_a_file_without_bytes_is_looked_at_again(tmp_path: Path) -> None:
    batches = Batches(text_files(tmp_path))
    written(tmp_path / "a", "", 10_500)
    assert batches.take(11_000) == []
    written(tmp_path / "a", "now", 11_500)
    assert batches.take(12_000) == ["now"]


def test_files_older_than_a_minute_are_too_old(tmp_path: Path) -> None:
    batches = Batches(text_files(tmp_path))
    assert batches.take(71_000) == []
    written(tmp_path / "a", "too old", 12_000)
    written(tmp_path / "b", "just new", 12_001)
    assert batches.take(72_000) == ["just new"]


def test_how_long_files_are_remembered_is_an_option(tmp_path: Path) -> None:
    for key in ("fileStream.minRememberDuration", "minRememberDuration"):
        folder = tmp_path / key
        folder.mkdir()
        files = text_files(folder, conf={f"spark.streaming.{key}": "2s"}, now_ms=0)
        batches = Batches(files)
        batches.take(11_000)
        written(folder / "a", "too old", 10_000)
        written(folder / "b", "new", 10_001)
        assert batches.take(12_000) == ["new"]


def test_hidden_files_and_what_the_filter_refuses(tmp_path: Path) -> None:
    written(tmp_path / ".a", "hidden", 10_500)
    written(tmp_path / "b.tmp", "temporary", 10_500)
    written(tmp_path / "c.txt", "text", 10_500)
    (tmp_path / "folder").mkdir()
    os.utime(tmp_path / "folder", ns=(0, 10_500_000_000))
    assert Batches(text_files(tmp_path)).take(11_000) == ["temporary", "text"]
    chosen = text_files(tmp_path, accept=lambda path: path.endswith(".txt"))
    assert Batches(chosen).take(11_000) == ["text"]


def test_a_pattern_means_several_folders(tmp_path: Path) -> None:
    for name in ("2024-01", "2024-02", "2023-01"):
        (tmp_path / name).mkdir()
        written(tmp_path / name / "a", name, 10_500)
    assert Batches(text_files(tmp_path / "2024-*")).take(11_000) == ["2024-01", "2024-02"]


def test_a_folder_may_come_later(tmp_path: Path) -> None:
    batches = Batches(text_files(tmp_path / "later"))
    assert batches.take(11_000) == []
    (tmp_path / "later").mkdir()
    written(tmp_path / "later" / "a", "a", 11_500)
    assert batches.take(12_000) == ["a"]


def test_after_a_crash_batches_have_the_same_files_and_no_file_comes_twice(tmp_path: Path) -> None:
    first = Batches(text_files(tmp_path))
    path = written(tmp_path / "a", "one\n", 10_500)
    first.take(11_000)
    with path.open("a") as file:
        file.write("appended later\n")
    second = first.recovered(text_files(tmp_path))
    assert first.again(second.source, 0) == [["one"]]
    assert second.take(12_000) == []


def test_files_that_came_while_nobody_ran_come_in_the_first_batch(tmp_path: Path) -> None:
    first = Batches(text_files(tmp_path))
    first.take(11_000)
    written(tmp_path / "a", "in between", 15_000)
    second = first.recovered(text_files(tmp_path))
    assert second.take(500_000) == ["in between"]
    assert second.take(501_000) == []


def test_a_file_that_is_gone_is_an_error_that_names_it(tmp_path: Path) -> None:
    batches = Batches(text_files(tmp_path))
    path = written(tmp_path / "a", "one", 10_500)
    batches.take(11_000)
    path.unlink()
    with pytest.raises(MillstreamError, match=rf"FILE_STREAM_GONE.*{path}"):
        batches.again(batches.source, 0)


def test_records_of_a_length(tmp_path: Path) -> None:
    files: FileInput[bytes] = FileInput(
        str(tmp_path), fixed_records(3), is_not_hidden, True, 10_000, {}
    )
    written(tmp_path / "a", b"abcdef", 10_500)
    batches = Batches(files)
    assert batches.take(11_000) == [b"abc", b"def"]
    written(tmp_path / "b", b"abcd", 11_500)
    with pytest.raises(MillstreamError, match="no whole number of records"):
        batches.take(12_000)


@pytest.mark.parametrize("length", [0, -1, 1.5, True])
def test_lengths_that_are_none(length: Any) -> None:
    with pytest.raises(PlanError, match="RECORD_LENGTH"):
        fixed_records(length)


def test_lines_end_as_in_hadoop() -> None:
    assert text_records(b"a\r\nb\rc\n\nd\n") == ["a", "b", "c", "", "d"]
    assert text_records(b"") == []
    assert text_records("x\u2028y\x0bz".encode()) == ["x\u2028y\x0bz"]
    assert text_records(b"\xff\n") == ["\ufffd"]


def test_compressed_files(tmp_path: Path) -> None:
    written(tmp_path / "a.gz", gzip.compress(b"packed\n"), 10_500)
    assert Batches(text_files(tmp_path)).take(11_000) == ["packed"]


def test_listeners_are_told_the_paths(tmp_path: Path) -> None:
    files = text_files(tmp_path)
    batches = Batches(files)
    path = written(tmp_path / "a", "one", 10_500)
    assert files.description(files.take(11_000)) == str(path)
    assert batches.source.records(None) == 0


def test_folders_of_other_machines_are_refused() -> None:
    with pytest.raises(PlanError, match=r"FILE_STREAM_REMOTE.*s3://bucket"):
        text_files("s3://bucket/logs")


def counted(values: list[int], before: int | None) -> int:
    return sum(values, before or 0)


def test_batches_of_files_do_not_depend_on_the_schedule(tmp_path: Path) -> None:
    drawn = random.Random(7)
    batches, expected = 8, Counter[str]()
    by_batch: dict[int, list[tuple[str, int]]] = {}
    times = sorted(drawn.randrange(1, batches * 1000 + 1) for _ in range(20))
    texts = [[drawn.choice("abcd") for _ in range(drawn.randrange(4))] for _ in times]
    for number, (time, words) in enumerate(zip(times, texts, strict=True)):
        written(tmp_path / f"{number:02d}", "\n".join(words), time)
    for end in range(1000, batches * 1000 + 1, 1000):
        for time, words in zip(times, texts, strict=True):
            expected.update(words if end - 1000 < time <= end else ())
        by_batch[end] = sorted(expected.items())

    def program(ssc: StreamingContext) -> DStream[Any]:
        words = ssc.textFileStream(str(tmp_path)).map(lambda word: (word, 1))
        return words.updateStateByKey(counted)

    assert rebatch(program, batches=batches) == by_batch
