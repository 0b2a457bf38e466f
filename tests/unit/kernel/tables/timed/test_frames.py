"""Frames and prefixes of sorted rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.tables.aggregates.calls import AggregateCall, Aggregates
from millstream.kernel.tables.timed.frames import Frame, Partitions, folded_frames
from tests.support.strategies import examples

SUM = Aggregates(
    arrow_row(["v"], [pa.int32()]), (AggregateCall("SUM0", (0,), pa.int64()),), changes=False
)


@given(lengths=st.lists(st.integers(1, 9), max_size=5))
@examples(40)
def test_prefixes_are_running_sums(lengths: list[int]) -> None:
    codes = np.repeat(np.arange(len(lengths)), lengths)
    numbers = np.arange(len(codes))
    state = SUM.rows([pa.array(numbers, pa.int32())], np.ones(len(codes), np.int64))
    firsts = Partitions(codes, numbers).firsts
    (found,) = SUM.results(SUM.prefixes(state, firsts))
    assert found.to_pylist() == [
        sum(range(first, i + 1)) for i, first in enumerate(firsts.tolist())
    ]


@given(lengths=st.lists(st.integers(1, 9), max_size=5), start=st.integers(-3, 0))
@examples(40)
def test_frames_may_be_empty(lengths: list[int], start: int) -> None:
    codes = np.repeat(np.arange(len(lengths)), lengths)
    numbers = np.arange(len(codes))
    state = SUM.rows([pa.array(numbers, pa.int32())], np.ones(len(codes), np.int64))
    rows = Partitions(codes, numbers)
    low, high = rows.frames(Frame("ROWS", start, -1))
    (found,) = folded_frames(SUM, state, low, high)
    wanted = [
        sum(j for j in range(max(i + start, first), i))
        for i, first in enumerate(rows.firsts.tolist())
    ]
    assert found.to_pylist() == wanted
