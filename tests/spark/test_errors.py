"""What a user sees when something is wrong: their own line first, and what to do about it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millstream.common import Types, WatermarkStrategy
from millstream.common.errors import (
    CheckpointError,
    MillstreamError,
    PlanError,
    TypeMismatchError,
    UserCodeError,
)
from millstream.common.job import JobStatus
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DataGeneratorSource, FileSink, RateLimiterStrategy
from tests.support.spark import spark_programs
from tests.support.spark.spark_programs import Alarm, Count, by_time, fails_on_bad, numbered
from tests.support.spark.spark_support import (
    Collecting,
    cancel,
    data_files,
    program_env,
    run_script,
    wait_for_job,
)

pytestmark = pytest.mark.spark

MakeEnv = Callable[..., StreamExecutionEnvironment]
MODES = pytest.mark.parametrize("mode", ["batch", "streaming"])
JVM = ("java.lang", "org.apache.spark", "py4j", "\tat ", "Py4JJavaError", "JVM stacktrace")


def failure_of(env: StreamExecutionEnvironment) -> MillstreamError:
    """What the job fails with."""
    with pytest.raises(MillstreamError) as caught:
        env.execute()
    return caught.value


def assert_readable(error: BaseException) -> None:
    """Nothing of the JVM's and of the engine's in the text a user reads."""
    text = str(error)
    assert not [word for word in JVM if word in text], text
    assert "site-packages" not in text, text


# -- the user's own exceptions --------------------------------------------------------------------


@MODES
def test_a_user_exception_shows_the_users_frame_operator_uid_and_record(
    make_env: MakeEnv, mode: str
) -> None:
    env = make_env(mode)
    lines = env.from_collection(["good", "bad" + "!" * 1_000])
    lines.map(fails_on_bad).name("Check").uid("check-1").sink_to(Collecting())
    error = failure_of(env)
    assert isinstance(error, UserCodeError)
    assert_readable(error)
    assert (error.operator, error.uid) == ("Check", "check-1")
    assert error.record is not None
    assert error.record.startswith("'bad!!!")
    assert len(error.record) <= 200
    first, frame = error.user_traceback.splitlines()[:2]
    assert first == "ValueError: cannot take bad"
    assert spark_programs.__file__ in frame
    assert "in fails_on_bad" in frame
    for part in ("Check", "check-1", "cannot take bad", "'bad!!!", "raise ValueError"):
        assert part in str(error)


@pytest.mark.parametrize(
    ("mode", "place"),
    [("streaming", "process_element"), ("batch", "on_timer"), ("batch", "open")],
)
def test_an_exception_in_a_keyed_function_names_its_operator(
    make_env: MakeEnv, mode: str, place: str
) -> None:
    env = make_env(mode)
    events = env.from_collection([("a", 1), ("b", 50)]).assign_timestamps_and_watermarks(by_time(1))
    alarms = events.key_by(lambda event: event[0]).process(Alarm(fails_in=place))
    alarms.name("Alarm").uid("alarm-1").sink_to(Collecting())
    error = failure_of(env)
    assert isinstance(error, UserCodeError)
    assert_readable(error)
    assert (error.operator, error.uid) == ("Alarm", "alarm-1")
    assert f"RuntimeError: no {place}" in error.user_traceback
    assert f"in {place}" in error.user_traceback


def test_a_key_selector_that_fails_is_a_user_exception_with_its_record(make_env: MakeEnv) -> None:
    env = make_env("batch")
    pairs = env.from_collection([("a", 1), ()], Types.PICKLED_BYTE_ARRAY())
    pairs.key_by(lambda pair: pair[0]).process(Count()).name("Count").sink_to(Collecting())
    error = failure_of(env)
    assert isinstance(error, UserCodeError)
    assert error.operator == "Count"
    assert error.record == "()"
    assert "IndexError" in str(error)


def test_a_timestamp_assigner_that_fails_is_a_user_exception(make_env: MakeEnv) -> None:
    env = make_env("batch")
    events = env.from_collection([("a",)]).assign_timestamps_and_watermarks(by_time(1))
    events.name("Times").sink_to(Collecting())
    error = failure_of(env)
    assert isinstance(error, UserCodeError)
    assert error.operator == "Times"
    assert error.record == "('a',)"


def test_a_failed_job_tells_so_and_its_session_goes_on(make_env: MakeEnv) -> None:
    env = make_env()
    env.from_collection(["bad"]).map(fails_on_bad).sink_to(Collecting())
    client = env.execute_async()
    with pytest.raises(UserCodeError):
        client.wait()
    assert client.get_job_status().result() is JobStatus.FAILED
    env, sink = make_env("batch"), Collecting()
    env.from_collection(["good"]).map(fails_on_bad).sink_to(sink)
    env.execute()
    assert sink.values == ["good"]


FAILING_APP = """
from millstream.datastream import StreamExecutionEnvironment

def parse(line):
    return int(line)

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1).set_runtime_mode("STREAMING")
env.from_collection(["1", "two"]).map(parse).name("Parse").print()
env.execute()
print("not reached")
"""


def test_a_failing_job_run_as_python_app_py_stops_with_a_non_zero_exit(tmp_path: Path) -> None:
    script = tmp_path / "app.py"
    script.write_text(FAILING_APP)
    done = run_script(script)
    assert done.code != 0
    assert "not reached" not in done.out
    # The last lines are what a user reads first.
    end = done.err[done.err.rindex("millstream.common.errors.UserCodeError") :]
    for part in ("Parse", "'two'", "app.py", "in parse", "what to do"):
        assert part in end
    assert not [word for word in JVM if word in end], end


def test_a_missing_java_is_one_line_that_says_what_to_install(tmp_path: Path) -> None:
    script = tmp_path / "app.py"
    script.write_text(FAILING_APP)
    env = program_env(PATH=str(tmp_path))
    env.pop("JAVA_HOME", None)
    done = run_script(script, env=env)
    assert done.code != 0
    told = [line for line in done.err.splitlines() if "NO_JAVA" in line]
    assert len(told) == 1
    assert "Spark needs Java 17 or later" in told[0]
    assert "what to do: install a JDK" in done.err


def test_an_old_java_is_refused_by_its_version(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    script = tmp_path / "app.py"
    script.write_text(FAILING_APP)
    done = run_script(script, env=program_env(JAVA_HOME=str(tmp_path)))
    assert done.code != 0
    assert "[OLD_JAVA] Spark needs Java 17 or later" in done.err
    assert "is Java 11" in done.err


# -- wrong programs, refused before anything starts -----------------------------------------------


@MODES
def test_what_became_unpicklable_after_it_was_passed_is_refused_before_the_job_starts(
    make_env: MakeEnv, mode: str
) -> None:
    env, held = make_env(mode), list[Any]()
    env.from_collection([1]).map(lambda n: (held, n)[1]).name("Locked").sink_to(Collecting())
    held.append(threading.Lock())
    with pytest.raises(PlanError) as caught:
        env.execute_async()
    error = caught.value
    assert error.code == "UNPICKLABLE_FUNCTION"
    assert "Locked" in str(error) and "held[0] is a _thread.lock" in str(error)
    assert "open()" in (error.hint or "")
    assert error.location is not None
    assert error.location.file == __file__


def test_an_element_of_the_wrong_type_is_refused_when_the_stream_is_made(make_env: MakeEnv) -> None:
    with pytest.raises(TypeMismatchError) as caught:
        make_env().from_collection([1, "2"], Types.LONG())
    assert caught.value.code == "ELEMENT_TYPE"
    assert "'2'" in str(caught.value)


def test_an_unknown_field_is_refused_when_the_stream_is_made(make_env: MakeEnv) -> None:
    row = Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.LONG()])
    stream = make_env().from_collection([("a", 1)], row)
    with pytest.raises(PlanError) as caught:
        stream.key_by("wrod")
    assert "wrod" in str(caught.value)
    assert "word" in str(caught.value)


def test_an_unknown_column_of_a_dataframe_is_refused(spark: Any, make_env: MakeEnv) -> None:
    with pytest.raises(PlanError, match="no column 'part'"):
        make_env().from_dataframe(spark.range(3), channel="part", position="id")


def test_two_operators_with_one_uid_are_refused(make_env: MakeEnv) -> None:
    stream = make_env().from_collection([1]).map(lambda n: n).uid("twice")
    with pytest.raises(PlanError) as caught:
        stream.map(lambda n: n).uid("twice")
    assert caught.value.code == "DUPLICATE_UID"


def test_batch_mode_on_an_unbounded_source_is_refused(make_env: MakeEnv) -> None:
    env = make_env("batch")
    source = DataGeneratorSource(numbered, None)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "for ever").sink_to(Collecting())
    with pytest.raises(PlanError) as caught:
        env.execute_async()
    assert caught.value.code == "UNBOUNDED_BATCH"
    assert "'for ever'" in str(caught.value)


def test_a_batch_dataframe_in_a_stream_is_refused(spark: Any, make_env: MakeEnv) -> None:
    env = make_env("streaming")
    env.from_dataframe(spark.range(3)).sink_to(Collecting())
    with pytest.raises(PlanError) as caught:
        env.execute_async()
    assert caught.value.code == "BATCH_DATAFRAME"
    assert "env.from_dataframe(spark.range(3))" in str(caught.value)


def test_a_missing_input_file_is_a_readable_error(make_env: MakeEnv, tmp_path: Path) -> None:
    for mode in ("batch", "streaming"):
        env = make_env(mode)
        env.read_text_file(str(tmp_path / "nowhere")).sink_to(Collecting())
        error = failure_of(env)
        assert "nowhere" in str(error)
        assert_readable(error)


# -- wrong records, found while the job runs ------------------------------------------------------


@MODES
def test_a_result_of_the_wrong_type_names_operator_and_value(make_env: MakeEnv, mode: str) -> None:
    env = make_env(mode)
    numbers = env.from_collection([1, 2]).map(lambda n: f"no {n}", output_type=Types.LONG())
    numbers.name("Parse").uid("parse-1").key_by(lambda n: n).process(Count()).sink_to(Collecting())
    error = failure_of(env)
    assert_readable(error)
    assert "Parse" in str(error)
    assert "'no 1'" in str(error)
    assert "LONG" in str(error)


@pytest.mark.parametrize(
    ("mode", "key", "code"),
    [
        ("streaming", None, "NULL_KEY"),
        ("batch", None, "NULL_KEY"),
        ("batch", {1}, "UNSUPPORTED_KEY"),
    ],
)
def test_a_key_that_is_no_key_names_operator_and_line(
    make_env: MakeEnv, mode: str, key: Any, code: str
) -> None:
    env = make_env(mode)
    env.from_collection([1]).key_by(lambda n: key).process(Count()).name("Count").sink_to(
        Collecting()
    )
    error = failure_of(env)
    assert_readable(error)
    assert error.code == code
    assert error.location is not None
    assert error.location.file == __file__
    assert "Count" in str(error)
    assert error.hint


def test_an_event_time_timer_without_timestamps_says_what_to_add(make_env: MakeEnv) -> None:
    env = make_env("batch")
    events = env.from_collection([("a", 1)])
    events.key_by(lambda event: event[0]).process(Alarm()).name("Alarm").sink_to(Collecting())
    error = failure_of(env)
    assert_readable(error)
    assert error.code == "NO_TIMESTAMPS"
    assert "assign_timestamps_and_watermarks" in (error.hint or "")
    assert "'Alarm'" in str(error)


# -- checkpoints of another program ---------------------------------------------------------------


def counting(env: StreamExecutionEnvironment, folder: Path, uid: str) -> Any:
    env.set_checkpoint_directory(str(folder / "checkpoint"))
    source = DataGeneratorSource(numbered, None, RateLimiterStrategy.per_checkpoint(4))
    pairs = env.from_source(source, WatermarkStrategy.no_watermarks(), "pairs")
    counts = pairs.key_by(lambda pair: pair[0]).process(Count()).uid(uid)
    counts.sink_to(FileSink.text(str(folder / "out"), str))
    return env.execute_async()


def snapshot(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_changed_program_on_an_unfinished_checkpoint_is_refused_with_a_diff(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    client = counting(make_env(), tmp_path, "counter")
    wait_for_job(lambda: data_files(tmp_path / "out"), client, "an epoch")
    cancel(client)
    before = snapshot(tmp_path)
    with pytest.raises(CheckpointError) as caught:
        counting(make_env(), tmp_path, "other")
    text = str(caught.value)
    assert caught.value.code == "CHECKPOINT_MISMATCH"
    assert "- operator 'counter' (keyed) is gone" in text
    assert "+ operator 'other' (keyed) is new" in text
    assert str(tmp_path / "checkpoint") in text
    assert caught.value.hint
    assert snapshot(tmp_path) == before, "the refused program has written something"

    with pytest.raises(CheckpointError, match="parallelism: 2 -> 3"):
        counting(make_env().set_parallelism(3), tmp_path, "counter")
    assert snapshot(tmp_path) == before, "the refused program has written something"
