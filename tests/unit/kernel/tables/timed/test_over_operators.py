"""Partitions and numbers of OVER; `test_over` compares whole operators with loops."""

from __future__ import annotations

import pyarrow as pa

from millstream.kernel.tables.timed.over_operators import partition_codes, range_values


def test_rows_without_a_key_are_one_partition() -> None:
    assert partition_codes([pa.array([1, 2])], (), 2).tolist() == [0, 0]
    assert partition_codes([pa.array([7, None, 7])], (0,), 3).tolist() == [0, 1, 0]


def test_offsets_of_times_count_in_milliseconds() -> None:
    times = pa.array([1_000, 2_000], pa.timestamp("us"))
    assert range_values(times, descending=False).tolist() == [1, 2]
    assert range_values(times, descending=True).tolist() == [-1, -2]
