"""Evictors: which records leave a window, and when."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from millstream.common import Duration
from millstream.common.errors import PlanError
from millstream.datastream.window import (
    CountEvictor,
    DeltaEvictor,
    DeltaFunction,
    Evictor,
    TimeEvictor,
    TimestampedValue,
    TimeWindow,
)

WINDOW = TimeWindow(0, 100)


class Context(Evictor.EvictorContext):
    def get_current_processing_time(self) -> int:
        return 0

    def get_current_watermark(self) -> int:
        return 0

    def get_metric_group(self) -> Any:
        raise NotImplementedError


class Distance(DeltaFunction):
    def get_delta(self, old_data_point: Any, new_data_point: Any) -> float:
        return float(new_data_point - old_data_point)


def records(*values: Any, times: bool = False) -> list[TimestampedValue]:
    return [TimestampedValue(value, value if times else None) for value in values]


def evicted(
    evictor: Evictor[Any, Any], elements: list[TimestampedValue]
) -> tuple[list[Any], list[Any]]:
    """Return what is left after each of the two calls; both change one list."""
    elements = list(elements)
    evictor.evict_before(elements, len(elements), WINDOW, Context())
    before = [element.value for element in elements]
    evictor.evict_after(elements, len(elements), WINDOW, Context())
    return before, [element.value for element in elements]


@pytest.mark.parametrize(
    ("count", "left"), [(0, []), (1, [3]), (2, [2, 3]), (3, [1, 2, 3]), (4, [1, 2, 3])]
)
def test_count_keeps_the_last(count: int, left: list[int]) -> None:
    assert evicted(CountEvictor.of(count), records(1, 2, 3)) == (left, left)
    after = CountEvictor.of(count, do_evict_after=True)
    assert evicted(after, records(1, 2, 3)) == ([1, 2, 3], left)


def test_time_keeps_what_is_near_the_newest() -> None:
    elements = records(5, 30, 10, 20, 21, times=True)
    assert evicted(TimeEvictor.of(10), elements) == ([30, 21], [30, 21])
    assert evicted(TimeEvictor.of(11), elements)[0] == [30, 20, 21]
    assert evicted(TimeEvictor.of(10, do_evict_after=True), elements) == (
        [5, 30, 10, 20, 21],
        [30, 21],
    )


def test_time_keeps_records_without_time() -> None:
    assert evicted(TimeEvictor.of(10), records(1, 2, 3)) == ([1, 2, 3], [1, 2, 3])
    mixed = [*records("none"), *records(0, 50, times=True)]
    assert evicted(TimeEvictor.of(10), mixed)[0] == ["none", 50]


@pytest.mark.parametrize("function", [Distance(), lambda old, new: new - old])
def test_delta_keeps_what_is_near_the_last(function: Any) -> None:
    elements = records(5, 6, 1, 9, 10)
    assert evicted(DeltaEvictor.of(5, function), elements) == ([6, 9, 10], [6, 9, 10])
    after = DeltaEvictor.of(5, function, do_evict_after=True)
    assert evicted(after, elements) == ([5, 6, 1, 9, 10], [6, 9, 10])


def test_delta_that_is_no_number_keeps() -> None:
    assert evicted(DeltaEvictor.of(0, lambda old, new: float("nan")), records(1, 2))[0] == [1, 2]


@pytest.mark.parametrize(
    "evictor", [CountEvictor.of(1), TimeEvictor.of(1), DeltaEvictor.of(1, Distance())]
)
def test_an_empty_window_stays_empty(evictor: Evictor[Any, Any]) -> None:
    assert evicted(evictor, []) == ([], [])


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: CountEvictor.of(-1), "BAD_NUMBER"),
        (lambda: CountEvictor.of("3"), "BAD_NUMBER"),  # type: ignore[arg-type]
        (lambda: TimeEvictor.of("-1 s"), "INVALID_DURATION"),
        (lambda: TimeEvictor.of("soon"), "INVALID_DURATION"),
        (lambda: DeltaEvictor.of(True, Distance()), "BAD_NUMBER"),
        (lambda: DeltaEvictor.of(1, lambda: 1), "WRONG_ARITY"),  # type: ignore[arg-type, misc]
    ],
)
def test_bad_arguments_name_the_line(make: Any, code: str) -> None:
    with pytest.raises(PlanError) as caught:
        make()
    assert caught.value.code == code
    assert caught.value.location is not None
    assert caught.value.location.file == __file__


@pytest.mark.parametrize(
    ("evictor", "text"),
    [
        (CountEvictor.of(max_count=3), "CountEvictor(3)"),
        (CountEvictor.of(3, True), "CountEvictor(3, do_evict_after=True)"),
        (TimeEvictor.of(window_size=Duration.of_seconds(1)), "TimeEvictor(1000)"),
        (DeltaEvictor.of(0.5, Distance()), "DeltaEvictor(0.5)"),
    ],
)
def test_reprs_survive_pickling(evictor: Any, text: str) -> None:
    assert repr(evictor) == repr(pickle.loads(pickle.dumps(evictor))) == text
