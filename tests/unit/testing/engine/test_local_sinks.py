"""Sinks in memory: with ``write=True`` they do what they do on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millstream.common import Types
from millstream.common.errors import PlanError, UserCodeError
from millstream.connectors import Sink
from millstream.datastream import SinkFunction, StreamExecutionEnvironment
from millstream.datastream.connectors import FileSink
from millstream.testing import Checkpoint, run_local
from tests.support.spark.example_sinks import (
    ColumnSink,
    FailingSqliteSink,
    FailingStagingSink,
    read_words,
)

PAIRS = Types.TUPLE([Types.STRING(), Types.LONG()])
RECORDS = [("ab"[n % 2], n) for n in range(12)]


def program(sink: Sink, *, keyed: bool = True) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    pairs = env.from_collection(RECORDS, PAIRS)
    if keyed:
        pairs = pairs.key_by(lambda pair: pair[0]).map(lambda pair: pair, output_type=PAIRS)
    pairs.sink_to(sink).uid("out")
    return env


def lines_of(folder: Path) -> list[str]:
    files = [path for path in folder.iterdir() if path.is_file()] if folder.exists() else []
    return sorted(line for path in files for line in path.read_text().splitlines())


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("batch", [True, False])
def test_files_are_written(tmp_path: Path, batch: bool, keyed: bool) -> None:
    sink = FileSink.csv(str(tmp_path / "out"), header=False)
    run_local(program(sink, keyed=keyed), epochs=5, batch=batch, write=True)
    assert lines_of(tmp_path / "out") == sorted(f"{word},{n}" for word, n in RECORDS)


def test_without_write_nothing_is_written(tmp_path: Path) -> None:
    results = run_local(program(FileSink.csv(str(tmp_path / "out"))))
    assert len(results.values()) == len(RECORDS) and not (tmp_path / "out").exists()


def test_columns_are_written(tmp_path: Path) -> None:
    run_local(program(ColumnSink(f"{tmp_path}/words.db")), epochs=4, write=True)
    assert sorted(read_words(tmp_path)) == sorted(RECORDS)


def failing(folder: Path, kind: str) -> Sink:
    path, marker = f"{folder}/words.db", f"{folder}/failed"
    if kind == "idempotent":
        return FailingSqliteSink(path, marker)
    return FailingStagingSink(path, marker, kind)


KINDS = pytest.mark.parametrize("kind", ["idempotent", "staged", "committed"])


@KINDS
def test_a_sink_that_fails_has_each_record_once_after_a_restart(tmp_path: Path, kind: str) -> None:
    results = run_local(program(failing(tmp_path, kind)), epochs=4, restarts=1, write=True)
    assert results.restarts == 1
    assert sorted(read_words(tmp_path)) == sorted(RECORDS)


@KINDS
def test_the_next_run_goes_on_as_the_same_job(tmp_path: Path, kind: str) -> None:
    checkpoint, env = Checkpoint(), program(failing(tmp_path, kind))
    with pytest.raises(UserCodeError, match="fails"):
        run_local(env, epochs=4, checkpoint=checkpoint, write=True)
    assert not checkpoint.finished
    run_local(env, epochs=4, checkpoint=checkpoint, write=True)
    assert sorted(read_words(tmp_path)) == sorted(RECORDS)


def test_two_runs_without_a_checkpoint_are_two_jobs(tmp_path: Path) -> None:
    env = program(ColumnSink(f"{tmp_path}/words.db"))
    for _ in range(2):
        run_local(env, write=True)
    assert sorted(read_words(tmp_path)) == sorted(2 * RECORDS)


def test_functions_are_called_and_lines_printed(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[Any] = []

    class Noting(SinkFunction):
        def open(self, runtime_context: Any) -> None:
            seen.append("open")

        def invoke(self, value: int) -> None:
            seen.append(value)

        def close(self) -> None:
            seen.append("close")

    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_collection([1, 2])
    numbers.add_sink(Noting())
    numbers.print("n")
    run_local(env, write=True, copy_functions=False)
    assert seen == ["open", 1, 2, "close"] and capsys.readouterr().out == "n> 1\nn> 2\n"
    seen.clear()
    run_local(env, copy_functions=False)
    assert seen == [] and capsys.readouterr().out == ""


def test_a_sink_of_dataframes_needs_spark() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).foreach_batch(lambda frame, epoch: None)
    with pytest.raises(PlanError, match="LOCAL_NEEDS_SPARK"):
        run_local(env, write=True)
