"""JSON rows."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from millstream.common.errors import FormatError
from millstream.table.connectors.json_rows import JsonRows
from tests.support.sql import row_type

FIELDS = row_type(
    "a INT, s STRING, d DECIMAL(10, 2), t TIMESTAMP(3), l ARRAY<INT>, m MAP<STRING, INT>, "
    "r ROW<x INT>, b BOOLEAN, y DATE"
).fields
TEXT = (
    '{"a":1,"s":"x","d":2.5,"t":"2024-01-02 03:04:05.678","l":[1,2],"m":{"k":3},"r":{"x":4},'
    '"b":true,"y":"2024-01-02"}'
)


def test_values_of_all_kinds_and_back():
    row = JsonRows(FIELDS).read(TEXT)
    assert row == (
        1,
        "x",
        Decimal("2.50"),
        datetime.datetime(2024, 1, 2, 3, 4, 5, 678000),
        [1, 2],
        [("k", 3)],
        {"x": 4},
        True,
        datetime.date(2024, 1, 2),
    )
    assert JsonRows(FIELDS).write(row) == TEXT


def test_missing_fields_are_null_or_an_error():
    assert JsonRows(FIELDS[:2]).read('{"a": 1}') == (1, None)
    with pytest.raises(FormatError, match="missing"):
        JsonRows(FIELDS[:2], fail_on_missing=True).read('{"a": 1}')


def test_texts_that_are_no_rows():
    for text in ("no json", "[1]", '{"a": "one"}'):
        with pytest.raises(FormatError):
            JsonRows(FIELDS[:1]).read(text)
    assert JsonRows(FIELDS[:1], lenient=True).read("no json") is None
    assert JsonRows(FIELDS[:1], lenient=True).read('{"a": "one"}') == (None,)
