"""Output modes against those of Structured Streaming: the same batches, the same rows."""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from millstream.common import Types, WatermarkStrategy
from millstream.datastream import StreamExecutionEnvironment
from millstream.table import StreamTableEnvironment
from millstream.table.outputs import OutputMode, foreach_output
from millstream.testing import TestSource, in_memory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

NINE = datetime(2026, 1, 1, 9)
# Words and the second after nine, batch by batch.
BATCHES = [
    [("spark", 5), ("flink", 10), ("spark", 20)],
    [("flink", 50), ("storm", 55)],
    [("spark", 80), ("spark", 85)],
    [("storm", 150)],
    [("flink", 290)],
]
Found = list[list[tuple[Any, ...]]]


def said(second: int) -> datetime:
    return NINE + timedelta(seconds=second)


def of_spark(query: DataFrame, mode: str, folder: Path) -> Found:
    """What each batch with rows gives."""
    found: Found = []

    def keep(frame: DataFrame, batch: int) -> None:
        rows = sorted(map(tuple, frame.collect()))
        if rows:
            found.append(rows)

    writer = query.writeStream.outputMode(mode).foreachBatch(keep).trigger(availableNow=True)
    writer.option("checkpointLocation", str(folder)).start().awaitTermination()
    return found


def of_ours(query: str, mode: OutputMode) -> Found:
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    marked = [each for batch in BATCHES for each in (*batch, TestSource.EPOCH())]
    source = TestSource(marked)
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "words").map(
        lambda pair: (pair[0], said(pair[1])), Types.TUPLE([Types.STRING(), Types.SQL_TIMESTAMP()])
    )
    table = t_env.from_data_stream(rows).alias("word", "said").with_watermark("said", "10 seconds")
    t_env.create_temporary_view("words", table)
    found: Found = []
    foreach_output(
        t_env.sql_query(query), lambda rows, _: found.append(sorted(map(tuple, rows))), mode
    )
    with in_memory():
        env.execute()
    return found


@pytest.fixture(scope="module")
def words(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """The words as a stream of Spark: one file for each batch."""
    folder = tmp_path_factory.mktemp("words")
    for place, batch in enumerate(BATCHES):
        rows = [{"word": word, "said": said(second).isoformat()} for word, second in batch]
        path = folder / f"{place}.json"
        path.write_text("\n".join(map(json.dumps, rows)))
        os.utime(path, (1_000 + place, 1_000 + place))
    reader = spark.readStream.schema("word string, said timestamp_ntz")
    return reader.option("maxFilesPerTrigger", 1).json(str(folder))


@pytest.mark.parametrize("mode", ["complete", "update"])
def test_counts(words: DataFrame, mode: OutputMode, tmp_path: Path) -> None:
    expected = of_spark(words.groupBy("word").count(), mode, tmp_path)
    assert len(expected) == len(BATCHES)
    assert of_ours("SELECT word, COUNT(*) AS n FROM words GROUP BY word", mode) == expected


def test_windows_that_are_over(words: DataFrame, tmp_path: Path) -> None:
    from pyspark.sql.functions import col, window

    timed = words.withColumn("said", col("said").cast("timestamp"))
    counted = timed.withWatermark("said", "10 seconds").groupBy(window("said", "1 minute"), "word")
    query = counted.count().selectExpr("to_timestamp_ntz(window.start) AS since", "word", "count")
    expected = [row for batch in of_spark(query, "append", tmp_path) for row in batch]
    found = of_ours(
        """
        SELECT `window`.`start` AS since, word, COUNT(*) AS n
        FROM words GROUP BY WINDOW(said, '1 minute'), word
        """,
        "append",
    )
    rows = [row for batch in found for row in batch]
    assert rows[: len(expected)] == expected
    # Spark keeps the windows that are over by the watermark of the last batch, and the open one.
    minute = timedelta(minutes=1)
    assert rows[len(expected) :] == [
        (NINE + 2 * minute, "storm", 1),
        (NINE + 4 * minute, "flink", 1),
    ]


def test_duplicates(words: DataFrame, tmp_path: Path) -> None:
    expected = of_spark(words.select("word").dropDuplicates(), "append", tmp_path)
    assert of_ours("SELECT DISTINCT word FROM words", "update") == expected
