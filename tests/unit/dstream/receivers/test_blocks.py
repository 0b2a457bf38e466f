"""Blocks of receivers: each is in one batch, also if the process ends between any two steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millstream.common.errors import PlanError
from millstream.dstream.receivers.blocks import (
    DurableBlocks,
    MemoryBlocks,
    opened_blocks,
    records_of,
)


def taken(blocks: DurableBlocks) -> list[Any]:
    return [record for block in blocks.take().blocks for record in records_of(block)]


def test_blocks_in_memory() -> None:
    blocks = opened_blocks(None)
    assert isinstance(blocks, MemoryBlocks)
    blocks.keep([1, 2])
    blocks.keep([3])
    assert blocks.take().blocks == [[1, 2], [3]]
    assert blocks.take().blocks == []


def test_blocks_that_no_batch_has_come_after_a_restart(tmp_path: Path) -> None:
    blocks = DurableBlocks(str(tmp_path))
    blocks.keep(["a"])
    blocks.keep([("b", {"c": 1})])
    again = DurableBlocks(str(tmp_path))
    assert taken(again) == ["a", ("b", {"c": 1})]
    assert taken(again) == []
    # It was taken, but the process ended before the batch was in the log.
    assert taken(DurableBlocks(str(tmp_path))) == ["a", ("b", {"c": 1})]


def test_blocks_that_a_batch_has_do_not_come_again(tmp_path: Path) -> None:
    blocks = DurableBlocks(str(tmp_path))
    blocks.keep(["a"])
    first = blocks.take()
    blocks.keep(["b"])
    # The batch is in the log, and the process ends before it can say so: the log's parts tell.
    again = DurableBlocks(str(tmp_path))
    again.skip(first.next_number)
    assert taken(again) == ["b"]
    # Here it can.
    blocks.confirm(first.next_number)
    assert taken(DurableBlocks(str(tmp_path))) == ["b"]


def test_files_of_batches_that_are_done_are_deleted(tmp_path: Path) -> None:
    blocks = DurableBlocks(str(tmp_path))
    blocks._log._segment_bytes = 10
    for n in range(5):
        blocks.keep([n])
    number = blocks.take().next_number
    blocks.forget(number)
    assert len(list((tmp_path / "log").iterdir())) == 5  # The batch may not be in the log yet.
    blocks.confirm(number)
    blocks.forget(number)
    assert len(list((tmp_path / "log").iterdir())) == 1
    again = DurableBlocks(str(tmp_path))
    again.keep(["new"])
    assert taken(again) == ["new"]


def test_a_log_without_its_files_goes_on(tmp_path: Path) -> None:
    blocks = DurableBlocks(str(tmp_path))
    blocks.keep([1])
    blocks.confirm(blocks.take().next_number)
    for path in (tmp_path / "log").iterdir():
        path.unlink()
    again = DurableBlocks(str(tmp_path))
    again.keep([2])
    assert taken(again) == [2]


def test_the_log_is_on_this_machine() -> None:
    with pytest.raises(PlanError, match="RECEIVER_LOG_REMOTE"):
        opened_blocks("s3://bucket/checkpoint")
