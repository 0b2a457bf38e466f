"""Types with values that fit them, and with values that do not."""

from __future__ import annotations

import enum
from collections import namedtuple
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from millstream.common.time import Instant
from millstream.common.typeinfo import TypeInformation, Types
from millstream.common.types import Row, RowKind

BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
PERSON = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.LONG()])
Pair = namedtuple("Pair", "a b")


class Level(enum.IntEnum):
    LOW = 1


NAIVE = datetime(2020, 1, 2, 3, 4, 5, 6)

FITS: list[tuple[TypeInformation, list[Any]]] = [
    (Types.STRING(), ["", "ä", np.str_("x")]),
    (Types.BYTE(), [-128, 127, np.int8(3), Level.LOW]),
    (Types.SHORT(), [-(2**15), 2**15 - 1]),
    (Types.INT(), [-(2**31), 2**31 - 1]),
    (Types.LONG(), [-(2**63), 2**63 - 1, np.int64(1), np.uint8(1)]),
    (Types.BOOLEAN(), [True, np.bool_(False)]),
    (Types.DOUBLE(), [1, 1.5, float("nan"), 2**60, np.float32(0.5), np.int64(2)]),
    (Types.FLOAT(), [1, 0.1, float("inf"), 3.4e38]),
    (Types.CHAR(), ["x", "\U0001f600"]),
    (Types.BIG_INT(), [10**100, np.int64(1)]),
    (Types.BIG_DEC(), [Decimal("1e999"), Decimal("NaN")]),
    (Types.INSTANT(), [Instant(-1, 999_999_000)]),
    (Types.SQL_DATE(), [date.min, date.max]),
    (Types.SQL_TIME(), [time(), time.max]),
    (Types.SQL_TIMESTAMP(), [datetime.min, datetime.max, pd.Timestamp("2020-01-01")]),
    (Types.PICKLED_BYTE_ARRAY(), [object, {1}, b"x"]),
    (BYTES, [b"", b"abc"]),
    (Types.PRIMITIVE_ARRAY(Types.INT()), [[], [1], (1, 2)]),
    (Types.BASIC_ARRAY(Types.STRING()), [[None, "a"]]),
    (Types.LIST(PAIR), [[], [("a", 1), None]]),
    (Types.MAP(Types.STRING(), Types.LONG()), [{}, {"a": None}]),
    (PAIR, [("a", 1), (None, None), Pair("a", 1), ["a", 1], Row("a", 1)]),
    (PERSON, [Row("a", 1), Row(age=1, name="a"), ("a", 1), ["a", 1], {"name": "a", "age": None}]),
    (Types.ROW([Types.LONG()]), [Row(1), Row(a=1), (1,), [1], {"f0": 1}]),
]
MISFITS: list[tuple[TypeInformation, list[Any]]] = [
    (Types.STRING(), [1, b"a", "\ud800"]),
    (Types.BYTE(), [128, -129, True, 1.0, "1", Decimal(1)]),
    (Types.SHORT(), [2**15]),
    (Types.INT(), [2**31, np.bool_(True)]),
    (Types.LONG(), [2**63, 1.5, float("nan"), True]),
    (Types.BOOLEAN(), [0, "true"]),
    (Types.DOUBLE(), [True, "1", 2**53 + 1, 10**400, Decimal(1), Fraction(1, 2)]),
    (Types.FLOAT(), [1e39, -1e300, 10**400]),
    (Types.CHAR(), ["", "ab", 1]),
    (Types.BIG_INT(), [1.0, True, 10**5000]),
    (Types.BIG_DEC(), [1, 1.5, "1"]),
    (Types.INSTANT(), [Instant(0, 1), NAIVE, Instant(2**62, 0)]),
    (Types.SQL_DATE(), [NAIVE, 1, "2020-01-01"]),
    (Types.SQL_TIME(), [time(tzinfo=UTC), 1, NAIVE]),
    (Types.SQL_TIMESTAMP(), [NAIVE.replace(tzinfo=UTC), date.min, 1, pd.Timestamp(1)]),
    (Types.PICKLED_BYTE_ARRAY(), [(n for n in "")]),
    (BYTES, [bytearray(b"a"), "a", [1], memoryview(b"a")]),
    (Types.PRIMITIVE_ARRAY(Types.INT()), [[None], [2**31], "ab", {1}]),
    (Types.BASIC_ARRAY(Types.STRING()), ["ab", [1]]),
    (Types.LIST(PAIR), [[("a", "b")], ("a", 1)]),
    (Types.MAP(Types.STRING(), Types.LONG()), [{None: 1}, {"a": "b"}, {1: 1}, [("a", 1)]]),
    (PAIR, [("a",), ("a", 1, 2), ("a", "b"), ["a"], Row("a", "b"), "ab"]),
    (PAIR, [Row.of_kind(RowKind.DELETE, "a", 1)]),
    (PERSON, [Row("a"), Row(name="a"), Row(a="a", b=1), {"name": "a"}, {}, "ab", Row("a", "b")]),
    (PERSON, [Row.of_kind(RowKind.DELETE, "a", 1)]),
    (Types.ROW([Types.LONG()]), [{"a": 1}, 1, Row()]),
]


def cases(table: list[tuple[TypeInformation, list[Any]]]) -> list[Any]:
    """One test case per value; some values have no text that could serve as an id."""
    return [
        pytest.param(type_info, value, id=f"{type_info}-{type(value).__name__}-{index}")
        for type_info, values in table
        for index, value in enumerate(values)
    ]
