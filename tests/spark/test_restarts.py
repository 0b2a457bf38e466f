"""Jobs that fail on real Spark: restarted from their checkpoint, given up, and one driver at a time."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millstream.checkpoint.registry import find_jobs, request
from millstream.common import RestartStrategies, WatermarkStrategy
from millstream.common.errors import CheckpointError, UserCodeError
from millstream.common.job import JobStatus
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DataGeneratorSource, FileSink, RateLimiterStrategy
from tests.support.spark.spark_programs import Recording, numbered, text_of
from tests.support.spark.spark_support import cancel, data_files, lines_of, wait_for_job

pytestmark = pytest.mark.spark

MakeEnv = Callable[..., StreamExecutionEnvironment]
AT_ONCE = 0


def failing(record: int, marker: Path | None) -> Callable[[Any], Any]:
    """Passes values on, but fails at one: always, or as long as there is no marker."""
    path = None if marker is None else str(marker)
    wanted = numbered(record)

    def check(value: Any) -> Any:
        import os

        if value == wanted and not (path is not None and os.path.exists(path)):
            if path is not None:
                open(path, "w").close()
            raise RuntimeError(f"no {value}")
        return value

    return check


def numbers(
    env: StreamExecutionEnvironment,
    folder: Path,
    count: int | None,
    check: Callable[[Any], Any] = lambda value: value,
) -> Any:
    """Start a job whose state notices a gap or a repetition, four records an epoch."""
    source = DataGeneratorSource(numbered, count, RateLimiterStrategy.per_checkpoint(4))
    pairs = env.from_source(source, WatermarkStrategy.no_watermarks(), "pairs").map(check)
    checked = pairs.key_by(lambda pair: pair[0]).process(Recording())
    checked.sink_to(FileSink.text(str(folder / "out"), text_of))
    return env.execute_async("numbers")


def wanted(count: int) -> list[str]:
    return sorted(text_of(numbered(n)) for n in range(count))


def test_a_job_that_fails_is_restarted_from_its_checkpoint_by_itself(
    make_env: MakeEnv, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    env = make_env().set_checkpoint_directory(str(tmp_path / "checkpoint"))
    with caplog.at_level(logging.WARNING, logger="millstream"):
        client = numbers(env, tmp_path, 12, failing(6, tmp_path / "failed-once"))
        client.wait()
    assert (tmp_path / "failed-once").exists()
    assert client.get_job_status().result() is JobStatus.FINISHED
    assert sorted(lines_of(tmp_path / "out")) == wanted(12)
    (record,) = find_jobs(str(tmp_path))
    assert (record.status, record.restarts, record.alive) == ("FINISHED", 1, False)
    assert record.job_id == str(client.get_job_id())
    assert record.records_out == 12, "counters go on over a restart"
    assert "restart 1" in caplog.text and "RuntimeError: no " in caplog.text
    assert [path.name for path in (tmp_path / "checkpoint").glob("0*")] == ["000001"]


def test_a_job_that_keeps_failing_is_given_up_and_says_how_often_it_was_tried(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    env = make_env().set_checkpoint_directory(str(tmp_path / "checkpoint"))
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(2, AT_ONCE))
    client = numbers(env, tmp_path, 12, failing(6, None))
    with pytest.raises(UserCodeError) as caught:
        client.wait()
    assert "tried 3 times" in str(caught.value)
    assert "RuntimeError: no " in str(caught.value)
    assert client.get_job_status().result() is JobStatus.FAILED
    assert sorted(lines_of(tmp_path / "out")) == wanted(4), "the epochs before it are committed"

    # What the program could not do, the next one does: nothing is lost, nothing comes twice.
    env = make_env().set_checkpoint_directory(str(tmp_path / "checkpoint"))
    numbers(env, tmp_path, 12, lambda value: value).wait()
    assert sorted(lines_of(tmp_path / "out")) == wanted(12)


def test_a_job_without_a_checkpoint_directory_fails_at_once(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    client = numbers(make_env(), tmp_path, 12, failing(6, tmp_path / "failed-once"))
    with pytest.raises(UserCodeError) as caught:
        client.wait()
    assert "tried" not in str(caught.value)


def test_a_directory_has_one_driver_which_others_can_see_and_stop(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    env = make_env().set_checkpoint_directory(str(tmp_path / "checkpoint"))
    first = numbers(env, tmp_path, None)
    wait_for_job(lambda: data_files(tmp_path / "out"), first, "an epoch")
    env = make_env().set_checkpoint_directory(str(tmp_path / "checkpoint"))
    with pytest.raises(CheckpointError) as caught:
        numbers(env, tmp_path, None)
    assert caught.value.code == "CHECKPOINT_IN_USE"

    wait_for_job(lambda: find_jobs(str(tmp_path))[0].epoch >= 1, first, "a word of its epochs")
    (record,) = find_jobs(str(tmp_path))
    assert (record.name, record.status, record.alive) == ("numbers", "RUNNING", True)
    assert record.job_id == str(first.get_job_id()) and record.records_in >= 4
    request(record, "cancel")
    assert first.get_job_status().result() is JobStatus.CANCELED

    env = make_env().set_checkpoint_directory(str(tmp_path / "checkpoint"))
    second = numbers(env, tmp_path, None)
    had = len(lines_of(tmp_path / "out"))
    wait_for_job(lambda: len(lines_of(tmp_path / "out")) > had, second, "one epoch more")
    cancel(second)
    lines = lines_of(tmp_path / "out")
    assert sorted(lines) == wanted(len(lines))


def test_a_driver_that_was_followed_commits_nothing_more_and_is_not_restarted(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    """As if it had been silent for so long that another one took its place."""
    env = make_env().set_checkpoint_directory(str(tmp_path / "checkpoint"))
    client = numbers(env, tmp_path, None)
    wait_for_job(lambda: data_files(tmp_path / "out"), client, "an epoch")
    lease = tmp_path / "checkpoint" / "lease" / "00000001.json"
    lease.with_name("00000002.json").write_text(lease.read_text())
    # One epoch may have been beyond the check when the other driver came.
    most = len(lines_of(tmp_path / "out")) + 4
    with pytest.raises(CheckpointError) as caught:
        client.wait()
    assert caught.value.code == "LEASE_LOST"
    assert client.get_job_status().result() is JobStatus.FAILED
    assert len(lines_of(tmp_path / "out")) <= most
    assert find_jobs(str(tmp_path))[0].restarts == 0


def test_a_job_stopped_with_a_savepoint_can_go_on_from_its_checkpoint_too(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    env = make_env().set_checkpoint_directory(str(tmp_path / "checkpoint"))
    env.set_default_savepoint_directory(str(tmp_path / "savepoints"))
    first = numbers(env, tmp_path, None)
    # The files of an epoch are there before its commit: with the second, one is committed.
    wait_for_job(lambda: len(lines_of(tmp_path / "out")) >= 8, first, "two epochs")
    running = first.savepoint()
    stopped = first.stop_with_savepoint()
    assert first.get_job_status().result() is JobStatus.FINISHED
    assert running != stopped
    assert all(Path(path).parent == tmp_path / "savepoints" for path in (running, stopped))
    assert all(any(Path(path).iterdir()) for path in (running, stopped))
    had = len(lines_of(tmp_path / "out"))

    env = make_env().set_checkpoint_directory(str(tmp_path / "checkpoint"))
    second = numbers(env, tmp_path, None)
    assert second.get_job_id() == first.get_job_id()
    wait_for_job(lambda: len(lines_of(tmp_path / "out")) > had, second, "one epoch more")
    cancel(second)
    lines = lines_of(tmp_path / "out")
    assert sorted(lines) == wanted(len(lines))
