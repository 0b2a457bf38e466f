"""Columns as internal values, and functions of their distinct values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from millstream.table.expressions import kinds
from millstream.table.expressions.vectors import Vector, build, each_value, internal

VALUES: dict[str, list[Any]] = {
    "DATE": [0, -1, None],
    "TIME(0)": [3_600_000, None],
    "TIME(3)": [1, None],
    "TIMESTAMP(0)": [-1_000_000_000, None],
    "TIMESTAMP(9)": [1, None],
    "TIMESTAMP_LTZ(3)": [1_000_000, None],
    "INTERVAL DAY": [86_400_000, None],
    "INTERVAL MONTH": [-14, None],
    "ARRAY<DATE>": [(1, None), (), None],
    "MAP<STRING, INT>": [(("a", 1), ("b", None)), None],
    "ROW<a INT, b ARRAY<STRING>>": [(1, ("x",)), None, (None, None)],
}


@pytest.mark.parametrize("text", VALUES)
def test_internal_values_come_back_from_columns(text: str) -> None:
    kind = kinds.parse_type(text)
    array = build(VALUES[text], kind)
    assert array.type == kinds.arrow_type(kind)
    assert internal(array, kind) == VALUES[text]


def test_a_function_is_called_once_for_equal_values() -> None:
    calls: list[str] = []

    def note(text: str, more: str) -> str:
        calls.append(text)
        return text + more

    column = Vector(kinds.STRING, 4, pa.array(["a", "b", None, "a"]))
    constant = Vector(kinds.STRING, 4, constant=True, scalar="!")
    assert each_value(note, [column, constant], 4) == ["a!", "b!", None, "a!"]
    assert calls == ["a", "b"]


def test_a_function_that_takes_null_is_called_for_it() -> None:
    column = Vector(kinds.STRING, 2, pa.array(["a", None]))
    assert each_value(lambda text: text is None, [column], 2, strict=False) == [False, True]
