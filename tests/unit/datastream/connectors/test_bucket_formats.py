"""Names of buckets by time, and when they are over."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.errors import PlanError
from millstream.datastream.connectors.bucket_formats import TimeFormat
from tests.support.strategies import examples


def ms(*moment: int) -> int:
    return int(datetime(*moment, tzinfo=UTC).timestamp() * 1_000)  # type: ignore[misc, arg-type]


@pytest.mark.parametrize(
    ("pattern", "name", "end"),
    [
        ("yyyy-MM-dd--HH", "2026-02-03--04", ms(2026, 2, 3, 5)),
        ("'day='yyyy-MM-dd/'hour='HH", "day=2026-02-03/hour=04", ms(2026, 2, 3, 5)),
        ("yyyyMMdd", "20260203", ms(2026, 2, 4)),
        ("'it''s 'yyyy/M", "it's 2026/2", ms(2026, 3, 1)),
        ("uuuu", "2026", ms(2027, 1, 1)),
        ("HH:mm", "04:05", ms(2026, 2, 3, 4, 6)),
        ("ss", "06", ms(2026, 2, 3, 4, 5, 7)),
    ],
)
def test_names_and_ends(pattern: str, name: str, end: int) -> None:
    times = TimeFormat(pattern, "UTC")
    moment = ms(2026, 2, 3, 4, 5, 6) + 789
    assert times.name(moment) == name
    assert times.end_ms(moment) == end


def test_days_of_a_zone() -> None:
    days = TimeFormat("yyyy-MM-dd", "Asia/Tokyo")
    assert days.name(ms(2026, 1, 1, 14, 59)) == "2026-01-01"
    assert days.end_ms(ms(2026, 1, 1, 14, 59)) == ms(2026, 1, 1, 15)


def test_the_hour_that_comes_twice_is_over_after_the_second_time() -> None:
    hours = TimeFormat("yyyy-MM-dd HH", "Europe/Berlin")
    first, second = ms(2026, 10, 25, 0, 30), ms(2026, 10, 25, 1, 30)
    assert hours.name(first) == hours.name(second) == "2026-10-25 02"
    assert hours.end_ms(first) == hours.end_ms(second) == ms(2026, 10, 25, 2)


@examples(100)
@given(st.integers(ms(1970, 1, 2), ms(2200, 1, 1)), st.sampled_from(["HH", "dd", "MM", "yyyy"]))
def test_a_name_lasts_until_its_end(moment: int, finest: str) -> None:
    pattern = "yyyy-MM-dd-HH"[: "yyyy-MM-dd-HH".index(finest) + len(finest)]
    times = TimeFormat(pattern, "Europe/Berlin")
    end = times.end_ms(moment)
    assert moment < end
    assert times.name(end - 1) == times.name(moment) != times.name(end)


@pytest.mark.parametrize(
    ("pattern", "zone"),
    [("", "UTC"), ("'text'", "UTC"), ("MMM", "UTC"), ("yy", "UTC"), ("EEE", "UTC"), ("HH", "Mars")],
)
def test_what_is_no_pattern(pattern: str, zone: str) -> None:
    with pytest.raises(PlanError, match="BAD_BUCKET_FORMAT"):
        TimeFormat(pattern, zone)
