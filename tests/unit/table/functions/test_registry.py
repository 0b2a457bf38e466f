"""Binding of functions: names, arguments, and errors that help."""

from __future__ import annotations

import pytest

from millstream.table import TableEnvironment
from millstream.table.expressions import Literal, json_array, kinds
from millstream.table.functions import BindError, bind, lookup
from millstream.table.sql.errors import SqlError


def _text(value: str) -> Literal:
    return Literal(kinds.not_null(kinds.char(len(value))), value)


def test_names_have_no_case() -> None:
    assert lookup("upper") is lookup("UPPER")


def test_unknown_functions_name_similar_ones() -> None:
    with pytest.raises(BindError, match="there is no function uper; similar: UPPER"):
        lookup("uper")


def test_wrong_arguments_show_the_syntax() -> None:
    with pytest.raises(
        BindError, match=r"SUBSTRING\(CHAR\(1\) NOT NULL\).*It is written SUBSTRING"
    ):
        bind("SUBSTRING", [_text("a")])


def test_the_result_is_nullable_if_an_argument_is() -> None:
    assert not bind("CHAR_LENGTH", [_text("a")]).type.nullable
    assert bind("CHAR_LENGTH", [Literal(kinds.STRING, None)]).type.nullable


@pytest.mark.parametrize(
    "text",
    [
        "1 = 'a'",
        "'a' <> 1.5",
        "DATE '2020-01-01' < TIMESTAMP '2020-01-01 00:00:00'",
        "FLOOR('2020-01-01' TO DAY)",
        "CEIL(1 TO HOUR)",
        "TRIM(1)",
        "ROUND(1.5, 'a')",
        "DATE_FORMAT(DATE '2020-01-01', 'yyyy')",
        "TIMESTAMPADD(DAY, 1.5, TIMESTAMP '2020-01-01 00:00:00')",
        "TO_TIMESTAMP_LTZ('2020-01-01', 3)",
        "JSON_OBJECT(KEY 1 VALUE 2)",
        "ELT(-1, 'a')",
        "CARDINALITY('abc')",
        "ARRAY[1, 2][1.5]",
        "HEX(1.5)",
        "1 * '2'",
        "'a' < ARRAY[1]",
        "'a' = X'61'",
        "LPAD('a', 2.5, 'b')",
        "REPEAT('a', 1E0)",
        "STARTSWITH('abc', X'61')",
    ],
)
def test_flink_refuses_these_before_anything_runs(text: str) -> None:
    with pytest.raises(SqlError, match="WRONG_ARGUMENTS"):
        TableEnvironment.create().sql_query(f"SELECT {text}")


def test_an_empty_json_array_needs_no_rule_for_null() -> None:
    query = TableEnvironment.create().sql_query("SELECT 1 AS x").select(json_array().alias("a"))
    assert query.relation.row_type.fields[0].type.as_summary() == "STRING NOT NULL"
