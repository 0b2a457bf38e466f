"""Lines of CSV files as columns: numbers as Java reads them, fields as Spark does."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from millstream.connectors.files.csv import CsvReader
from millstream.connectors.files.java_texts import KINDS
from millstream.connectors.files.opening import Fragment

WORDS = CsvReader(("string", "int"), ",", header=False)


def rows(csv: CsvReader, lines: list[str]) -> list[tuple[Any, ...]]:
    columns = csv.columns("".join(f"{line}\n" for line in lines).encode())
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["a,1", "b,2"], [("a", 1), ("b", 2)]),
        (["a,", ",2", ","], [("a", None), (None, 2), (None, None)]),
        (["a", "b,1,x,y", "c,3"], [("a", None), ("b", 1), ("c", 3)]),
        (["", "a,1", "  ", "\x00\t\x1f", "b,2"], [("a", 1), ("b", 2)]),
        (["", "a,1", "", "", "b,2", ""], [("a", 1), ("b", 2)]),
        (["a,1", " ", "b,2"], [("a", 1), ("b", 2)]),
        (["", '"a",1', "", "b,2"], [("a", 1), ("b", 2)]),
        ([" a , 1", "b,1 "], [(" a ", None), ("b", None)]),
        (['"a,""b""","1"', "c", '"","2"'], [('a,"b"', 1), ("c", None), (None, 2)]),
        (["\ufeffa,1", "\ufeffb,2"], [("\ufeffa", 1), ("\ufeffb", 2)]),
        (["a\\,1", "'b,2", "#,3", "\x00,4"], [("a\\", 1), ("'b", 2), ("#", 3), ("\x00", 4)]),
    ],
)
def test_fields(lines: list[str], expected: list[Any]) -> None:
    assert rows(WORDS, lines) == expected


@pytest.mark.parametrize("separator", [",", "\t"])
@pytest.mark.parametrize("width", [1, 2])
def test_lines_of_white_space_only(tmp_path: Path, separator: str, width: int) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\n \n\t\n")
    csv = CsvReader(("string",) * width, separator, header=False)
    assert list(csv.read(Fragment(str(path)))) == []


def test_a_line_that_keeps_no_text_is_a_row() -> None:
    assert rows(CsvReader(("string",), ";", header=False), ["a", ";b"]) == [("a",), (None,)]


def test_types_are_those_that_spark_hands_over() -> None:
    csv = CsvReader(tuple(KINDS), ";", header=False)
    arrays = csv.columns(b"a;1;2;3;4;5.5;true\nb;-1;-2;-3;-4;-5.5;FALSE\n")
    assert [array.type for array in arrays] == [kind.arrow for kind in KINDS.values()]
    assert [array.to_pylist() for array in arrays] == [
        ["a", "b"],
        *([n, -n] for n in (1, 2, 3, 4, 5.5)),
        [True, False],
    ]


@pytest.mark.parametrize(
    ("kind", "texts", "expected"),
    [
        ("tinyint", ["127", "128", "-128", "-129"], [127, None, -128, None]),
        ("bigint", [str(2**63 - 1), str(2**63), str(-(2**63))], [2**63 - 1, None, -(2**63)]),
        ("int", ["+5", "-0", "007", "0" * 5000 + "7", "1" * 5000], [5, 0, 7, 7, None]),
        ("int", ["0x1F", " 1", "1 ", "1_0", "1e3", "1.0", "+", "-", "--1"], [None] * 9),
        ("int", ["\u0661\u0662", "\U0001d7cf"], [12, None]),
        ("boolean", ["True", "fAlSe", "fal\u017fe"], [True, False, False]),
        ("boolean", ["1", "t", " true", "yes"], [None] * 4),
        ("double", ["1.", ".5", "+1e+3", "-0", "1d", " 1.5\x00"], [1.0, 0.5, 1000.0, -0.0, 1.0, 1.5]),
        ("double", ["0x1p3", "-0x.8P-1f", "0x1", "0x1p9999"], [8.0, -0.25, None, math.inf]),
        ("double", ["Inf", "-Inf", "Infinity", "1e400"], [math.inf, -math.inf, math.inf, math.inf]),
        ("double", ["-1e400", "1e-400"], [-math.inf, 0.0]),
        ("double", [" Inf", "inf", "nan", "NAN", "\u0661", "\xa01", "1_0", "1 0", "e1"], [None] * 9),
    ],
)  # fmt: skip
def test_texts_are_read_as_java_reads_them(kind: str, texts: list[str], expected: Any) -> None:
    assert repr(KINDS[kind].column(pa.array(texts)).to_pylist()) == repr(expected)
    # Alone, a text may be one that Arrow reads.
    alone = [KINDS[kind].column(pa.array([text]))[0].as_py() for text in texts]
    assert repr(alone) == repr(expected)


def test_not_a_number() -> None:
    assert all(map(math.isnan, KINDS["double"].column(pa.array(["NaN", "-NaN"])).to_pylist()))


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"string"}))
def test_what_arrow_reads_is_what_java_would_read(kind: str) -> None:
    chosen = random.Random(7)
    alphabets = ["0123456789-", "0123456789+-.eE", "0129-+.eExX \t_dfNanI", "trueTRUEfalsFALS1"]
    for _ in range(4000):
        text = "".join(chosen.choices(chosen.choice(alphabets), k=chosen.randint(1, 8)))
        found = KINDS[kind].column(pa.array([text]))[0].as_py()
        assert repr(found) == repr(KINDS[kind].value(text)), text


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('"', ['"']),
        ('"a,b', ["a,b"]),
        ('"a" ,b', ["a", "b"]),
        ('"a" b,c', ['"a" b', "c"]),
        ('"a"b",c', ['"a"b"', "c"]),
        ('a"b",c', ['a"b"', "c"]),
        ('"" a"a', ['"" a"a"']),
        ('"a\0b"', ["ab"]),
        ('"a\0b",c', ["a\0b", "c"]),
        ('"a\0""b",c', ['a"b', "c"]),
    ],
)
def test_odd_quotes(line: str, expected: list[str]) -> None:
    """Each of these was seen in what Spark's reader gives."""
    wide = CsvReader(("string",) * 3, ",", header=False)
    row = (*expected, None, None)[:3]
    assert rows(wide, [line]) == [row]
    assert rows(wide, ["x,y,z", line, "x"]) == [("x", "y", "z"), row, ("x", None, None)]


def test_a_header_is_the_first_line_of_a_file_that_is_not_blank(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(" \n\ns,n\na,1\nb,2\n")
    csv = CsvReader(("string", "int"), ",", header=True)
    (first,) = csv.read(Fragment(str(path), 0, 8))
    (second,) = csv.read(Fragment(str(path), 8))
    assert [column.to_pylist() for column in first] == [["a"], [1]]
    assert [column.to_pylist() for column in second] == [["b"], [2]]
