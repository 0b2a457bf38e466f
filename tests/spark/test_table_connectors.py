"""Tables of Spark itself: any of its formats, and its catalog."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from millstream.datastream import StreamExecutionEnvironment
from millstream.table import StreamTableEnvironment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def environment(spark: SparkSession, batch: bool = False) -> StreamTableEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    t_env = StreamTableEnvironment.create(env)
    if batch:
        t_env.execute_sql("SET 'execution.runtime-mode' = 'batch'")
    return t_env


def rows(t_env: StreamTableEnvironment, query: str) -> list[tuple[object, ...]]:
    return sorted(map(tuple, t_env.final_rows(t_env.sql_query(query))), key=repr)


def test_a_format_of_spark_is_written_and_read(spark: SparkSession, tmp_path: Path) -> None:
    t_env = environment(spark, batch=True)
    t_env.execute_sql(
        "CREATE TABLE words (word STRING, n BIGINT, d DECIMAL(10, 2)) "
        f"WITH ('connector' = 'spark', 'format' = 'parquet', 'path' = '{tmp_path}/words')"
    )
    t_env.execute_sql("INSERT INTO words VALUES ('to', 1, 1.5), ('be', 2, 2.5)").wait()
    assert [row[:2] for row in rows(t_env, "SELECT * FROM words")] == [("be", 2), ("to", 1)]
    assert rows(t_env, "SELECT SUM(n), MAX(word) FROM words") == [(3, "to")]


def test_the_catalog_of_the_session(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("CREATE DATABASE IF NOT EXISTS shop")
    spark.sql("DROP TABLE IF EXISTS shop.words")
    spark.sql(f"CREATE TABLE shop.words (word STRING, n INT) USING parquet LOCATION '{tmp_path}/w'")
    spark.sql("INSERT INTO shop.words VALUES ('to', 1), ('be', 2)")
    t_env = environment(spark, batch=True)
    t_env.execute_sql("CREATE CATALOG spark WITH ('type' = 'spark')")
    assert rows(t_env, "SELECT word, n + 1 FROM spark.shop.words") == [("be", 3), ("to", 2)]
    t_env.execute_sql("USE spark.shop")
    with t_env.execute_sql("SHOW TABLES").collect() as found:
        assert [row[0] for row in found] == ["words"]
    spark.sql("DROP TABLE shop.words")


def test_files_and_databases_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    t_env = environment(spark)
    t_env.execute_sql(
        "CREATE TABLE clicks (id INT, word STRING, p STRING) PARTITIONED BY (p) "
        f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/clicks', 'format' = 'json')"
    )
    t_env.execute_sql(
        "INSERT INTO clicks VALUES (1, 'to', 'x'), (2, 'be', 'y'), (3, 'to', 'y')"
    ).wait()
    t_env.execute_sql(
        "CREATE TABLE totals (word STRING, n BIGINT, PRIMARY KEY (word) NOT ENFORCED) "
        f"WITH ('connector' = 'delta', 'table-path' = '{tmp_path}/totals')"
    )
    t_env.execute_sql("INSERT INTO totals SELECT word, COUNT(*) FROM clicks GROUP BY word").wait()
    assert rows(t_env, "SELECT * FROM totals") == [("be", 1), ("to", 2)]
