"""Functions of times over whole columns give what the code for one value gives."""

from __future__ import annotations

from datetime import UTC

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.table.expressions import Context, kinds
from millstream.table.expressions.java.dates import DAY_NANOS, format_pattern
from millstream.table.expressions.vectors import Vector, build, internal
from millstream.table.functions.arithmetic import add_interval
from millstream.table.functions.cast_text import timestamp_text
from millstream.table.functions.time_columns import (
    add_millis,
    extract_column,
    format_column,
    moment_column,
    text_column,
)
from millstream.table.functions.time_units import extract
from millstream.table.functions.times import moment_of

DAYS = st.integers(-719_162, 2_932_896)  # of the years 1 to 9999
UNITS = (
    *("YEAR", "QUARTER", "MONTH", "DAY", "DOY", "DOW", "ISODOW", "WEEK", "ISOYEAR", "DECADE"),
    *("HOUR", "MINUTE", "SECOND", "MILLISECOND"),
)
PATTERNS = ("yyyy-MM-dd", "HH:mm", "yyyyMMddHHmmss", "dd.MM.yyyy HH:mm:ss.SSS", "ss SSSSSSSSS", "-")


@st.composite
def timestamps(draw: st.DrawFn) -> Vector:
    """A column of timestamps of any precision, with NULLs, and perhaps a slice of a longer one."""
    precision = draw(st.integers(0, 9))
    kind = kinds.timestamp(precision)
    size = 10 ** {0: 9, 3: 6, 6: 3, 9: 0}[-(-precision // 3) * 3]
    far = DAYS if precision <= 6 else st.integers(-106_000, 106_000)
    moments = st.builds(
        lambda day, nano: day * DAY_NANOS + nano // size * size,
        st.integers(-3, 3) | far,
        st.integers(0, DAY_NANOS - 1),
    )
    array = build(draw(st.lists(st.none() | moments, min_size=1, max_size=20)), kind)
    array = array.slice(draw(st.integers(0, len(array) - 1)))
    return Vector(kind, len(array), array)


def _internal(array: pa.Array | None, kind: kinds.LogicalType) -> list[object]:
    assert array is not None
    array.validate(full=True)
    assert array.type == kinds.arrow_type(kind)
    return internal(array, kind)


@settings(deadline=None)
@given(timestamps(), st.sampled_from(UNITS))
def test_parts_of_timestamps(time: Vector, unit: str) -> None:
    found = _internal(extract_column(unit, time, kinds.BIGINT, UTC), kinds.BIGINT)
    assert found == [None if each is None else extract(unit, each) for each in time.values]


@settings(deadline=None)
@given(st.lists(st.none() | st.integers(-(2**31), 2**31 - 1), min_size=1), st.sampled_from(UNITS))
def test_parts_of_dates(days: list[int | None], unit: str) -> None:
    time = Vector(kinds.DATE, len(days), build(days, kinds.DATE))
    found = _internal(extract_column(unit, time, kinds.BIGINT, UTC), kinds.BIGINT)
    assert found == [None if day is None else extract(unit, day * DAY_NANOS, day) for day in days]


@settings(deadline=None)
@given(timestamps(), st.sampled_from(PATTERNS))
def test_formats(time: Vector, pattern: str) -> None:
    constant = Vector(kinds.STRING, time.length, constant=True, scalar=pattern)
    found = _internal(format_column(time, constant, kinds.STRING, UTC), kinds.STRING)
    assert found == [
        None if each is None else format_pattern(each, pattern) for each in time.values
    ]


@pytest.mark.parametrize("pattern", ["yyyy-M", "yy", "MMM", "HH 'h'", "[HH]", "HH#", "a", "é"])
def test_other_patterns_are_left_to_the_code_for_one_value(pattern: str) -> None:
    time = Vector(kinds.timestamp(3), 1, build([0], kinds.timestamp(3)))
    constant = Vector(kinds.STRING, 1, constant=True, scalar=pattern)
    assert format_column(time, constant, kinds.STRING, UTC) is None


@settings(deadline=None)
@given(timestamps())
def test_texts(time: Vector) -> None:
    precision = kinds.width(time.type)
    found = text_column(time, kinds.STRING, UTC)
    expected = [None if each is None else timestamp_text(each, precision) for each in time.values]
    if found is None:  # there are digits behind those of the precision
        assert any(len(each) > len(timestamp_text(0, precision)) for each in expected if each)
    else:
        assert _internal(found, kinds.STRING) == expected


@pytest.mark.parametrize("day", [-719_163, 2_932_897])
def test_years_of_other_lengths_are_left_to_the_code_for_one_value(day: int) -> None:
    time = Vector(kinds.timestamp(3), 1, build([day * DAY_NANOS], kinds.timestamp(3)))
    assert text_column(time, kinds.STRING, UTC) is None


@settings(deadline=None)
@given(timestamps(), st.integers(-(10**12), 10**12))
def test_sums(time: Vector, millis: int) -> None:
    expected = [
        None if each is None else add_interval(each, millis, time.type, False, Context())
        for each in time.values
    ]
    found = add_millis(time, millis, time.type)
    if found is None:
        seconds = time.array.type.unit == "s" and millis % 1000
        assert seconds or any(each is not None and abs(each) >= 2**63 for each in expected)
    else:
        assert _internal(found, time.type) == expected


def test_a_sum_beyond_64_bits_is_left_to_the_code_for_one_value() -> None:
    kind = kinds.timestamp(9)
    time = Vector(kind, 1, build([2**63 - 1], kind))
    assert add_millis(time, 1, kind) is None


@settings(deadline=None)
@given(
    st.sampled_from((kinds.INT, kinds.BIGINT)),
    st.integers(0, 9),
    st.lists(
        st.none()
        | st.integers(-(2**31), 2**31 - 1)
        | st.integers(-(2**63), 2**63 - 1)
        | st.sampled_from((253_402_300_799_999, 253_402_300_800_000)),
        min_size=1,
    ),
)
def test_moments(number: kinds.LogicalType, digits: int, values: list[int | None]) -> None:
    if number is kinds.INT:
        values = [each if each is None or abs(each) < 2**31 else None for each in values]
    kind = kinds.timestamp(max(3, digits), True)
    found = moment_column(Vector(number, len(values), build(values, number)), digits, kind)
    expected = [None if each is None else moment_of(each, digits) for each in values]
    if found is None:  # NULL behind the year 9999, or an error
        too_late = any(a is not None and b is None for a, b in zip(values, expected, strict=True))
        assert too_late or any(each is not None and abs(each) > 2**62 for each in expected)
    else:
        assert _internal(found, kind) == expected


@pytest.mark.parametrize("digits", [None, -1, 4, 10])
def test_other_precisions_are_left_to_the_code_for_one_value(digits: int | None) -> None:
    number = Vector(kinds.BIGINT, 1, build([1], kinds.BIGINT))
    assert moment_column(number, digits, kinds.timestamp(3, True)) is None
