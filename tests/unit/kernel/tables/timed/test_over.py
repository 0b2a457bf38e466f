"""OVER over random rows, watermarks and cuts, compared with a loop over all rows.

Flink's rules: by row time a row comes when the watermark has reached it, rows of one time in the order
of their arrival; of RANGE all rows of one time are in each other's frames, and LAG and ranks are those
of the last of them: ranks count rows. A row whose time the watermark has reached when it comes is
dropped; frames that do not begin with the first row take it, unless a row of its partition with its time
or a later one has come out. By arrival a row comes at once.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.errors import PlanError
from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.tables.aggregates.calls import AggregateCall
from millstream.kernel.tables.bags import SortColumn
from millstream.kernel.tables.timed.frames import Frame, WindowCall
from millstream.kernel.tables.timed.over import OverSpec
from tests.support.strategies import examples
from tests.support.tables import Plan, Weighted, bag, canonical, plans
from tests.support.timed_tables import TimedRun, at, limits, ms_of, single

ROW = arrow_row(["k", "v", "t"], [pa.string(), pa.int32(), pa.timestamp("ms")])
SUMS: tuple[Any, ...] = (
    AggregateCall("COUNT", (), pa.int64()),
    AggregateCall("SUM", (1,), pa.int32()),
    AggregateCall("LAST_VALUE", (1,), pa.int32()),
)
PLACES: tuple[Any, ...] = (
    WindowCall("ROW_NUMBER", (), pa.int64()),
    WindowCall("RANK", (), pa.int64()),
    WindowCall("DENSE_RANK", (), pa.int64()),
    WindowCall("LAG", (1,), pa.int32(), 2),
)
FRAMES = [
    Frame("ROWS", None, 0),
    Frame("ROWS", -2, 0),
    Frame("ROWS", -3, -1),
    Frame("RANGE", None, 0),
    Frame("RANGE", -10, 0),
]
values = st.tuples(
    st.sampled_from(["x", "y", None]), st.sampled_from([1, 5, None]), st.integers(-9, 30).map(at)
)
rows = st.lists(st.tuples(values, st.just(1)), max_size=14)


def frame_of(frame: Frame, part: list[Any], place: int, number: Any) -> list[Any]:
    """The rows of a frame, by trial. ``number``: what RANGE compares."""
    found = []
    for other, row in enumerate(part):
        away = other - place if frame.unit == "ROWS" else number(row) - number(part[place])
        after = frame.start is None or away >= frame.start
        if after and (frame.end is None or away <= frame.end):
            found.append(row)
    return found


def called(call: Any, frame: Frame, part: list[Any], place: int, number: Any) -> Any:
    mine = number(part[place])
    inside = frame_of(frame, part, place, number)
    known = [row[1] for row in inside if row[1] is not None]
    before = [number(row) for row in part if number(row) < mine]
    if call.function == "COUNT":
        return len(inside)
    if call.function == "SUM":
        return sum(known) if known else None
    if call.function == "LAST_VALUE":
        return known[-1] if known else None
    if call.function == "ROW_NUMBER":
        return place + 1
    if call.function == "RANK":
        return len(before) + 1
    if call.function == "DENSE_RANK":
        return len(set(before)) + 1
    if call.function == "NTILE":
        size, more = divmod(len(part), call.offset)
        sizes = [size + (i < more) for i in range(call.offset)]
        return next(i for i in range(1, call.offset + 1) if sum(sizes[:i]) > place)
    if call.function == "PERCENT_RANK":
        return len(before) / (len(part) - 1) if len(part) > 1 else 0.0
    if call.function == "CUME_DIST":
        return sum(number(row) <= mine for row in part) / len(part)
    there = place + (call.offset if call.function == "LEAD" else -call.offset)
    return part[there][1] if 0 <= there < len(part) else None


def called_by_time(call: Any, frame: Frame, part: list[Any], place: int, number: Any) -> Any:
    """What Flink gives by row time: it adds all rows of one time before it gives results for them."""
    if frame.unit == "ROWS" or call.function not in ("RANK", "DENSE_RANK", "LAG"):
        return called(call, frame, part, place, number)
    last = max(i for i, row in enumerate(part) if number(row) == number(part[place]))
    return called(call, frame, part, last, number) if call.function == "LAG" else last + 1


def expected(
    spec: OverSpec, parts: dict[Any, list[Any]], number: Any, called: Any = called
) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for part in parts.values():
        for place, row in enumerate(part):
            results = [called(call, spec.frame, part, place, number) for call in spec.calls]
            found[canonical((*row, *results))] += 1
    return found


def comes_in_order(frame: Frame, part: list[Any], time: int, limit: int) -> bool:
    """Whether a row that is behind the watermark is taken: a frame of RANGE must still have its rows."""
    gone = [ms_of(row[2]) for row in part if ms_of(row[2]) <= limit]
    near = frame.unit == "ROWS" or (frame.start is not None and time > limit + frame.start)
    return frame.start is not None and near and all(time > each for each in gone)


@pytest.mark.parametrize("frame", FRAMES, ids=str)
@pytest.mark.parametrize("calls", [SUMS, SUMS + PLACES, PLACES[3:]], ids=["sums", "all", "lag"])
@given(given=rows, delay=st.sampled_from([0, 5, 50]), plan=plans)
@examples(25)
def test_by_row_time(
    frame: Frame, calls: Any, given: list[Weighted], delay: int, plan: Plan
) -> None:
    spec = OverSpec(ROW, (0,), (SortColumn(2),), calls, frame)
    parts: dict[Any, list[Any]] = {}
    for (row, _), limit in zip(given, limits(given, 2, delay), strict=True):
        part = parts.setdefault(row[0], [])
        if ms_of(row[2]) > limit or comes_in_order(frame, part, ms_of(row[2]), limit):
            part.append(row)
    for part in parts.values():
        part.sort(key=lambda row: ms_of(row[2]))
    run = TimedRun(spec, [given], times=[2], delay=delay)
    assert run.table(plan) == expected(spec, parts, lambda row: ms_of(row[2]), called_by_time)


@pytest.mark.parametrize("frame", FRAMES[:3], ids=str)
@pytest.mark.parametrize("calls", [SUMS, SUMS + PLACES[3:]], ids=["sums", "all"])
@given(given=rows, plan=plans)
@examples(25)
def test_by_arrival(frame: Frame, calls: Any, given: list[Weighted], plan: Plan) -> None:
    spec = OverSpec(ROW, (0,), (), calls, frame, "arrival")
    parts: dict[Any, list[Any]] = {}
    for row, _ in given:
        parts.setdefault(row[0], []).append(row)
    run = TimedRun(spec, [given], times=[2])
    assert run.table(plan) == expected(spec, parts, lambda row: 0)


@st.composite
def changes(draw: Any) -> list[Weighted]:
    found: list[Weighted] = []
    for row, weight in draw(rows):
        found.append((row, weight))
        if draw(st.booleans()):
            left = sorted(bag(found).elements(), key=repr)
            if left:
                found.append((draw(st.sampled_from(left)), -1))
    return found


UPDATING = [
    *FRAMES[:4],
    Frame("ROWS", -1, 1),
    Frame("RANGE", 0, None),
    Frame("RANGE", -5, 3),
    Frame("ROWS", None, None),
]
RANKS = (
    *PLACES,
    WindowCall("LEAD", (1,), pa.int32(), 1),
    WindowCall("NTILE", (), pa.int64(), 3),
    WindowCall("PERCENT_RANK", (), pa.float64()),
    WindowCall("CUME_DIST", (), pa.float64()),
)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("frame", UPDATING, ids=str)
@given(given=changes(), plan=plans)
@examples(25)
def test_over_rows_that_change(
    frame: Frame, descending: bool, given: list[Weighted], plan: Plan
) -> None:
    calls = (*SUMS, *RANKS)
    spec = OverSpec(ROW, (0,), (SortColumn(2, descending),), calls, frame, "updating", True)
    sign = -1 if descending else 1
    parts: dict[Any, list[Any]] = {}
    for row in bag(single(given)).elements():
        parts.setdefault(row[0], []).append(row)
    for part in parts.values():
        part.sort(key=lambda row: (sign * ms_of(row[2]), row[1] is not None, row[1] or 0))
    run = TimedRun(spec, [given], times=[2])
    assert run.table(plan) == expected(spec, parts, lambda row: sign * ms_of(row[2]))


def test_frames_by_time_do_not_look_ahead() -> None:
    with pytest.raises(PlanError, match="end with the current row"):
        OverSpec(ROW, (0,), (SortColumn(2),), SUMS, Frame("ROWS", None, 1))
