"""Which fields of a source's records anybody looks at, and what `explain` says of reading files."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.common import Configuration, WatermarkStrategy
from millstream.datastream import DataStream, StreamExecutionEnvironment
from millstream.datastream.connectors import FileSource
from millstream.datastream.connectors.print import DiscardingSink
from millstream.datastream.window import TumblingEventTimeWindows

SCHEMA = "key STRING, value BIGINT, ts BIGINT, note STRING"
TIMED = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, _: r.ts)
UNTIMED = WatermarkStrategy.no_watermarks()
WINDOW = TumblingEventTimeWindows.of(1000)
Program = Callable[[DataStream], DataStream]


def stamped(rows: DataStream) -> DataStream:
    return rows.assign_timestamps_and_watermarks(TIMED)


def reading(program: Program, strategy: WatermarkStrategy = UNTIMED, **settings: str) -> str:
    configuration = Configuration.from_dict(
        {f"millstream.files.{k}": v for k, v in settings.items()}
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    rows = env.from_source(FileSource.csv("/in", schema=SCHEMA), strategy, "rows")
    program(rows).sink_to(DiscardingSink())
    (line,) = [li for li in str(env.get_execution_plan()).splitlines() if "read by: " in li]
    return line.partition("read by: ")[2]


@pytest.mark.parametrize(
    ("program", "strategy", "unread"),
    [
        (lambda rows: rows, UNTIMED, ""),
        (lambda rows: rows.map(lambda r: r.key), UNTIMED, "value, ts, note"),
        (lambda rows: rows.map(lambda r: (r[0], r["value"])), TIMED, "note"),
        (lambda rows: rows.filter(lambda r: r.value).map(lambda r: r.key), UNTIMED, "ts, note"),
        (lambda rows: rows.filter(lambda r: r.value), UNTIMED, ""),
        (lambda rows: rows.map(lambda r: r.key + r.note), UNTIMED, ""),
        (lambda rows: rows.map(lambda r: r.other), UNTIMED, ""),
        (lambda rows: rows.map(lambda r: r.key).union(rows.map(lambda r: r.note)), UNTIMED, "value, ts"),
        (lambda rows: stamped(rows).map(lambda r: r.key), UNTIMED, "value, note"),
        (lambda rows: rows.key_by(lambda r: r.key).window(WINDOW).count(), TIMED, "value, note"),
        (lambda rows: rows.key_by(lambda r: r.key).window(WINDOW).sum("value"), TIMED, ""),
        (lambda rows: rows.key_by(lambda r: r.key).window(WINDOW).reduce(lambda a, b: a), TIMED, ""),
        (lambda rows: rows.key_by(lambda r: r.key).sum("value"), UNTIMED, ""),
    ],
)  # fmt: skip
def test_fields_that_nobody_reads(
    program: Program, strategy: WatermarkStrategy, unread: str
) -> None:
    expected = f"the workers; nobody reads {unread}" if unread else "the workers"
    assert reading(program, strategy) == expected


def test_sparks_reader_can_be_forced() -> None:
    assert reading(lambda rows: rows, reader="spark") == "Spark's reader: millstream.files.reader"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (FileSource.text("/in"), "the workers"),
        (FileSource.csv("/in", schema="d DATE"), "Spark's reader: column d is DATE"),
        (FileSource.csv("/in", schema="n INT", multiLine=True), "Spark's reader: option multiLine"),
        (
            FileSource.parquet("/in"),
            "the workers, unless Spark finds columns that only its own reader knows",
        ),
    ],
)
def test_who_reads(source: FileSource, expected: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_source(source, UNTIMED, "rows").sink_to(DiscardingSink())
    assert f"    read by: {expected}\n" in str(env.get_execution_plan())
