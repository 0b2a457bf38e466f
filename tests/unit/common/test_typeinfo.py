"""Types: what they are, what fits them, and how they are written down."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pytest
from hypothesis import given

from millstream.common.errors import PlanError, TypeMismatchError
from millstream.common.typeinfo import (
    RowTypeInfo,
    TypeInformation,
    Types,
    from_arrow,
    type_from_dict,
)
from millstream.common.types import Row
from tests.support.strategies import examples
from tests.support.type_cases import BYTES, FITS, MISFITS, PAIR, PERSON, cases
from tests.support.type_strategies import ATOMS, typed_values, types


@examples(100)
@given(types())
def test_types_are_equal_hashable_and_picklable(type_info: TypeInformation) -> None:
    twin = pickle.loads(pickle.dumps(type_info))
    assert twin == type_info and hash(twin) == hash(type_info) and repr(twin) == repr(type_info)


@examples(100)
@given(types())
def test_dict_round_trip(type_info: TypeInformation) -> None:
    assert type_from_dict(json.loads(json.dumps(type_info.to_dict()))) == type_info


@examples(100)
@given(types())
def test_arrow_round_trip_keeps_the_layout(type_info: TypeInformation) -> None:
    stored = type_info.to_arrow()
    assert from_arrow(stored).to_arrow() == stored


@examples(100)
@given(typed_values())
def test_generated_values_fit(pair: tuple[TypeInformation, list[Any]]) -> None:
    type_info, values = pair
    assert [type_info.check(value) for value in values] == [None] * len(values)


def test_atoms_differ() -> None:
    atoms = [make() for make in ATOMS.values()]
    assert len(set(atoms)) == len(atoms) == 16
    assert [str(atom) for atom in atoms] == list(ATOMS)


def test_reprs() -> None:
    assert str(PAIR) == "TUPLE(STRING, LONG)"
    assert str(PERSON) == "ROW_NAMED(name: STRING, age: LONG)"
    assert str(Types.ROW([Types.INT()])) == "ROW(INT)"
    assert str(BYTES) == "PRIMITIVE_ARRAY(BYTE)"
    assert str(Types.BASIC_ARRAY(Types.INT())) == "BASIC_ARRAY(INT)"
    assert str(Types.OBJECT_ARRAY(PAIR)) == "OBJECT_ARRAY(TUPLE(STRING, LONG))"
    assert str(Types.MAP(Types.STRING(), PAIR)) == "MAP(STRING, TUPLE(STRING, LONG))"


def test_types_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        PAIR.field_types = ()  # type: ignore[misc]


def test_type_from_dict_refuses_unknown_names() -> None:
    with pytest.raises(ValueError, match="'FOO'"):
        type_from_dict({"type": "FOO"})


@pytest.mark.parametrize(
    ("type_info", "expected"),
    [
        (Types.STRING(), pa.string()),
        (Types.BYTE(), pa.int8()),
        (Types.BOOLEAN(), pa.bool_()),
        (Types.SHORT(), pa.int16()),
        (Types.INT(), pa.int32()),
        (Types.LONG(), pa.int64()),
        (Types.FLOAT(), pa.float32()),
        (Types.DOUBLE(), pa.float64()),
        (Types.CHAR(), pa.string()),
        (Types.BIG_INT(), pa.string()),
        (Types.BIG_DEC(), pa.string()),
        (Types.INSTANT(), pa.timestamp("us", tz="UTC")),
        (Types.SQL_DATE(), pa.date32()),
        (Types.SQL_TIME(), pa.time64("us")),
        (Types.SQL_TIMESTAMP(), pa.timestamp("us")),
        (Types.PICKLED_BYTE_ARRAY(), pa.binary()),
        (BYTES, pa.binary()),
        (Types.PRIMITIVE_ARRAY(Types.INT()), pa.list_(pa.int32())),
        (Types.LIST(Types.STRING()), pa.list_(pa.string())),
        (Types.MAP(Types.STRING(), Types.LONG()), pa.map_(pa.string(), pa.int64())),
        (PAIR, pa.struct([("f0", pa.string()), ("f1", pa.int64())])),
        (PERSON, pa.struct([("name", pa.string()), ("age", pa.int64())])),
    ],
)
def test_to_arrow(type_info: TypeInformation, expected: pa.DataType) -> None:
    assert type_info.to_arrow() == expected


@pytest.mark.parametrize(
    ("data_type", "expected"),
    [
        (pa.large_string(), Types.STRING()),
        (pa.uint8(), Types.SHORT()),
        (pa.uint16(), Types.INT()),
        (pa.uint32(), Types.LONG()),
        (pa.uint64(), Types.BIG_INT()),
        (pa.float16(), Types.FLOAT()),
        (pa.large_binary(), BYTES),
        (pa.binary(3), BYTES),
        (pa.date64(), Types.SQL_DATE()),
        (pa.time32("s"), Types.SQL_TIME()),
        (pa.timestamp("ns"), Types.SQL_TIMESTAMP()),
        (pa.timestamp("ms", tz="Europe/Berlin"), Types.INSTANT()),
        (pa.decimal128(10, 2), Types.BIG_DEC()),
        (pa.large_list(pa.int8()), Types.LIST(Types.BYTE())),
        (pa.list_(pa.int8(), 2), Types.LIST(Types.BYTE())),
        (pa.dictionary(pa.int8(), pa.string()), Types.STRING()),
        (pa.null(), Types.PICKLED_BYTE_ARRAY()),
        (pa.struct([("f0", pa.string()), ("f1", pa.int64())]), PAIR),
        (pa.struct([("name", pa.string()), ("age", pa.int64())]), PERSON),
    ],
)
def test_from_arrow(data_type: pa.DataType, expected: TypeInformation) -> None:
    assert from_arrow(data_type) == expected == TypeInformation.from_arrow(data_type)


def test_from_arrow_refuses_what_it_does_not_know() -> None:
    with pytest.raises(TypeMismatchError, match="duration"):
        from_arrow(pa.list_(pa.duration("s")))


@pytest.mark.parametrize("name", list(ATOMS))
def test_only_atoms_are_immutable(name: str) -> None:
    assert ATOMS[name]().is_immutable is (name != "PICKLED_BYTE_ARRAY")


def test_immutability_of_composites() -> None:
    assert BYTES.is_immutable
    for part in (
        PAIR,  # a list fits
        PERSON,
        Types.ROW([Types.INT()]),
        Types.LIST(Types.INT()),
        Types.BASIC_ARRAY(Types.INT()),
        Types.PRIMITIVE_ARRAY(Types.INT()),
        Types.MAP(Types.INT(), Types.INT()),
        Types.PICKLED_BYTE_ARRAY(),
    ):
        assert not part.is_immutable and not Types.TUPLE([part]).is_immutable


@pytest.mark.parametrize(("type_info", "value"), cases(FITS))
def test_values_that_fit(type_info: TypeInformation, value: Any) -> None:
    assert type_info.check(value) is None
    assert type_info.check(None) is None


@pytest.mark.parametrize(("type_info", "value"), cases(MISFITS))
def test_values_that_do_not_fit(type_info: TypeInformation, value: Any) -> None:
    reason = type_info.check(value)
    assert reason and "\n" not in reason


def test_reasons_name_the_part() -> None:
    nested = Types.TUPLE([Types.LIST(Types.MAP(Types.STRING(), PERSON))])
    value = ([{"x": Row("a", "b")}],)
    assert nested.check(value) == (
        "field 0: item 0: value of key 'x': field 'age': expected int, got str"
    )


def test_row_type_info_has_pyflinks_getters() -> None:
    assert PERSON.get_field_names() == ["name", "age"]
    assert PERSON.get_field_types() == [Types.STRING(), Types.LONG()]
    assert PERSON.get_field_index("age") == 1 and PERSON.get_field_index("x") == -1
    assert Types.ROW([Types.INT()]).get_field_names() == ["f0"]
    assert PAIR.get_field_types() == [Types.STRING(), Types.LONG()]
    assert RowTypeInfo([Types.INT()], ["a"]) == Types.ROW_NAMED(["a"], [Types.INT()])


@pytest.mark.parametrize(
    "make",
    [
        lambda: Types.LIST(Types.LONG),  # type: ignore[arg-type]
        lambda: Types.TUPLE([int]),  # type: ignore[list-item]
        lambda: Types.MAP(Types.LONG(), "LONG"),  # type: ignore[arg-type]
        lambda: Types.OBJECT_ARRAY(None),  # type: ignore[arg-type]
    ],
)
def test_parts_must_be_types(make: Any) -> None:
    with pytest.raises(PlanError, match="NOT_A_TYPE"):
        make()


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a", ""], ["a", 1], ["a", "b", "c"]])
def test_row_names_must_be_whole(names: list[Any]) -> None:
    with pytest.raises(PlanError, match="INVALID_FIELD_NAMES"):
        Types.ROW_NAMED(names, [Types.INT(), Types.INT()])


def test_arrays_refuse_elements_they_cannot_hold() -> None:
    with pytest.raises(PlanError, match="OBJECT_ARRAY"):
        Types.PRIMITIVE_ARRAY(Types.STRING())
    with pytest.raises(PlanError, match="OBJECT_ARRAY"):
        Types.BASIC_ARRAY(PAIR)


@pytest.mark.parametrize(
    "key", [Types.LIST(Types.INT()), Types.TUPLE([Types.MAP(Types.INT(), Types.INT())])]
)
def test_map_refuses_keys_that_python_cannot_hash(key: TypeInformation) -> None:
    with pytest.raises(PlanError, match="INVALID_KEY_TYPE"):
        Types.MAP(key, Types.INT())
