"""The types of the Table API, as mypy sees them. Nothing in this file runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import assert_type

import millstream as ms
from millstream.common import Row
from millstream.table import (
    DataTypes,
    ScalarFunction,
    Schema,
    StatementSet,
    StreamTableEnvironment,
    Table,
    TableDescriptor,
    TableEnvironment,
    TablePipeline,
    TableResult,
)
from millstream.table.expression import Expression
from millstream.table.expressions import col, lit
from millstream.table.udf import UserDefinedFunctionWrapper, udaf, udf, udtf
from millstream.table.window import Tumble


@udf(result_type=DataTypes.BIGINT())
def doubled(n: int) -> int:
    return 2 * n


def rows(n: int) -> Iterator[Row]:
    yield Row(n)


class Tripled(ScalarFunction):
    def eval(self, n: int) -> int:
        return 3 * n


def functions() -> None:
    assert_type(doubled, UserDefinedFunctionWrapper)
    assert_type(doubled(col("n")), Expression)
    assert_type(udf(Tripled(), result_type="BIGINT"), UserDefinedFunctionWrapper)
    assert_type(udf(lambda n: n + 1, result_type="BIGINT"), UserDefinedFunctionWrapper)
    assert_type(udtf(result_types="ROW<a INT>")(rows), UserDefinedFunctionWrapper)
    assert_type(udaf(Tripled(), result_type="BIGINT"), UserDefinedFunctionWrapper)
    doubled.nonsense  # type: ignore[attr-defined]  # noqa: B018


def expressions() -> None:
    assert_type(col("n") + 1, Expression)
    assert_type(col("n").sum.alias("total"), Expression)
    assert_type((col("n") > 1) & ~col("flag"), Expression)
    assert_type(lit(5).seconds, Expression)
    col("n").nonsense  # type: ignore[attr-defined]  # noqa: B018


def queries(t_env: TableEnvironment, clicks: Table) -> None:
    assert_type(t_env.sql_query("SELECT 1"), Table)
    assert_type(t_env.execute_sql("SHOW TABLES"), TableResult)
    assert_type(clicks.group_by(col("user")).select(col("user"), col("n").sum), Table)
    hours = Tumble.over(lit(1).hours).on(col("ts")).alias("w")
    assert_type(clicks.window(hours).group_by(col("w")).select(col("n").sum), Table)
    assert_type(clicks.map(doubled), Table)
    assert_type(clicks.flat_map(doubled(col("n"))), Table)
    assert_type(clicks.with_watermark("ts", timedelta(seconds=5)), Table)
    for row in clicks.execute().collect():
        assert_type(row, Row)
    assert_type(clicks.n, Expression)  # a column
    clicks.nonsense()  # type: ignore[operator]
    clicks.map(1)  # type: ignore[arg-type]
    clicks.select(1)  # type: ignore[arg-type]
    clicks.with_watermark("ts", object())  # type: ignore[arg-type]


def writing(t_env: TableEnvironment, clicks: Table) -> None:
    assert_type(clicks.execute_insert("sink"), TableResult)
    assert_type(clicks.insert_into(TableDescriptor.for_connector("print").build()), TablePipeline)
    assert_type(t_env.create_statement_set().add_insert_sql("..."), StatementSet)
    clicks.execute_insert(1)  # type: ignore[arg-type]


def streams(t_env: StreamTableEnvironment, words: ms.DataStream[str], clicks: Table) -> None:
    assert_type(t_env.from_data_stream(words, col("word")), Table)
    assert_type(t_env.from_data_stream(words, Schema.new_builder().build()), Table)
    assert_type(t_env.to_data_stream(clicks), ms.DataStream[Row])
    assert_type(t_env.to_changelog_stream(clicks), ms.DataStream[Row])
    assert_type(t_env.to_retract_stream(clicks, ms.Types.ROW([])), ms.DataStream[tuple[bool, Row]])
    t_env.from_data_stream(words, 1)  # type: ignore[arg-type]
    t_env.from_changelog_stream(words)  # type: ignore[arg-type]
