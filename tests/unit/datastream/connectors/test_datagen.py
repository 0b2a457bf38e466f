"""The source of generated rows, as programs use it."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.common import Types, WatermarkStrategy
from millstream.common.errors import PlanError
from millstream.connectors.source import Limits
from millstream.datastream import StreamExecutionEnvironment, connectors
from millstream.datastream.connectors import DataGenSource, FieldGenerator, RateLimiterStrategy
from millstream.testing import run_local

ID = {"id": FieldGenerator.sequence(1)}


def values(source: DataGenSource) -> list[Any]:
    def program(env: StreamExecutionEnvironment) -> Any:
        return env.from_source(source, WatermarkStrategy.no_watermarks(), "rows")

    return run_local(program).values()


def test_it_ends_with_the_count_or_the_shortest_sequence() -> None:
    assert [row.id for row in values(DataGenSource(ID, 3))] == [1, 2, 3]
    ends = {**ID, "few": FieldGenerator.sequence(0, 1), "more": FieldGenerator.sequence(0, 9)}
    assert [row.few for row in values(DataGenSource(ends, 5))] == [0, 1]
    assert DataGenSource(ends).bounded
    assert not DataGenSource(ID).bounded


def test_channels_share_the_rate_and_the_rows() -> None:
    source = DataGenSource(ID, 5, RateLimiterStrategy.per_second(100), parts=4)
    (part,) = source.parts()
    assert part.limits() == Limits(per_second=25)
    assert part.latest() == {0: 2, 1: 1, 2: 1, 3: 1}
    assert sorted(row.id for row in values(DataGenSource(ID, 5, parts=4))) == [1, 2, 3, 4, 5]


def test_its_type_is_that_of_the_fields() -> None:
    fields = {**ID, "price": FieldGenerator.random(Types.BIG_DEC(), 0, 1)}
    expected = Types.ROW_NAMED(["id", "price"], [Types.LONG(), Types.BIG_DEC()])
    assert DataGenSource(fields).get_produced_type() == expected


def test_options_of_the_table_connector() -> None:
    columns = Types.ROW_NAMED(["id", "word"], [Types.LONG(), Types.STRING()])
    options = {
        "connector": "datagen",
        "number-of-rows": "3",
        "fields.id.kind": "sequence",
        "fields.id.start": "5",
        "fields.id.end": "100",
        "fields.word.length": "2",
    }
    (part,) = DataGenSource.from_options(columns, options).parts()
    assert (part.rows, part.limits()) == (3, Limits(per_second=10_000))
    slow = DataGenSource.from_options(columns, {**options, "rows-per-second": "1"})
    assert slow.parts()[0].limits() == Limits(per_second=1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: DataGenSource({}),
        lambda: DataGenSource({"id": 7}),  # type: ignore[dict-item]
        lambda: DataGenSource(ID, seed="x"),  # type: ignore[arg-type]
        lambda: DataGenSource(ID, event_time="at"),
        lambda: DataGenSource({"id": FieldGenerator.choice(["a"])}, event_time="id"),
    ],
)
def test_what_cannot_be_generated_is_refused_at_the_line(make: Any) -> None:
    with pytest.raises(PlanError) as info:
        make()
    assert info.value.code == "BAD_FIELD_GENERATOR"
    assert info.value.location is not None and info.value.location.file == __file__


@pytest.mark.parametrize("count", [0, -1, True])
def test_a_count_is_positive(count: int) -> None:
    with pytest.raises(PlanError, match="count must be a positive number"):
        DataGenSource(ID, count)


def test_names_that_are_loaded_later_are_those_of_their_module() -> None:
    assert connectors.DataGenSource is DataGenSource
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        connectors.Nonsense  # type: ignore[attr-defined]  # noqa: B018
