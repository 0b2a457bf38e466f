"""The write-ahead log of receivers: nothing that was confirmed is lost, wherever the process ends."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

from millstream.common.errors import CheckpointError
from millstream.dstream.receivers.write_ahead_log import WriteAheadLog, durable_write


def contents(folder: Path) -> list[bytes]:
    return [block.read() for block in WriteAheadLog(str(folder)).blocks()]


def written(folder: Path, values: list[bytes], **options: int) -> WriteAheadLog:
    log = WriteAheadLog(str(folder), **options)
    for value in values:
        log.append(value)
    log.close()
    return log


def only_file(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


VALUES = [b"one", b"", b"three" * 20, b"\x00" * 30, b"last"]


def test_blocks_come_back_in_order(tmp_path: Path) -> None:
    written(tmp_path, VALUES)
    assert contents(tmp_path) == VALUES
    log = WriteAheadLog(str(tmp_path))
    assert [block.number for block in log.blocks(since=3)] == [3, 4]
    assert log.append(b"more").number == 5
    assert contents(tmp_path) == [*VALUES, b"more"]


def test_a_process_that_ends_at_any_byte_loses_no_block_that_was_confirmed(tmp_path: Path) -> None:
    written(tmp_path / "whole", VALUES)
    data = only_file(tmp_path / "whole").read_bytes()
    ends = [16 * (n + 1) + sum(map(len, VALUES[: n + 1])) for n in range(len(VALUES))]
    for cut in range(len(data) + 1):
        folder = tmp_path / str(cut)
        shutil.copytree(tmp_path / "whole", folder)
        only_file(folder).write_bytes(data[:cut])
        confirmed = VALUES[: sum(end <= cut for end in ends)]
        log = WriteAheadLog(str(folder))
        assert [block.read() for block in log.blocks()] == confirmed, cut
        log.append(b"next")
        log.append(b"and next")
        assert contents(folder) == [*confirmed, b"next", b"and next"], cut


def test_a_tail_that_the_file_system_has_filled_with_zeros_is_cut(tmp_path: Path) -> None:
    written(tmp_path / "whole", VALUES)
    data = only_file(tmp_path / "whole").read_bytes()
    last = 16 + len(VALUES[-1])
    for kept in range(len(data) - last, len(data)):
        only_file(tmp_path / "whole").write_bytes(data[:kept] + bytes(len(data) - kept))
        assert contents(tmp_path / "whole") == VALUES[:-1], kept


def test_damage_before_the_tail_is_an_error(tmp_path: Path) -> None:
    written(tmp_path, [b"first content", b"second content"])
    path = only_file(tmp_path)
    data = path.read_bytes()
    for place in (4, 12, 20):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        with pytest.raises(CheckpointError, match="RECEIVER_LOG_DAMAGED"):
            WriteAheadLog(str(tmp_path))


def test_a_block_that_was_damaged_later_is_an_error_when_it_is_read(tmp_path: Path) -> None:
    log = WriteAheadLog(str(tmp_path))
    block = log.append(b"content")
    path = only_file(tmp_path)
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(CheckpointError, match="RECEIVER_LOG_DAMAGED"):
        block.read()


def test_segments(tmp_path: Path) -> None:
    values = [b"%02d" % n * 10 for n in range(10)]
    written(tmp_path, values, segment_bytes=100)
    assert len(list(tmp_path.iterdir())) == 4
    assert contents(tmp_path) == values
    log = WriteAheadLog(str(tmp_path), segment_bytes=100)
    log.forget(before=7)
    assert [block.number for block in log.blocks()] == [6, 7, 8, 9]
    assert contents(tmp_path) == values[6:]
    log.forget(before=100)
    assert [block.number for block in log.blocks()] == [9]
    assert log.append(b"new").number == 10


def test_a_torn_tail_of_an_earlier_segment_is_damage(tmp_path: Path) -> None:
    written(tmp_path, [b"x" * 50] * 4, segment_bytes=60)
    first = min(tmp_path.iterdir())
    first.write_bytes(first.read_bytes()[:-1])
    with pytest.raises(CheckpointError):
        WriteAheadLog(str(tmp_path))


def test_a_missing_segment_is_damage(tmp_path: Path) -> None:
    written(tmp_path, [b"x" * 50] * 6, segment_bytes=60)
    os.unlink(sorted(tmp_path.iterdir())[1])
    with pytest.raises(CheckpointError):
        WriteAheadLog(str(tmp_path))


def test_numbers_go_on_in_a_segment_without_a_whole_block(tmp_path: Path) -> None:
    written(tmp_path, [b"x" * 50] * 2, segment_bytes=60)
    last = max(tmp_path.iterdir())
    last.write_bytes(last.read_bytes()[:5])
    log = WriteAheadLog(str(tmp_path))
    assert log.append(b"y").number == 1


def test_a_log_without_files_begins_where_it_is_told(tmp_path: Path) -> None:
    assert WriteAheadLog(str(tmp_path), first_number=7).append(b"x").number == 7
    assert WriteAheadLog(str(tmp_path), first_number=9).append(b"y").number == 8


def test_a_block_that_cannot_be_synced_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = WriteAheadLog(str(tmp_path))
    log.append(b"good")

    def full(descriptor: int) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="disk full"):
            log.append(b"bad")
    log.append(b"better")
    assert contents(tmp_path) == [b"good", b"better"]


def test_blocks_and_folders_are_synced_before_append_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def note(descriptor: int) -> None:
        calls.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))

    monkeypatch.setattr(os, "fsync", note)
    log = WriteAheadLog(str(tmp_path / "log"))
    log.append(b"one")
    log.append(b"two")
    segment = "blocks-" + "0" * 20
    assert calls == ["log", segment, segment]
    calls.clear()
    durable_write(tmp_path / "mark", b"7")
    assert calls == [".mark.new", tmp_path.name]
    assert (tmp_path / "mark").read_bytes() == b"7"


def test_threads_append_at_the_same_time(tmp_path: Path) -> None:
    log = WriteAheadLog(str(tmp_path), segment_bytes=200)

    def append(name: bytes) -> None:
        for n in range(50):
            log.append(name + b"%d" % n)

    threads = [threading.Thread(target=append, args=[name]) for name in (b"a", b"b", b"c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = contents(tmp_path)
    for name in (b"a", b"b", b"c"):
        assert [v for v in found if v[:1] == name] == [name + b"%d" % n for n in range(50)]
