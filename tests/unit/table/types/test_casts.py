"""Casts that are allowed, with and without CAST."""

from __future__ import annotations

import pytest

from millstream.table.types.casts import can_avoid_cast, can_cast, can_cast_implicitly
from millstream.table.types.parsing import parse_logical_type as t

# What each type becomes, by itself (i) and by CAST (e), in the order of the columns.
TABLE = """
CHAR(3)          i i e e e e e e e e e e e e
STRING           e i e e e e e e e e e e e e
BYTES            e e i . . . . . . . . . . .
BOOLEAN          e e . i e e e e e e . . . .
DECIMAL(5,2)     e e . . i e e e i i . . e e
TINYINT          e e . e i i i i i i . . e e
INT              e e . e i e i i i i . . e e
BIGINT           e e . e i e e i i i . . e e
FLOAT            e e . . i e e e i i . . e e
DOUBLE           e e . . i e e e e i . . e e
DATE             e e . . . . . . . . i . e e
TIME             e e . . . . . . . . . i e e
TIMESTAMP(3)     e e . . e e e e e e i i i i
TIMESTAMP_LTZ(3) e e . . e e e e e e e e i i
"""
NAMES = [line.split()[0] for line in TABLE.strip().splitlines()]


@pytest.mark.parametrize("line", TABLE.strip().splitlines())
def test_the_table(line: str) -> None:
    source, *letters = line.split()
    for target, letter in zip(NAMES, letters, strict=True):
        found = (can_cast_implicitly(t(source), t(target)), can_cast(t(source), t(target)))
        expected = {"i": (True, True), "e": (False, True), ".": (False, False)}[letter]
        assert found == expected, f"{source} to {target}"


@pytest.mark.parametrize(
    ("source", "target", "implicit", "explicit"),
    [
        ("INT", "INT NOT NULL", False, False),
        ("INT NOT NULL", "BIGINT", True, True),
        ("NULL", "ROW<a INT>", True, True),
        ("INTERVAL DAY", "INT", False, True),
        ("INTERVAL DAY TO SECOND", "INT", False, False),
        ("INT", "INTERVAL MONTH", False, True),
        ("STRING", "INTERVAL DAY TO SECOND", False, True),
        ("ARRAY<INT>", "ARRAY<BIGINT>", True, True),
        ("ARRAY<BIGINT>", "ARRAY<INT>", False, True),
        ("ARRAY<INT>", "MULTISET<INT>", False, False),
        ("ROW<a INT>", "ROW<b BIGINT>", True, True),
        ("ROW<a INT>", "ROW<a INT, b INT>", False, False),
        ("ROW<a INT>", "STRUCTURED<'c', a INT>", True, True),
        ("STRUCTURED<'c', a INT>", "STRUCTURED<'d', a BIGINT>", False, False),
        ("MAP<STRING, INT>", "STRING", False, True),
        ("RAW('a', 'b')", "STRING", False, True),
        ("RAW('a', 'b')", "BYTES", False, True),
        ("RAW('a', 'b')", "INT", False, False),
        ("BYTES", "RAW('a', 'b')", False, False),
    ],
)
def test_special_casts(source: str, target: str, implicit: bool, explicit: bool) -> None:
    assert can_cast_implicitly(t(source), t(target)) is implicit
    assert can_cast(t(source), t(target)) is explicit


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("INT NOT NULL", "INT", True),
        ("INT", "INT NOT NULL", False),
        ("INT", "BIGINT", False),
        ("CHAR(2)", "VARCHAR(3)", True),
        ("VARCHAR(2)", "CHAR(3)", False),
        ("VARCHAR(4)", "VARCHAR(3)", False),
        ("BINARY(2)", "BYTES", True),
        ("ROW<a INT>", "ROW<b INT>", True),
        ("ROW<a INT>", "ROW<b INT, c INT>", False),
        ("ARRAY<INT>", "MULTISET<INT>", False),
    ],
)
def test_casts_that_are_not_needed(source: str, target: str, expected: bool) -> None:
    assert can_avoid_cast(t(source), t(target)) is expected
