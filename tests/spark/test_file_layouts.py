"""Files that a job writes on Spark: ORC and Avro, buckets with markers, compaction, restarts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyspark.sql import SparkSession

from millstream.common import RestartStrategies, Row, Types, WatermarkStrategy
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import (
    DataGeneratorSource,
    FileSink,
    FileSource,
    RateLimiterStrategy,
)
from millstream.datastream.connectors.file_policies import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
)

pytestmark = pytest.mark.spark

MakeEnv = Callable[..., StreamExecutionEnvironment]
ROW = Types.ROW_NAMED(["n", "at"], [Types.LONG(), Types.LONG()])
HOUR = 3_600_000
COUNT = 12


def rows(env: StreamExecutionEnvironment) -> Any:
    """A record for each half hour, four in an epoch."""
    source = DataGeneratorSource(
        lambda n: n, COUNT, RateLimiterStrategy.per_checkpoint(4), Types.LONG()
    )
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda row, _: row.at
    )
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    timed = numbers.map(lambda n: Row(n=n, at=n * HOUR // 2), ROW)
    return timed.assign_timestamps_and_watermarks(strategy)


def visible(folder: Path) -> list[Path]:
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(p[0] in "._" for p in path.relative_to(folder).parts)
    ]


def avro(path: Path) -> list[Any]:
    with path.open("rb") as file:
        return list(fastavro.reader(file))


def test_orc_files_are_read_by_spark(
    make_env: MakeEnv, spark: SparkSession, tmp_path: Path
) -> None:
    env = make_env("streaming")
    rows(env).sink_to(FileSink.orc(str(tmp_path / "out")))
    env.execute()
    found = spark.read.orc(str(tmp_path / "out")).collect()
    assert sorted((row.n, row["at"]) for row in found) == [(n, n * HOUR // 2) for n in range(COUNT)]


@pytest.mark.parametrize("compacts", [False, True])
def test_hours_with_markers_through_a_restart(
    make_env: MakeEnv, tmp_path: Path, compacts: bool
) -> None:
    out = tmp_path / "out"
    env = make_env(mode="streaming")
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))
    builder = FileSink.avro(str(out)).to_builder()
    builder.with_bucket_assigner(BucketAssigner.event_time_bucket_assigner("'hour='HH"))
    builder.with_success_marker()
    if compacts:
        strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).build()
        builder.enable_compact(strategy, FileCompactor.concat_file_compactor())
    failed = tmp_path / "failed"

    def fails_once(row: Row) -> Row:
        if row.n == 7 and not failed.exists():
            failed.touch()
            raise RuntimeError("fails once")
        return row

    rows(env).map(fails_once, ROW).sink_to(builder.build())
    env.execute()
    found = Counter((path.parent.name, row["n"]) for path in visible(out) for row in avro(path))
    assert found == Counter((f"hour={n // 2:02d}", n) for n in range(COUNT))
    markers = sorted(path.parent.name for path in out.rglob("_SUCCESS"))
    assert markers == [f"hour={hour:02d}" for hour in range(COUNT // 2)]


def test_written_lines_are_compacted_and_read_again(make_env: MakeEnv, tmp_path: Path) -> None:
    out = tmp_path / "out"
    env = make_env(mode="streaming")
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(100).build()
    builder = FileSink.csv(str(out)).to_builder()
    sink = builder.enable_compact(strategy, FileCompactor.concat_file_compactor()).build()
    rows(env).sink_to(sink)
    env.execute()
    assert len(visible(out)) == 1, "merged at the end of the job"
    again = make_env(mode="batch")
    source = FileSource.csv(str(out), schema=ROW)
    stream = again.from_source(source, WatermarkStrategy.no_watermarks(), "again")
    with stream.map(lambda row: row.n).execute_and_collect() as found:
        assert sorted(found) == list(range(COUNT))
