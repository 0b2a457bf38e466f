"""JSON rows."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
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
    (row,) = JsonRows(FIELDS).read_all(TEXT)
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
    assert JsonRows(FIELDS).write(row).decode() == TEXT


def test_missing_fields_are_null_or_an_error():
    assert JsonRows(FIELDS[:2]).read_all('{"a": 1}') == [(1, None)]
    with pytest.raises(FormatError, match="missing"):
        JsonRows(FIELDS[:2], fail_on_missing=True).read_all('{"a": 1}')


def test_texts_that_are_no_rows():
    for text in ("no json", "[1]", "null", '{"a": "one"}'):
        with pytest.raises(FormatError):
            JsonRows(FIELDS[:1]).read_all(text)
    assert JsonRows(FIELDS[:1], lenient=True).read_all("no json") == ()
    assert JsonRows(FIELDS[:1], lenient=True).read_all('{"a": "one"}') == [(None,)]


def test_what_flink_reads():
    # Answers of Flink 2.3.
    def read(text, columns, **options):
        return [tuple(row) for row in JsonRows(row_type(columns).fields, **options).read_all(text)]

    assert read('{"s": 12}', "s STRING") == [("12",)]
    assert read('{"s": {"a": 1}}', "s STRING") == [('{"a":1}',)]
    assert read('{"s": 1.50}', "s STRING") == [("1.50",)]
    assert read('{"i": 1.7, "d": "2.5"}', "i INT, d DOUBLE") == [(1, 2.5)]
    assert read('{"d": 1.235}', "d DECIMAL(10, 2)") == [(Decimal("1.24"),)]
    assert read('{"d": "99999999999"}', "d DECIMAL(10, 2)") == [(None,)]
    assert read('{"b": "TRUE"}', "b BOOLEAN") == [(True,)]
    assert read('{"b": "yes"}', "b BOOLEAN") == [(False,)]
    assert read('{"S": "x"}', "s STRING") == [(None,)]
    assert read('[{"s": "x"}, {"s": "y"}]', "s STRING") == [("x",), ("y",)]
    assert read("", "s STRING") == []
    for text in ('{"i": 3000000000}', '{"t": "2020-01-01T00:00:00"}', '{"t": "2020-01-01 10:00"}'):
        with pytest.raises(FormatError):
            read(text, "i INT, t TIMESTAMP(3)")
        assert read(text, "i INT, t TIMESTAMP(3)", lenient=True) == [(None, None)]


def test_what_flink_writes():
    # The text that Flink 2.3 writes for these rows.
    fields = row_type(
        "s STRING, f FLOAT, d DOUBLE, dc DECIMAL(10, 3), tm TIME(0), ts TIMESTAMP(6), "
        "lz TIMESTAMP_LTZ(3), y BYTES, a ARRAY<INT>, r ROW<x INT, y STRING>"
    ).fields
    one = (
        'tab\tq"x',
        0.1,
        123456789.25,
        Decimal("100.000"),
        datetime.time(3, 4, 5),
        datetime.datetime(2020, 1, 2, 3, 4, 5, 123_400),
        datetime.datetime(1970, 1, 1, 0, 0, 0, 1_000, datetime.UTC),
        b"\x01\x02",
        [None],
        {"x": None, "y": ""},
    )
    assert JsonRows(fields).text(one) == (
        '{"s":"tab\\tq\\"x","f":0.1,"d":1.2345678925E8,"dc":1E+2,"tm":"03:04:05",'
        '"ts":"2020-01-02 03:04:05.1234","lz":"1970-01-01 00:00:00.001Z","y":"AQI=","a":[null],'
        '"r":{"x":null,"y":""}}'
    )
    other = JsonRows(fields[3:], iso=True, plain_decimals=True, without_nulls=True)
    assert other.text(one[3:]) == (
        '{"dc":100.000,"tm":"03:04:05","ts":"2020-01-02T03:04:05.1234",'
        '"lz":"1970-01-01T00:00:00.001Z","y":"AQI=","a":[null],"r":{"y":""}}'
    )


def test_nanoseconds_are_read_and_written_in_full():
    columns = "t TIMESTAMP(9), l TIMESTAMP_LTZ(9), r ROW<a ARRAY<TIMESTAMP(8)>>"
    text = '{"t":"2020-12-31 00:00:00.123456789","l":"1960-12-31 23:59:59.000000001Z",'
    text += '"r":{"a":["2020-12-31 00:00:00.12345678"]}}'
    (row,) = JsonRows(row_type(columns).fields).read_all(text)
    kinds = [pa.timestamp("ns"), pa.timestamp("ns", "UTC")]
    kinds.append(pa.struct([("a", pa.list_(pa.timestamp("ns")))]))
    arrays = [pa.array([value], kind) for value, kind in zip(row, kinds, strict=True)]
    assert [array.cast(pa.string())[0].as_py() for array in arrays[:2]] == [
        "2020-12-31 00:00:00.123456789",
        "1960-12-31 23:59:59.000000001Z",
    ]
    again = [array.to_pylist()[0] for array in arrays]
    assert JsonRows(row_type(columns).fields).write(again).decode() == text


@pytest.mark.parametrize("year", ["0001", "1677", "2263", "9999"])
def test_a_time_that_nanoseconds_do_not_reach_is_no_value(year):
    fields = row_type("t TIMESTAMP(9)").fields
    text = f'{{"t":"{year}-01-01 00:00:00"}}'
    with pytest.raises(FormatError, match="is no TIMESTAMP"):
        JsonRows(fields).read_all(text)
    assert JsonRows(fields, lenient=True).read_all(text) == [(None,)]
