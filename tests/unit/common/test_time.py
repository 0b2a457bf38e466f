"""Spans and points of time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.errors import PlanError
from millstream.common.time import (
    MAX_TIMESTAMP,
    MAX_WATERMARK,
    MIN_TIMESTAMP,
    Duration,
    Instant,
    Time,
    to_millis,
)
from tests.support.strategies import examples

UNITS = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def test_limits() -> None:
    assert (MIN_TIMESTAMP, MAX_TIMESTAMP, MAX_WATERMARK) == (-(2**63), 2**63 - 1, 2**63 - 1)


@pytest.mark.parametrize(
    ("time", "millis"),
    [
        (Time.milliseconds(7), 7),
        (Time.seconds(7), 7_000),
        (Time.minutes(7), 420_000),
        (Time.hours(7), 25_200_000),
        (Time.days(7), 604_800_000),
        (Time.of(7, "min"), 420_000),
        (Time.of(7, "SECONDS"), 7_000),
        (Time.of("1h 30min"), 5_400_000),
        (Time.hours(-8), -28_800_000),
    ],
)
def test_time(time: Time, millis: int) -> None:
    assert time.to_milliseconds() == millis
    assert time == Time.milliseconds(millis) and hash(time) == hash(Time.milliseconds(millis))


@pytest.mark.parametrize(
    ("duration", "millis"),
    [
        (Duration.of_nanos(7_000_000), 7),
        (Duration.of_millis(7), 7),
        (Duration.of_seconds(7), 7_000),
        (Duration.of_minutes(7), 420_000),
        (Duration.of_hours(7), 25_200_000),
        (Duration.of_days(7), 604_800_000),
    ],
)
def test_duration(duration: Duration, millis: int) -> None:
    assert duration.to_millis() == millis == to_millis(duration)
    assert duration == Duration.of_millis(millis)


@pytest.mark.parametrize("make", [Time.seconds, Duration.of_seconds, Duration.of_nanos])
@pytest.mark.parametrize("value", [1.5, "1", True, None])
def test_units_take_whole_numbers(make: object, value: object) -> None:
    with pytest.raises(PlanError, match="INVALID_DURATION"):
        make(value)  # type: ignore[operator]


def test_time_of_names_an_unknown_unit() -> None:
    with pytest.raises(PlanError, match="'weeks'"):
        Time.of(1, "weeks")


def test_reprs() -> None:
    assert repr(Time.seconds(1)) == "Time(1000 ms)"
    assert repr(Duration.of_seconds(1)) == "Duration(1000 ms)"
    assert repr(Duration.of_nanos(1)) == "Duration(1 ns)"


@examples(100)
@given(st.integers(-(2**60), 2**60))
def test_instant_round_trip(millis: int) -> None:
    instant = Instant.of_epoch_milli(millis)
    assert instant.to_epoch_milli() == millis
    assert 0 <= instant.nanos < 1_000_000_000


@pytest.mark.parametrize(
    ("value", "millis"),
    [
        ("5 s", 5_000),
        ("5s", 5_000),
        ("500 ms", 500),
        ("2 min", 120_000),
        ("2 m", 120_000),
        ("1 h", 3_600_000),
        ("1 d", 86_400_000),
        ("1h 30min", 5_400_000),
        ("1h30min", 5_400_000),
        ("2 Days 3 hours", 183_600_000),
        (" 1 second ", 1_000),
        ("0.5 s", 500),
        ("250", 250),
        (timedelta(seconds=1, milliseconds=5), 1_005),
        (Time.seconds(3), 3_000),
        (Duration.of_seconds(3), 3_000),
        (42, 42),
        (0, 0),
    ],
)
def test_accepted_spans(value: object, millis: int) -> None:
    assert to_millis(value) == millis


@pytest.mark.parametrize(
    "value",
    [
        "",
        "abc",
        "5 weeks",
        "5 s x",
        "s",
        "1..5 s",
        "5 5",
        "1 h 30",
        "٣ s",
        None,
        1.5,
        True,
        [1],
        b"5 s",
    ],
)
def test_refused_spans_are_named_with_the_accepted_forms(value: object) -> None:
    with pytest.raises(PlanError) as caught:
        to_millis(value, "window size")
    assert caught.value.code == "INVALID_DURATION"
    assert f"window size: {value!r} is not a span of time" in caught.value.message
    assert "1h 30min" in (caught.value.hint or "")
    assert caught.value.location is not None and caught.value.location.file == __file__


@pytest.mark.parametrize(
    "value", ["0.5 ms", timedelta(microseconds=1500), Duration.of_nanos(1_500_000)]
)
def test_parts_of_a_millisecond_are_refused(value: object) -> None:
    with pytest.raises(PlanError, match="whole number of milliseconds"):
        to_millis(value)


@pytest.mark.parametrize("value", [-1, "-5 s", "- 1h 30min", timedelta(seconds=-1), Time.days(-1)])
def test_negative_spans_need_permission(value: object) -> None:
    with pytest.raises(PlanError, match="is negative"):
        to_millis(value)
    assert to_millis(value, allow_negative=True) < 0


def test_sign_is_for_the_whole_text() -> None:
    assert to_millis("-1h 30min", allow_negative=True) == -5_400_000


def test_more_than_64_bits_is_refused() -> None:
    assert to_millis(2**63 - 1) == 2**63 - 1
    with pytest.raises(PlanError, match="64 bits"):
        to_millis(2**63)


@examples(100)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(sorted(UNITS))), min_size=1))
def test_written_spans_read_back(parts: list[tuple[int, str]]) -> None:
    expected = sum(number * UNITS[unit] for number, unit in parts)
    assert to_millis(" ".join(f"{number} {unit}" for number, unit in parts)) == expected
    assert to_millis(" ".join(f"{number}{unit}" for number, unit in parts)) == expected


@examples(100)
@given(st.integers(-(2**62), 2**62))
def test_every_form_of_milliseconds_agrees(millis: int) -> None:
    forms = (millis, f"{millis} ms", str(millis), Time.milliseconds(millis))
    assert {to_millis(form, allow_negative=True) for form in forms} == {millis}
    assert to_millis(Duration.of_millis(millis), allow_negative=True) == millis


def test_time_of_milliseconds_as_in_pyflink() -> None:
    assert Time(milliseconds=1_000) == Time(1_000) == Time.seconds(1) < Time.minutes(1)
