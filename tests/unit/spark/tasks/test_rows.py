"""Rows between stages and slots, without a JVM."""

from __future__ import annotations

import pytest

from millstream.kernel.records.buffers import BufferRow
from millstream.spark.tasks.rows import _murmur3_of_int, from_arrow, slot_values, to_arrow


def test_the_hash_is_sparks() -> None:
    # SELECT hash(0), hash(1), hash(-1) in Spark.
    assert _murmur3_of_int(0) == 933211791
    assert _murmur3_of_int(1) == -559580957
    assert _murmur3_of_int(-1) == -1604776387


@pytest.mark.parametrize("slots", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("partitions", [1, 2, 3, 8])
def test_every_partition_gets_its_share_of_slots(slots: int, partitions: int) -> None:
    values = slot_values(slots, partitions)
    assert len(set(values)) == slots
    counts = [0] * partitions
    for value in values:
        counts[_murmur3_of_int(value) % partitions] += 1
    assert max(counts) - min(counts) <= 1


def test_rows_survive_the_way_through_arrow() -> None:
    values = slot_values(4, 2)
    rows = [BufferRow(n % 4, 1, n, b"h" * n, b"p" * n) for n in range(200)]
    slots = {value: index for index, value in enumerate(values)}
    back = [row for batch in to_arrow(rows, values) for row in from_arrow(batch, slots)]
    assert back == rows
