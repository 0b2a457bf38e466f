"""Values to Arrow columns and back."""

from __future__ import annotations

import enum
import os
import pickle
import subprocess
import sys
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.errors import TypeMismatchError
from millstream.common.time import Instant
from millstream.common.typeinfo import TypeInformation, Types
from millstream.common.types import Row
from tests.support.strategies import examples
from tests.support.type_cases import BYTES, FITS, MISFITS, PAIR, PERSON, Level, Pair, cases
from tests.support.type_strategies import anything, single, typed_values, types


def through_arrow(type_info: TypeInformation, values: list[Any]) -> list[Any]:
    return type_info.from_arrow_arrays(type_info.to_arrow_arrays(values))


def classes(value: Any) -> Any:
    """The classes of a value and of all its parts."""
    if isinstance(value, (tuple, list, Row)):
        return type(value), [classes(part) for part in value]
    if isinstance(value, dict):
        return dict, [classes(part) for pair in value.items() for part in pair]
    return type(value)


@examples(400)
@given(typed_values())
def test_round_trip(pair: tuple[TypeInformation, list[Any]]) -> None:
    type_info, values = pair
    back = through_arrow(type_info, values)
    assert back == values
    assert classes(back) == classes(values)


@examples(100)
@given(typed_values(), st.data())
def test_slices_and_chunks_give_their_part(
    pair: tuple[TypeInformation, list[Any]], data: st.DataObject
) -> None:
    type_info, values = pair
    arrays = type_info.to_arrow_arrays(values)
    start = data.draw(st.integers(0, len(values)))
    stop = data.draw(st.integers(start, len(values)))
    parts = [array.slice(start, stop - start) for array in arrays]
    assert type_info.from_arrow_arrays(parts) == values[start:stop]
    chunked = [pa.chunked_array([array.slice(0, start), array.slice(start)]) for array in arrays]
    assert type_info.from_arrow_arrays(chunked) == values


@examples(100)
@given(typed_values())
def test_columns_have_the_declared_types(pair: tuple[TypeInformation, list[Any]]) -> None:
    type_info, values = pair
    arrays = type_info.to_arrow_arrays(values)
    stored = type_info.to_arrow()
    if pa.types.is_struct(stored):
        expected = [stored.field(i).type for i in range(stored.num_fields)]
    else:
        expected = [stored]
    assert [array.type for array in arrays[: len(expected)]] == expected
    assert [array.type for array in arrays[len(expected) :]] in ([], [pa.bool_()])
    assert {len(array) for array in arrays} == {len(values)}


@examples(600)
@given(types(), st.lists(anything(), min_size=1, max_size=4))
def test_columns_are_refused_exactly_where_check_objects(
    type_info: TypeInformation, values: list[Any]
) -> None:
    reasons = [type_info.check(value) for value in values]
    wrong = [index for index, reason in enumerate(reasons) if reason is not None]
    if not wrong:
        through_arrow(type_info, values)
        return
    with pytest.raises(TypeMismatchError) as caught:
        type_info.to_arrow_arrays(values)
    assert caught.value.parameters["index"] == wrong[0]
    assert caught.value.parameters["reason"] == reasons[wrong[0]]


@pytest.mark.parametrize(("type_info", "value"), cases(FITS))
def test_values_that_fit_are_stored(type_info: TypeInformation, value: Any) -> None:
    back = through_arrow(type_info, [value, None, value])
    assert back[1] is None and repr(back[0]) == repr(back[2])


@pytest.mark.parametrize(("type_info", "value"), cases(MISFITS))
def test_misfits_are_refused(type_info: TypeInformation, value: Any) -> None:
    fitting = next(good for kind, goods in FITS if kind == type_info for good in goods)
    for values in ([value], [fitting, None, value]):
        with pytest.raises(TypeMismatchError) as caught:
            type_info.to_arrow_arrays(values)
        assert caught.value.parameters["index"] == len(values) - 1


def test_error_names_index_value_type_and_reason() -> None:
    with pytest.raises(TypeMismatchError) as caught:
        PAIR.to_arrow_arrays([("a", 1), ("b", True)])
    assert caught.value.message == (
        "('b', True) at index 1 does not fit TUPLE(STRING, LONG): field 1: expected int, got bool"
    )
    assert caught.value.parameters == {
        "index": 1,
        "value": "('b', True)",
        "type": "TUPLE(STRING, LONG)",
        "reason": "field 1: expected int, got bool",
    }


def test_what_arrow_would_take_silently() -> None:
    for type_info, value in [
        (Types.LONG(), True),
        (Types.LONG(), 1.5),
        (Types.LONG(), 1.0),
        (Types.STRING(), b"a"),
        (Types.DOUBLE(), True),
        (Types.SQL_DATE(), 1),
        (Types.SQL_DATE(), datetime(2020, 1, 1)),
        (Types.SQL_TIME(), 1),
        (Types.SQL_TIMESTAMP(), 1),
        (BYTES, "a"),
        (Types.LIST(Types.STRING()), "abc"),
        (Types.FLOAT(), 1e300),
    ]:
        with pytest.raises(TypeMismatchError):
            type_info.to_arrow_arrays([value])


def test_column_layout_of_tuples_and_rows() -> None:
    assert [a.to_pylist() for a in PAIR.to_arrow_arrays([("a", 1), ("b", 2)])] == [
        ["a", "b"],
        [1, 2],
    ]
    assert [a.to_pylist() for a in PERSON.to_arrow_arrays([Row("a", 1), None])] == [
        ["a", None],
        [1, None],
        [True, False],
    ]
    assert [a.to_pylist() for a in Types.TUPLE([]).to_arrow_arrays([()])] == [[True]]
    assert [len(a) for a in PAIR.to_arrow_arrays([])] == [0, 0]


def test_none_inside_is_not_none_outside() -> None:
    values = [(None, None), None]
    assert through_arrow(PAIR, values) == values
    nested = Types.LIST(PAIR)
    assert through_arrow(nested, [[(None, None), None], None]) == [[(None, None), None], None]


def test_values_are_normalised() -> None:
    assert classes(through_arrow(Types.DOUBLE(), [1, None, np.float32(2)])) == (
        list,
        [float, type(None), float],
    )
    assert through_arrow(Types.DOUBLE(), [2**60]) == [float(2**60)]
    assert through_arrow(Types.FLOAT(), [0.1, None]) == [single(0.1), None]
    assert classes(through_arrow(Types.LONG(), [Level.LOW, np.int32(2)])) == (list, [int, int])
    assert classes(through_arrow(PAIR, [Pair("a", 1)])) == (list, [(tuple, [str, int])])
    assert through_arrow(Types.LIST(Types.LONG()), [(1, 2)]) == [[1, 2]]
    assert through_arrow(Types.BOOLEAN(), [np.bool_(True)])[0] is True
    assert type(through_arrow(Types.SQL_TIMESTAMP(), [pd.Timestamp("2020-01-01")])[0]) is datetime


def test_nan_is_a_number_and_not_missing() -> None:
    back = through_arrow(Types.DOUBLE(), [float("nan"), None])
    assert back[0] != back[0] and back[1] is None


def test_rows_match_by_name() -> None:
    values = [Row(age=1, name="a"), {"age": 2, "name": "b"}, ("c", 3), Row("d", 4), None]
    expected = [Row(name=n, age=a) for n, a in [("a", 1), ("b", 2), ("c", 3), ("d", 4)]]
    assert through_arrow(PERSON, values) == [*expected, None]
    assert through_arrow(PERSON, values[:1]) == expected[:1]
    assert through_arrow(PERSON, values)[0].name == "a"


def test_rows_of_a_type_without_names_match_by_position() -> None:
    assert through_arrow(Types.ROW([Types.LONG()]), [Row(a=1), Row(2)]) == [Row(1), Row(2)]


def test_rows_do_not_share_their_values() -> None:
    first, second = through_arrow(PERSON, [Row("a", 1)] * 2)
    first["age"] = 2
    assert second.age == 1


@pytest.mark.parametrize(
    ("type_info", "array", "expected"),
    [
        (Types.STRING(), pa.array(["a", None], pa.large_string()), ["a", None]),
        (Types.STRING(), pa.array(["a", "a"]).dictionary_encode(), ["a", "a"]),
        (Types.BIG_INT(), pa.array([2**64 - 1], pa.uint64()), [2**64 - 1]),
        (Types.SHORT(), pa.array([255], pa.uint8()), [255]),
        (
            Types.SQL_TIMESTAMP(),
            pa.array([1], pa.timestamp("ms")),
            [datetime(1970, 1, 1, 0, 0, 0, 1000)],
        ),
        (
            Types.INSTANT(),
            pa.array([1500], pa.timestamp("ms", "Europe/Berlin")),
            [Instant(1, 500_000_000)],
        ),
        (Types.SQL_DATE(), pa.array([date(2020, 1, 2)], pa.date64()), [date(2020, 1, 2)]),
        (Types.SQL_TIME(), pa.array([3], pa.time32("s")), [time(0, 0, 3)]),
        (
            Types.LIST(Types.STRING()),
            pa.array([["a"], None], pa.list_(pa.field("element", pa.string()))),
            [["a"], None],
        ),
        (
            Types.LIST(Types.LONG()),
            pa.array([[1]], pa.large_list(pa.field("element", pa.int64(), nullable=False))),
            [[1]],
        ),
        (
            Types.MAP(Types.STRING(), Types.LONG()),
            pa.array([[("a", 1)]], pa.map_(pa.string(), pa.field("v", pa.int64(), nullable=False))),
            [{"a": 1}],
        ),
        (Types.PICKLED_BYTE_ARRAY(), pa.nulls(2), [None, None]),
    ],
)
def test_columns_that_others_wrote(
    type_info: TypeInformation, array: pa.Array, expected: list[Any]
) -> None:
    assert type_info.from_arrow_arrays([array]) == expected


def test_decimal_columns_of_others_are_big_decimals() -> None:
    from decimal import Decimal

    array = pa.array([Decimal("1.50")], pa.decimal128(10, 2))
    assert Types.BIG_DEC().from_arrow_arrays([array]) == [Decimal("1.50")]


def test_wrong_number_of_columns() -> None:
    with pytest.raises(ValueError, match="2 or 3 columns, got 1"):
        PAIR.from_arrow_arrays([pa.array(["a"])])
    with pytest.raises(ValueError, match="1 columns, got 2"):
        Types.LONG().from_arrow_arrays([pa.array([1]), pa.array([1])])


def test_other_sequences_are_as_good_as_lists() -> None:
    assert through_arrow(Types.LONG(), (1, 2)) == [1, 2]  # type: ignore[arg-type]
    assert PAIR.from_arrow_arrays(iter(PAIR.to_arrow_arrays([("a", 1)]))) == [("a", 1)]


class Colour(enum.Enum):
    RED = 1


def test_objects_are_pickled() -> None:
    values = [Colour.RED, {1, 2}, None, "x"]
    pickled = Types.PICKLED_BYTE_ARRAY()
    assert through_arrow(pickled, values) == values
    assert through_arrow(pickled, values)[0] is Colour.RED
    assert pickle.loads(pickled.to_arrow_arrays(["x"])[0][0].as_py()) == "x"


@pytest.mark.slow
def test_classes_of_the_main_script_are_named_not_copied(tmp_path: Path) -> None:
    # A copy of the class with every record would make two classes of one: workers are given it.
    script = tmp_path / "app.py"
    script.write_text(
        "import pickle\n"
        "from millstream.common.typeinfo import Types\n"
        "class Event:\n"
        "    def __init__(self, n): self.n = n\n"
        "[column] = Types.PICKLED_BYTE_ARRAY().to_arrow_arrays([[Event(7)]])\n"
        "print(type(pickle.loads(column[0].as_py())[0]) is Event)\n"
    )
    source = Path(sys.modules["millstream.common.typeinfo"].__file__ or "").parents[2]
    environment = os.environ | {"PYTHONPATH": str(source)}
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, check=True, text=True
    )
    assert done.stdout == "True\n"


def test_local_classes_are_pickled_by_value() -> None:
    pytest.importorskip("cloudpickle")

    class Local:
        value = 5

    [back] = through_arrow(Types.PICKLED_BYTE_ARRAY(), [Local()])
    assert back.value == 5
