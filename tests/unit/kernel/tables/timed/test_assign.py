"""Windows of times by arithmetic, compared with a trial of all windows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.errors import PlanError
from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.tables.timed.assign import AlignedKind, WindowStep
from tests.support.strategies import examples

ROW = arrow_row(["k", "t"], [pa.string(), pa.timestamp("ms")])


def by_trial(kind: str, size: int, step: int, offset: int, time: int) -> set[tuple[int, int]]:
    found = set()
    for start in range(time - size, time + 1):
        if kind == "CUMULATE" and (start - offset) % size == 0:
            found |= {(start, start + n) for n in range(step, size + 1, step) if start + n > time}
        elif kind != "CUMULATE" and (start - offset) % step == 0 and start + size > time:
            found.add((start, start + size))
    return found


@pytest.mark.parametrize("kind", ["TUMBLE", "HOP", "CUMULATE"])
@given(
    times=st.lists(st.integers(-100, 100), max_size=5),
    size=st.integers(1, 12),
    step=st.integers(1, 12),
    offset=st.integers(-20, 20),
)
@examples(100)
def test_each_time_is_in_its_windows(
    kind: AlignedKind, times: list[int], size: int, step: int, offset: int
) -> None:
    step = size if kind == "TUMBLE" else step
    size = size * step if kind == "CUMULATE" else size
    found = WindowStep(ROW, kind, 1, size, step, offset).windows(np.array(times, np.int64))
    triples = list(zip(*(part.tolist() for part in found), strict=True))
    assert [place for place, _, _ in triples] == sorted(place for place, _, _ in triples)
    for place, time in enumerate(times):
        mine = [(start, end) for at, start, end in triples if at == place]
        assert len(mine) == len(set(mine))
        assert set(mine) == by_trial(kind, size, step, offset, time)


def test_a_row_without_a_time_has_no_window() -> None:
    batch = pa.RecordBatch.from_arrays(
        [pa.array(["a", "b"]), pa.array([None, 12], pa.timestamp("ms"))], names=["k", "t"]
    )
    made = WindowStep(ROW, "TUMBLE", 1, 10).run(batch)
    assert [array.cast(pa.string()).to_pylist() for array in made.arrays] == [
        ["b"],
        ["1970-01-01 00:00:00.012"],
        ["1970-01-01 00:00:00.010"],
        ["1970-01-01 00:00:00.020"],
        ["1970-01-01 00:00:00.019"],
    ]
    assert made.rows is not None and made.rows.tolist() == [1]


def test_days_of_a_zone_begin_at_its_midnight() -> None:
    zoned = arrow_row(["t"], [pa.timestamp("ms", "UTC")])
    step = WindowStep(zoned, "TUMBLE", 0, 86_400_000, zone="Europe/Berlin")
    # Half past eleven in the evening in London is half past midnight in Berlin.
    time = (
        pa.array(["2024-01-01T23:30:00"]).cast(pa.timestamp("ms")).cast(pa.timestamp("ms", "UTC"))
    )
    made = step.run(pa.RecordBatch.from_arrays([time], names=["t"]))
    start, end, last = (array[0].as_py() for array in made.arrays[1:])
    assert (str(start), str(end)) == ("2024-01-02 00:00:00", "2024-01-03 00:00:00")
    assert str(last) == "2024-01-02 22:59:59.999000+00:00"


def test_a_size_that_is_no_multiple_is_refused() -> None:
    with pytest.raises(PlanError, match="CUMULATE has a size"):
        WindowStep(ROW, "CUMULATE", 1, 10, 3)
