"""SQL jobs on Spark: stopped with a savepoint, and gone on with in another number of parts."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millstream.datastream import StreamExecutionEnvironment
from tests.chaos.sql_job import insert, write_tables
from tests.chaos.sql_truth import SqlOutput, expected, output
from tests.support.spark.spark_support import wait_for_job

pytestmark = pytest.mark.spark

MakeEnv = Callable[..., StreamExecutionEnvironment]
RECORDS = 80
IN_EPOCHS = {"millstream.epoch.max-records": 6}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: Any) -> Path:
    folder: Path = tmp_path_factory.mktemp("tables") / "in"
    write_tables(folder, RECORDS, 12)
    return folder


@pytest.fixture(scope="module")
def stopped(spark: Any, inputs: Path, tmp_path_factory: Any) -> Path:
    """A job that was stopped in the middle: what it has written, and its savepoint."""
    folder: Path = tmp_path_factory.mktemp("stopped")
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark).set_parallelism(2)
    env.configure({**IN_EPOCHS, "millstream.progress": "false"})
    env.set_checkpoint_directory(str(folder / "checkpoint"))
    client = insert(env, inputs, folder / "job").get_job_client()
    wait_for_job(lambda: client.metrics().epoch >= 3, client, "epoch 3")
    client.stop_with_savepoint(str(folder / "saved"))
    return folder


def written(folder: Path) -> SqlOutput:
    found = output(folder)
    assert found.files
    assert all(found.tables.values())
    return found


def test_a_stopped_job_goes_on_in_another_number_of_parts(
    make_env: MakeEnv, inputs: Path, stopped: Path, tmp_path: Path
) -> None:
    """What it writes is what a batch writes, see tests/chaos/test_sql_truth.py."""
    shutil.copytree(stopped / "job", tmp_path / "job")
    assert written(tmp_path / "job").difference(expected(RECORDS)), "it had ended before"
    env = make_env("streaming", {"millstream.slots": 5}).set_parallelism(1)
    env.set_checkpoint_directory(str(tmp_path / "checkpoint"))
    env.restore_from_savepoint(str(stopped / "saved"))
    insert(env, inputs, tmp_path / "job").wait()
    assert not written(tmp_path / "job").difference(expected(RECORDS))
