"""design.md 1 on real Spark: a channel an hour behind loses nothing.

The same streaming DataFrame goes through Millstream and through Spark's own windows: one file an epoch.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millstream.common import Types
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.window import TumblingEventTimeWindows
from tests.support.spark.spark_programs import LATE, by_time
from tests.support.spark.spark_support import Collecting, cancel, wait_for_job

pytestmark = pytest.mark.spark

MakeEnv = Callable[..., StreamExecutionEnvironment]
Totals = dict[tuple[str, int], int]
"""Sums by site and by the minute at which their window begins."""

SCHEMA = "site string, number long, at long, amount long"
START = 1_704_067_200_000  # 2024-01-01, the beginning of a window
MINUTE = 60_000
SIZE, DELAY = 10, 1
END = 200
EPOCHS = (
    (("north", 61, 1), ("south", 1, 3)),
    (("north", 65, 2),),
    (("north", 72, 4), ("south", 5, 5)),
    (("north", 78, 7), ("south", 12, 6)),
    # Both sites come to the same time, so that all windows before it are over.
    (("north", END, 0), ("south", END, 0)),
)
EVERYTHING: Totals = {("south", 0): 8, ("south", 10): 6, ("north", 60): 3, ("north", 70): 11}


def readings(spark: Any, folder: Path) -> Any:
    """A streaming DataFrame that brings one epoch after the other."""
    numbers = {"north": 0, "south": 0}
    for epoch, records in enumerate(EPOCHS):
        rows = []
        for site, minute, amount in records:
            rows.append((site, numbers[site], START + minute * MINUTE, amount))
            numbers[site] += 1
        path = folder / f"{epoch}"
        spark.createDataFrame(rows, SCHEMA).coalesce(1).write.parquet(str(path))
        for file in path.glob("*.parquet"):
            os.utime(file, (1_000 + epoch, 1_000 + epoch))
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder / "*"))


def test_the_script_holds_what_is_expected_of_it() -> None:
    totals: Totals = {}
    for records in EPOCHS:
        for site, minute, amount in records:
            if minute < END:
                place = site, minute // SIZE * SIZE
                totals[place] = totals.get(place, 0) + amount
    assert totals == EVERYTHING


def test_millstream_loses_nothing_of_a_channel_an_hour_behind(
    spark: Any, make_env: MakeEnv, tmp_path: Path
) -> None:
    env, sums, late = make_env(), Collecting(), Collecting()
    rows = env.from_dataframe(readings(spark, tmp_path), channel="site", position="number")
    timed = rows.assign_timestamps_and_watermarks(by_time(2, DELAY * MINUTE))
    pairs = timed.map(
        lambda row: (row.site, row.amount), Types.TUPLE([Types.STRING(), Types.LONG()])
    )
    windows = pairs.key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of("10 min"))
    totals = windows.side_output_late_data(LATE).sum(1)
    totals.sink_to(sums).name("sums")
    totals.get_side_output(LATE).sink_to(late).name("late")
    client = env.execute_async("slow channel")
    wait_for_job(lambda: len(sums.records) >= len(EVERYTHING), client, "the sums")
    cancel(client)
    found = {
        (site, (last_instant + 1 - START) // MINUTE - SIZE): total
        for (site, total), last_instant in sums.records
        if last_instant is not None
    }
    assert found == EVERYTHING
    assert len(sums.records) == len(EVERYTHING), "a window has fired twice"
    assert late.records == []


def test_plain_structured_streaming_loses_what_comes_an_hour_behind(
    spark: Any, tmp_path: Path
) -> None:
    """Its one watermark follows the fastest site, and takes effect in the batches after it."""
    from pyspark.sql import functions as F

    found: Totals = {}

    def keep(frame: Any, epoch: int) -> None:
        for row in frame.collect():
            found[row.site, (row.start - START) // MINUTE] = row.total

    timed = readings(spark, tmp_path / "input").withColumn("time", F.expr("timestamp_millis(at)"))
    totals = (
        timed.withWatermark("time", f"{DELAY} minutes")
        .groupBy("site", F.window("time", f"{SIZE} minutes"))
        .agg(F.sum("amount").alias("total"))
    )
    query = (
        totals.select("site", F.expr("unix_millis(window.start)").alias("start"), "total")
        .writeStream.outputMode("update")
        .foreachBatch(keep)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    # Of the slow site only what came before there was a watermark is counted.
    before_the_end = {place: total for place, total in found.items() if place[1] < END}
    assert before_the_end == {("south", 0): 3, ("north", 60): 3, ("north", 70): 11}
    dropped = [
        operator.numRowsDroppedByWatermark
        for progress in query.recentProgress
        for operator in progress.stateOperators
    ]
    assert sum(dropped) == 2
