"""Times in columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.kernel.tables.timed.times import as_local, as_utc, milliseconds, timestamps, unique
from tests.support.strategies import examples


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
@given(seconds=st.lists(st.integers(-(10**6), 10**6)))
@examples(40)
def test_there_and_back(unit: str, zone: str | None, seconds: list[int]) -> None:
    times = np.array(seconds, np.int64) * 1000
    column = timestamps(times, pa.timestamp(unit, zone))
    assert column.type == pa.timestamp(unit, zone)
    assert milliseconds(column).tolist() == times.tolist()


def test_times_before_1970_are_rounded_down() -> None:
    assert milliseconds(pa.array([-1, -1000, -1001], pa.timestamp("us"))).tolist() == [-1, -1, -2]


@given(times=st.lists(st.integers(0, 2**41)))
@examples(40)
def test_the_clock_on_the_wall_and_back(times: list[int]) -> None:
    given_times = np.array(times, np.int64)
    walls = as_local(given_times, "Europe/Berlin")
    # An hour in autumn is shown twice: the later one counts.
    back = as_utc(walls, "Europe/Berlin")
    assert (as_local(back, "Europe/Berlin") == walls).all()
    assert (back >= given_times).all()


def test_names_that_occur_again_get_a_number() -> None:
    assert unique(["a", "a", "a0", "a"]) == ["a", "a0", "a00", "a1"]
