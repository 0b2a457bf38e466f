"""A job on a checkpoint with a damaged file of which the checksum is gone: the error is ours."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millstream.common import WatermarkStrategy
from millstream.common.errors import CheckpointError
from millstream.common.restart_strategy import RestartStrategies
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DataGeneratorSource, FileSink, RateLimiterStrategy
from tests.support.spark.spark_programs import Count, numbered
from tests.support.spark.spark_support import cancel, data_files, wait_for_job

pytestmark = pytest.mark.spark

MakeEnv = Callable[..., StreamExecutionEnvironment]


def started(env: StreamExecutionEnvironment, folder: Path) -> Any:
    env.set_checkpoint_directory(str(folder / "checkpoint"))
    env.set_restart_strategy(RestartStrategies.no_restart())
    source = DataGeneratorSource(numbered, None, RateLimiterStrategy.per_checkpoint(4))
    pairs = env.from_source(source, WatermarkStrategy.no_watermarks(), "pairs").uid("pairs")
    counts = pairs.key_by(lambda pair: pair[0]).process(Count()).uid("count")
    counts.sink_to(FileSink.text(str(folder / "out"), str)).uid("out")
    return env.execute_async()


def newest(folder: Path) -> Path:
    """The file of the last epoch."""
    return max((p for p in folder.iterdir() if p.name.isdigit()), key=lambda p: int(p.name))


def test_a_damaged_checkpoint_without_checksums_is_refused(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    first = tmp_path / "first"
    client = started(make_env(), first)
    wait_for_job(lambda: len(data_files(first / "out")) > 3, client, "some epochs")
    cancel(client)
    query = first / "checkpoint" / "000001" / "query-0"
    state = next(p for p in sorted((query / "state" / "0").iterdir()) if p.name.isdigit())
    # Which versions of the state Spark needs depends on when it has made a snapshot: damage all.
    versions = [
        p for p in state.iterdir() if p.suffix in (".changelog", ".zip") and p.name[0] != "."
    ]
    damaged = {
        "metadata": [query / "metadata"],
        "offsets": [newest(query / "offsets")],
        "operator": [newest(query / "state" / "0" / "_metadata" / "v2")],
        "state": versions,
    }
    for what, paths in damaged.items():
        folder = tmp_path / what
        shutil.copytree(first, folder)
        files = [folder / path.relative_to(first) for path in paths]
        for file in files:
            os.truncate(file, file.stat().st_size // 2)
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
        with pytest.raises(CheckpointError) as caught:
            started(make_env(), folder).wait(60)
        assert caught.value.code == "CHECKPOINT_DAMAGED", what
        assert caught.value.hint
        # Of a change of the state Spark says only that it cannot load it.
        assert what == "state" or str(files[0]) in caught.value.message
