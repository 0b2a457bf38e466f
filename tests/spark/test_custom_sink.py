"""Sinks of other authors on real Spark: failures between stage and commit, restarts, savepoints."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from millstream.checkpoint.savepoints import Savepoint
from millstream.common import RestartStrategies, Types, WatermarkStrategy
from millstream.common.errors import PlanError, UserCodeError
from millstream.connectors import Sink
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DataGeneratorSource, RateLimiterStrategy
from millstream.spark.savepoint.take import take_offline
from tests.support.spark.example_sinks import (
    AppendingSink,
    ColumnSink,
    FailingSqliteSink,
    FailingStagingSink,
    StagingSink,
    read_lines,
    read_words,
)
from tests.support.spark.spark_programs import Recording, numbered
from tests.support.spark.spark_support import cancel, wait_for_job

pytestmark = pytest.mark.spark

MakeEnv = Callable[..., StreamExecutionEnvironment]
PAIRS = Types.TUPLE([Types.STRING(), Types.LONG()])
COUNT = 24


def write_to(
    env: StreamExecutionEnvironment, sink: Sink, *, keyed: bool = True, count: int = COUNT
) -> StreamExecutionEnvironment:
    """A job whose state notices a gap or a repetition; each epoch has 8 records."""
    limit = RateLimiterStrategy.per_checkpoint(8)
    source = DataGeneratorSource(numbered, count, limit, PAIRS, parts=2)
    pairs = env.from_source(source, WatermarkStrategy.no_watermarks(), "pairs").uid("pairs")
    if keyed:
        pairs = pairs.key_by(lambda pair: pair[0]).process(Recording(), PAIRS).uid("check")
    pairs.sink_to(sink).uid("words")
    return env


def wanted(count: int = COUNT) -> list[Any]:
    return sorted(numbered(n) for n in range(count))


def restarting(make_env: MakeEnv, folder: Path) -> StreamExecutionEnvironment:
    env = make_env()
    env.set_checkpoint_directory(str(folder / "checkpoint"))
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
    return env


@pytest.mark.parametrize("keyed", [True, False])
def test_an_idempotent_sink_skips_the_parts_that_were_written_before_a_failure(
    make_env: MakeEnv, tmp_path: Path, keyed: bool
) -> None:
    marker = tmp_path / "failed"
    sink = FailingSqliteSink(f"{tmp_path}/words.db", str(marker))
    write_to(restarting(make_env, tmp_path), sink, keyed=keyed).execute()
    assert marker.exists()
    assert sorted(read_words(tmp_path)) == wanted()


def test_a_sink_gets_columns_in_batch_mode_too(make_env: MakeEnv, tmp_path: Path) -> None:
    write_to(make_env("batch"), ColumnSink(f"{tmp_path}/words.db")).execute()
    assert sorted(read_words(tmp_path)) == wanted()


def test_a_sink_that_writes_at_least_once_loses_nothing(make_env: MakeEnv, tmp_path: Path) -> None:
    sink = AppendingSink(f"{tmp_path}/lines.csv")
    write_to(make_env(), sink, count=8).execute()
    assert sorted(read_lines(tmp_path)) == wanted(8)


@pytest.mark.parametrize("when", ["staged", "committed"])
def test_a_two_phase_sink_that_fails_is_gone_on_with_by_the_next_start(
    make_env: MakeEnv, tmp_path: Path, when: str
) -> None:
    sink = FailingStagingSink(f"{tmp_path}/words.db", str(tmp_path / "failed"), when)

    def run() -> None:
        env = make_env()
        env.set_checkpoint_directory(str(tmp_path / "checkpoint"))
        env.set_restart_strategy(RestartStrategies.no_restart())
        write_to(env, sink).execute()

    with pytest.raises(UserCodeError, match=f"fails when the epoch is {when}") as caught:
        run()
    assert "words" in str(caught.value)
    assert len(read_words(tmp_path)) == (8 if when == "staged" else 16)
    run()
    assert sorted(read_words(tmp_path)) == wanted()


def test_a_savepoint_of_a_dead_job_takes_back_what_the_sink_has_too_much(
    spark: Any, make_env: MakeEnv, tmp_path: Path
) -> None:
    env = make_env()
    env.set_checkpoint_directory(str(tmp_path / "checkpoint"))
    sink = StagingSink(f"{tmp_path}/words.db")
    client = write_to(env, sink, count=400).execute_async()
    wait_for_job(lambda: client.metrics().epoch >= 3, client, "epoch 3")
    cancel(client)
    # As if the driver had died after the sink had the last epoch, and before Spark had.
    query = tmp_path / "checkpoint" / "000001" / "query-0"
    last = max(int(p.name) for p in (query / "commits").iterdir() if p.name.isdigit())
    for path in (query / "commits").glob(f"*{last}*"):
        path.unlink()
    assert epochs(tmp_path)[-1] >= last
    saved = take_offline(spark, str(tmp_path / "checkpoint"), str(tmp_path / "saved"))
    assert epochs(tmp_path)[-1] == last - 1 == Savepoint.load(saved).epoch
    shutil.rmtree(tmp_path / "checkpoint")
    again = make_env()
    again.set_checkpoint_directory(str(tmp_path / "checkpoint"))
    again.restore_from_savepoint(saved)
    write_to(again, sink, count=400).execute()
    assert sorted(read_words(tmp_path)) == wanted(400)


def epochs(folder: Path) -> list[int]:
    with closing(sqlite3.connect(folder / "words.db")) as database:
        return [row[0] for row in database.execute("select epoch from epochs order by epoch")]


def test_a_sink_of_columns_needs_a_type(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env()
    env.from_collection([1]).map(lambda n: n).sink_to(ColumnSink(f"{tmp_path}/words.db"))
    with pytest.raises(PlanError, match="UNTYPED_COLUMNS"):
        env.execute()
