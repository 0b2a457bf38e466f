"""Stable hashes: equal keys have equal hashes, in every process and for ever."""

from __future__ import annotations

import datetime as dt
import math
import pickle
import subprocess
import sys
from dataclasses import dataclass, field
from decimal import Decimal, FloatOperation, Inexact, Rounded, localcontext
from enum import Enum, IntEnum
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.types import Row
from millstream.kernel.keys.encoding import KeyEncodingError, encode_key
from millstream.kernel.keys.hashing import HashCache, stable_hash, stable_hashes, tie_breaker
from millstream.kernel.keys.identity import encoding_of, identities, identity, map_identity, shown
from tests.support import key_pool
from tests.support.key_pool import POOL, same
from tests.support.strategies import examples, sampled


class Color(Enum):
    RED = 1


class Level(IntEnum):
    LOW = 1


class Point(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True)
class Place:
    name: str
    number: int


@dataclass(frozen=True)
class Noted:
    name: str
    note: str = field(compare=False)


PLUS_ONE = dt.timezone(dt.timedelta(hours=1))

EQUAL = [
    (1, True),
    (1, 1.0),
    (1, Decimal(1)),
    (1, Decimal("1.00")),
    (1, Level.LOW),
    (0, -0.0),
    (0, False),
    (0.5, Decimal("0.5")),
    (2**70, float(2**70)),
    (10**30, Decimal("1E+30")),
    (Decimal("0.1"), Decimal("0.10")),
    ((1, "a"), (1.0, "a")),
    ((1, 2), Point(1, 2)),
    (frozenset({1, 2}), frozenset({2.0, True})),
    (
        dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC),
        dt.datetime(2024, 2, 29, 13, tzinfo=PLUS_ONE),
    ),
    (Row(a=1, b="x"), Row(a=1.0, b="x")),
    (Place("a", 1), Place("a", True)),
]


@pytest.mark.parametrize(("one", "other"), EQUAL, ids=repr)
def test_keys_that_are_equal_have_equal_hashes(one: Any, other: Any) -> None:
    assert one == other
    assert stable_hash(one) == stable_hash(other)
    assert tie_breaker(one) == tie_breaker(other)


def test_fields_of_a_dataclass_that_are_not_compared_do_not_count() -> None:
    assert Noted("a", "x") == Noted("a", "y")
    assert stable_hash(Noted("a", "x")) == stable_hash(Noted("a", "y"))


def test_equal_times_of_different_zones_have_equal_hashes() -> None:
    one, other = dt.time(10, tzinfo=dt.UTC), dt.time(11, tzinfo=PLUS_ONE)
    assert one == other
    assert stable_hash(one) == stable_hash(other)


@examples(60)
@given(st.integers(-(2**53), 2**53))
def test_all_numbers_of_one_value_have_one_hash(number: int) -> None:
    assert stable_hash(float(number)) == stable_hash(Decimal(number)) == stable_hash(number)


FRACTIONS = st.floats(allow_nan=False, allow_infinity=False)


@examples(60)
@given(FRACTIONS)
def test_a_float_and_its_exact_decimal_have_one_hash(number: float) -> None:
    assert stable_hash(Decimal(number)) == stable_hash(number)


# What a checkpoint of today has on disk: these values may never change.
FOR_EVER = [
    ("a", 2138990852),
    ("", 453955339),
    ("é", 3861614810),
    (0, 4125540881),
    (-1, 3638832540),
    (255, 727962831),
    (256, 3477084459),
    (2**70, 3097757276),
    (1.5, 2742266376),
    (b"x", 1221386964),
    (("a", 1), 418143838),
    (("a", None), 2377627267),
    (Decimal("0.1"), 2528779332),
    (frozenset({1, 2}), 500064850),
    (UUID(int=7), 3348186849),
    (dt.date(2024, 2, 29), 2426963022),
    (dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC), 3730914203),
    (dt.timedelta(seconds=1), 3396331033),
]


@pytest.mark.parametrize(("key", "expected"), FOR_EVER, ids=repr)
def test_hashes_are_stable_for_ever(key: Any, expected: int) -> None:
    assert stable_hash(key) == expected


SEEDS = sampled(("1", "2"), "seeds")
"""Of Python's `hash()` in other processes; this one has a seed of its own."""


@pytest.mark.slow
def test_hashes_do_not_depend_on_the_process() -> None:
    code = (
        "from millstream.kernel.keys.hashing import stable_hash as h; "
        "print(h('a'), h(frozenset('ab')))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in SEEDS
    }
    assert outputs == {f"{stable_hash('a')} {stable_hash(frozenset('ab'))}\n".encode()}


KEYS = st.recursive(
    st.integers() | st.text(max_size=4) | st.binary(max_size=4) | FRACTIONS | st.booleans(),
    lambda parts: st.tuples(parts) | st.tuples(parts, parts) | st.frozensets(parts, max_size=3),
    max_leaves=4,
)


@examples(150)
@given(KEYS, KEYS)
def test_encodings_are_equal_exactly_for_equal_keys(one: Any, other: Any) -> None:
    assert (encode_key(one) == encode_key(other)) == (one == other)


# -- every supported type, against every other -----------------------------------------------------


def test_two_keys_of_any_types_have_one_encoding_exactly_if_they_are_equal() -> None:
    encoded = [encode_key(key) for key in POOL]
    wrong = [
        (one, other)
        for i, one in enumerate(POOL)
        for j, other in enumerate(POOL)
        if (encoded[i] == encoded[j]) != same(one, other)
    ]
    assert not wrong


def test_stand_ins_are_equal_exactly_if_encodings_are() -> None:
    encoded, stand_ins = [encode_key(key) for key in POOL], identities(POOL)
    for i, one in enumerate(stand_ins):
        for j, other in enumerate(stand_ins):
            assert (one == other) == (encoded[i] == encoded[j]), (POOL[i], POOL[j])
    by_key = dict(zip(stand_ins, POOL, strict=True))
    assert len(by_key) == len(set(encoded))
    assert [encoding_of(key) for key in stand_ins] == encoded


def test_a_stand_in_shows_the_key_as_it_was_given() -> None:
    assert [repr(shown(key)) for key in identities(POOL)] == list(map(repr, POOL))
    assert identity(identity(1.0)) is not identity(1.0)
    kept = identity(1.0)
    assert identity(kept) is kept


def test_equal_keys_that_stand_for_themselves_look_alike() -> None:
    for one in filter(_stands_for_itself, POOL):
        for other in filter(_stands_for_itself, POOL):
            if encode_key(one) == encode_key(other):
                assert repr(one) == repr(other)


def _stands_for_itself(key: Any) -> bool:
    return identity(key) is key


def test_pickling_changes_no_encoding_and_no_stand_in() -> None:
    copies = pickle.loads(pickle.dumps(POOL))
    assert [encode_key(key) for key in copies] == [encode_key(key) for key in POOL]
    stored = pickle.loads(pickle.dumps(identities(POOL)))
    assert dict.fromkeys(stored) == dict.fromkeys(identities(POOL))


@pytest.mark.slow
def test_no_encoding_depends_on_the_process() -> None:
    code = (
        "from tests.support.key_pool import POOL; "
        "from millstream.kernel.keys.encoding import encode_key; "
        "print([encode_key(key) for key in POOL])"
    )
    for seed in SEEDS:
        found = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        assert found.strip() == repr([encode_key(key) for key in POOL])


NESTED = st.recursive(
    st.sampled_from(POOL),
    lambda parts: (
        st.tuples(parts)
        | st.tuples(parts, parts)
        | st.lists(parts, max_size=2)
        | st.builds(Row, parts, parts)
        | st.builds(lambda a, b: Row(a=a, b=b), parts, parts)
        | st.builds(key_pool.Place, parts, parts)
    ),
    max_leaves=4,
)


@examples(300)
@given(NESTED, NESTED)
def test_nested_keys_have_one_encoding_exactly_if_they_are_equal(one: Any, other: Any) -> None:
    assert (encode_key(one) == encode_key(other)) == same(one, other)
    assert (identity(one) == identity(other)) == same(one, other)
    assert encode_key(pickle.loads(pickle.dumps(one))) == encode_key(one)


# -- what has no encoding --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ByIdentity:
    name: str


@dataclass(frozen=True)
class ByFields:
    name: str


@dataclass
class Changeable:
    name: str


@dataclass(frozen=True)
class OwnEquality:
    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnEquality) and self.name.lower() == other.name.lower()

    def __hash__(self) -> int:
        return hash(self.name.lower())


@dataclass(frozen=True, eq=False)
class Grown(ByFields):
    """Inherits an ``__eq__`` that does not know its own field."""

    size: int


MADE_BY_EXEC: dict[str, Any] = {"dataclass": dataclass, "__name__": __name__}
exec(
    """
@dataclass(frozen=True)
class SameObject:
    name: str
    def __eq__(self, other): return self is other
    def __hash__(self): return 1

@dataclass(frozen=True)
class Plain:
    name: str
""",
    MADE_BY_EXEC,
)


def test_a_dataclass_is_a_key_wherever_its_source_is() -> None:
    """What counts is what its ``__eq__`` does."""
    plain = MADE_BY_EXEC["Plain"]
    assert encode_key(plain("a")) == encode_key(plain("a")) != encode_key(plain("b"))


class Caseless(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.lower() == other.lower()

    def __hash__(self) -> int:
        return hash(self.lower())


@pytest.mark.parametrize(
    ("key", "code"),
    [
        (None, "NULL_KEY"),
        ({"a": 1}, "UNSUPPORTED_KEY"),
        ((1, {2}), "UNSUPPORTED_KEY"),
        ([bytearray(b"a")], "UNSUPPORTED_KEY"),
        (object(), "UNSUPPORTED_KEY"),
        (1j, "UNSUPPORTED_KEY"),
        (ByIdentity("a"), "UNSUPPORTED_KEY"),
        (Changeable("a"), "UNSUPPORTED_KEY"),
        (OwnEquality("a"), "UNSUPPORTED_KEY"),
        (Caseless("a"), "UNSUPPORTED_KEY"),
        (Grown("a", 1), "UNSUPPORTED_KEY"),
        (MADE_BY_EXEC["SameObject"]("a"), "UNSUPPORTED_KEY"),
        (Decimal("1E+999999999"), "UNSUPPORTED_KEY"),
        (pd.NaT, "UNSUPPORTED_KEY"),
        (np.timedelta64(1, "s"), "UNSUPPORTED_KEY"),
        (np.datetime64("2026-01-01"), "UNSUPPORTED_KEY"),
        (np.longdouble(0.1), "UNSUPPORTED_KEY"),
    ],
    ids=lambda part: part if isinstance(part, str) else type(part).__name__,
)
def test_what_cannot_be_a_key_is_refused(key: Any, code: str) -> None:
    with pytest.raises(KeyEncodingError) as caught:
        stable_hash(key)
    assert caught.value.code == code
    assert caught.value.hint


def test_what_a_map_takes_besides_keys_stands_for_itself() -> None:
    thing = object()
    assert map_identity(thing) is thing
    assert map_identity(None) is None
    assert map_identity(math.nan) == map_identity(float("nan"))


def test_decimal_infinity_equals_float_infinity() -> None:
    assert stable_hash(Decimal("Infinity")) == stable_hash(float("inf"))


def test_enum_keys_go_by_class_and_name() -> None:
    assert stable_hash(Color.RED) == stable_hash(Color["RED"])
    assert stable_hash(Color.RED) != stable_hash(1)


def test_cache_gives_the_same_hashes_and_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HashCache, "LIMIT", 3)
    cache = HashCache()
    assert [cache[key] for key in "abcdea"] == [stable_hash(key) for key in "abcdea"]
    assert len(cache) <= 3


@pytest.mark.parametrize(
    "keys",
    [
        [],
        ["", "a", "\u00e9", "\ud800", "\U0001f600"],
        [0, 1, -1, 127, 128, -128, -129, 1 << 31, 1 << 63, -(1 << 63), 1 << 200],
        [1, True, 1.0],
        ["a", 1, ("a", 1), b"a", 0.5],
    ],
)
def test_hashes_of_many_keys_are_those_of_each(keys: list[object]) -> None:
    assert stable_hashes(keys) == [stable_hash(key) for key in keys]


def test_the_decimal_context_of_a_program_is_of_no_concern() -> None:
    keys = [Decimal(text) for text in ("0.1", "0.5", "1.0", "1E+30", "0.12345678901234567890123")]
    usual = [encode_key(key) for key in keys]
    with localcontext() as context:
        context.prec = 3
        for signal in (FloatOperation, Inexact, Rounded):
            context.traps[signal] = True
        assert [encode_key(key) for key in keys] == usual
        assert identity(keys[1]) == identity(0.5)
