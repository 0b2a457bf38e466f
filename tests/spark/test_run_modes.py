"""Ways to run a program: modes, sessions, processes, sources, and what a running job tells."""

from __future__ import annotations

import datetime as dt
import os
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.common import Row, Types, WatermarkStrategy
from millstream.common.errors import UserCodeError
from millstream.common.job import JobStatus
from millstream.common.time import MIN_TIMESTAMP, Instant
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DataGeneratorSource, RateLimiterStrategy
from millstream.datastream.connectors.file_system import FileSource, StreamFormat
from millstream.metrics import JobMetrics
from tests.support.spark.spark_programs import (
    ODD,
    Count,
    Delay,
    Opened,
    ReadClock,
    SplitOdd,
    Tally,
    by_time,
    numbered,
    plain,
)
from tests.support.spark.spark_support import (
    PATIENCE_SECONDS,
    Collecting,
    cancel,
    run_program,
    run_script,
    wait_for_job,
    write_lines,
)

pytestmark = pytest.mark.spark

MakeEnv = Callable[..., StreamExecutionEnvironment]
LINES = ("To be or not", "to be")
FINAL = {"('to', 2)", "('be', 2)", "('or', 1)", "('not', 1)"}
RUNNING = ["('be', 1)", "('be', 2)", "('not', 1)", "('or', 1)", "('to', 1)", "('to', 2)"]
MODES = pytest.mark.parametrize("mode", ["batch", "streaming"])


# -- the word count -------------------------------------------------------------------------------


def word_count(env: StreamExecutionEnvironment, folder: Path) -> None:
    """The program of the issue, word for word."""
    words = (
        env.read_text_file(str(folder))
        .flat_map(lambda line: line.lower().split())
        .map(lambda w: (w, 1))
    )
    words.key_by(lambda t: t[0]).sum(1).print()
    env.execute("word count")


@pytest.fixture
def shakespeare(tmp_path: Path) -> Path:
    folder = tmp_path / "shakespeare"
    for number, line in enumerate(LINES):
        write_lines(folder / f"{number}.txt", [line])
    return folder


@pytest.mark.parametrize("mode", ["batch", "automatic"])
def test_word_count_of_bounded_files_tells_the_last_count_of_each_word(
    make_env: MakeEnv, shakespeare: Path, capsys: Any, mode: str
) -> None:
    word_count(make_env(mode), shakespeare)
    lines = capsys.readouterr().out.splitlines()
    assert set(lines) == FINAL
    assert len(lines) == len(FINAL)


def test_word_count_as_a_stream_tells_every_count(
    spark: Any, shakespeare: Path, capsys: Any
) -> None:
    # Nobody has chosen a mode: as in Flink the job is a stream, although its source is bounded.
    word_count(StreamExecutionEnvironment.get_execution_environment(spark=spark), shakespeare)
    assert sorted(capsys.readouterr().out.splitlines()) == RUNNING


# -- sessions and processes -----------------------------------------------------------------------


def test_a_program_without_a_session_takes_the_active_one(spark: Any, make_env: MakeEnv) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    sink = Collecting()
    env.from_collection([1, 2, 3]).map(lambda n: n * n).sink_to(sink)
    env.execute()
    assert sink.values == [1, 4, 9]
    assert spark.range(3).count() == 3, "the job has stopped the session of the program"


@MODES
def test_a_given_session_keeps_the_settings_its_owner_made(
    spark: Any, make_env: MakeEnv, mode: str
) -> None:
    own = {
        "spark.sql.shuffle.partitions": "7",
        "spark.sql.session.timeZone": "Europe/Vilnius",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "123",
    }
    before = {key: spark.conf.get(key) for key in own}
    try:
        for key, value in own.items():
            spark.conf.set(key, value)
        env = make_env(mode)
        env.from_collection([1]).key_by(lambda n: n).process(Count()).sink_to(Collecting())
        env.execute()
        assert {key: spark.conf.get(key) for key in own} == own
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)


APP = '''
"""A user's program: a helper module beside it, and a class of its own in records and in state."""
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import helper
from pyspark import SparkContext

from millstream.common import Types
from millstream.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millstream.datastream.state import ValueStateDescriptor


@dataclass
class Reading:
    sensor: str
    value: int


class Highest(KeyedProcessFunction):
    def open(self, runtime_context):
        self.best = runtime_context.get_state(ValueStateDescriptor("best"))

    def process_element(self, reading, ctx):
        best = self.best.value()
        assert best is None or isinstance(best, Reading), type(best)
        if best is None or reading.value > best.value:
            self.best.update(reading)
            yield reading


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2).set_runtime_mode("STREAMING")
    readings = env.from_collection([Reading("a", 1), Reading("b", 5), Reading("a", 3), Reading("a", 2)])
    highest = readings.key_by(lambda reading: reading.sensor).process(Highest())
    highest.map(helper.shown).print()
    env.execute("highest")
    context = SparkContext.getOrCreate()
    print("Runs on", context.master, "with parallelism", context.defaultParallelism)


if __name__ == "__main__":
    main()
'''
HELPER = '''
"""A module beside the program."""


def shown(reading):
    return f"{type(reading).__name__} {reading.sensor}={reading.value}"
'''
SHOWN = ["Reading a=1", "Reading a=3", "Reading b=5"]


@pytest.fixture
def app(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text(HELPER)
    script = tmp_path / "app.py"
    script.write_text(APP)
    return script


def test_python_app_py_finds_its_helper_module_and_its_own_classes(app: Path) -> None:
    done = run_script(app)
    assert done.code == 0, done.err
    # A savepoint needs a task beside those of the job.
    assert sorted(done.out) == [*SHOWN, "Runs on local[3] with parallelism 2"]


def test_spark_submit_runs_the_same_script(app: Path) -> None:
    submit = Path(sys.executable).with_name("spark-submit")
    command = (submit, "--master", "local[2]", "--py-files", "helper.py", app.name)
    done = run_program(*command, cwd=app.parent)
    assert done.code == 0, done.err
    assert sorted(line for line in done.out if line.startswith("Reading")) == SHOWN


# -- what a running job tells ---------------------------------------------------------------------


def endless(env: StreamExecutionEnvironment, per_epoch: int = 5) -> Any:
    source = DataGeneratorSource(numbered, None, RateLimiterStrategy.per_checkpoint(per_epoch))
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")


def test_execute_async_tells_status_and_metrics_until_it_is_cancelled(make_env: MakeEnv) -> None:
    env, sink = make_env(), Collecting()
    endless(env).key_by(lambda value: value[0]).process(Count()).name("Counter").sink_to(sink)
    client = env.execute_async("endless")
    wait_for_job(lambda: len(sink.records) >= 10, client, "two epochs")
    assert client.get_job_status().result() is JobStatus.RUNNING
    metrics = client.metrics()
    (source,), counter = metrics.sources.values(), metrics.operator("Counter")
    assert source.name == "numbers" and source.read >= 10
    assert counter.records_in >= 10 and counter.records_out >= 10
    assert metrics.epoch >= 1 and metrics.records_out >= 10
    cancel(client)


def test_metrics_of_sources_state_and_the_phases_of_epochs(make_env: MakeEnv) -> None:
    env, sink = make_env(), Collecting()
    limit = RateLimiterStrategy.per_checkpoint(5)
    some = DataGeneratorSource(numbered, 1_000, limit)
    none = WatermarkStrategy.no_watermarks()
    both = env.from_source(some, none, "some").uid("some").union(endless(env).uid("endless"))
    counts = both.key_by(lambda value: value[0]).process(Count()).uid("count")
    counts.map(lambda value: value).uid("same").sink_to(sink).uid("out")
    client = env.execute_async("measured")

    def known() -> JobMetrics | None:
        found = client.metrics()
        over = found.epoch >= 2 and all(epoch.total_ms is not None for epoch in found.epochs)
        return found if over else None

    metrics = wait_for_job(known, client, "the times of an epoch")
    some_read, endless_read = metrics.sources["some"], metrics.sources["endless"]
    assert endless_read.read > 0 and endless_read.rate > 0 and endless_read.backlog is None
    # The backlog is that of an epoch that is over.
    assert some_read.backlog is not None and 1_000 - some_read.read <= some_read.backlog < 1_000
    count, same = metrics.operators["count"], metrics.operators["same"]
    assert count.records_in == some_read.read + endless_read.read == metrics.records_in
    assert count.records_out == same.records_in == same.records_out == metrics.sinks["out"].written
    assert count.state is not None and count.state.keys > 0 and count.state.bytes > 0
    (epoch,) = metrics.epochs
    assert epoch.number == metrics.epoch and epoch.tasks_ms is not None
    assert epoch.total_ms is not None and epoch.total_ms >= epoch.tasks_ms > 0
    assert None not in (epoch.offsets_ms, epoch.plan_ms, epoch.log_ms, epoch.commit_ms)
    cancel(client)
    assert client.get_job_status().result() is JobStatus.CANCELED
    assert client.wait(PATIENCE_SECONDS).get_job_id() == client.get_job_id()
    last = dict(sink.values)
    assert sum(last.values()) == len(sink.values), "an epoch came twice or never"


def test_no_task_of_a_cancelled_job_is_left_when_its_result_is_there(
    spark: Any, make_env: MakeEnv, tmp_path: Path
) -> None:
    """A program may exit then, and its JVM must not end under tasks that use the state store."""
    begun = str(tmp_path / "begun")

    def slowly(value: Any) -> Any:
        import pathlib
        import threading

        pathlib.Path(begun).touch()
        threading.Event().wait(60)
        return value

    env = make_env()
    endless(env).key_by(lambda value: value[0]).map(slowly).sink_to(Collecting())
    client = env.execute_async()
    wait_for_job(lambda: (tmp_path / "begun").exists(), client, "a task that works")
    tracker = spark.sparkContext.statusTracker()
    stages = tracker.getActiveStageIds()
    cancel(client)
    assert stages
    assert [tracker.getStageInfo(stage).numActiveTasks for stage in stages] == [0] * len(stages)


def test_execute_and_collect_brings_records_in_order(make_env: MakeEnv) -> None:
    squares = make_env("batch").from_collection(range(50)).map(lambda n: n * n)
    with squares.execute_and_collect("squares") as records:
        assert list(records) == [n * n for n in range(50)]


def test_execute_and_collect_stops_an_endless_job_at_its_limit(make_env: MakeEnv) -> None:
    numbers = endless(make_env()).map(lambda value: value[1])
    assert numbers.execute_and_collect(limit=7) == [n * 1_000 for n in range(7)]


def test_execute_and_collect_raises_what_the_job_failed_with(make_env: MakeEnv) -> None:
    numbers = make_env("batch").from_collection([1, 0]).map(lambda n: 1 // n)
    with pytest.raises(UserCodeError, match="ZeroDivisionError"):
        list(numbers.execute_and_collect())


@MODES
def test_accumulators_and_counters_are_totals_over_tasks_and_epochs(
    make_env: MakeEnv, mode: str
) -> None:
    env = make_env(mode)
    first = env.from_collection(["a", "bb", "a"]).map(Tally())
    second = env.from_collection(["ccc"]).map(Tally())
    first.union(second).sink_to(Collecting())
    result = env.execute()
    assert result.get_accumulator_result("lines") == 4
    assert dict(result.get_accumulator_result("lengths")) == {1: 2, 2: 1, 3: 1}


# -- shapes of jobs -------------------------------------------------------------------------------


@MODES
def test_two_disconnected_pipelines_are_one_job(make_env: MakeEnv, mode: str) -> None:
    env, letters, numbers = make_env(mode), Collecting(), Collecting()
    env.from_collection(["x", "y", "x"]).key_by(lambda v: v).process(Count()).sink_to(letters)
    env.from_collection([1, 2, 3], timestamps=[10, 20, 30]).map(lambda n: -n).sink_to(numbers)
    env.execute()
    assert sorted(letters.values) == [("x", 1), ("x", 2), ("y", 1)]
    assert numbers.records == [(-1, 10), (-2, 20), (-3, 30)]


def test_pipelines_that_run_at_once_do_not_open_their_functions_in_every_epoch(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    env = make_env()
    for name in ("left", "right"):
        source = DataGeneratorSource(numbered, 6, RateLimiterStrategy.per_checkpoint(2))
        pairs = env.from_source(source, WatermarkStrategy.no_watermarks(), name)
        pairs.map(Opened(str(tmp_path / name))).sink_to(Collecting())
    env.execute()
    for name in ("left", "right"):
        processes = (tmp_path / name).read_text().split()
        assert len(processes) == len(set(processes)), "opened twice in one worker process"


@MODES
def test_one_job_feeds_several_sinks_and_side_outputs(make_env: MakeEnv, mode: str) -> None:
    env, evens, odds, everything = make_env(mode), Collecting(), Collecting(), Collecting()
    numbers = env.from_collection(range(6), timestamps=range(0, 60, 10))
    parts = numbers.process(SplitOdd(), output_type=Types.LONG())
    parts.sink_to(evens)
    parts.get_side_output(ODD).sink_to(odds)
    numbers.sink_to(everything)
    env.execute()
    assert evens.records == [(0, 0), (2, 20), (4, 40)]
    assert odds.records == [(1, 10), (3, 30), (5, 50)]
    assert everything.records == [(n, n * 10) for n in range(6)]


@MODES
def test_union_and_two_keyed_stages(make_env: MakeEnv, mode: str) -> None:
    env, sink = make_env(mode), Collecting()
    left = env.from_collection([("a", 1), ("b", 2), ("a", 3)])
    right = env.from_collection([("a", 4), ("c", 5)])
    counts = left.union(right).key_by(lambda v: v[0]).process(Count())
    # The second stage counts, for each count, how many keys have come that far.
    counts.key_by(lambda v: v[1]).process(Count()).sink_to(sink)
    env.execute()
    assert sorted(sink.values) == [(1, 1), (1, 2), (1, 3), (2, 1), (3, 1)]


# -- DataFrames -----------------------------------------------------------------------------------


def test_a_batch_dataframe_is_a_bounded_stream_of_rows(spark: Any, make_env: MakeEnv) -> None:
    frame = spark.createDataFrame(
        [("a", 1, 10), ("b", 2, 30), ("a", 3, 20)], "k string, n int, t long"
    )
    env, sink = make_env("automatic"), Collecting()
    rows = env.from_dataframe(frame).assign_timestamps_and_watermarks(by_time(2))
    rows.map(lambda row: (row.k, row.n)).sink_to(sink)
    env.execute()
    assert sorted(sink.records) == [(("a", 1), 10), (("a", 3), 20), (("b", 2), 30)]


def test_columns_of_every_type_become_python_values(spark: Any, make_env: MakeEnv) -> None:
    noon = dt.datetime(2024, 5, 1, 12, 0, 0, 250_000)
    values = (
        noon.replace(tzinfo=dt.UTC), noon, dt.date(2024, 5, 1), Decimal("1.50"), b"raw", 2.5, True,
        ["x", None], {"k": 1}, ("in", 3), None,
    )  # fmt: skip
    schema = (
        "at timestamp, local timestamp_ntz, day date, price decimal(10,2), raw binary, x double, "
        "yes boolean, words array<string>, map map<string, bigint>, "
        "inner struct<name: string, n: int>, none string"
    )
    frame = spark.createDataFrame([values], schema)
    env, sink = make_env("batch"), Collecting()
    env.from_dataframe(frame).map(plain).sink_to(sink)
    env.execute()
    assert sink.values == [(Instant(1_714_564_800, 250_000_000), *values[1:])]


def parquet_stream(
    spark: Any, folder: Path, epochs: list[list[tuple[Any, ...]]], schema: str
) -> Any:
    """A streaming DataFrame that brings one file in each epoch, in this order."""
    for number, rows in enumerate(epochs):
        spark.createDataFrame(rows, schema).coalesce(1).write.parquet(str(folder / f"{number}"))
        for file in (folder / f"{number}").glob("*.parquet"):
            os.utime(file, (1_000 + number, 1_000 + number))
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder / "*"))


def test_time_of_a_streaming_dataframe_moves_at_the_ends_of_epochs(
    spark: Any, make_env: MakeEnv, tmp_path: Path
) -> None:
    epochs = [[("a", 500), ("a", 100)], [("a", 400), ("a", 900)], [("a", 300)]]
    frame = parquet_stream(spark, tmp_path, epochs, "k string, t long")
    env, sink = make_env(), Collecting()
    rows = env.from_dataframe(frame).assign_timestamps_and_watermarks(by_time(1))
    keyed = rows.map(lambda row: (row.k, row.t)).key_by(lambda v: v[0])
    keyed.process(ReadClock()).sink_to(sink)
    client = env.execute_async()
    wait_for_job(lambda: len(sink.records) >= 5, client, "the five rows")
    cancel(client)
    assert sink.records == [
        ((("a", 500), MIN_TIMESTAMP), 500),
        ((("a", 100), MIN_TIMESTAMP), 100),
        ((("a", 400), 499), 400),
        ((("a", 900), 499), 900),
        ((("a", 300), 899), 300),
    ]


def test_rate_micro_batch_as_a_streaming_dataframe(spark: Any, make_env: MakeEnv) -> None:
    rate = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    env, sink = make_env(), Collecting()
    env.from_dataframe(rate).key_by(lambda row: row.value % 2).process(Count()).sink_to(sink)
    client = env.execute_async()
    wait_for_job(lambda: len(sink.records) >= 20, client, "two batches")
    cancel(client)
    seen = Counter(key for key, _ in sink.values)
    assert seen[0] == seen[1] == len(sink.values) // 2
    assert dict(sink.values) == dict(seen)


CHANNEL_ROWS = [
    ("p", 0, 100), ("p", 1, 500), ("p", 2, 300),
    ("q", 0, 50), ("q", 1, 60),
]  # fmt: skip
CHANNEL_CLOCKS = [
    # The clock follows the slower channel; each record's stamp is its own channel's watermark.
    ((("p", 0, 100), MIN_TIMESTAMP), 100),
    ((("q", 0, 50), MIN_TIMESTAMP), 50),
    ((("q", 1, 60), 49), 60),
    ((("p", 1, 500), 59), 500),
    ((("p", 2, 300), 59), 300),
]


def clocks_of_channels(env: StreamExecutionEnvironment, frame: Any, sink: Collecting) -> None:
    rows = env.from_dataframe(frame, channel="c", position="o")
    timed = rows.assign_timestamps_and_watermarks(by_time(2)).map(lambda row: (row.c, row.o, row.t))
    timed.key_by(lambda v: "all").process(ReadClock()).sink_to(sink)


def test_channel_and_position_of_a_batch_dataframe_give_the_order(
    spark: Any, make_env: MakeEnv
) -> None:
    # The rows come in any order and over several partitions: the columns alone say what follows what.
    frame = spark.createDataFrame(CHANNEL_ROWS[::-1], "c string, o long, t long").repartition(3)
    env, sink = make_env("batch"), Collecting()
    clocks_of_channels(env, frame, sink)
    env.execute()
    by_channel = {c: [(v, ts) for (v, _), ts in sink.records if v[0] == c] for c in "pq"}
    assert by_channel == {c: [(row, row[2]) for row in CHANNEL_ROWS if row[0] == c] for c in "pq"}


def test_channel_and_position_of_a_streaming_dataframe_stamp_each_record(
    spark: Any, make_env: MakeEnv, tmp_path: Path
) -> None:
    epochs = [CHANNEL_ROWS[:1] + CHANNEL_ROWS[3:], CHANNEL_ROWS[1:3]]
    frame = parquet_stream(spark, tmp_path, epochs, "c string, o long, t long")
    env, sink = make_env(), Collecting()
    clocks_of_channels(env, frame, sink)
    client = env.execute_async()
    wait_for_job(lambda: len(sink.records) >= 5, client, "the five rows")
    cancel(client)
    # Records of two channels with one stamp are in the order of the channels' ids: hashes here.
    assert sorted(sink.records[:2]) == CHANNEL_CLOCKS[:2]
    assert sink.records[2:] == CHANNEL_CLOCKS[2:]


# -- files, sockets, generators -------------------------------------------------------------------

TIMES = (100, 300, 200, 250, 900, 400, 500, 450, 1_000, 600, 999, 1_100)
BOUND = 150


def stamped(times: tuple[int, ...]) -> list[Any]:
    """design.md 4.1, one channel: a record's stamp is what the strategy said just before it."""
    rows, watermark = [], MIN_TIMESTAMP
    for number, time in enumerate(times):
        rows.append((((f"line-{number:02d}", time), watermark), time))
        watermark = max(watermark, time - BOUND - 1)
    return rows


def parsed(line: str) -> tuple[str, int]:
    name, time = line.split()
    return name, int(time)


@MODES
def test_a_file_split_over_several_tasks_keeps_its_order_and_its_stamps(
    make_env: MakeEnv, tmp_path: Path, mode: str
) -> None:
    lines = [f"line-{number:02d} {time}" for number, time in enumerate(TIMES)]
    path = write_lines(tmp_path / "in" / "one.txt", lines)
    assert path.stat().st_size > 3 * 40
    env, sink = make_env(mode, {"spark.sql.files.maxPartitionBytes": "40"}), Collecting()
    timed = env.read_text_file(str(tmp_path / "in")).map(parsed)
    timed = timed.assign_timestamps_and_watermarks(by_time(1, BOUND))
    # Several keys, so several slots: all of them must see the one clock.
    timed.key_by(lambda value: int(value[0][-2:]) % 3).process(ReadClock()).sink_to(sink)
    env.execute()
    assert sink.records == stamped(TIMES)


FILE_ROWS = [Row(word="to", n=2), Row(word="be", n=2), Row(word="or", n=1)]
SOURCES = {
    "csv": (FileSource.csv, "word,n\nto,2\nbe,2\nor,1\n"),
    "json": (FileSource.json, '{"word":"to","n":2}\n{"word":"be","n":2}\n{"word":"or","n":1}\n'),
}


@pytest.mark.parametrize(
    ("name", "mode", "schema"),
    [
        ("csv", "streaming", "word STRING, n BIGINT"),
        ("csv", "batch", None),
        ("json", "batch", Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])),
        ("json", "streaming", None),
    ],
)
def test_csv_and_json_files_are_rows(
    make_env: MakeEnv, tmp_path: Path, name: str, mode: str, schema: Any
) -> None:
    make, text = SOURCES[name]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / f"rows.{name}").write_text(text)
    options = {} if schema is not None or name == "json" else {"inferSchema": True}
    source = make(str(tmp_path / "in"), schema=schema, **options)
    assert rows_of(make_env(mode), source) == FILE_ROWS


@MODES
def test_parquet_files_are_rows(spark: Any, make_env: MakeEnv, tmp_path: Path, mode: str) -> None:
    frame = spark.createDataFrame([("to", 2), ("be", 2), ("or", 1)], "word string, n long")
    frame.coalesce(1).write.parquet(str(tmp_path / "in"))
    source = FileSource.parquet(str(tmp_path / "in"))
    assert rows_of(make_env(mode), source) == FILE_ROWS


def rows_of(env: StreamExecutionEnvironment, source: FileSource) -> list[Row]:
    sink = Collecting()
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "rows")
    rows.map(lambda row: Row(word=row.word, n=row.n)).sink_to(sink)
    env.execute()
    return sink.values


def write_csv(folder: Path, name: str, times: list[int]) -> None:
    (folder / f"{name}.csv").write_text("k,t\n" + "".join(f"x,{t}\n" for t in times))


def write_parquet(folder: Path, name: str, times: list[int]) -> None:
    table = pa.table(
        {"k": pa.array(["x"] * len(times), pa.string()), "t": pa.array(times, pa.int64())}
    )
    pq.write_table(table, folder / f"{name}.parquet")


@pytest.mark.parametrize(
    ("write", "source"), [(write_csv, FileSource.csv), (write_parquet, FileSource.parquet)]
)
def test_a_file_without_records_does_not_hold_the_clock(
    make_env: MakeEnv, tmp_path: Path, write: Any, source: Any
) -> None:
    # The second file has a header or a schema and nothing else: it is not empty, but never speaks.
    write(tmp_path, "a[1]", [10, 20, 30])
    write(tmp_path, "b", [])
    seen = {}
    for mode in ("batch", "streaming"):
        env, sink = make_env(mode), Collecting()
        files = source(str(tmp_path), schema="k STRING, t BIGINT")
        rows = env.from_source(files, by_time(1), "rows").map(lambda row: (row.k, row.t))
        rows.key_by(lambda v: v[0]).process(ReadClock()).sink_to(sink)
        env.execute()
        seen[mode] = sink.records
    expected = [((("x", 10), MIN_TIMESTAMP), 10), ((("x", 20), 9), 20), ((("x", 30), 19), 30)]
    assert seen == {"batch": expected, "streaming": expected}


@contextmanager
def line_server(lines: list[str]) -> Iterator[int]:
    """Sends lines to everybody who connects, and keeps the connection until the test is over."""
    over = threading.Event()
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            connection.sendall("".join(f"{line}\n" for line in lines).encode())
            threading.Thread(
                target=lambda c=connection: (over.wait(), c.close()), daemon=True
            ).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield server.getsockname()[1]
    finally:
        over.set()
        server.close()


def test_socket_text_stream_reads_lines_from_a_server(make_env: MakeEnv) -> None:
    env, sink = make_env(), Collecting()
    with line_server(["to be", "or not"]) as port:
        words = env.socket_text_stream("127.0.0.1", port).flat_map(str.split)
        words.key_by(lambda word: word).process(Count()).sink_to(sink)
        client = env.execute_async()
        wait_for_job(lambda: len(sink.records) >= 4, client, "the four words")
        cancel(client)
    assert sorted(sink.values) == [("be", 1), ("not", 1), ("or", 1), ("to", 1)]


def test_a_bounded_generator_with_a_rate_gives_all_its_records(make_env: MakeEnv) -> None:
    env, sink = make_env(), Collecting()
    # So slow that triggers find nothing to read although more is to come: that is not the end.
    source = DataGeneratorSource(numbered, 2, RateLimiterStrategy.per_second(0.2))
    env.from_source(source, by_time(1), "numbers").sink_to(sink)
    env.execute()
    assert sink.records == [(numbered(n), n * 1_000) for n in range(2)]


def test_a_processing_time_timer_fires_although_no_record_comes(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    write_lines(tmp_path / "in" / "1.txt", ["a", "b"])
    env, sink = make_env(), Collecting()
    source = FileSource.text(str(tmp_path / "in"), watch=True)
    words = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    words.key_by(lambda word: word).process(Delay(100)).sink_to(sink)
    client = env.execute_async()
    wait_for_job(lambda: len(sink.records) == 4, client, "what the timers bring")
    cancel(client)
    set_at = {word: time for what, word, time in sink.values if what == "set"}
    fired_at = {word: time for what, word, time in sink.values if what == "fired"}
    assert set_at.keys() == fired_at.keys() == {"a", "b"}
    assert all(fired_at[word] >= set_at[word] + 100 for word in "ab")


def test_a_watched_directory_takes_files_as_they_come_until_it_is_cancelled(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    write_lines(tmp_path / "in" / "1.txt", ["to be"])
    env, sink = make_env(), Collecting()
    text = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), str(tmp_path / "in")
    )
    source = text.monitor_continuously("1 s").build()
    words = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").flat_map(str.split)
    words.key_by(lambda word: word).process(Count()).sink_to(sink)
    client = env.execute_async()
    wait_for_job(lambda: len(sink.records) == 2, client, "the words of the first file")
    write_lines(tmp_path / "in" / "2.txt", ["or be"])
    wait_for_job(lambda: len(sink.records) == 4, client, "the words of the second file")
    assert client.get_job_status().result() is JobStatus.RUNNING
    cancel(client)
    assert client.get_job_status().result() is JobStatus.CANCELED
    assert sorted(sink.values[2:]) == [("be", 2), ("or", 1)]
