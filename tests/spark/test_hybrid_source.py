"""Sources one after the other on Spark: the order, the end, and a savepoint in the middle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millstream.common import Types, WatermarkStrategy
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import (
    DataGenSource,
    FieldGenerator,
    HybridSource,
    NumberSequenceSource,
)

pytestmark = pytest.mark.spark
NO_TIME = WatermarkStrategy.no_watermarks()
MakeEnv = Callable[..., StreamExecutionEnvironment]


def test_the_second_source_comes_after_the_first(make_env: MakeEnv) -> None:
    env = make_env("streaming", {"millstream.epoch.max-records": 4})
    source = HybridSource(NumberSequenceSource(1, 10, parts=2), NumberSequenceSource(101, 106))
    numbers = env.from_source(source, NO_TIME, "numbers")
    found = list(numbers.map(lambda n: n, Types.LONG()).execute_and_collect())
    assert sorted(found[:10]) == list(range(1, 11))
    assert found[10:] == list(range(101, 107))


def test_generated_rows_as_a_batch_and_as_a_stream(make_env: MakeEnv) -> None:
    fields = {
        "id": FieldGenerator.sequence(1),
        "price": FieldGenerator.random(Types.BIG_DEC(), 0, 10),
        "kind": FieldGenerator.choice(["a", "b"]),
    }
    found: list[Any] = []
    for mode in ("streaming", "batch"):
        env = make_env(mode, {"millstream.epoch.max-records": 40})
        rows = env.from_source(DataGenSource(fields, 100, seed=3, parts=2), NO_TIME, "rows")
        texts = rows.key_by(lambda row: row.kind).map(repr, Types.STRING())
        found.append(sorted(texts.execute_and_collect()))
    assert found[0] == found[1] and len(found[0]) == 100
