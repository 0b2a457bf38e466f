"""Lines that Arrow reads: never other values than those that are read one by one."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.errors import FormatError
from millstream.table.connectors.csv_rows import CsvRows
from millstream.table.connectors.json_rows import JsonRows
from millstream.table.types.arrow import arrow_type
from tests.support.sql import row_type
from tests.support.strategies import examples

FIELDS = row_type("s STRING, i INT, d DOUBLE, b BOOLEAN, t TIMESTAMP(3), y DATE").fields
PLAIN = '{"s":"a","i":1,"d":2,"b":true,"t":"2024-01-02 03:04:05.5","y":"2024-01-02"}'


def by_line(rows, lines):
    try:
        return [tuple(row) for line in lines for row in rows.read_all(line.encode())]
    except FormatError:
        return None


def by_columns(rows, lines):
    found = rows.columns(pa.array(lines))
    return None if found is None else list(zip(*(each.to_pylist() for each in found), strict=True))


def test_plain_lines_are_read_at_once():
    rows = JsonRows(FIELDS)
    assert by_columns(rows, [PLAIN, "{}"]) == by_line(rows, [PLAIN, "{}"])
    lines = ["a,1,2.5,true,2024-01-02 03:04:05.5,2024-01-02"]
    other = CsvRows(FIELDS)
    assert by_columns(other, lines) == [other.read(line) for line in lines]


def test_messages_with_ends_of_lines_are_read_one_by_one():
    rows = JsonRows(FIELDS)
    assert by_columns(rows, [PLAIN, '{"s":\n"a"}']) is None
    assert CsvRows(FIELDS).columns(pa.array(["a,1,2,true,,\nb,1,2,true,,"])) is None


_JSON = """1|-0|1.0|1e2|"1"|" 1"|true|"TRUE"|null|[1]|{"a":1}|"x"|""|3000000000|01|"2024-01-02"|1_0|NaN
"2024-01-02T03:04:05"|"2024-13-02"|99999999999999999999|"2024-01-02 03:04:05"|" 1 "
"2024-01-02 03:04:05.1234"|"\\u00e9"|"\\ud800"|"a\\nb\""""
JSON_VALUES = st.sampled_from(_JSON.replace("\n", "|").split("|"))
JSON_LINES = st.one_of(
    st.lists(st.tuples(st.sampled_from("sidbtyz"), JSON_VALUES), max_size=3).map(
        lambda pairs: "{" + ",".join(f'"{name}":{value}' for name, value in pairs) + "}"
    ),
    st.sampled_from(["", "{}", "[{}]", "{}{}", "x", '{"s":"a"', " {}", PLAIN]),
)


@given(lines=st.lists(JSON_LINES, min_size=1, max_size=3))
@examples(300)
def test_json_is_never_read_differently(lines):
    rows = JsonRows(FIELDS)
    found = by_columns(rows, lines)
    assert found is None or found == by_line(rows, lines)


NESTED = row_type(
    "r ROW<s STRING, i INT, t TIMESTAMP(6), n ROW<d DOUBLE>>, a ARRAY<INT>, "
    "b ARRAY<ROW<s STRING, t DATE>>, "
    "f FLOAT, p DECIMAL(5, 2), l TIMESTAMP_LTZ(3)"
).fields
NESTED_LINES = [
    '{"r":{"s":"x","i":1,"t":"2024-01-02 03:04:05.123456","n":{"d":1.5}},"a":[1,null],"b":[],"f":1.1,'
    '"p":1.25,"l":"2024-01-02 03:04:05Z"}',
    '{"r":null,"a":null,"b":[{"s":"y","t":"2024-01-02"},null,{}],"l":null}',
    '{"r":{"n":{}},"a":[],"more":{"r":[1]}}',
    "{}",
]


def test_rows_and_arrays_are_read_at_once():
    rows = JsonRows(NESTED)
    for lines in (NESTED_LINES, NESTED_LINES[1:], NESTED_LINES[:1], ["{}"]):
        found = rows.columns(pa.array(lines))
        assert found is not None
        one_by_one = list(zip(*by_line(rows, lines), strict=True))
        for column, values, field in zip(found, one_by_one, NESTED, strict=True):
            assert column.type == arrow_type(field.type)
            assert column.to_pylist() == pa.array(list(values), column.type).to_pylist()


NESTED_VALUES = st.recursive(
    JSON_VALUES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2).map(lambda each: f"[{','.join(each)}]"),
        st.lists(st.tuples(st.sampled_from("sitndz"), inner), max_size=2).map(
            lambda pairs: "{" + ",".join(f'"{name}":{value}' for name, value in pairs) + "}"
        ),
    ),
    max_leaves=4,
)
NESTED_OBJECTS = st.one_of(
    st.lists(st.tuples(st.sampled_from("rabfpl"), NESTED_VALUES), max_size=2).map(
        lambda pairs: "{" + ",".join(f'"{name}":{value}' for name, value in pairs) + "}"
    ),
    st.sampled_from(NESTED_LINES),
)


@given(lines=st.lists(NESTED_OBJECTS, min_size=1, max_size=2))
@examples(400)
def test_nested_json_is_never_read_differently(lines):
    rows = JsonRows(NESTED)
    found = rows.columns(pa.array(lines))
    if found is None:
        return
    one_by_one = by_line(rows, lines)
    assert one_by_one is not None, lines
    for column, values in zip(found, zip(*one_by_one, strict=True), strict=True):
        assert column.to_pylist() == pa.array(list(values), column.type).to_pylist()


_CSV = """|a| a |1| 1|+1|1.5|1e3|true|TRUE| true|null|NaN|inf|é|"x"|2024-01-02|2024-01-02 03:04:05
2024-01-02 03:04:05.123|2024-1-2|#|0x1|1_0"""
CSV_PARTS = st.sampled_from(_CSV.replace("\n", "|").split("|"))


@given(
    lines=st.lists(
        st.lists(CSV_PARTS, min_size=1, max_size=4).map(",".join), min_size=1, max_size=3
    ),
    columns=st.sampled_from(
        [
            "s STRING, i INT",
            "d DOUBLE, b BOOLEAN",
            "t TIMESTAMP(3), y DATE",
            "f FLOAT, p DECIMAL(5, 2)",
            "t TIMESTAMP(6), l TIMESTAMP_LTZ(3)",
        ]
    ),
)
@examples(300)
def test_csv_is_never_read_differently(lines, columns):
    rows = CsvRows(row_type(columns).fields)
    found = by_columns(rows, lines)
    if found is None:
        return
    try:
        assert repr(found) == repr([rows.read(line) for line in lines])
    except FormatError:
        pytest.fail(f"{lines} are no rows")


_TIMES = st.from_regex(
    r"\A(19|20)\d\d[-/]\d\d-[0-3]\d[ T][0-2]\d:[0-5]\d:[0-5]\d([.:]\d{2,6})?Z?\Z"
)
_SHAPED = row_type("t TIMESTAMP(3), u TIMESTAMP(6), l TIMESTAMP_LTZ(3), y DATE").fields


@given(
    name=st.sampled_from("tuly"),
    texts=st.lists(st.none() | _TIMES | st.just("2024-01-02 03:04:05.678"), min_size=1, max_size=4),
)
@examples(300)
def test_times_are_never_read_differently(name, texts):
    lines = [f'{{"{name}":null}}' if t is None else f'{{"{name}":"{t}"}}' for t in texts]
    rows = JsonRows(_SHAPED)
    found = by_columns(rows, lines)
    assert found is None or found == by_line(rows, lines)


def test_whole_times_are_read_at_once():
    line = '{"t":"2024-01-02 03:04:05.678","u":"2024-01-02 03:04:05.678901","y":"2024-01-02"}'
    rows = JsonRows(_SHAPED)
    assert by_columns(rows, [line, "{}"]) == by_line(rows, [line, "{}"])
