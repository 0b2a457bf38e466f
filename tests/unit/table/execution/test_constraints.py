"""NOT NULL and lengths of a table, for rows that are written into it."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.common.errors import MillstreamError, PlanError
from millstream.table import TableEnvironment
from millstream.testing import in_memory

NOT_NULL = "table.exec.sink.not-null-enforcer"
LENGTHS = "table.exec.sink.type-length-enforcer"
NESTED = "table.exec.sink.nested-constraint-enforcer"


def written(
    columns: str, rows: list[Any], given: str = "", **options: str
) -> list[tuple[Any, ...]]:
    """The rows that a table gets of another one with other columns, or with the same."""
    t_env = TableEnvironment.create()
    for name, value in options.items():
        t_env.get_config().set(
            {"nulls": NOT_NULL, "lengths": LENGTHS, "nested": NESTED}[name], value
        )
    t_env.execute_sql(f"CREATE TABLE source ({given or columns}) WITH ('connector' = 'values')")
    t_env.execute_sql(f"CREATE TABLE target ({columns}) WITH ('connector' = 'values')")
    with in_memory(tables={"source": rows}) as tables:
        t_env.execute_sql("INSERT INTO target SELECT * FROM source").wait()
    return [tuple(row) for row in tables.rows("target")]


def values(rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    return [[list(v) if hasattr(v, "get_row_kind") else v for v in row] for row in rows]


def test_null_is_an_error_or_the_row_is_dropped() -> None:
    rows = [(1, "a"), (2, None)]
    with pytest.raises(MillstreamError, match="column 'b' is NOT NULL"):
        written("a INT, b STRING NOT NULL", rows, "a INT, b STRING")
    assert written("a INT, b STRING NOT NULL", rows, "a INT, b STRING", nulls="drop") == [(1, "a")]


NESTED_ROWS = [(1, (1, "a")), (2, (2, None)), (3, None)]
WITH_NULLS, WITHOUT = "a INT, r ROW<x INT, y STRING>", "a INT, r ROW<x INT, y STRING NOT NULL>"


def test_null_inside_of_a_row_counts_if_the_session_says_so() -> None:
    kept = written(WITHOUT, NESTED_ROWS, WITH_NULLS, nulls="drop")
    assert values(kept) == [[1, [1, "a"]], [2, [2, None]], [3, None]]
    kept = written(WITHOUT, NESTED_ROWS, WITH_NULLS, nulls="drop", nested="rows")
    assert values(kept) == [[1, [1, "a"]], [3, None]]
    with pytest.raises(MillstreamError, match=r"column 'r\.y' is NOT NULL"):
        written(WITHOUT, NESTED_ROWS, WITH_NULLS, nested="rows")


def test_null_inside_of_arrays_and_maps_counts_if_the_session_says_so() -> None:
    rows = [(1, ["a"], {"k": 1}), (2, ["a", None], {}), (3, [], {"k": None}), (4, None, None)]
    columns = "a INT, l ARRAY<STRING{0}>, m MAP<STRING, INT{0}>"
    strict, lax = columns.format(" NOT NULL"), columns.format("")
    for nested, left in (("rows", [1, 2, 3, 4]), ("rows_and_collections", [1, 4])):
        found = written(strict, rows, lax, nulls="drop", nested=nested)
        assert [row[0] for row in found] == left


def test_lengths_are_cut_and_filled_or_an_error() -> None:
    columns = "c CHAR(3), v VARCHAR(4), b BINARY(2), w VARBINARY(3)"
    rows = [("a", "ab", b"1", b"12"), ("abcd", "abcdef", b"123", b"1234"), (None, None, None, None)]
    assert written(columns, rows) == rows
    assert written(columns, rows, lengths="trim_pad") == [
        ("a  ", "ab", b"1\0", b"12"),
        ("abc", "abcd", b"12", b"123"),
        (None, None, None, None),
    ]
    with pytest.raises(MillstreamError, match=r"column 'c' is CHAR\(3\), and a row has 'a'"):
        written(columns, rows, lengths="error")


def test_lengths_inside_of_rows_are_cut() -> None:
    columns = "a INT, r ROW<x INT, y VARCHAR(2)>"
    rows = [(1, (1, "abc")), (2, None), (3, (3, None))]
    found = written(columns, rows, lengths="trim_pad", nested="rows")
    assert values(found) == [[1, [1, "ab"]], [2, None], [3, [3, None]]]
    with pytest.raises(MillstreamError, match=r"column 'r\.y' is VARCHAR"):
        written(columns, rows, lengths="error", nested="rows")


def test_lengths_inside_of_collections_can_only_be_checked() -> None:
    columns, rows = "l ARRAY<VARCHAR(2)>", [(["ab", "abc"],)]
    with pytest.raises(PlanError, match="values in arrays and maps cannot be cut"):
        written(columns, rows, lengths="trim_pad", nested="rows_and_collections")
    with pytest.raises(MillstreamError, match=r"column 'l\[element\]' is VARCHAR"):
        written(columns, rows, lengths="error", nested="rows_and_collections")


def test_other_values_of_the_options_are_refused() -> None:
    with pytest.raises(PlanError, match=f"{NOT_NULL} cannot be 'IGNORE'"):
        written("a INT", [(1,)], nulls="ignore")
