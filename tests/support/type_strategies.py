"""Hypothesis strategies for types and for values of a type."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC
from functools import cache
from typing import Any

from hypothesis import strategies as st

from millstream.common.time import Instant
from millstream.common.typeinfo import (
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from millstream.common.types import Row

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ATOMS: dict[str, Callable[[], TypeInformation]] = {
    name: getattr(Types, name)
    for name in [
        "STRING",
        "BYTE",
        "BOOLEAN",
        "SHORT",
        "INT",
        "LONG",
        "FLOAT",
        "DOUBLE",
        "CHAR",
        "BIG_INT",
        "BIG_DEC",
        "INSTANT",
        "SQL_DATE",
        "SQL_TIME",
        "SQL_TIMESTAMP",
        "PICKLED_BYTE_ARRAY",
    ]
}
PRIMITIVES = [
    ATOMS[n]() for n in ["BOOLEAN", "BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "CHAR"]
]
MICROS = st.integers(-(2**62), 2**62)
# Floats that single precision holds: FLOAT rounds all others.
SINGLES = st.floats(width=32, allow_nan=False)

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "STRING": TEXT,
    "BYTE": st.integers(-(2**7), 2**7 - 1),
    "BOOLEAN": st.booleans(),
    "SHORT": st.integers(-(2**15), 2**15 - 1),
    "INT": st.integers(-(2**31), 2**31 - 1),
    "LONG": st.integers(-(2**63), 2**63 - 1),
    "FLOAT": SINGLES,
    "DOUBLE": st.floats(allow_nan=False),
    "CHAR": st.characters(exclude_categories=["Cs"]),
    "BIG_INT": st.integers(),
    "BIG_DEC": st.decimals(allow_nan=False),
    "INSTANT": MICROS.map(lambda m: Instant(m // 10**6, m % 10**6 * 1000)),
    "SQL_DATE": st.dates(),
    "SQL_TIME": st.times(),
    "SQL_TIMESTAMP": st.datetimes(),
    "PICKLED_BYTE_ARRAY": st.one_of(
        TEXT, st.integers(), st.sets(st.integers(), max_size=3), st.binary(max_size=4)
    ),
}
NAMES = st.lists(st.text("abcdefgh", min_size=1, max_size=3), min_size=0, max_size=3, unique=True)


def _rows(names: list[str], types: list[TypeInformation]) -> TypeInformation:
    count = min(len(names), len(types))
    return Types.ROW_NAMED(names[:count], types[:count])


def _nested(inner: st.SearchStrategy[TypeInformation]) -> st.SearchStrategy[TypeInformation]:
    fields = st.lists(inner, max_size=3)
    return st.one_of(
        st.builds(Types.TUPLE, fields),
        st.builds(Types.ROW, fields),
        st.builds(_rows, NAMES, fields),
        st.builds(Types.LIST, inner),
        st.builds(Types.OBJECT_ARRAY, inner),
        st.builds(Types.MAP, key_types(), inner),
    )


@cache
def atom_types() -> st.SearchStrategy[TypeInformation]:
    arrays = st.one_of(
        st.sampled_from(PRIMITIVES).map(Types.PRIMITIVE_ARRAY),
        st.sampled_from([*PRIMITIVES, Types.STRING()]).map(Types.BASIC_ARRAY),
    )
    return st.one_of(st.sampled_from([make() for make in ATOMS.values()]), arrays)


@cache
def key_types() -> st.SearchStrategy[TypeInformation]:
    atoms = st.sampled_from([Types.STRING(), Types.LONG(), Types.BOOLEAN(), Types.SQL_DATE()])
    return st.one_of(atoms, st.lists(atoms, min_size=1, max_size=2).map(Types.TUPLE))


@cache
def types() -> st.SearchStrategy[TypeInformation]:
    return st.recursive(atom_types(), _nested, max_leaves=6)


@cache
def values_of(type_info: TypeInformation) -> st.SearchStrategy[Any]:
    """Values that come back from Arrow just as they are; None is one of them."""
    return st.one_of(st.none(), present_values_of(type_info))


@cache
def present_values_of(type_info: TypeInformation) -> st.SearchStrategy[Any]:
    if isinstance(type_info, TupleTypeInfo):
        return st.tuples(*map(values_of, type_info.field_types))
    if isinstance(type_info, RowTypeInfo):
        return st.tuples(*map(values_of, type_info.field_types)).map(_row_of(type_info))
    if isinstance(type_info, MapTypeInfo):
        keys = present_values_of(type_info.key_type)
        return st.dictionaries(keys, values_of(type_info.value_type), max_size=3)
    if isinstance(type_info, PrimitiveArrayTypeInfo):
        if type_info.holds_bytes:
            return st.binary(max_size=6)
        return st.lists(present_values_of(type_info.element_type), max_size=3)
    element = getattr(type_info, "element_type", None)
    if element is not None:
        return st.lists(values_of(element), max_size=3)
    return VALUES[type_info.kind]


def _row_of(type_info: RowTypeInfo) -> Callable[[tuple[Any, ...]], Row]:
    def make(values: tuple[Any, ...]) -> Row:
        row = Row(*values)
        if type_info.field_names is not None:
            row.set_field_names(type_info.field_names)
        return row

    return make


@st.composite
def typed_values(draw: st.DrawFn) -> tuple[TypeInformation, list[Any]]:
    type_info = draw(types())
    return type_info, draw(st.lists(values_of(type_info), max_size=6))


@cache
def anything() -> st.SearchStrategy[Any]:
    """All sorts of values, most of them wrong for most types."""
    atoms = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.integers(-200, 200),
        st.sampled_from([2**53, 2**53 + 1, 2**63, -(2**63), 2**60, 1e300, float("inf"), "\ud800"]),
        st.floats(),
        TEXT,
        st.binary(max_size=3),
        st.binary(max_size=3).map(bytearray),
        st.decimals(),
        st.dates(),
        st.times().map(lambda value: value.replace(fold=0)),
        st.datetimes().map(lambda value: value.replace(fold=0)),
        st.datetimes(timezones=st.just(UTC)),
        st.builds(Instant, st.integers(-(10**13), 10**13), st.integers(0, 10**9 - 1)),
        st.just(print),
    )
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.lists(inner, max_size=3).map(tuple),
            st.lists(inner, max_size=3).map(lambda values: Row(*values)),
            st.dictionaries(TEXT, inner, max_size=2),
        ),
        max_leaves=4,
    )


def single(value: float) -> float:
    """What single precision makes of a number."""
    rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return rounded
