"""The text of records. PRINTED and ENCODED are what PyFlink 2.3 has written on Java 17."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from millstream.common import Row, RowKind, Types
from millstream.common.errors import PlanError
from millstream.common.text import checked_style, encoded_text, printed_text
from millstream.common.time import Instant
from millstream.common.typesystem.certainty import inferred

INF, NAN = float("inf"), float("nan")
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
ROW = Types.ROW([Types.STRING(), Types.INT(), Types.STRING()])
BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
NESTED = Types.ROW(
    [
        Types.ROW_NAMED(["f0", "f1"], [Types.STRING(), Types.INT()]),
        Types.LIST(Types.INT()),
        Types.MAP(Types.STRING(), Types.INT()),
        BYTES,
        Types.BOOLEAN(),
        Types.DOUBLE(),
        Types.BIG_DEC(),
        Types.SQL_DATE(),
        Types.STRING(),
        Types.TUPLE([Types.INT(), Types.STRING()]),
    ]
)
NESTED_ROW = Row(
    Row(f0="in", f1=1), [1, 2], {"k": 2}, b"xy", True, 1.0, Decimal("1.10"), dt.date(2020, 1, 2),
    None, (1, "t"),
)  # fmt: skip

ALIKE: list[tuple[Any, list[Any], list[str]]] = [
    (Types.STRING(), ["a b", "ü", ""], ["a b", "ü", ""]),
    (Types.INT(), [1, -5], ["1", "-5"]),
    (Types.LONG(), [2**40], ["1099511627776"]),
    (Types.SHORT(), [-5], ["-5"]),
    (Types.BYTE(), [-5], ["-5"]),
    (Types.BOOLEAN(), [True, False], ["true", "false"]),
    (
        Types.DOUBLE(),
        [1.0, 0.1, 1e20, 1e-7, 1e7, 9999999.0, 12345678.9, 1e-3, 9e-4, NAN, INF, -INF, -0.0, 1 / 3,
         4.9e-324, 1.7976931348623157e308, 123456789012345680.0, 1e10, -2.5, 100.0],
        ["1.0", "0.1", "1.0E20", "1.0E-7", "1.0E7", "9999999.0", "1.23456789E7", "0.001", "9.0E-4",
         "NaN", "Infinity", "-Infinity", "-0.0", "0.3333333333333333", "4.9E-324",
         "1.7976931348623157E308", "1.2345678901234568E17", "1.0E10", "-2.5", "100.0"],
    ),
    (
        Types.FLOAT(),
        [1.0, 0.1, 1e20, 1e-7, 1 / 3, 16777216.0, 1e7, 3.4028235e38, 1.4e-45, NAN, INF],
        ["1.0", "0.1", "1.0E20", "1.0E-7", "0.33333334", "1.6777216E7", "1.0E7", "3.4028235E38",
         "1.4E-45", "NaN", "Infinity"],
    ),
    (Types.BIG_INT(), [2**80], ["1208925819614629174706176"]),
    (
        Types.BIG_DEC(),
        list(map(Decimal, ("1.10", "1E+3", "0.0000001", "1E-10", "-0", "1234567890123456789.12"))),
        ["1.10", "1E+3", "1E-7", "1E-10", "0", "1234567890123456789.12"],
    ),
    (Types.SQL_DATE(), [dt.date(2020, 1, 2)], ["2020-01-02"]),
    (Types.SQL_TIME(), [dt.time(3, 4, 5), dt.time(3, 4, 5, 678000)], ["03:04:05", "03:04:05"]),
    (
        Types.SQL_TIMESTAMP(),
        [dt.datetime(2020, 1, 2, 3, 4, 5), dt.datetime(2020, 1, 2, 3, 4, 5, 600_000)],
        ["2020-01-02 03:04:05.0", "2020-01-02 03:04:05.6"],
    ),
    (Types.INSTANT(), [Instant.of_epoch_milli(1500)], ["1970-01-01T00:00:01.500Z"]),
    (PAIR, [("hi", 1), (None, 2)], ["(hi,1)", "(null,2)"]),
    (Types.TUPLE([Types.INT()]), [(1,)], ["(1)"]),
    (Types.TUPLE([BYTES]), [(b"ab",)], ["([97, 98])"]),
    (
        Types.TUPLE([Types.BOOLEAN(), Types.DOUBLE(), Types.STRING()]),
        [(True, 1.0, None)],
        ["(true,1.0,null)"],
    ),
    (
        Types.TUPLE([PAIR, Types.LIST(Types.INT()), Types.MAP(Types.STRING(), Types.DOUBLE())]),
        [(("a", 1), [1, 2], {"k": 2.0})],
        ["((a,1),[1, 2],{k=2.0})"],
    ),
    (Types.LIST(Types.STRING()), [["a", "b c"], []], ["[a, b c]", "[]"]),
    (Types.LIST(PAIR), [[("a", 1)]], ["[(a,1)]"]),
    (Types.MAP(Types.STRING(), Types.INT()), [{"a": 1, "b": 2}, {}], ["{a=1, b=2}", "{}"]),
]  # fmt: skip
"""Types that ``print`` and the encoder write alike."""

KINDS = [Row.of_kind(kind, "x", 1) for kind in RowKind]
SHORT_ROW = Types.ROW([Types.STRING(), Types.INT()])
PRINTED: list[tuple[Any, list[Any], list[str]]] = [
    *ALIKE,
    (ROW, [Row("hi", 1, None)], ["+I[hi,1,None]"]),
    (SHORT_ROW, KINDS, ["+I[x,1]", "-U[x,1]", "+U[x,1]", "-D[x,1]"]),
    (
        NESTED,
        [NESTED_ROW],
        ["+I[Row(f0='in', f1=1),[1, 2],{'k': 2},b'xy',True,1.0,1.10,2020-01-02,None,(1, 't')]"],
    ),
    (Types.PICKLED_BYTE_ARRAY(), [("hi", 1), None, True, 1e20], ["('hi', 1)", "None", "True", "1e+20"]),
    (None, [("x", None, 1.5), [1], {"a": None}], ["('x', None, 1.5)", "[1]", "{'a': None}"]),
    (None, [Row("hi", 1), Row(a="hi")], ["<Row('hi', 1)>", "Row(a='hi')"]),
    (None, [dt.datetime(2020, 1, 2, 3, 4, 5, 600_000)], ["2020-01-02 03:04:05.600000"]),
]  # fmt: skip
ENCODED: list[tuple[Any, list[Any], list[str]]] = [
    *ALIKE,
    (ROW, [Row("hi", 1, None)], ["+I[hi, 1, null]"]),
    (SHORT_ROW, KINDS, ["+I[x, 1]", "-U[x, 1]", "+U[x, 1]", "-D[x, 1]"]),
    (
        NESTED,
        [NESTED_ROW],
        ["+I[+I[in, 1], [1, 2], {k=2}, [120, 121], true, 1.0, 1.10, 2020-01-02, null, (1,t)]"],
    ),
    (
        Types.ROW([Types.PRIMITIVE_ARRAY(Types.INT()), Types.BASIC_ARRAY(Types.STRING())]),
        [Row([1, 2], ["a", "b"])],
        ["+I[[1, 2], [a, b]]"],
    ),
    (
        Types.ROW([Types.OBJECT_ARRAY(Types.ROW([Types.INT()]))]),
        [Row([Row(1), Row(2)])],
        ["+I[[+I[1], +I[2]]]"],
    ),
]


def ids(cases: list[tuple[Any, list[Any], list[str]]]) -> list[str]:
    return [str(type_info) for type_info, _, _ in cases]


@pytest.mark.parametrize(("type_info", "values", "texts"), PRINTED, ids=ids(PRINTED))
def test_print_writes_what_pyflink_prints(type_info: Any, values: Any, texts: Any) -> None:
    assert list(map(printed_text(type_info), values)) == texts


@pytest.mark.parametrize(("type_info", "values", "texts"), ENCODED, ids=ids(ENCODED))
def test_the_string_encoder_writes_what_flink_writes(
    type_info: Any, values: Any, texts: Any
) -> None:
    assert list(map(encoded_text(type_info), values)) == texts


@pytest.mark.parametrize("to_text", [printed_text, encoded_text])
def test_pyflink_knows_no_inferred_types_so_they_are_written_as_python_does(to_text: Any) -> None:
    for type_info, values, _ in PRINTED:
        assert list(map(to_text(inferred(type_info)), values)) == list(map(str, values))


@pytest.mark.parametrize("to_text", [printed_text, encoded_text])
def test_text_of_python_by_an_option(to_text: Any) -> None:
    for type_info, values, _ in ENCODED:
        assert list(map(to_text(type_info, "python"), values)) == list(map(str, values))


@pytest.mark.parametrize(
    ("type_info", "value", "text", "flinks"),
    [
        (BYTES, b"a\xff", "[97, -1]", "[B@419e32ef"),
        (Types.PRIMITIVE_ARRAY(Types.INT()), [1, 2], "[1, 2]", "[I@348b3bdd"),
        (Types.BASIC_ARRAY(Types.STRING()), ["a"], "[a]", "[Ljava.lang.String;@4c80c0b4"),
        (Types.OBJECT_ARRAY(PAIR), [("a", 1)], "[(a,1)]", "[Lorg.apache.flink...Tuple2;@438c08ca"),
        (
            Types.TUPLE([Types.STRING(), Types.PICKLED_BYTE_ARRAY()]),
            ("x", True),
            "(x,True)",
            "(x,[-128, 5, -120, 46])",
        ),
        (Types.PICKLED_BYTE_ARRAY(), ("a", 1), "('a', 1)", "[B@19ada107"),
        (Types.DOUBLE(), 2e23, "2.0E23", "1.9999999999999998E23"),
        (
            Types.SQL_TIMESTAMP(),
            dt.datetime(2020, 1, 2, 3, 4, 5, 123_456),
            "2020-01-02 03:04:05.123456",
            "2020-01-02 03:04:05.123",
        ),
        (Types.MAP(Types.INT(), Types.INT()), {17: 1, 1: 2}, "{17=1, 1=2}", "{1=2, 17=1}"),
    ],
)
def test_what_flink_writes_and_nobody_can_use_is_written_otherwise(
    type_info: Any, value: Any, text: str, flinks: str
) -> None:
    assert encoded_text(type_info)(value) == text != flinks


@pytest.mark.parametrize(
    ("nanos", "text"),
    [(0, "01Z"), (5, "01.000000005Z"), (120_000_000, "01.120Z"), (1_000, "01.000001Z")],
)
def test_an_instant_has_groups_of_three_digits(nanos: int, text: str) -> None:
    assert encoded_text(Types.INSTANT())(Instant(1, nanos)) == f"1970-01-01T00:00:{text}"


def test_an_unknown_style_is_refused() -> None:
    with pytest.raises(PlanError, match="TEXT_STYLE"):
        checked_style("java")
