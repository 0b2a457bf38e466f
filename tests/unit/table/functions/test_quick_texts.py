"""Texts in whole columns: the same as the functions of one value, which constants are given to."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.table.expressions import Call, Context, Expression, InputRef, Literal, kinds
from millstream.table.expressions.kinds import LogicalType
from millstream.table.expressions.vectors import Vector
from millstream.table.functions import bind, bind_cast, quick_texts
from millstream.table.functions.evaluate import evaluate

# Few characters, so that patterns are found; letters that change their length with their case, one
# outside of the first plane, ends of lines, and signs of LIKE.
CHARACTERS = "aAbB%_,\\\n\0 éßİΣσ\U0001f600"
ASCII = st.text("aAbBzZ,%_\n", max_size=6)
TEXTS = st.one_of(ASCII, st.text(CHARACTERS, max_size=6))
COLUMNS = st.one_of(
    st.lists(st.none() | ASCII, max_size=6), st.lists(st.none() | TEXTS, max_size=6)
)
PARTS = st.text(CHARACTERS, max_size=2)
PATTERNS = st.one_of(
    st.builds("{}{}{}".format, st.sampled_from(["", "%"]), PARTS, st.sampled_from(["", "%"])),
    st.text(CHARACTERS, max_size=4),
)
NUMBERS = st.integers(-3, 8) | st.sampled_from([2**31 - 1, -(2**31)])


def literal(value: object) -> Literal:
    if value is None:
        return Literal(kinds.STRING, None)
    kind = kinds.INT if isinstance(value, int) else kinds.STRING
    return Literal(kinds.not_null(kind), value)


def check_column(
    make: Callable[[Expression], Expression], column: list[object], kind: LogicalType
) -> None:
    """Compare a column, a part of a longer one too, with its values as constants."""
    one = pa.record_batch({"_": pa.array([0])})
    expected = [evaluate(make(Literal(kind, each)), one)[0].as_py() for each in column]
    longer = pa.array([column[-1] if column else None, *column], kinds.arrow_type(kind))
    tree = make(InputRef(kind, 0, "c"))
    found = evaluate(tree, pa.record_batch({"c": longer}).slice(1))
    assert found.type == kinds.arrow_type(tree.type)
    assert found.to_pylist() == expected


@pytest.mark.parametrize("name", ["CHAR_LENGTH", "UPPER", "LOWER"])
@settings(deadline=None)
@given(COLUMNS)
def test_functions_of_one_text(name: str, column: list[object]) -> None:
    check_column(lambda text: bind(name, [text]), column, kinds.STRING)


@settings(deadline=None)
@given(COLUMNS, PARTS, PARTS | st.none())
def test_replace(column: list[object], old: str, new: str | None) -> None:
    check_column(
        lambda text: bind("REPLACE", [text, literal(old), literal(new)]), column, kinds.STRING
    )


@pytest.mark.parametrize("name", ["LIKE", "NOT LIKE"])
@settings(deadline=None)
@given(COLUMNS, PATTERNS)
def test_like(name: str, column: list[object], pattern: str) -> None:
    check_column(lambda text: bind(name, [text, literal(pattern)]), column, kinds.STRING)


@settings(deadline=None)
@given(COLUMNS, NUMBERS, st.lists(NUMBERS, max_size=1))
def test_substring(column: list[object], start: int, size: list[int]) -> None:
    rest = list(map(literal, [start, *size]))
    check_column(lambda text: bind("SUBSTRING", [text, *rest]), column, kinds.STRING)


@pytest.mark.parametrize("name", ["||", "CONCAT"])
@settings(deadline=None)
@given(COLUMNS, PARTS | st.none())
def test_joined_texts(name: str, column: list[object], other: str | None) -> None:
    check_column(lambda text: bind(name, [text, literal(other)]), column, kinds.STRING)
    check_column(lambda text: bind(name, [literal(other), text]), column, kinds.STRING)
    check_column(lambda text: bind(name, [text, text]), column, kinds.STRING)


def asked(quick: quick_texts.Quick, vectors: list[Vector]) -> pa.Array | None:
    return quick(Call(kinds.STRING, "any", ()), vectors, Context())


def test_constants_are_joined_once() -> None:
    text = Vector(kinds.STRING, 1, constant=True, scalar="a")
    assert asked(quick_texts.joined, [text, text]) is None


@settings(deadline=None)
@given(COLUMNS, PARTS, NUMBERS)
def test_split_index(column: list[object], sign: str, at: int) -> None:
    rest = list(map(literal, [sign, at]))
    check_column(lambda text: bind("SPLIT_INDEX", [text, *rest]), column, kinds.STRING)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@settings(deadline=None)
@given(st.data())
def test_texts_of_whole_numbers(bits: int, data: st.DataObject) -> None:
    kind = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}[bits]
    least = -(2 ** (bits - 1))
    column = data.draw(
        st.lists(st.none() | st.integers(least, -least - 1) | st.sampled_from([least, -least - 1]))
    )
    target = kinds.parse_type(data.draw(st.sampled_from(["STRING", "VARCHAR(4)", "CHAR(21)"])))
    check_column(lambda number: bind_cast(number, target), [*column], kinds.parse_type(kind))


@settings(deadline=None)
@given(st.lists(st.none() | st.booleans()), st.sampled_from(["STRING", "VARCHAR(4)", "CHAR(9)"]))
def test_texts_of_boolean(column: list[object], target: str) -> None:
    check_column(lambda value: bind_cast(value, kinds.parse_type(target)), column, kinds.BOOLEAN)


@pytest.mark.parametrize("name", ["LIKE", "REPLACE", "SPLIT_INDEX", "||"])
def test_half_a_character_is_left_to_python(name: str) -> None:
    """Such a constant is found in no column, and Arrow cannot take it."""
    half = Vector(kinds.STRING, 1, constant=True, scalar="\ud83d")
    column = Vector(kinds.STRING, 1, pa.array(["a"]))
    number = Vector(kinds.INT, 1, constant=True, scalar=0)
    quick, arguments = {
        "LIKE": (quick_texts.like, [column, half]),
        "REPLACE": (quick_texts.replaced, [column, half, half]),
        "SPLIT_INDEX": (quick_texts.split_index, [column, half, number]),
        "||": (quick_texts.joined, [column, half]),
    }[name]
    assert asked(quick, arguments) is None


def test_letters_outside_of_ascii_are_left_to_python() -> None:
    assert asked(quick_texts.upper, [Vector(kinds.STRING, 1, pa.array(["ß"]))]) is None
    found = asked(quick_texts.upper, [Vector(kinds.STRING, 2, pa.array(["a", None]))])
    assert found is not None
    assert found.to_pylist() == ["A", None]
