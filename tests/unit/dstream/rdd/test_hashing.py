"""The hash of keys: that of a Python process with PYTHONHASHSEED=0, as Spark's workers are."""

from __future__ import annotations

import pickle
import subprocess
import sys
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from millstream.dstream.rdd import portable_hash

VALUES: list[Any] = [
    *("x" * n for n in range(20)),
    *(b"\xff" * n for n in range(20)),
    "é",
    "ß日本",
    "日本",
    "😀x",
    "\udc80",
    "a" * 1000,
    date(2020, 1, 2),
    datetime(2020, 1, 2, 3, 4, 5, 6),
    time(3, 4),
    Decimal("1.5"),
    Fraction(1, 3),
    -1,
    2**80,
    0.1,
    float("inf"),
    True,
]


@pytest.mark.slow
def test_values_have_the_hashes_of_workers() -> None:
    program = "import sys, pickle; print([hash(v) for v in pickle.load(sys.stdin.buffer)])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(VALUES),
        env={"PYTHONHASHSEED": "0"},
        capture_output=True,
        check=True,
    )
    assert [portable_hash(value) for value in VALUES] == eval(done.stdout)


def test_known_hashes() -> None:
    assert portable_hash(None) == 0
    assert portable_hash("") == 0
    assert portable_hash("a") == 4644417185603328019
    assert portable_hash(b"abc") == -4594863902769663758
    assert portable_hash((None, 1)) & 0xFFFFFFFF == 219750521
    assert portable_hash(("a", ("b", None))) != portable_hash(("a", ("b", 0, None)))


def test_equal_numbers_have_equal_hashes() -> None:
    assert portable_hash(1) == portable_hash(1.0) == portable_hash(True)


def test_text_of_a_subclass() -> None:
    class Name(str):
        pass

    class Other(str):
        def __hash__(self) -> int:
            return 5

    assert portable_hash(Name("a")) == portable_hash("a")
    assert portable_hash(Other("a")) == 5
