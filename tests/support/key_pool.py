"""Keys of every supported type, many of them equal or nearly equal to others of other types."""

from __future__ import annotations

import datetime as dt
import math
import sys
import types
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, Flag, IntEnum
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from millstream.common.types import Row, RowKind


class Level(IntEnum):
    ONE = 1
    TWO = 2


class Word(str, Enum):  # noqa: UP042
    RED = "red"


class Rights(Flag):
    READ = 1
    WRITE = 2


class Text(str):
    pass


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass(frozen=True)
class Place:
    name: Any
    number: Any


@dataclass(frozen=True)
class Noted:
    name: Any
    note: str = field(compare=False)


@dataclass(frozen=True)
class Derived(Place):
    pass


_SOURCE = """
from dataclasses import dataclass
from enum import Enum

class Color(Enum):
    RED = 1
    CRIMSON = 1
    BLUE = 2

@dataclass(frozen=True)
class Place:
    name: object
    number: object
"""


def _module(name: str) -> Any:
    """A module with classes of the same names as in others."""
    if name not in sys.modules:
        module = sys.modules[name] = types.ModuleType(name)
        exec(compile(_SOURCE, name, "exec"), module.__dict__)
    return sys.modules[name]


ONE, OTHER = _module("key_pool_one"), _module("key_pool_other")
BERLIN, PARIS = ZoneInfo("Europe/Berlin"), ZoneInfo("Europe/Paris")
PLUS_ONE = dt.timezone(dt.timedelta(hours=1))
NOON = dt.datetime(2026, 3, 4, 12)
TWICE = dt.datetime(2020, 10, 25, 2, 30)
"""A time that the clocks of Berlin and Paris showed twice."""
NEVER = dt.datetime(2020, 3, 29, 2, 30)
"""A time that they did not show at all."""

NUMBERS: list[Any] = [
    *(0, 0.0, -0.0, False, Decimal(0), Decimal("-0.00"), Decimal("0E+5"), np.int64(0), np.bool_(False)),
    *(1, 1.0, True, Decimal("1.00"), Level.ONE, np.int8(1), np.float64(1), np.float32(1), np.uint64(1)),
    *(0.5, Decimal("0.50"), np.float16(0.5)),
    *(0.1, Decimal("0.1"), Decimal("0.10"), Decimal.from_float(0.1)),
    *(Decimal("1." + "0" * 29 + "1"), Decimal("1." + "0" * 29 + "2"), Decimal("1." + "0" * 29 + "10")),
    *(2**53, 2**53 + 1, float(2**53), 2**70, float(2**70), Decimal(2**70), 10**30, Decimal("1E+30")),
    *(-1, 255, 256, -128, 2**63, -(2**63), 2**64, np.uint64(2**63), 5e-324, Decimal("1E-400")),
    *(math.inf, -math.inf, Decimal("Infinity"), np.float64("inf")),
]  # fmt: skip
NANS: list[Any] = [math.nan, float("nan"), -math.nan, Decimal("NaN"), np.float64("nan")]
TEXTS: list[Any] = [
    *("", "1", "red", Text("red"), Word.RED, np.str_("red"), "é", "e\u0301", "\ud800", "n"),
    *(b"", b"1", b"red", np.bytes_(b"red")),
]  # fmt: skip
CLASSES: list[Any] = [
    *(ONE.Color.RED, ONE.Color.CRIMSON, ONE.Color.BLUE, OTHER.Color.RED),
    *(Rights.READ, Rights.WRITE, Rights.READ | Rights.WRITE),
    *(Place("a", 1), Place("a", True), Place("a", "1"), Derived("a", 1)),
    *(ONE.Place("a", 1), OTHER.Place("a", 1), Noted("a", "x"), Noted("a", "y"), Noted("b", "x")),
]  # fmt: skip
ROWS: list[Any] = [
    *(Row(1, "x"), Row(1.0, "x"), Row(a=1, b="x"), Row(b="x", a=1), Row(b=1, a="x"), Row(c=1, d="x")),
    *(Row.of_kind(RowKind.DELETE, 1, "x"), Row.of_kind(RowKind.DELETE, a=1, b="x"), Row(), Row(None)),
    *(Row([1]), Row((1,)), Row(a=Row(b=1)), Row(a=Row(1)), Row("a", 1, "b", "x")),
]  # fmt: skip
PARTS: list[Any] = [
    *((), (None,), (0,), ((),), ("a", 1), ["a", 1], Point("a", 1), Point("a", True), ("a", (1,))),
    *([], [[]], [()], [None], ("a", [1]), ("a1",), ("a", "1"), (b"a", 1), (1, 2), (1.0, Decimal(2))),
    *(frozenset(), frozenset({1, 2}), frozenset({2.0, True}), frozenset({(1,), "a"}), frozenset("ab")),
]  # fmt: skip
TIMES: list[Any] = [
    *(dt.date(2026, 3, 4), dt.datetime(2026, 3, 4), NOON, NOON.replace(fold=1)),
    *(pd.Timestamp(NOON), pd.Timestamp(NOON) + pd.Timedelta(1, "ns")),
    *(NOON.replace(tzinfo=dt.UTC), NOON.replace(hour=13, tzinfo=PLUS_ONE)),
    *(NOON.replace(hour=13, tzinfo=BERLIN), NOON.replace(hour=13, tzinfo=PARIS)),
    *(NOON.replace(hour=13, tzinfo=BERLIN, fold=1), pd.Timestamp(NOON, tz="UTC")),
    *(moment.replace(tzinfo=zone, fold=fold) for moment in (TWICE, NEVER)
      for zone in (BERLIN, PARIS) for fold in (0, 1)),
    *(dt.datetime(2020, 10, 25, hour, 30, tzinfo=dt.UTC) for hour in (0, 1)),
    *(dt.datetime(2020, 3, 29, hour, 30, tzinfo=dt.UTC) for hour in (0, 1)),
    *(dt.datetime.min.replace(tzinfo=PLUS_ONE), dt.datetime.min.replace(tzinfo=dt.UTC)),
    *(dt.time(12), dt.time(12, fold=1), dt.time(12, tzinfo=dt.UTC), dt.time(13, tzinfo=PLUS_ONE)),
    *(dt.time(12, tzinfo=BERLIN), dt.time(0, tzinfo=PLUS_ONE), dt.time(23, tzinfo=dt.UTC)),
    *(dt.timedelta(hours=12), dt.timedelta(seconds=43_200), dt.timedelta(days=-1, microseconds=1)),
    *(pd.Timedelta(12, "h"), pd.Timedelta(12, "h") + pd.Timedelta(1, "ns"), "12:00:00", 43_200),
]  # fmt: skip
IDS: list[Any] = [uuid.UUID(int=7), uuid.UUID(int=8), str(uuid.UUID(int=7)), uuid.UUID(int=7).bytes]

POOL: list[Any] = [*NUMBERS, *NANS, *TEXTS, *CLASSES, *ROWS, *PARTS, *TIMES, *IDS]


def same(one: Any, other: Any) -> bool:
    """Whether two keys are one key, said in another way than by their encodings."""
    # numpy compares with the elements of sequences; a scalar counts as its Python value.
    one, other = (key.item() if isinstance(key, np.generic) else key for key in (one, other))
    if _is_nan(one) or _is_nan(other):
        return _is_nan(one) and _is_nan(other)
    for kind in (list, tuple):
        if isinstance(one, kind) and isinstance(other, kind):
            return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, Row) and isinstance(other, Row):
        return _sorted(one)[0] == _sorted(other)[0] and same(_sorted(one)[1], _sorted(other)[1])
    if isinstance(one, Place) and type(one) is type(other):
        return same((one.name, one.number), (other.name, other.number))
    return bool(one == other)


def _is_nan(key: Any) -> bool:
    return isinstance(key, float | Decimal | np.floating) and math.isnan(key)


def _sorted(row: Row) -> tuple[Any, list[Any]]:
    names = row._fields
    if names is None:
        return (row.get_row_kind(), None), list(row)
    values = row.as_dict()
    return (row.get_row_kind(), sorted(names)), [values[name] for name in sorted(names)]
