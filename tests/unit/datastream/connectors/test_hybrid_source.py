"""HybridSource as programs use it: PyFlink's builder, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.common import Types, WatermarkStrategy
from millstream.common.errors import PlanError
from millstream.connectors.collection import CollectionSource
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import (
    DataGeneratorSource,
    FileSource,
    HybridSource,
    NumberSequenceSource,
    RateLimiterStrategy,
)
from millstream.plan.specs import SocketSpec
from millstream.testing import run_local

ENDLESS = DataGeneratorSource(lambda n: n, None, type_info=Types.LONG())


def test_the_builder_of_flink() -> None:
    def program(env: StreamExecutionEnvironment) -> Any:
        builder = HybridSource.builder(NumberSequenceSource(1, 2))
        source = builder.add_source(NumberSequenceSource(5, 6)).build()
        assert source.bounded and source.get_produced_type() == Types.LONG()
        return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")

    assert run_local(program, epochs=1).values() == [1, 2, 5, 6]


def test_the_last_source_may_have_no_end() -> None:
    assert not HybridSource.builder(NumberSequenceSource(1, 2)).add_source(ENDLESS).build().bounded


def test_a_type_that_is_not_known_of_all_is_not_known() -> None:
    untyped = CollectionSource.of([1])
    assert HybridSource(NumberSequenceSource(1, 2), untyped).get_produced_type() is None


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ([NumberSequenceSource(1, 2), 7], "7 is no source"),
        ([ENDLESS, NumberSequenceSource(1, 2)], "DataGeneratorSource never ends"),
        ([FileSource.text("/data", watch=True)], "a FileSource that watches for files cannot be"),
        ([SocketSpec(host="here", port=1)], "SocketSpec is read by Spark"),
        (
            [
                NumberSequenceSource(1, 2),
                DataGeneratorSource(str, 5, type_info=Types.STRING()),
            ],
            "different types: LONG and STRING",
        ),
        (
            [DataGeneratorSource(str, 5, RateLimiterStrategy.per_second(1))],
            "DataGeneratorSource has a rate",
        ),
    ],
    ids=["no source", "endless", "watched files", "socket", "types", "rate"],
)
def test_what_cannot_be_read_in_a_row_is_refused(sources: list[Any], message: str) -> None:
    with pytest.raises(PlanError, match=message) as info:
        HybridSource(*sources)
    assert info.value.code == "BAD_HYBRID"
    assert info.value.location is not None and info.value.location.file == __file__


def test_explain_names_all_of_them() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = HybridSource(NumberSequenceSource(1, 2, parts=3), ENDLESS)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    assert "3, read by position; then 1, read by position" in str(stream.explain())
