"""Savepoints on real Spark: taken of jobs that run, stop or have died; restored into others."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millstream.checkpoint.savepoints import Savepoint, describe, dispose
from millstream.common import Types
from millstream.common.errors import CheckpointError
from millstream.datastream import StreamExecutionEnvironment
from millstream.spark.savepoint.take import take_offline
from tests.support.spark.savepoint_programs import (
    COUNT,
    PER_EPOCH,
    Counting,
    Event,
    everything,
    key_of,
    lines,
)
from tests.support.spark.spark_support import cancel, wait_for_job

pytestmark = pytest.mark.spark

MakeEnv = Callable[..., StreamExecutionEnvironment]


def first_field(value: Event) -> str:
    return value[0]


@pytest.fixture(scope="module")
def expected(spark: Any, tmp_path_factory: Any) -> list[str]:
    """What the program writes if nothing happens."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    everything(env.set_parallelism(2).set_runtime_mode("BATCH"), folder / "out").execute()
    found = lines(folder / "out")
    assert len(found) > 2 * COUNT
    return found


@pytest.fixture(scope="module")
def stopped(spark: Any, tmp_path_factory: Any) -> Path:
    """A job that was stopped with a savepoint in the middle: its output and its savepoint."""
    folder = tmp_path_factory.mktemp("stopped")
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    env.set_parallelism(2).set_runtime_mode("STREAMING")
    env.set_checkpoint_directory(str(folder / "checkpoint"))
    client = everything(env, folder / "out").execute_async()
    wait_for_job(lambda: client.metrics().epoch >= 4, client, "epoch 4")
    path = client.stop_with_savepoint(str(folder / "saved"))
    assert path == str(next((folder / "saved").iterdir()))
    return folder


@pytest.fixture
def part(stopped: Path, tmp_path: Path) -> Path:
    """What the stopped job has written, to go on with."""
    shutil.copytree(stopped / "out", tmp_path / "out")
    return tmp_path


def restored(env: StreamExecutionEnvironment, folder: Path, savepoint: Path) -> Any:
    env.set_checkpoint_directory(str(folder / "checkpoint"))
    return env.restore_from_savepoint(str(savepoint))


@pytest.mark.parametrize(
    ("mode", "parallelism", "slots"),
    [("streaming", 2, 2), ("streaming", 3, 5), ("streaming", 1, 1), ("batch", 2, 3)],
)
def test_a_stopped_job_goes_on_from_its_savepoint(
    make_env: MakeEnv,
    stopped: Path,
    part: Path,
    expected: list[str],
    mode: str,
    parallelism: int,
    slots: int,
) -> None:
    written = lines(part / "out")
    assert 0 < len(written) < len(expected)
    env = make_env(mode).set_parallelism(parallelism).set_slots(slots)
    everything(restored(env, part, stopped / "saved"), part / "out").execute()
    assert lines(part / "out") == expected


def test_windows_by_column_go_on_as_windows_of_single_records(
    make_env: MakeEnv, stopped: Path, part: Path, expected: list[str]
) -> None:
    """A lambda became a function: the planner has other operators for the windows."""
    env = restored(make_env().set_parallelism(1).set_slots(3), part, stopped / "saved")
    everything(env, part / "out", key=key_of).execute()
    assert lines(part / "out") == expected


def test_tumbling_windows_of_single_records_go_on_by_column(
    make_env: MakeEnv, tmp_path: Path, expected: list[str]
) -> None:
    env = make_env()
    env.set_checkpoint_directory(str(tmp_path / "before"))
    client = everything(env, tmp_path / "out", key=key_of).execute_async()
    wait_for_job(lambda: client.metrics().epoch >= 3, client, "epoch 3")
    saved = Savepoint.load(client.stop_with_savepoint(str(tmp_path / "saved")))
    later = restored(make_env().set_slots(3), tmp_path / "later", Path(saved.path))
    everything(later, tmp_path / "out", key=first_field)
    assert "and becomes columns" in str(later.get_execution_plan())
    later.execute()
    assert lines(tmp_path / "out") == expected


def test_a_restart_follows_windows_of_single_records(
    make_env: MakeEnv, tmp_path: Path, expected: list[str]
) -> None:
    """They could be computed by column from now on. A restart converts nothing, so they stay."""
    env, again = make_env(), make_env()
    for one in (env, again):
        one.set_checkpoint_directory(str(tmp_path / "checkpoint"))
    client = everything(env, tmp_path / "out", key=key_of).execute_async()
    wait_for_job(lambda: client.metrics().epoch >= 3, client, "epoch 3")
    cancel(client)
    everything(again, tmp_path / "out", key=first_field).execute()
    assert lines(tmp_path / "out") == expected


def test_a_restart_without_the_columns_of_its_windows_is_sent_to_a_savepoint(
    spark: Any, make_env: MakeEnv, tmp_path: Path, expected: list[str]
) -> None:
    env = make_env()
    env.set_checkpoint_directory(str(tmp_path / "checkpoint"))
    client = everything(env, tmp_path / "out").execute_async()
    wait_for_job(lambda: client.metrics().epoch >= 3, client, "epoch 3")
    cancel(client)
    again = make_env()
    again.set_checkpoint_directory(str(tmp_path / "checkpoint"))
    with pytest.raises(CheckpointError, match="-> windows in pages") as caught:
        everything(again, tmp_path / "out", key=key_of).execute()
    assert caught.value.code == "CHECKPOINT_MISMATCH"
    assert "savepoint" in (caught.value.hint or "")
    path = take_offline(spark, str(tmp_path / "checkpoint"), str(tmp_path / "saved"))
    later = restored(make_env(), tmp_path / "later", Path(path))
    everything(later, tmp_path / "out", key=key_of).execute()
    assert lines(tmp_path / "out") == expected


def test_a_running_job_is_saved_at_one_epoch_and_forked_twice(
    make_env: MakeEnv, tmp_path: Path, expected: list[str]
) -> None:
    env = make_env()
    env.set_checkpoint_directory(str(tmp_path / "checkpoint"))
    client = everything(env, tmp_path / "out").execute_async()
    wait_for_job(lambda: client.metrics().epoch >= 2, client, "epoch 2")
    path = client.savepoint(str(tmp_path / "saved"))
    client.wait()
    assert lines(tmp_path / "out") == expected, "the job has gone on undisturbed"
    savepoint = Savepoint.load(path)
    assert savepoint.epoch * PER_EPOCH < COUNT
    before = lines(tmp_path / "out", until=savepoint.epoch)
    for name in ("one", "other"):
        fork = restored(make_env(), tmp_path / name, Path(path))
        everything(fork, tmp_path / name / "out").execute()
        assert sorted(before + lines(tmp_path / name / "out")) == expected
    assert {p.name for p in (tmp_path / "one" / "out").glob("part-*")}.isdisjoint(
        p.name for p in (tmp_path / "other" / "out").glob("part-*")
    ), "a fork is a job of its own"


def test_a_dead_job_is_saved_at_its_last_committed_epoch(
    spark: Any, make_env: MakeEnv, tmp_path: Path, expected: list[str]
) -> None:
    env = make_env()
    env.set_checkpoint_directory(str(tmp_path / "checkpoint"))
    client = everything(env, tmp_path / "out").execute_async()
    wait_for_job(lambda: client.metrics().epoch >= 4, client, "epoch 4")
    cancel(client)
    # As if the driver had died after the sink had the last epoch, and before Spark had.
    query = tmp_path / "checkpoint" / "000001" / "query-0"
    last = max(int(p.name) for p in (query / "commits").iterdir() if p.name.isdigit())
    for path in (query / "commits").glob(f"*{last}*"):
        path.unlink()
    assert lines(tmp_path / "out") != lines(tmp_path / "out", until=last - 1)
    saved = take_offline(spark, str(tmp_path / "checkpoint"), str(tmp_path / "saved"))
    assert Savepoint.load(saved).epoch == last - 1
    assert lines(tmp_path / "out") == lines(tmp_path / "out", until=last - 1)
    shutil.rmtree(tmp_path / "checkpoint")
    everything(restored(make_env(), tmp_path, Path(saved)), tmp_path / "out").execute()
    assert lines(tmp_path / "out") == expected


def test_a_drained_job_has_written_everything_and_cannot_go_on(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    env = make_env()
    env.set_checkpoint_directory(str(tmp_path / "checkpoint"))
    client = everything(env, tmp_path / "out").execute_async()
    wait_for_job(lambda: client.metrics().epoch >= 2, client, "epoch 2")
    path = client.stop_with_savepoint(str(tmp_path / "saved"), drain=True)
    timers = [line for line in lines(tmp_path / "out") if '"timer"' in line]
    records = [line for line in lines(tmp_path / "out") if '"process"' in line]
    assert len(records) < COUNT
    assert len(timers) == len({json.loads(line)[1:3][1] for line in records}), "all have fired"
    with pytest.raises(CheckpointError, match="SAVEPOINT_ENDED"):
        everything(restored(make_env(), tmp_path / "next", Path(path)), tmp_path / "x").execute()


def test_a_changed_program_goes_on_with_the_state_it_knows(
    make_env: MakeEnv, stopped: Path, part: Path, expected: list[str]
) -> None:
    env = restored(make_env(), part, stopped / "saved")
    env.from_collection([1, 2]).map(str).sink_to(_lines(part / "new")).uid("new")
    with pytest.raises(CheckpointError) as caught:
        everything(env, part / "out", without="sessions").execute()
    assert "NON_RESTORED_STATE" in str(caught.value) and "'sessions'" in str(caught.value)
    assert not (part / "checkpoint" / "000001").exists(), "nothing was written"
    env = restored(make_env(), part, stopped / "saved")
    env.restore_from_savepoint(str(stopped / "saved"), allow_non_restored_state=True)
    env.from_collection([1, 2]).map(str).sink_to(_lines(part / "new")).uid("new")
    before = lines(part / "out")
    everything(env, part / "out", without="sessions", count_type=Types.LONG()).execute()
    sessions = [line for line in expected if line not in before and line.startswith('["')]
    after = lines(part / "out")
    missing = [line for line in expected if line not in after]
    assert len(after) < len(expected)
    assert all(len(json.loads(line)) == 2 for line in missing), "only what sessions would give"
    assert set(missing) <= set(sessions)
    assert lines(part / "new") == ["1", "2"]


def _lines(folder: Path) -> Any:
    from millstream.datastream.connectors import FileSink

    return FileSink.text(str(folder))


def test_a_type_that_is_no_wider_is_refused(make_env: MakeEnv, stopped: Path, part: Path) -> None:
    env = restored(make_env(), part, stopped / "saved")
    with pytest.raises(CheckpointError) as caught:
        everything(env, part / "out", count_type=Types.STRING()).execute()
    assert "STATE_TYPE_CHANGED" in str(caught.value)
    assert "'count' of operator 'remember' was a value of INT" in str(caught.value)


def test_a_restored_job_started_again_goes_on_from_its_own_checkpoint(
    make_env: MakeEnv, stopped: Path, part: Path, expected: list[str]
) -> None:
    client = everything(restored(make_env(), part, stopped / "saved"), part / "out").execute_async()
    wait_for_job(lambda: client.metrics().epoch >= 8, client, "epoch 8")
    cancel(client)
    assert not list(part.rglob("*.arrow")), "what was restored is committed as state"
    everything(restored(make_env(), part, stopped / "saved"), part / "out").execute()
    assert [p.name for p in (part / "checkpoint").iterdir() if p.name.isdigit()] == ["000001"]
    assert lines(part / "out") == expected


# -- what cannot be used --------------------------------------------------------------------------


@pytest.fixture
def copied(stopped: Path, tmp_path: Path) -> Path:
    """A copy of the savepoint, elsewhere: it needs nothing but its own folder."""
    (source,) = (stopped / "saved").iterdir()
    return Path(shutil.copytree(source, tmp_path / "copy"))


def test_a_savepoint_can_be_described_moved_and_disposed_of(copied: Path) -> None:
    found = describe(str(copied))
    states = {
        (operator["uid"], state["name"])
        for operator in found["operators"]
        for state in operator["states"]
    }
    assert {("remember", "count"), ("remember", "timers"), ("sums", "panes")} <= states
    assert {("sessions", "windows"), ("ruled", "broadcast/rules")} <= states
    assert found["bytes"] > 0
    dispose(str(copied))
    assert not copied.exists()


def test_a_plain_reader_can_read_it(spark: Any, copied: Path) -> None:
    frame = spark.read.parquet(str(copied / "state" / "remember" / "count"))
    counts = {row["key_text"]: row["value"] for row in frame.collect()}
    assert set(counts) == set("abcde") and all(count > 1 for count in counts.values())


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda p: (p / "savepoint.json").unlink(), "NO_SAVEPOINT"),
        (lambda p: (p / "savepoint.json").write_text("{"), "SAVEPOINT_DAMAGED"),
        (
            lambda p: (p / "savepoint.json").write_text(
                (p / "savepoint.json").read_text().replace('"format": 1', '"format": 99')
            ),
            "SAVEPOINT_FORMAT",
        ),
        (lambda p: _spoil(next((p / "state").rglob("*.parquet"))), "SAVEPOINT_DAMAGED"),
        (lambda p: next((p / "state").rglob("*.parquet")).unlink(), "SAVEPOINT_DAMAGED"),
    ],
)
def test_a_damaged_savepoint_is_refused(
    make_env: MakeEnv, copied: Path, tmp_path: Path, damage: Any, code: str
) -> None:
    damage(copied)
    env = restored(make_env(), tmp_path, copied)
    with pytest.raises(CheckpointError, match=code):
        everything(env, tmp_path / "out").execute()
    assert lines(tmp_path / "out") == []
    assert not (tmp_path / "checkpoint" / "000001").exists()


def _spoil(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))


def test_a_directory_that_cannot_be_written_to_is_refused_and_the_job_goes_on(
    make_env: MakeEnv, tmp_path: Path, expected: list[str]
) -> None:
    (tmp_path / "file").touch()
    env = make_env()
    env.set_checkpoint_directory(str(tmp_path / "checkpoint"))
    client = everything(env, tmp_path / "out").execute_async()
    wait_for_job(lambda: client.metrics().epoch >= 1, client, "epoch 1")
    with pytest.raises(CheckpointError, match="SAVEPOINT_DIRECTORY"):
        client.savepoint(str(tmp_path / "file" / "below"))
    client.wait()
    assert lines(tmp_path / "out") == expected


def test_a_checkpoint_in_use_is_refused(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env()
    env.set_checkpoint_directory(str(tmp_path / "checkpoint"))
    client = everything(env, tmp_path / "out").execute_async()
    try:
        second = make_env()
        second.set_checkpoint_directory(str(tmp_path / "checkpoint"))
        with pytest.raises(CheckpointError, match="CHECKPOINT_IN_USE"):
            everything(second, tmp_path / "other").execute()
        assert not (tmp_path / "other").exists()
    finally:
        cancel(client)


# -- DataFrames of the user's ---------------------------------------------------------------------


def counted(env: StreamExecutionEnvironment, spark: Any, folder: Path, resume: Any) -> Any:
    """Numbers of a streaming DataFrame, counted by their last digit."""

    def numbers(start: Any) -> Any:
        first = 0 if start is None else start["offset"]
        reader = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 20)
        return reader.option("numPartitions", 1).option("startOffset", first).load()

    rows = env.from_dataframe(numbers(None), resume=numbers if resume else None).uid("numbers")
    digits = rows.map(lambda row: row[1] % 10, output_type=Types.LONG())
    counts = digits.key_by(lambda digit: digit).process(Counting()).uid("count")
    counts.map(json.dumps, output_type=Types.STRING()).sink_to(_lines(folder)).uid("lines")
    return env


def test_a_dataframe_goes_on_if_the_user_says_how(
    spark: Any, make_env: MakeEnv, tmp_path: Path
) -> None:
    for resume in (False, True):
        env = make_env()
        env.set_checkpoint_directory(str(tmp_path / f"checkpoint-{resume}"))
        client = counted(env, spark, tmp_path / f"out-{resume}", resume).execute_async()
        wait_for_job(lambda c=client: c.metrics().epoch >= 1, client, "epoch 1")  # type: ignore[misc]
        if not resume:
            with pytest.raises(CheckpointError, match="SOURCE_NOT_RESTORABLE"):
                client.savepoint(str(tmp_path / "saved"))
            cancel(client)
            assert not any((tmp_path / "saved").iterdir())
        else:
            path = client.stop_with_savepoint(str(tmp_path / "saved"))
    env = restored(make_env(), tmp_path, Path(path))
    client = counted(env, spark, tmp_path / "out-True", True).execute_async()
    wait_for_job(lambda: client.metrics().epoch >= 4, client, "epoch 4")
    client.stop_with_savepoint(str(tmp_path / "again"))
    found = sorted(tuple(json.loads(line)) for line in lines(tmp_path / "out-True"))
    most = max(count for _, count in found)
    assert found == [(digit, n) for digit in range(10) for n in range(1, most + 1)]
