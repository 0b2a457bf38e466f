"""CSV rows."""

from __future__ import annotations

import datetime

import pytest

from millstream.common.errors import FormatError
from millstream.table.connectors.csv_rows import CsvRows
from tests.support.sql import row_type

FIELDS = row_type("a INT, s STRING, t TIMESTAMP(3), l ARRAY<INT>").fields


def test_values_and_back():
    line = '1,"x,y","2024-01-02 03:04:05",1;2'
    row = CsvRows(FIELDS).read(line)
    assert row == (1, "x,y", datetime.datetime(2024, 1, 2, 3, 4, 5), [1, 2])
    assert CsvRows(FIELDS).write(row) == line


def test_null_and_other_delimiters():
    rows = CsvRows(FIELDS[:2], delimiter="|", null="nil")
    assert rows.read("nil|nil") == (None, None)
    assert rows.write((None, "a")) == 'nil|"a"'


def test_wrong_lines():
    with pytest.raises(FormatError, match="3 values"):
        CsvRows(FIELDS[:2]).read("1,2,3")
    assert CsvRows(FIELDS[:2], lenient=True).read("1,2,3") is None
    with pytest.raises(FormatError, match="1 values"):
        CsvRows(FIELDS[:2]).read("")


def test_quotes_are_those_of_flink():
    # What Flink 2.3 writes: it quotes texts with a character up to the delimiter or the quote, with
    # a backslash, and those that are longer than 24 characters.
    texts = ["a b", "a,b", "a;b", "it's", "a+b", "(x)", "#c", "a-b", "123", "x" * 24, "x" * 25]
    texts += ["a\\b", "", "a|b", "=x", '"q"', "!", "~", " lead"]
    rows = CsvRows(FIELDS[1:2])
    quoted = [text for text in texts if rows.write((text,)) != text]
    assert quoted == [
        "a b",
        "a,b",
        "it's",
        "a+b",
        "(x)",
        "#c",
        "x" * 25,
        "a\\b",
        '"q"',
        "!",
        " lead",
    ]
    assert rows.write(('"q"',)) == '"""q"""'
    other = CsvRows(FIELDS[1:2], delimiter=";")
    assert [other.write((text,)) for text in ("a:b", "a<b", "1")] == ['"a:b"', "a<b", '"1"']
    assert CsvRows(FIELDS[1:2], quote=None).write(("a,b",)) == "a,b"


def test_what_flink_reads():
    # Answers of Flink 2.3.
    fields = row_type("s STRING, i INT, b BOOLEAN").fields
    assert CsvRows(fields).read(" a , 1 , TRUE ") == (" a ", 1, True)
    assert CsvRows(fields).read("#a,1,true") == ("#a", 1, True)
    assert CsvRows(fields, comments=True).read("#a,1,true") is None
    with pytest.raises(FormatError, match="'i'"):
        CsvRows(fields).read("a,,true")
    assert CsvRows(fields, lenient=True).read(",,") == ("", None, False)
    assert CsvRows(fields, lenient=True).read("a,1") == ("a", 1, None)
    with_null = CsvRows(fields[:2], null="n/a")
    assert [with_null.read(line) for line in ("n/a,n/a", '"n/a",1', ",2")] == [
        (None, None),
        (None, 1),
        ("", 2),
    ]
    nested = CsvRows(row_type("a ARRAY<INT>, r ROW<x INT, y STRING>").fields)
    assert nested.read("1;2,3;q") == ([1, 2], {"x": 3, "y": "q"})
    assert nested.read(",") == ([], None)
