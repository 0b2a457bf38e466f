"""What a user sees when a function ends its process, or takes too much memory: never a Java error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from millstream.common.errors import MillstreamError, UserCodeError
from millstream.datastream import StreamExecutionEnvironment
from millstream.spark.tasks.worker import BEGIN, END
from tests.support.spark.spark_programs import Count
from tests.support.spark.spark_support import Collecting, program_env, run_script

pytestmark = pytest.mark.spark

MakeEnv = Callable[..., StreamExecutionEnvironment]
JVM = ("java.lang", "org.apache.spark", "py4j", "\tat ", "Py4JJavaError", "JVM stacktrace")


def failure_of(env: StreamExecutionEnvironment) -> MillstreamError:
    with pytest.raises(MillstreamError) as caught:
        env.execute()
    text = str(caught.value)
    assert not [word for word in JVM if word in text], text
    return caught.value


def leaves(value: int) -> NoReturn:
    sys.exit(f"enough of {value}")


def interrupts(value: int) -> NoReturn:
    raise KeyboardInterrupt


def closes(value: int) -> NoReturn:
    raise GeneratorExit


def ends_the_process(value: int) -> NoReturn:
    os._exit(3)


def aborts(value: int) -> NoReturn:
    os.abort()


def speaks_our_language(value: int) -> NoReturn:
    raise ValueError(f'{BEGIN}{{"class": "PlanError"}}{END}')


@pytest.mark.parametrize("mode", ["streaming", "batch"])
@pytest.mark.parametrize(
    ("function", "told"),
    [
        (leaves, "SystemExit: enough of 1"),
        (interrupts, "KeyboardInterrupt"),
        (closes, "GeneratorExit"),
        (speaks_our_language, "ValueError: <<<millstream-error"),
    ],
)
def test_a_function_that_wants_to_end_its_process_is_an_error_of_the_program(
    make_env: MakeEnv, mode: str, function: Callable[[int], Any], told: str
) -> None:
    env = make_env(mode)
    env.from_collection([1]).map(function).name("Leave").uid("leave").sink_to(Collecting())
    error = failure_of(env)
    assert isinstance(error, UserCodeError)
    assert (error.operator, error.uid) == ("Leave", "leave")
    assert told in error.message
    assert error.location is not None
    assert error.location.file == __file__
    assert f"in {function.__name__}:" in error.user_traceback


def test_it_is_the_same_in_a_keyed_function(make_env: MakeEnv) -> None:
    class Leave(Count):
        def process_element(self, value: Any, ctx: Any) -> NoReturn:
            sys.exit(1)

    env = make_env()
    keyed = env.from_collection([1]).key_by(lambda n: n)
    keyed.process(Leave()).name("Leave").sink_to(Collecting())
    error = failure_of(env)
    assert isinstance(error, UserCodeError)
    assert error.operator == "Leave"
    assert "SystemExit: 1" in error.message
    assert "in process_element: sys.exit(1)" in error.user_traceback


def test_it_is_the_same_in_functions_of_sinks(make_env: MakeEnv) -> None:
    env = make_env()
    env.from_collection([1]).foreach_batch(lambda frame, epoch: leaves(epoch)).name("Batches")
    error = failure_of(env)
    assert isinstance(error, UserCodeError)
    assert (error.operator, "SystemExit: enough of 0" in error.message) == ("Batches", True)
    env = make_env()
    env.from_collection([1]).add_sink(leaves).name("Records")
    error = failure_of(env)
    assert isinstance(error, UserCodeError)
    assert (error.operator, "SystemExit: enough of 1" in error.message) == ("Records", True)


def test_a_process_that_is_gone_has_left_a_note(make_env: MakeEnv) -> None:
    env = make_env()
    env.from_collection([1]).map(ends_the_process).name("Leave").sink_to(Collecting())
    error = failure_of(env)
    assert isinstance(error, UserCodeError)
    assert error.operator == "Leave"
    assert "os._exit(3)" in error.message
    assert "in ends_the_process: os._exit(3)" in error.user_traceback


def test_a_process_that_crashes_names_the_line(make_env: MakeEnv) -> None:
    env = make_env()
    env.from_collection([1]).map(aborts).sink_to(Collecting())
    error = failure_of(env)
    assert error.code == "WORKER_DIED"
    assert error.location is not None
    assert (error.location.file, error.location.code) == (__file__, "os.abort()")


# -- memory ----------------------------------------------------------------------------------------

LIMIT = {"millstream.worker.memory": "600 mb"}


def test_a_function_that_takes_too_much_memory_fails_by_a_limit_that_is_named(
    make_env: MakeEnv,
) -> None:
    env = make_env("streaming", LIMIT)
    env.from_collection([1]).map(lambda n: len(bytearray(700 << 20))).name("Greedy").sink_to(
        Collecting()
    )
    error = failure_of(env)
    assert error.code == "WORKER_MEMORY"
    assert "its limit of 600 MB in operator 'Greedy'" in error.message
    assert error.location is not None
    assert "millstream.worker.memory" in (error.hint or "")


def test_a_key_whose_records_do_not_fit_fails_by_the_limit(make_env: MakeEnv) -> None:
    """A hot key: a window function gets all its records at once."""
    env = make_env("streaming", LIMIT)
    blobs = env.from_collection(range(64)).map(lambda n: bytes(16 << 20))
    blobs.key_by(lambda blob: 0).process(Hoard()).name("Hoard").sink_to(Collecting())
    error = failure_of(env)
    assert error.code == "WORKER_MEMORY"
    assert "600 MB" in error.message


def test_a_record_that_does_not_fit_fails_by_the_limit(make_env: MakeEnv) -> None:
    """A record is in memory a few times over: as an object, as bytes, and in a batch of rows."""
    env = make_env("streaming", LIMIT)
    records = env.from_collection([1]).map(lambda n: bytes(350 << 20))
    records.key_by(len).process(Count()).sink_to(Collecting())
    error = failure_of(env)
    assert error.code == "WORKER_MEMORY"
    assert "600 MB" in error.message


class Hoard(Count):
    """Keeps all it sees."""

    kept: list[bytes] = []

    def process_element(self, value: bytes, ctx: Any) -> Any:
        self.kept.append(bytes(value))
        return [len(self.kept)]


def test_a_job_after_one_that_ran_out_of_memory_runs(make_env: MakeEnv) -> None:
    env, sink = make_env("streaming"), Collecting()
    env.from_collection([1]).map(lambda n: len(bytearray(700 << 20))).sink_to(sink)
    env.execute()
    assert sink.values == [700 << 20]


# -- a session whose workers do not have Millstream ----------------------------------------------

APP = """
from pyspark.sql import SparkSession
from millstream.datastream import StreamExecutionEnvironment

session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
env = StreamExecutionEnvironment.get_execution_environment(spark=session)
env.from_collection([1]).print()
env.execute()
"""


def test_workers_that_cannot_import_millstream_are_found_at_submit(tmp_path: Path) -> None:
    (tmp_path / "hide").mkdir()
    (tmp_path / "hide" / "millstream.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'millstream'\")\n"
    )
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\nPYTHONPATH="{tmp_path}/hide:$PYTHONPATH" exec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    (tmp_path / "app.py").write_text(APP)
    done = run_script(tmp_path / "app.py", env=program_env(PYSPARK_PYTHON=str(python)))
    assert done.code != 0
    end = done.err[done.err.rindex("millstream.common.errors.EnvironmentSetupError") :]
    assert "[WORKERS_WITHOUT_MILLSTREAM]" in end
    assert "No module named 'millstream'" in end
    assert "set PYSPARK_PYTHON to an interpreter in which Millstream is installed" in end
    assert sys.executable in end
    assert not [word for word in JVM if word in end], end
