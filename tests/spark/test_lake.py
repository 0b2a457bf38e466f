"""Delta and Iceberg tables on real Spark: failures, restarts, savepoints of dead jobs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake

from millstream.common import RestartStrategies, Row, Types, WatermarkStrategy
from millstream.common.errors import UserCodeError
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import (
    DataGeneratorSource,
    DeltaSink,
    DeltaSource,
    IcebergSink,
    RateLimiterStrategy,
)
from millstream.spark.savepoint.take import take_offline
from tests.support.spark.lake_programs import FailingDelta, FailsOnce, numbered, numbers

pytestmark = pytest.mark.spark
MakeEnv = Callable[..., StreamExecutionEnvironment]
NO_TIME = WatermarkStrategy.no_watermarks()
SUMS = Types.ROW_NAMED(["id", "n"], [Types.LONG(), Types.LONG()])


def seen(path: Path) -> list[tuple[int, int]]:
    table = DeltaTable(str(path)).to_pyarrow_table()
    return sorted(zip(table["id"].to_pylist(), table["n"].to_pylist(), strict=True))


def test_a_restart_reads_the_same_version_and_writes_each_row_once(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    for first in (0, 10):
        write_deltalake(str(tmp_path / "in"), numbers(first, first + 10), mode="append")
    env = make_env(settings={"millstream.epoch.max-records": "4"})
    env.set_checkpoint_directory(str(tmp_path / "checkpoint"))
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
    rows = env.from_source(DeltaSource.of(str(tmp_path / "in")), NO_TIME, "in").uid("in")
    changed = rows.map(FailsOnce(tmp_path), output_type=SUMS).uid("fails")
    changed.sink_to(DeltaSink.append(str(tmp_path / "out"), partition_by=["n"])).uid("out")
    env.execute()
    assert (tmp_path / "failed").exists()
    assert seen(tmp_path / "out") == [(n, 10 * n) for n in range(20)]


def test_spark_reads_the_files_of_a_table(make_env: MakeEnv, tmp_path: Path, spark: Any) -> None:
    env = make_env("batch")
    rows = env.from_collection([(n, n * n) for n in range(10)])
    typed = rows.map(lambda pair: Row(id=pair[0], n=pair[1]), output_type=SUMS)
    typed.key_by(lambda row: row.id % 2).sum("n").sink_to(
        DeltaSink.upsert(str(tmp_path / "out"), keys=["id"])
    ).uid("out")
    env.execute()
    files = DeltaTable(str(tmp_path / "out")).file_uris()
    read = sorted((row["id"], row["n"]) for row in spark.read.parquet(*files).collect())
    assert read == seen(tmp_path / "out") and len(read) > 0


def test_an_epoch_that_a_dead_job_committed_too_much_is_taken_back(
    make_env: MakeEnv, tmp_path: Path, spark: Any
) -> None:
    def program(env: StreamExecutionEnvironment, sink: DeltaSink) -> StreamExecutionEnvironment:
        limit = RateLimiterStrategy.per_checkpoint(4)
        source = DataGeneratorSource(numbered, 20, limit, SUMS)
        env.from_source(source, NO_TIME, "numbers").uid("numbers").sink_to(sink).uid("out")
        return env

    out = tmp_path / "out"
    env = make_env()
    env.set_checkpoint_directory(str(tmp_path / "checkpoint"))
    with pytest.raises(UserCodeError, match="died after the commit"):
        env.set_restart_strategy(RestartStrategies.no_restart())
        program(env, FailingDelta(str(out))).execute()
    assert len(seen(out)) == 12
    saved = take_offline(spark, str(tmp_path / "checkpoint"), str(tmp_path / "saved"))
    assert seen(out) == [(n, 10 * n) for n in range(8)]
    again = make_env()
    again.set_checkpoint_directory(str(tmp_path / "checkpoint-2"))
    again.restore_from_savepoint(saved)
    program(again, DeltaSink.append(str(out))).execute()
    assert seen(out) == [(n, 10 * n) for n in range(20)]


def test_iceberg_tables_get_each_row_once(make_env: MakeEnv, tmp_path: Path) -> None:
    from pyiceberg.catalog import load_catalog

    properties = {
        "type": "sql",
        "uri": f"sqlite:///{tmp_path}/catalog.db",
        "warehouse": f"file://{tmp_path}/warehouse",
    }
    env = make_env()
    env.set_checkpoint_directory(str(tmp_path / "checkpoint"))
    limit = RateLimiterStrategy.per_checkpoint(4)
    source = DataGeneratorSource(numbered, 12, limit, SUMS, parts=2)
    env.from_source(source, NO_TIME, "numbers").uid("numbers").sink_to(
        IcebergSink.append("db.t", catalog="lake", catalog_properties=properties)
    ).uid("out")
    env.execute()
    table = load_catalog("lake", **properties).load_table("db.t").scan().to_arrow()
    assert sorted(table["id"].to_pylist()) == list(range(12))
