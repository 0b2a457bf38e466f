"""Databases on real Spark: each record once after failures, columns, sources that are divided."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream.common import RestartStrategies, Row, Types, WatermarkStrategy
from millstream.datastream import AsyncDataStream, StreamExecutionEnvironment
from millstream.datastream.connectors import DataGeneratorSource, RateLimiterStrategy
from millstream.datastream.connectors.databases import (
    DatabaseLookup,
    DatabaseSink,
    DatabaseSource,
)
from tests.support.databases import DATABASES, Place, place_of

pytestmark = pytest.mark.spark

MakeEnv = Callable[..., StreamExecutionEnvironment]
PAIRS = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])


@pytest.fixture(params=DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    yield place_of(request.param, request, tmp_path)


def numbered(n: int) -> Row:
    return Row(word=f"word {n % 5}", n=n)


def test_upserts_of_a_job_that_fails_and_starts_again(
    make_env: MakeEnv, place: Place, tmp_path: Path
) -> None:
    table = place.table("word varchar(100) primary key, n bigint")
    flag = tmp_path / "failed"

    class FailingSink(DatabaseSink):
        def open_part(self, context: Any) -> Any:
            writer = super().open_part(context)
            write_all = writer.write_all

            def fail_once() -> None:
                write_all()
                if context.epoch == 1 and not flag.exists():
                    flag.touch()
                    raise RuntimeError("lost before the commit")

            writer.write_all = fail_once  # type: ignore[method-assign]
            return writer

    env = make_env()
    env.set_checkpoint_directory(str(tmp_path / "checkpoint"))
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
    limit = RateLimiterStrategy.per_checkpoint(8)
    source = DataGeneratorSource(numbered, 24, limit, PAIRS, parts=2)
    pairs = env.from_source(source, WatermarkStrategy.no_watermarks(), "pairs")
    totals = pairs.key_by(lambda pair: pair.word).sum("n")
    sink = FailingSink(
        database=place.database,
        table=table,
        mode="upsert",
        key=("word",),
        markers=f"{place.prefix}epochs",
    )
    totals.sink_to(sink).uid("totals")
    env.execute()
    assert flag.exists()
    expected = [(f"word {w}", sum(n for n in range(24) if n % 5 == w)) for w in range(5)]
    assert place.rows(table) == expected


def test_a_table_is_read_in_ranges_looked_up_and_written(make_env: MakeEnv, place: Place) -> None:
    orders = place.table("id bigint primary key, item varchar(20)", "orders")
    items = place.table("name varchar(20) primary key, price bigint", "items")
    result = place.table("id bigint, price bigint", "priced")
    rows = ", ".join(f"({n}, 'item {n % 3}')" for n in range(30))
    place.run(f"insert into {place.dialect.table(orders)} values {rows}")
    place.run(f"insert into {place.dialect.table(items)} values ('item 0', 5), ('item 1', 7)")
    env = make_env("batch")
    source = DatabaseSource.table(place.database, orders, split_by="id", splits=4)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
    lookup = DatabaseLookup(
        place.database, items, "item", "name", "left", lambda r, i: (r.id, i and i.price)
    )
    priced = AsyncDataStream.unordered_wait(
        stream, lookup, "60 s", output_type=Types.TUPLE([Types.LONG(), Types.LONG()])
    )
    priced.sink_to(DatabaseSink.append(place.database, result, markers=f"{place.prefix}epochs"))
    env.execute()
    prices = {0: 5, 1: 7, 2: None}
    assert sorted(place.rows(result)) == [(n, prices[n % 3]) for n in range(30)]
