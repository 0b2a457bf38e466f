"""A checkpoint of the testing tools, and a source with fewer records than were read."""

from __future__ import annotations

import pytest

from millstream.common import WatermarkStrategy
from millstream.common.errors import CheckpointError
from millstream.datastream import StreamExecutionEnvironment
from millstream.testing import Checkpoint, TestSource, collect, run_local


def run(checkpoint: Checkpoint, *elements: object) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = TestSource(list(elements))
    collect(env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers"))
    run_local(env, checkpoint=checkpoint)


def test_a_source_that_is_shorter_than_what_was_read_is_refused() -> None:
    checkpoint = Checkpoint()
    run(checkpoint, 1, 2, 3, TestSource.EOF(), 4)
    with pytest.raises(CheckpointError, match="SOURCE_SHORTER"):
        run(checkpoint, 1)
