"""Where records go: every kind of sink, and what its readers see while a job runs, fails, goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset as ds
import pytest

from millstream.common import RestartStrategies, Row, Types, WatermarkStrategy
from millstream.common.errors import UserCodeError
from millstream.common.serialization import Encoder
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import (
    DataGeneratorSource,
    FileSink,
    FileSource,
    PrintSink,
    RateLimiterStrategy,
    Sink,
    SparkSink,
)
from tests.support.spark.spark_programs import (
    Alarm,
    Appending,
    FailsOnce,
    Recording,
    by_time,
    numbered,
    text_of,
)
from tests.support.spark.spark_support import Collecting, data_files, lines_of

pytestmark = pytest.mark.spark

MakeEnv = Callable[..., StreamExecutionEnvironment]
MODES = pytest.mark.parametrize("mode", ["batch", "streaming"])
PAIRS = Types.ROW_NAMED(["key", "time"], [Types.STRING(), Types.LONG()])
TUPLES = Types.TUPLE([Types.STRING(), Types.LONG()])
COUNT = 12
EXPECTED = sorted(numbered(n) for n in range(COUNT))


def pairs(env: StreamExecutionEnvironment, count: int | None = COUNT, per_epoch: int = 5) -> Any:
    """Numbered records, a few in each epoch."""
    source = DataGeneratorSource(
        numbered, count, RateLimiterStrategy.per_checkpoint(per_epoch), TUPLES, parts=2
    )
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "pairs")


def rows(env: StreamExecutionEnvironment, **options: Any) -> Any:
    from millstream.common import Row

    return pairs(env, **options).map(lambda p: Row(key=p[0], time=p[1]), output_type=PAIRS)


# -- the driver's sinks ---------------------------------------------------------------------------


@MODES
def test_print_writes_records_in_order_with_their_prefix(
    make_env: MakeEnv, capsys: Any, mode: str
) -> None:
    env = make_env(mode)
    numbers = env.from_collection([3, 1, 2])
    numbers.print()
    numbers.sink_to(PrintSink("n"))
    numbers.sink_to(PrintSink("err", stderr=True))
    env.execute()
    shown = capsys.readouterr()
    plain = [line for line in shown.out.splitlines() if not line.startswith("n> ")]
    assert plain == ["3", "1", "2"]
    assert [line for line in shown.out.splitlines() if line not in plain] == [
        "n> 3",
        "n> 1",
        "n> 2",
    ]
    assert [line for line in shown.err.splitlines() if "err>" in line] == [
        "err> 3",
        "err> 1",
        "err> 2",
    ]


@MODES
def test_records_of_a_declared_type_are_written_as_flink_does(
    make_env: MakeEnv, capsys: Any, tmp_path: Path, mode: str
) -> None:
    env = make_env(mode)
    pair = Types.TUPLE([Types.STRING(), Types.INT()])
    flags = Types.ROW_NAMED(["word", "yes"], [Types.STRING(), Types.BOOLEAN()])
    source = env.from_collection([("hi", 1)], pair)
    source.key_by(lambda p: p[0]).sum(1).filter(lambda p: True).print("declared")
    source.map(lambda p: p).print("unknown")
    env.from_collection([("hi", 1)]).print("inferred")
    source.print("python", text="python")
    rows = source.map(lambda p: Row(word=p[0], yes=True), output_type=flags)
    rows.print("row")
    lines = FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder())
    rows.sink_to(lines.build())
    env.execute()
    assert sorted(capsys.readouterr().out.splitlines()) == [
        "declared> (hi,1)",
        "inferred> ('hi', 1)",
        "python> ('hi', 1)",
        "row> +I[hi,True]",
        "unknown> ('hi', 1)",
    ]
    assert lines_of(tmp_path / "out") == ["+I[hi, true]"]


def test_a_collecting_sink_hears_of_each_epoch_once_and_in_order(make_env: MakeEnv) -> None:
    env, sink = make_env(), Collecting()
    source = DataGeneratorSource(numbered, 7, RateLimiterStrategy.per_checkpoint(3), TUPLES)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "pairs").sink_to(sink)
    env.execute()
    assert sink.values == [numbered(n) for n in range(7)]
    epochs = [epoch for epoch, _ in sink.deliveries]
    assert epochs == sorted(set(epochs))
    assert [len(records) for _, records in sink.deliveries] == [3, 3, 1]


# -- files ----------------------------------------------------------------------------------------


def by_pandas(folder: Path) -> list[tuple[str, int]]:
    frames = [pd.read_csv(path) for path in data_files(folder)]
    return sorted(pd.concat(frames).itertuples(index=False, name=None))


def by_dataset(folder: Path) -> list[tuple[str, int]]:
    table = ds.dataset(folder, format="parquet").to_table()
    return sorted((row["key"], row["time"]) for row in table.to_pylist())


def by_json(folder: Path) -> list[tuple[str, int]]:
    return sorted((row["key"], row["time"]) for row in map(json.loads, lines_of(folder)))


def by_text(folder: Path) -> list[tuple[str, int]]:
    fields = (line.split() for line in lines_of(folder))
    return sorted((key, int(time)) for key, time in fields)


FORMATS: dict[str, tuple[Callable[[str], Sink], Callable[[Path], Any]]] = {
    "text": (lambda path: FileSink.text(path, text_of), by_text),
    "csv": (FileSink.csv, by_pandas),
    "json": (FileSink.json, by_json),
    "parquet": (FileSink.parquet, by_dataset),
}


@pytest.mark.parametrize("name", FORMATS)
def test_plain_readers_of_a_folder_see_all_records_once(
    spark: Any, make_env: MakeEnv, tmp_path: Path, name: str
) -> None:
    make, read = FORMATS[name]
    out = tmp_path / "out"
    env = make_env("streaming" if name in ("text", "parquet") else "batch")
    rows(env).sink_to(make(str(out)))
    env.execute()
    assert read(out) == EXPECTED
    reader = spark.read.options(header="true", inferSchema="true").format(name)
    frame = reader.load(str(out))
    if name == "text":
        assert sorted(row.value for row in frame.collect()) == sorted(lines_of(out))
    else:
        assert sorted((row["key"], row["time"]) for row in frame.collect()) == EXPECTED


def test_what_a_csv_sink_writes_a_csv_source_reads(make_env: MakeEnv, tmp_path: Path) -> None:
    texts = ["plain", 'say "x", or', None, "back\\slash", "'"]
    records = [Row(text=text, n=n) for n, text in enumerate(texts)]
    row_type = Types.ROW_NAMED(["text", "n"], [Types.STRING(), Types.LONG()])
    env, out = make_env("batch"), str(tmp_path / "out")
    written = env.from_collection(records, row_type)
    written.sink_to(FileSink.csv(out, compression="gzip", nullValue="NULL"))
    env.execute()
    sink, env = Collecting(), make_env("batch")
    source = FileSource.csv(out, schema="text STRING, n BIGINT", nullValue="NULL")
    read = env.from_source(source, WatermarkStrategy.no_watermarks(), "csv")
    read.map(lambda row: (row.n, row.text)).sink_to(sink)
    env.execute()
    assert sorted(sink.values) == list(enumerate(texts))
    assert all(path.suffix == ".gz" for path in data_files(tmp_path / "out"))


def failing_job(env: StreamExecutionEnvironment, folder: Path) -> None:
    """Fails in a writing task of the second epoch, once: the other task has staged its file then."""
    sink = FileSink.text(str(folder / "out"), FailsOnce(str(folder / "marker"), 7_000))
    env.set_checkpoint_directory(str(folder / "checkpoint"))
    env.set_restart_strategy(RestartStrategies.no_restart())
    pairs(env).key_by(lambda pair: pair[0]).process(Recording()).sink_to(sink)
    env.execute()


def test_a_failed_epoch_shows_no_reader_anything_and_its_restart_goes_on_in_the_folder(
    spark: Any, make_env: MakeEnv, tmp_path: Path
) -> None:
    with pytest.raises(UserCodeError, match="fails once"):
        failing_job(make_env(), tmp_path)
    committed = [tuple(line.split()) for line in lines_of(tmp_path / "out")]
    assert sorted(int(number) for _, number in committed) == [n * 1_000 for n in range(6)]
    assert spark.read.text(str(tmp_path / "out")).count() == 6
    before = {path: path.read_bytes() for path in data_files(tmp_path / "out")}

    failing_job(make_env(), tmp_path)
    assert by_text(tmp_path / "out") == EXPECTED
    assert {path: path.read_bytes() for path in before} == before, "a committed file has changed"


def alarms(env: StreamExecutionEnvironment, folder: Path) -> tuple[list[str], Collecting]:
    """Run a job whose last timers fire at its end, so that its last epoch writes something."""
    env.set_checkpoint_directory(str(folder / "checkpoint"))
    source = DataGeneratorSource(numbered, 6, RateLimiterStrategy.per_checkpoint(3), TUPLES)
    events, seen = env.from_source(source, by_time(1), "events"), Collecting()
    results = events.key_by(lambda pair: pair[0]).process(Alarm(), TUPLES)
    results.sink_to(FileSink.text(str(folder / "out"), text_of))
    results.sink_to(seen)
    env.execute()
    return sorted(lines_of(folder / "out")), seen


def test_a_replayed_epoch_writes_nothing_twice(make_env: MakeEnv, tmp_path: Path) -> None:
    """As if the driver had died between the sink's commit and Spark's: Spark runs the epoch again."""
    pairs = [numbered(n) for n in range(6)]
    wanted = sorted(map(text_of, pairs + [(key, time + 10) for key, time in pairs]))
    lines, first = alarms(make_env(), tmp_path)
    assert lines == wanted
    before = {path: path.read_bytes() for path in data_files(tmp_path / "out")}
    last = first.deliveries[-1][0]
    run = tmp_path / "checkpoint" / "000001"
    (run / "FINISHED").unlink()
    for name in (f"{last}", f".{last}.crc"):
        (run / "query-0" / "commits" / name).unlink(missing_ok=True)

    lines, second = alarms(make_env(), tmp_path)
    assert second.deliveries == first.deliveries[-1:], "the epoch did not run again as it was"
    assert lines == wanted
    assert {path: path.read_bytes() for path in data_files(tmp_path / "out")} == before


def test_two_sinks_of_one_job_do_not_mix_their_files(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env("batch")
    numbers = pairs(env)
    numbers.filter(lambda pair: pair[0] == "a").sink_to(FileSink.text(str(tmp_path / "a"), text_of))
    numbers.filter(lambda pair: pair[0] == "b").sink_to(FileSink.text(str(tmp_path / "b"), text_of))
    env.execute()
    assert by_text(tmp_path / "a") == [pair for pair in EXPECTED if pair[0] == "a"]
    assert by_text(tmp_path / "b") == [pair for pair in EXPECTED if pair[0] == "b"]


def test_two_sinks_may_share_a_folder(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env("batch")
    numbers = env.from_collection([numbered(n) for n in range(COUNT)])
    for key in "ab":
        part = numbers.filter(lambda pair, key=key: pair[0] == key)  # type: ignore[misc]
        part.sink_to(FileSink.text(str(tmp_path / "out"), text_of))
    env.execute()
    assert by_text(tmp_path / "out") == EXPECTED


def test_an_output_folder_that_is_taken_away_is_missed_and_no_record_is_lost(
    make_env: MakeEnv, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out, away = tmp_path / "out", tmp_path / "away"

    def take_away(frame: Any, epoch: int) -> None:
        if epoch == 1 and not away.exists():
            out.rename(away)

    env = make_env().set_checkpoint_directory(str(tmp_path / "checkpoint"))
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
    found = rows(env)
    found.foreach_batch(take_away)
    found.sink_to(FileSink.text(str(out), text_of))
    env.execute()
    assert "OUTPUT_FOLDER_GONE" in caplog.text
    assert sorted(by_text(out) + by_text(away)) == EXPECTED and by_text(away)


# -- DataFrames and functions ---------------------------------------------------------------------


@MODES
def test_foreach_batch_gets_each_epoch_as_a_dataframe(make_env: MakeEnv, mode: str) -> None:
    env = make_env(mode)
    seen: dict[int, list[tuple[str, int]]] = {}

    def take(frame: Any, epoch: int) -> None:
        assert frame.columns == ["key", "time"]
        assert epoch not in seen
        seen[epoch] = sorted((row.key, row.time) for row in frame.collect())

    rows(env).foreach_batch(take)
    env.execute()
    assert sorted(pair for batch in seen.values() for pair in batch) == EXPECTED
    if mode == "streaming":
        sizes = [len(batch) for _, batch in sorted(seen.items()) if batch]
        assert sizes == [6, 6]


def test_an_error_in_foreach_batch_names_the_operator(make_env: MakeEnv) -> None:
    env = make_env()

    def refuse(frame: Any, epoch: int) -> None:
        raise RuntimeError("the table is locked")

    rows(env).foreach_batch(refuse).name("To Table")
    with pytest.raises(UserCodeError) as caught:
        env.execute()
    assert "the table is locked" in str(caught.value)
    assert caught.value.operator == "To Table"


@MODES
def test_any_spark_format_by_name_and_options(
    spark: Any, make_env: MakeEnv, tmp_path: Path, mode: str
) -> None:
    env = make_env(mode)
    rows(env).write_to("parquet", path=str(tmp_path / "parquet"), compression="gzip")
    rows(env).sink_to(SparkSink("json", path=str(tmp_path / "json")))
    env.execute()
    for name in ("parquet", "json"):
        frame = spark.read.format(name).load(str(tmp_path / name))
        assert sorted((row.key, row.time) for row in frame.collect()) == EXPECTED


@MODES
def test_a_sink_function_is_opened_sees_each_record_once_and_is_closed(
    make_env: MakeEnv, tmp_path: Path, mode: str
) -> None:
    env, out = make_env(mode), tmp_path / "out"
    out.mkdir()
    pairs(env).add_sink(Appending(str(out)))
    env.execute()
    lines = [line.split() for path in out.glob("*.txt") for line in path.read_text().splitlines()]
    assert sorted((key, int(time)) for key, time in lines) == EXPECTED
    assert {path.stem for path in out.glob("*.txt")} == {path.stem for path in out.glob("*.closed")}


def test_a_sink_that_is_a_plain_function(make_env: MakeEnv, tmp_path: Path) -> None:
    env, folder = make_env("batch"), str(tmp_path)
    env.from_collection(["x", "y"]).add_sink(lambda v: Path(folder, v).write_text(v) and None)
    env.execute()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x", "y"]
