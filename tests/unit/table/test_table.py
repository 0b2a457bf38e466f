"""The methods of `Table`: which relations they make."""

from __future__ import annotations

import operator
from typing import Any

import pytest

from millstream.common.errors import PlanError
from millstream.table.expressions import (
    UNBOUNDED_RANGE,
    UNBOUNDED_ROW,
    call_sql,
    col,
    lit,
    range_,
    row_interval,
    with_columns,
    without_columns,
)
from millstream.table.logical.algebra import Scan, TablePath
from millstream.table.sql.errors import SqlError
from millstream.table.table import Table
from millstream.table.table_environment import TableEnvironment
from millstream.table.types.data_types import DataTypes, logical_of
from millstream.table.types.logical import RowType, TimestampType
from millstream.table.window import Over, Session, Slide, Tumble


class _Names:
    current_catalog = "default_catalog"
    current_database = "default_database"

    def find_table(self, *_: Any) -> None:
        return None

    def find_function(self, *_: Any) -> None:
        return None

    def similar_tables(self, *_: Any) -> list[str]:
        return []

    def function_names(self) -> list[str]:
        return []

    def option(self, *_: Any) -> None:
        return None


class _Environment:
    names = _Names()


def table(columns: str, time: str | None = None) -> Table:
    row = logical_of(f"ROW<{columns}>")
    assert isinstance(row, RowType)
    if time:
        from dataclasses import replace

        fields = [
            replace(each, type=TimestampType(3, "ROWTIME")) if each.name == time else each
            for each in row.fields
        ]
        row = RowType(tuple(fields))
    return Table(Scan(row, TablePath("c", "d", "t")), _Environment())


A = "a INT, b BIGINT, s STRING"


def columns(made: Table) -> str:
    return ", ".join(f"{each.name} {each.type}" for each in made.relation.row_type.fields)


def test_queries_have_columns_and_types() -> None:
    t = table(A)
    right = table("x INT, y STRING")
    assert columns(t.select(col("a") + 1, t.s.upper_case.alias("u"))).endswith("u STRING")
    assert columns(t.filter(col("a") > 1)) == "a INT, b BIGINT, s STRING"
    assert columns(t.alias("p", "q")) == "p INT, q BIGINT, s STRING"
    assert (
        columns(t.group_by(col("s")).select(col("s"), col("b").sum.alias("n")))
        == "s STRING, n BIGINT"
    )
    assert columns(t.select(col("a").count.distinct.alias("n"))) == "n BIGINT NOT NULL"
    assert (
        columns(t.join(right, col("a") == col("x"))) == "a INT, b BIGINT, s STRING, x INT, y STRING"
    )
    assert columns(t.left_outer_join(right, col("a") == col("x")).select(col("y"))) == "y STRING"
    assert columns(t.union_all(t).distinct()) == "a INT, b BIGINT, s STRING"
    assert columns(t.order_by(col("a").desc).limit(3, 1)) == "a INT, b BIGINT, s STRING"
    assert (
        columns(t.add_columns((col("a") * 2).alias("c")).drop_columns(col("b"), col("s")))
        == "a INT, c INT"
    )
    assert columns(t.add_or_replace_columns(lit("x").alias("a"))).startswith(
        "a CHAR(1) NOT NULL, b"
    )
    assert columns(t.rename_columns(col("a").alias("z"))) == "z INT, b BIGINT, s STRING"
    assert columns(t.filter(col("a").in_(right.select(col("x"))))) == "a INT, b BIGINT, s STRING"
    assert columns(t.select(call_sql("a + b").alias("c"))) == "c BIGINT"


def test_columns_are_chosen_by_name_and_place() -> None:
    t = table(A)
    assert columns(t.select(with_columns(range_(1, 2)))) == "a INT, b BIGINT"
    assert columns(t.select(without_columns(col("a")))) == "b BIGINT, s STRING"


@pytest.mark.parametrize(
    "window",
    [
        Tumble.over(lit(10).minutes),
        Slide.over(lit(1).hours).every(lit(5).minutes),
        Session.with_gap(lit(30).seconds),
    ],
    ids=["tumble", "slide", "session"],
)
def test_windows_group_by_time(window: Any) -> None:
    t = table("k STRING, v INT, ts TIMESTAMP(3)", "ts")
    made = (
        t.window(window.on(col("ts")).alias("w"))
        .group_by(col("w"), col("k"))
        .select(
            col("k"), col("w").start.alias("f"), col("w").end.alias("l"), col("v").sum.alias("n")
        )
    )
    assert columns(made) == "k STRING, f TIMESTAMP(3) NOT NULL, l TIMESTAMP(3) NOT NULL, n INT"


def test_over_windows_have_frames() -> None:
    t = table("k STRING, v INT, ts TIMESTAMP(3)", "ts")
    frame = Over.partition_by(col("k")).order_by(col("ts")).preceding(UNBOUNDED_RANGE).alias("w")
    made = t.over_window(frame).select(col("k"), col("v").sum.over(col("w")).alias("n"))
    assert columns(made) == "k STRING, n INT"


def test_mistakes_are_told() -> None:
    t = table(A)
    with pytest.raises(PlanError, match="both tables of the join have a column a"):
        t.join(t, col("a") == 1)
    with pytest.raises(PlanError, match="no column z to drop"):
        t.drop_columns(col("z"))
    with pytest.raises(PlanError, match="no truth value"):
        bool(col("a") == 1)
    with pytest.raises(SqlError, match="there is no column z"):
        t.select(col("z"))
    with pytest.raises(PlanError, match="there is no column z for range_"):
        t.select(with_columns(range_("a", "z")))
    with pytest.raises(PlanError, match="a name is a text, got 1"):
        t.select(col(1))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "part",
    [range_("a", "b"), row_interval(2), UNBOUNDED_ROW, UNBOUNDED_RANGE],
    ids=["range", "rows", "row", "bound"],
)
def test_parts_of_windows_and_ranges_are_no_values(part: Any) -> None:
    with pytest.raises(PlanError, match="cannot stand here") as caught:
        table(A).select(part)
    assert str(part) in caught.value.message


def test_the_schema_is_printed_as_by_flink(capsys: pytest.CaptureFixture[str]) -> None:
    table("a INT NOT NULL, ts TIMESTAMP(3)", "ts").print_schema()
    assert capsys.readouterr().out == "(\n  `a` INT NOT NULL,\n  `ts` TIMESTAMP(3) *ROWTIME*\n)\n"


def test_names_of_columns_are_those_of_flinks_table_api():
    t_env = TableEnvironment.create()
    t = t_env.from_elements([(1, "x")], "a BIGINT, b STRING")
    row = t_env.sql_query("SELECT CAST(ROW(1, 2) AS ROW<x INT, y INT>) AS r")
    tables = {
        t.select(t.a + 1, t.b, t.b.upper_case): ["_c0", "b", "_c2"],
        t.select(t.a.sum, t.b.count, t.a.sum + 1): ["EXPR$0", "EXPR$1", "_c2"],
        t.select(t.a.cast(DataTypes.STRING())): ["a-STRING"],
        t.add_columns(t.a * 2): ["a", "b", "_c2"],
        row.select(row.r.flatten): ["r$x", "r$y"],
        row.select(row.r.get("x"), row.r.get(1)): ["r$x", "r$_1"],
    }
    for table, names in tables.items():
        assert table.get_schema().get_field_names() == names


def test_two_columns_of_one_name_are_refused():
    t = TableEnvironment.create().from_elements([(1, "x")], ["a", "b"])
    for call in (
        lambda: t.select(t.a, t.b.alias("a")),
        lambda: t.add_columns(t.a.alias("b")),
        lambda: t.rename_columns(t.a.alias("b")),
    ):
        with pytest.raises(PlanError, match="several columns are called"):
            call()


def test_the_text_of_a_table_is_a_name_for_sql():
    t_env = TableEnvironment.create()
    t = t_env.from_elements([(1,), (2,)], ["a"])
    found = t_env.sql_query(f"SELECT x.a, y.a FROM {t} AS x JOIN {t} AS y ON x.a = y.a + 1")
    assert [tuple(row) for row in t_env.final_rows(found)] == [(2, 1)]
    assert str(t) == str(t) == "UnnamedTable$0"


def test_keys_may_have_names():
    t_env = TableEnvironment.create()
    t = t_env.from_elements([(1, 10), (2, 20), (3, 30)], ["a", "b"])
    found = t.group_by((t.a % 2).alias("odd")).select(col("odd"), t.b.sum.alias("s"))
    assert sorted(map(tuple, t_env.final_rows(found))) == [(0, 20), (1, 40)]


@pytest.mark.parametrize("combine", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_a_float_beside_a_double_is_a_double(combine: Any) -> None:
    numbers = table("f FLOAT, x DOUBLE")
    found = numbers.select(
        combine(col("f"), col("x")).alias("a"), combine(col("x"), col("f")).alias("b")
    )
    assert columns(found) == "a DOUBLE, b DOUBLE"
