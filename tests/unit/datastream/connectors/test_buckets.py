"""File sinks with buckets: where records go, and when a bucket is complete."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from millstream.common import Row, Types, WatermarkStrategy
from millstream.common.errors import FormatError, PlanError, UserCodeError
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors.file_policies import BucketAssigner
from millstream.datastream.connectors.file_system import FileSink
from millstream.testing import run_local

HOUR = 3_600_000
HOURS = BucketAssigner.event_time_bucket_assigner("'hour='HH")
ROW = Types.ROW_NAMED(["word", "at"], [Types.STRING(), Types.LONG()])


def files(folder: Path) -> dict[str, list[str]]:
    """The lines of each bucket, and its marker."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "_millstream" not in path.parts:
            bucket = str(path.parent.relative_to(folder))
            lines = [path.name] if path.name == "_SUCCESS" else path.read_text().split()
            found.setdefault(bucket, []).extend(lines)
    return found


def write(sink: FileSink, times: list[int], **options: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: value
    )
    stream = env.from_collection(times, Types.LONG())
    stream.assign_timestamps_and_watermarks(strategy).sink_to(sink)
    run_local(env, write=True, **options)


def hourly(folder: Path, delay: Any = None) -> FileSink:
    builder = FileSink.text(str(folder)).to_builder().with_bucket_assigner(HOURS)
    return (builder if delay is None else builder.with_success_marker(delay)).build()


def test_records_go_into_the_bucket_of_their_event_time(tmp_path: Path) -> None:
    write(hourly(tmp_path), [1, HOUR - 1, HOUR, 3 * HOUR])
    assert files(tmp_path) == {
        "hour=00": ["1", str(HOUR - 1)],
        "hour=01": [str(HOUR)],
        "hour=03": [str(3 * HOUR)],
    }


def test_a_bucket_is_complete_when_the_watermark_has_passed_it(tmp_path: Path) -> None:
    write(hourly(tmp_path, 0), [1, HOUR, 2 * HOUR])
    # At its end the job has seen all there is: the last bucket is complete too.
    assert files(tmp_path) == {
        "hour=00": ["_SUCCESS", "1"],
        "hour=01": ["_SUCCESS", str(HOUR)],
        "hour=02": ["_SUCCESS", str(2 * HOUR)],
    }


def test_success_markers_need_event_time(tmp_path: Path) -> None:
    builder = FileSink.text(str(tmp_path)).to_builder().with_success_marker("1 h")
    with pytest.raises(PlanError, match="NO_EVENT_TIME_BUCKETS"):
        builder.build()


def test_a_record_without_event_time_has_no_bucket(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).sink_to(hourly(tmp_path))
    with pytest.raises(UserCodeError, match="BAD_BUCKET"):
        run_local(env, write=True)


@pytest.mark.parametrize("type_info", [ROW, None])
def test_rows_by_field_as_parquet(tmp_path: Path, type_info: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    rows = [Row(word="a", at=1), Row(word="b/c", at=2), Row(word=None, at=3), Row(word="a", at=4)]
    by_word = BucketAssigner.field_bucket_assigner("word")
    sink = FileSink.parquet(str(tmp_path)).to_builder().with_bucket_assigner(by_word).build()
    env.from_collection(rows, type_info).sink_to(sink)
    run_local(env, write=True)
    found = {
        str(path.parent.relative_to(tmp_path)): pq.ParquetFile(path).read().to_pylist()
        for path in tmp_path.rglob("*.parquet")
    }
    assert found == {
        "word=a": [{"word": "a", "at": 1}, {"word": "a", "at": 4}],
        "word=b%2Fc": [{"word": "b/c", "at": 2}],
        "word=__HIVE_DEFAULT_PARTITION__": [{"word": None, "at": 3}],
    }


def test_buckets_of_a_function(tmp_path: Path) -> None:
    odd = BucketAssigner.of(lambda n: f"odd={n % 2}/n")
    sink = FileSink.text(str(tmp_path)).to_builder().with_bucket_assigner(odd).build()
    write(sink, [1, 2, 3])
    assert files(tmp_path) == {"odd=0/n": ["2"], "odd=1/n": ["1", "3"]}


@pytest.mark.parametrize("path", ["", "/a", "a//b", "../a", "_a", ".a", "a/_b", None, 7])
def test_what_is_no_bucket(path: Any) -> None:
    with pytest.raises(FormatError, match="BAD_BUCKET"):
        BucketAssigner.of(lambda _: path).bucket("a", None)
