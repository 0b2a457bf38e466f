"""CSV rows."""

from __future__ import annotations

import datetime

import pytest

from millstream.common.errors import FormatError
from millstream.table.connectors.csv_rows import CsvRows
from tests.support.sql import row_type

FIELDS = row_type("a INT, s STRING, t TIMESTAMP(3), l ARRAY<INT>").fields


def test_values_and_back():
    line = '1,"x,y",2024-01-02 03:04:05,1;2'
    row = CsvRows(FIELDS).read(line)
    assert row == (1, "x,y", datetime.datetime(2024, 1, 2, 3, 4, 5), [1, 2])
    assert CsvRows(FIELDS).write(row) == line


def test_null_and_other_delimiters():
    rows = CsvRows(FIELDS[:2], delimiter="|", null="nil")
    assert rows.read("|nil") == (None, None)
    assert rows.write((None, "a")) == "nil|a"


def test_wrong_lines():
    with pytest.raises(FormatError, match="3 values"):
        CsvRows(FIELDS[:2]).read("1,2,3")
    assert CsvRows(FIELDS[:2], lenient=True).read("1,2,3") is None
    assert CsvRows(FIELDS[:2]).read("") is None
