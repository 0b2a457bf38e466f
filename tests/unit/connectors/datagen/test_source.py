"""Rows of a seed are the same, whatever cuts, channels and restarts there are."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Types, WatermarkStrategy
from millstream.connectors.datagen.fields import FieldGenerator
from millstream.connectors.datagen.source import FieldsSource
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DataGenSource
from millstream.datastream.window import TumblingEventTimeWindows
from millstream.testing import run_local
from millstream.testing.connectors import check_source
from tests.support.strategies import examples, sampled

START = dt.datetime(2026, 1, 1)
FIELDS = {
    "id": FieldGenerator.sequence(),
    "dice": FieldGenerator.random(Types.INT(), 1, 6),
    "price": FieldGenerator.random(Types.BIG_DEC(), 0, 10, null_rate=0.1),
    "name": FieldGenerator.random(Types.STRING(), length=5, variable_length=True),
    "data": FieldGenerator.random(Types.PRIMITIVE_ARRAY(Types.BYTE()), length=2),
    "at": FieldGenerator.sequence(START, step="1 s", type_info=Types.SQL_TIMESTAMP()),
    "kind": FieldGenerator.choice(["a", "b"], [3, 1]),
    "both": FieldGenerator.expression(lambda row: f"{row.kind}{row.dice}", Types.STRING()),
}


def rows(source: FieldsSource, channel: int, start: int, stop: int) -> list[Any]:
    found = [chunk.values for chunk in source.read(channel, start, stop)]
    return [
        row for batch in found if isinstance(batch, pa.RecordBatch) for row in batch.to_pylist()
    ]


WHOLE = rows(FieldsSource(FIELDS, None, 7), 0, 0, 60)


@examples(30)
@given(parts=st.integers(1, 7), cuts=st.lists(st.integers(0, 8), max_size=4))
def test_a_row_is_a_function_of_seed_and_number(parts: int, cuts: list[int]) -> None:
    source = FieldsSource(FIELDS, None, 7, parts)
    borders = [0, *sorted(cuts), 60 // parts]
    for channel in range(parts):
        pieces = pairwise(borders)
        found = [row for a, b in pieces for row in rows(source, channel, min(a, b), b)]
        assert found == WHOLE[channel::parts][: 60 // parts]


def test_other_seeds_give_other_rows_and_other_fields_none() -> None:
    other = rows(FieldsSource(FIELDS, None, 8), 0, 0, 60)
    assert [row["id"] for row in other] == [row["id"] for row in WHOLE]
    assert [row["dice"] for row in other] != [row["dice"] for row in WHOLE]
    fewer = {name: FIELDS[name] for name in ("dice", "name")}
    assert rows(FieldsSource(fewer, None, 7), 0, 0, 60) == [
        {name: row[name] for name in fewer} for row in WHOLE
    ]


@pytest.mark.slow
@pytest.mark.parametrize("parts", sampled([1, 3], "contract"))
def test_it_keeps_the_contract(parts: int) -> None:
    count = 50 if parts == 1 else None
    assert "restarts" in check_source(lambda: DataGenSource(FIELDS, count, seed=7, parts=parts))


def test_a_job_gets_typed_rows_in_every_schedule() -> None:
    def program(env: StreamExecutionEnvironment) -> Any:
        source = DataGenSource(FIELDS, 40, seed=7, event_time="at", parts=2)
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        stream = env.from_source(source, strategy, "rows")
        windows = stream.key_by(lambda row: row.kind).window(TumblingEventTimeWindows.of("10 s"))
        return windows.reduce(lambda a, b: b if (b.price or 0) > (a.price or 0) else a)

    found = run_local(program).values()
    for epochs in (3, "random"):
        other = run_local(program, epochs=epochs, restarts="every", slots=2).values()
        assert sorted(map(repr, other)) == sorted(map(repr, found))
    assert len(found) >= 4 and all(row.at.second // 10 <= 5 for row in found)


def test_event_times_are_those_of_the_field() -> None:
    for field in (
        FieldGenerator.sequence(START, step="1 s", type_info=Types.SQL_TIMESTAMP()),
        FieldGenerator.sequence(1_767_225_600_000, step=1_000),
    ):
        (chunk,) = FieldsSource({"at": field}, 3, event_time="at").read(0, 0, 3)
        assert list(chunk.timestamps) == [1_767_225_600_000 + 1_000 * n for n in range(3)]  # type: ignore[arg-type]


def test_rows_without_event_time_have_none() -> None:
    field = FieldGenerator.sequence(START, type_info=Types.SQL_TIMESTAMP()).with_null_rate(1)
    (chunk,) = FieldsSource({"at": field}, 1, event_time="at").read(0, 0, 1)
    assert list(chunk.timestamps) == [-(2**63)]  # type: ignore[arg-type]
