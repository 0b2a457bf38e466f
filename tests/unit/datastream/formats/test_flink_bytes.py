"""JSON and CSV messages, byte by byte as Flink 2.3 wrote them, and what Flink read of some."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal, FloatOperation, localcontext
from typing import Any

import pytest

from millstream.common import Instant, Row, Types
from millstream.common.errors import PlanError
from millstream.common.java_text import java_double, java_float
from millstream.common.types import rows_of
from millstream.datastream.formats.csv import (
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
)
from millstream.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)

S, INT, DOUBLE = Types.STRING(), Types.INT(), Types.DOUBLE()
INSIDE = Types.ROW([INT, S])
STRINGS, INTS = Types.OBJECT_ARRAY(S), Types.BASIC_ARRAY(INT)
DAY, TIME = date(2026, 1, 31), time(1, 2, 3)
MOMENT = datetime(2026, 1, 31, 1, 2, 3, 456_000)
TIMES = [Types.SQL_DATE(), Types.SQL_TIME(), Types.SQL_TIMESTAMP()]
BIG = 123456789012345678901234567890
NAN, INF = float("nan"), float("inf")

# -- JSON ------------------------------------------------------------------------------------------

JSON: list[tuple[list[Any], list[Any], bytes]] = [
    ([INT, S], [1, "x"], b'{"a":1,"b":"x"}'),
    ([INT, S], [None, None], b'{"a":null,"b":null}'),
    (
        [S],
        ['ä\u20ac"\\/\n\t\x01\u2028\U0001f600\x7f'],
        b'{"a":"\xc3\xa4\xe2\x82\xac\\"\\\\/\\n\\t\\u0001\xe2\x80\xa8\\uD83D\\uDE00\x7f"}',
    ),
    ([DOUBLE] * 3, [1e7, 1e-3, 1e-4], b'{"a":1.0E7,"b":0.001,"c":1.0E-4}'),
    ([DOUBLE] * 3, [123456789.125, NAN, INF], b'{"a":1.23456789125E8,"b":"NaN","c":"Infinity"}'),
    ([Types.BOOLEAN()], [True], b'{"a":true}'),
    ([Types.ROW_NAMED(["x"], [INT]), S], [Row(1), "e"], b'{"a":{"x":1},"b":"e"}'),
    ([INSIDE], [Row(1, "h")], b'{"a":{"f0":1,"f1":"h"}}'),
    (
        TIMES,
        [DAY, TIME, MOMENT],
        b'{"a":"2026-01-31","b":"01:02:03Z","c":"2026-01-31T01:02:03.456Z"}',
    ),
    (TIMES[2:], [MOMENT.replace(microsecond=0)], b'{"a":"2026-01-31T01:02:03Z"}'),
    ([Types.INSTANT()], [Instant(1769821323, 456_000_000)], b'{"a":"2026-01-31T01:02:03.456Z"}'),
    (
        [Types.BIG_DEC(), Types.BIG_INT(), Types.BIG_DEC()],
        [Decimal("1.50"), BIG, Decimal("1E+10")],
        b'{"a":1.50,"b":123456789012345678901234567890,"c":10000000000}',
    ),
    ([STRINGS, INTS], [["x", "y"], [1, 2]], b'{"a":["x","y"],"b":[1,2]}'),
    ([Types.PRIMITIVE_ARRAY(Types.BYTE())], [b"abc"], b'{"a":"YWJj"}'),
    ([Types.MAP(S, INT)], [{"k": 1}], b'{"a":{"k":1}}'),
]


@pytest.mark.parametrize(("types", "values", "expected"), JSON)
def test_json(types: list[Any], values: list[Any], expected: bytes) -> None:
    row_type = Types.ROW_NAMED(list("abc")[: len(types)], types)
    written = JsonRowSerializationSchema.builder().with_type_info(row_type).build()
    assert written.serialize(Row(*values)) == expected
    read = JsonRowDeserializationSchema.builder().type_info(row_type).build().deserialize(expected)
    if NAN not in values:
        assert list(map(str, read or ())) == list(map(str, _named(values)))


def _named(values: list[Any]) -> list[Any]:
    """Values as they are read: rows have names, decimals no exponent."""
    return [
        _with_names(value)
        if isinstance(value, Row)
        else Decimal(format(value, "f"))
        if isinstance(value, Decimal)
        else value
        for value in values
    ]


def _with_names(row: Row) -> Row:
    (named,) = rows_of(("x",) if len(row) == 1 else None, [list(row)], numbered=True)
    return named


def test_a_backslash_before_u_is_no_escape() -> None:
    schema = JsonRowSerializationSchema.builder().with_type_info(Types.ROW([S])).build()
    assert schema.serialize(("\\u00ab",)) == b'{"f0":"\\\\u00ab"}'


def test_json_is_read_as_leniently_as_flink_does() -> None:
    row_type = Types.ROW_NAMED(["a", "b", "c"], [INT, S, S])
    schema = JsonRowDeserializationSchema.builder().type_info(row_type).build()
    row = schema.deserialize(b'{"a":"1","b":2,"c":{"x":[1, 2]}}')
    assert row == Row(a=1, b="2", c='{"x":[1,2]}')


def test_a_json_schema_is_a_row_type() -> None:
    schema = """{"type": "object", "properties": {
        "a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "number"},
        "d": {"type": "array", "items": {"type": "string"}},
        "e": {"type": "object", "properties": {"x": {"type": ["null", "boolean"]}}},
        "f": {"type": "string", "format": "date-time"}}}"""
    reader = JsonRowDeserializationSchema.builder().json_schema(schema).build()
    assert str(reader.get_produced_type()) == (
        "ROW_NAMED(a: BIG_DEC, b: STRING, c: BIG_DEC, d: OBJECT_ARRAY(STRING), "
        "e: ROW_NAMED(x: BOOLEAN), f: SQL_TIMESTAMP)"
    )
    row = reader.deserialize(b'{"a":5,"b":"x","e":{"x":true}}')
    assert row is not None and (row.a, row.b, row.e.x) == (Decimal(5), "x", True)


@pytest.mark.parametrize("schema", ["{", "[]", '{"type": "string"}', '{"type": "object"}'])
def test_a_json_schema_that_cannot_be_read(schema: str) -> None:
    with pytest.raises(PlanError, match="BAD_JSON_SCHEMA"):
        JsonRowDeserializationSchema.builder().json_schema(schema)


# -- CSV -------------------------------------------------------------------------------------------

PLAIN: dict[str, Any] = {}
ODD: dict[str, Any] = {"escape": "*", "quote": "'", "array": ":", "delimiter": ";"}


def configured(builder: Any, options: dict[str, Any]) -> Any:
    setters = {
        "escape": "set_escape_character",
        "quote": "set_quote_character",
        "array": "set_array_element_delimiter",
        "delimiter": "set_field_delimiter",
        "null": "set_null_literal",
        "line": "set_line_delimiter",
        "comments": "set_allow_comments",
    }
    for name, value in options.items():
        if name == "unquoted":
            builder.disable_quote_character()
        else:
            getattr(builder, setters[name])(value)
    return builder.build()


CSV: list[tuple[list[Any], dict[str, Any], list[Any], bytes]] = [
    ([S, S, S], ODD, ["BEGIN", "123'4*", "END"], b"BEGIN;'123''4**';END\n"),
    ([S, S], {"unquoted": True}, ['a,b"c', "x"], b'a,b"c,x\n'),
    ([S, S], {"unquoted": True, "escape": "\\"}, ['a,b"c\\', "x"], b'a,b"c\\,x\n'),
    ([S, INT, S], PLAIN, [None, None, "x"], b",,x\n"),
    ([S, INT, S], {"null": "n/a"}, [None, None, "n/a"], b"n/a,n/a,n/a\n"),
    ([DOUBLE] * 4, PLAIN, [1e7, 1e-4, 123456789.125, NAN], b"1.0E7,1.0E-4,1.23456789125E8,NaN\n"),
    ([Types.BIG_DEC(), Types.BIG_INT()], PLAIN, [Decimal("1.50"), BIG], b"1.50,%d\n" % BIG),
    ([Types.BIG_DEC(), S], PLAIN, [Decimal("1E+10"), "a"], b"10000000000,a\n"),
    (TIMES, PLAIN, [DAY, TIME, MOMENT], b'2026-01-31,01:02:03,"2026-01-31 01:02:03.456"\n'),
    (TIMES[2:], PLAIN, [MOMENT.replace(microsecond=0)], b'"2026-01-31 01:02:03.0"\n'),
    (
        [Types.INSTANT()],
        PLAIN,
        [Instant(1769821323, 456_000_000)],
        b'"2026-01-31 01:02:03.456Z"\n',
    ),
    ([S, INSIDE, S], {"array": ":"}, ["B", Row(1, "hello"), "E"], b"B,1:hello,E\n"),
    ([S, INSIDE, S], PLAIN, ["B", Row(1, 'hel;lo, "x"'), "E"], b'B,"1;hel;lo, ""x""",E\n'),
    ([S, INSIDE, S], PLAIN, ["B", Row(1, None), "E"], b"B,1;,E\n"),
    ([S, INSIDE, S], PLAIN, ["B", None, "E"], b"B,,E\n"),
    ([STRINGS, INTS, STRINGS], PLAIN, [["x", "y"], [1, 2], []], b"x;y,1;2,\n"),
    ([STRINGS], PLAIN, [['x"', "y;z", None]], b'"x"";y;z;"\n'),
    ([Types.PRIMITIVE_ARRAY(Types.BYTE()), S], PLAIN, [b"abc", "x"], b"YWJj,x\n"),
    ([S, S], {"line": "\r\n"}, ["a", "b"], b"a,b\r\n"),
    ([S, S], {"line": ""}, ["a", "b"], b"a,b"),
]


@pytest.mark.parametrize(("types", "options", "values", "expected"), CSV)
def test_csv(types: list[Any], options: Any, values: list[Any], expected: bytes) -> None:
    schema = configured(CsvRowSerializationSchema.Builder(Types.ROW(types)), options)
    assert schema.serialize(Row(*values)) == expected


QUOTED = ["a'b", "a*b", "a b", " a", "a ", "a\nb", "a\rb", "a,b", "#a", "+1", "\x01", "\\", "a\\b"]
BARE = ["a;b", "", "1", "-1", "ä", "a:b", "a@", "_a", "a.b", "a-b", "x" * 24]
QUOTED_ODD = ["a;b", "a b", 'a"b', "a,b", "#a", "1", "-1", "a\tb", "a:b"]
BARE_ODD = ["", "ä", "\\", "a"]


@pytest.mark.parametrize(
    ("options", "texts", "quote"),
    [
        (PLAIN, [*QUOTED, "x" * 25], '"'),
        (PLAIN, BARE, ""),
        (ODD, QUOTED_ODD, "'"),
        (ODD, BARE_ODD, ""),
    ],
)
def test_texts_in_quotes(options: Any, texts: list[str], quote: str) -> None:
    schema = configured(CsvRowSerializationSchema.Builder(Types.ROW([S])), options)
    for text in texts:
        assert schema.serialize((text,)).decode() == f"{quote}{text}{quote}\n"


READ: list[tuple[list[Any], dict[str, Any], bytes, list[Any]]] = [
    ([S] * 3, ODD, b"BEGIN;'123''4**';END\n", ["BEGIN", "123'4*", "END"]),
    ([S] * 3, ODD, b"BEGIN;123*'4**;END\n", ["BEGIN", "123'4*", "END"]),
    ([S] * 3, ODD, b"'a*;b';x;y", ["a;b", "x", "y"]),
    ([S] * 3, ODD, b" a ;' b ';c", [" a ", " b ", "c"]),
    ([S] * 3, ODD, b"a*;b;c;d", ["a;b", "c", "d"]),
    ([STRINGS, INTS], PLAIN, b"a;b,1;2", [["a", "b"], [1, 2]]),
    ([STRINGS, INTS], PLAIN, b",1", [[], [1]]),
    ([S, INT, S], {"null": "n/a"}, b"n/a,n/a,", [None, None, ""]),
    ([S, S], {"comments": True}, b"#c\na,b", ["a", "b"]),
    ([Types.BOOLEAN()] * 3, PLAIN, b"true, TRUE ,x", [True, True, False]),
    ([INT, DOUBLE], PLAIN, b" 1 , 2.5 ", [1, 2.5]),
]


@pytest.mark.parametrize(("types", "options", "message", "expected"), READ)
def test_csv_that_flink_reads(types: Any, options: Any, message: bytes, expected: Any) -> None:
    schema = configured(CsvRowDeserializationSchema.Builder(Types.ROW(types)), options)
    assert list(schema.deserialize(message)) == expected


def test_a_row_in_a_field_of_csv() -> None:
    builder = CsvRowDeserializationSchema.Builder(Types.ROW([S, INSIDE, S]))
    row = builder.set_array_element_delimiter(":").build().deserialize(b"B,1:hello,E")
    assert row is not None and list(row) == ["B", Row(1, "hello"), "E"]


def test_numbers_as_java_writes_them() -> None:
    assert [java_double(n) for n in (0.0, -0.0, 9999999.0, 2e-308, -INF)] == [
        *("0.0", "-0.0", "9999999.0", "2.0E-308", "-Infinity")
    ]
    assert [java_float(n) for n in (3e38, 0.1, 1 / 3)] == ["3.0E38", "0.1", "0.33333334"]


def test_numbers_do_not_depend_on_the_decimal_context() -> None:
    numbers = (4.9e-324, 1.23456789012e10, 5e-10)
    usual = [java_double(number) for number in numbers]
    with localcontext() as context:
        context.prec = 3
        context.traps[FloatOperation] = True
        assert [java_double(number) for number in numbers] == usual
