"""Sources that read tables: the contract, ranges, types, and rows that come while they are read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from millstream.common import Row, Types, WatermarkStrategy
from millstream.common.errors import MillstreamError, PlanError
from millstream.common.time import Instant
from millstream.connectors.databases import DatabaseError, DatabaseSource
from millstream.connectors.reading import Progress, opened
from millstream.testing import run_local
from millstream.testing.connectors import check_source
from tests.support.databases import DATABASES, Place, place_of

HOSTILE = "a \"b\" `c` 'd' %s ? ; -- é\\"


@pytest.fixture(params=DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    yield place_of(request.param, request, tmp_path)


def orders(place: Place, count: int, first: int = 1, step: int = 1) -> str:
    table = place.table("id bigint primary key, item varchar(20)", "orders")
    add(place, table, *range(first, first + count * step, step))
    return table


def add(place: Place, table: str, *ids: int) -> None:
    if ids:
        rows = ", ".join(f"({n}, 'item {n}')" for n in ids)
        place.run(f"insert into {place.dialect.table(table)} values {rows}")


def row(number: int) -> Row:
    return Row(id=number, item=f"item {number}")


def values(source: DatabaseSource, epochs: Any = 1) -> list[Any]:
    def program(env: Any) -> Any:
        return env.from_source(source, WatermarkStrategy.no_watermarks(), "rows")

    return run_local(program, epochs=epochs).values()


# -- the contract ----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{"split_by": "id", "splits": 3}, {"order_by": ["item", "id"]}])
def test_a_table_keeps_the_contract(place: Place, how: dict[str, Any]) -> None:
    table = orders(place, 20, first=-3, step=7)
    expected = [row(n) for n in range(-3, -3 + 140, 7)]
    check_source(lambda: DatabaseSource.table(place.database, table, **how), expected=expected)


def test_a_growing_table_keeps_the_contract(place: Place) -> None:
    table, numbers = orders(place, 5), count(100, 10)

    def arrive() -> list[Row]:
        found = [next(numbers) for _ in range(3)]
        add(place, table, *found)
        return [row(n) for n in found]

    check_source(
        lambda: DatabaseSource.growing(place.database, table, column="id", delay=0),
        expected=[row(n) for n in range(1, 6)],
        arrive=arrive,
    )


# -- bounded ---------------------------------------------------------------------------------------


def test_ranges_hold_all_rows_once(place: Place) -> None:
    table = orders(place, 11, step=3)
    for splits in (1, 2, 5, 50):
        source = DatabaseSource.table(place.database, table, split_by="id", splits=splits)
        found = values(source, epochs=2)
        assert sorted(r.id for r in found) == list(range(1, 34, 3))


def test_an_empty_table_has_no_records(place: Place) -> None:
    table = orders(place, 0)
    assert values(DatabaseSource.table(place.database, table, split_by="id", splits=2)) == []
    assert values(DatabaseSource.table(place.database, table, order_by="id")) == []


def test_a_job_keeps_its_ranges_when_the_table_grows(place: Place) -> None:
    """Else the ranges would move, and rows would be read twice."""
    table = orders(place, 10)
    source = DatabaseSource.table(place.database, table, split_by="id", splits=2)
    with opened(source):
        offset = Progress(source, limit=2).next({})
        assert offset["1 to 6"] == 3
    add(place, table, *range(11, 31))
    with opened(source):
        reads = Progress(source).all_reads(offset)
        assert [(r.channel, r.start, r.stop) for r in reads.ranges] == [
            ("1 to 6", 3, 6),
            ("6 to 11", 8, 11),
        ]


def test_an_epoch_counts_rows_and_not_numbers(place: Place) -> None:
    table = orders(place, 6, step=1_000)
    source = DatabaseSource.table(place.database, table, split_by="id")
    with opened(source):
        assert source.advance("1 to 5002", 1, 5_002, 2) == 2_001
        assert source.advance("1 to 5002", 4_001, 5_002, 2) == 5_002


def test_a_query_is_read_by_a_column_of_its_result(place: Place) -> None:
    table = place.dialect.table(orders(place, 10))
    sql = f"select id * 2 as n, item from {table} where id > 7; "
    source = DatabaseSource.query(place.database, sql, split_by="n", splits=2)
    assert sorted(r.n for r in values(source)) == [16, 18, 20]


def test_columns_can_be_chosen(place: Place) -> None:
    table = orders(place, 2)
    source = DatabaseSource.table(place.database, table, split_by="id", columns=["item"])
    assert values(source) == [Row(item="item 1"), Row(item="item 2")]


def test_hostile_names_are_read(place: Place) -> None:
    name, quoted = f"{place.prefix}{HOSTILE}", place.dialect.quote
    place.run(f"create table {quoted(name)} ({quoted(HOSTILE)} bigint, b bigint)")
    place.run(f"insert into {quoted(name)} values (1, 2)")
    source = DatabaseSource.table(place.database, (name,), split_by=HOSTILE)
    ((found, other),) = values(source)
    assert (found, other) == (1, 2)


# -- types -----------------------------------------------------------------------------------------


def test_rows_have_the_types_of_the_columns(place: Place) -> None:
    double = "double precision" if place.name == "postgres" else "double"
    binary = "bytea" if place.name == "postgres" else "blob"
    stamp = "datetime(6)" if place.name == "mariadb" else "timestamp"
    table = place.table(
        f"id bigint primary key, flag boolean, x {double}, d decimal(20, 3), s varchar(9), b {binary}, "
        f"day date, clock time, stamp {stamp}"
    )
    name = place.dialect.table(table)
    place.run(
        f"insert into {name} values (1, ?, 0.5, 12.345, 'ü', ?, '1969-12-31', '23:59:01', "
        "'2024-02-29 12:00:00.123456')",
        (True, b"\x00\xff"),
    )
    place.run(f"insert into {name} (id) values (2)")
    source = DatabaseSource.table(place.database, table, split_by="id")
    kinds = [Types.LONG(), Types.BOOLEAN(), Types.DOUBLE(), Types.BIG_DEC(), Types.STRING()]
    kinds += [Types.PRIMITIVE_ARRAY(Types.BYTE()), Types.SQL_DATE(), Types.SQL_TIME()]
    names = ["id", "flag", "x", "d", "s", "b", "day", "clock", "stamp"]
    assert source.get_produced_type() == Types.ROW_NAMED(names, [*kinds, Types.SQL_TIMESTAMP()])
    first, second = values(source)
    assert tuple(first) == (
        *(1, True, 0.5, Decimal("12.345"), "ü", b"\x00\xff", dt.date(1969, 12, 31)),
        *(dt.time(23, 59, 1), dt.datetime(2024, 2, 29, 12, 0, 0, 123_456)),
    )
    assert tuple(second) == (2, *[None] * 8)


@pytest.mark.servers
def test_types_of_postgresql(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    place = place_of("postgres", request, tmp_path)
    table = place.table(
        "id int primary key, n numeric, a text[], j jsonb, u uuid, z timestamptz, f real, r inet"
    )
    place.run(
        f"insert into {table} values (1, 1.50, '{{a,NULL}}', '{{\"x\": 1}}', "
        "'00000000-0000-0000-0000-000000000001', '2024-01-01 00:00:00+02', 0.5, '10.0.0.1')"
    )
    names = ["id", "n", "a", "j", "u", "z", "f"]
    source = DatabaseSource.table(place.database, table, split_by="id", columns=names)
    (found,) = values(source)
    assert tuple(found) == (
        *(1, Decimal("1.50"), ["a", None], '{"x": 1}', "00000000-0000-0000-0000-000000000001"),
        *(Instant(1_704_060_000, 0), 0.5),
    )
    source = DatabaseSource.table(place.database, table, split_by="id")
    with pytest.raises(DatabaseError, match="'r' is of type inet"):
        source.get_produced_type()


def test_rows_are_columns_where_arrow_has_their_types(place: Place) -> None:
    source = DatabaseSource.table(place.database, orders(place, 3), split_by="id")
    with opened(source):
        (chunk,) = source.read("1 to 4", 1, 4)
        assert isinstance(chunk.values, pa.RecordBatch)


# -- growing ---------------------------------------------------------------------------------------


def test_a_row_is_read_when_its_value_is_old_enough(place: Place) -> None:
    table = orders(place, 3)
    source: Any = DatabaseSource.growing(place.database, table, column="id", delay="10 s")
    now = 0.0
    source.clock = lambda: now
    with opened(source):
        assert source.latest() == {table: 1}
        now = 5.0
        # A transaction that began early commits late.
        add(place, table, 7)
        assert source.latest() == {table: 1}
        now = 10.0
        assert source.latest() == {table: 4}
        add(place, table, 5)
        now = 15.0
        assert source.latest() == {table: 8}
        (chunk,) = source.read(table, 4, 8)
        assert chunk.values.column(0).to_pylist() == [5, 7]


def test_rows_with_one_time_are_all_read(place: Place) -> None:
    kind = "datetime(6)" if place.name == "mariadb" else "timestamp"
    table = place.table(f"word varchar(9), at {kind}")
    name = place.dialect.table(table)
    source: Any = DatabaseSource.growing(place.database, table, column="at", delay="1 s")
    now = 0.0
    source.clock = lambda: now
    for n in range(3):
        place.run(f"insert into {name} values ('a{n}', '2024-01-01 00:00:00.000500')")
    with opened(source):
        progress = Progress(source, limit=1)
        offset = progress.next({})
        now = 2.0
        offset = progress.next(offset)
        place.run(f"insert into {name} values ('b', '2024-01-01 00:00:00.001200')")
        progress.next(offset)
        now = 4.0
        words = []
        for _ in range(3):
            end = progress.next(offset)
            for part in progress.reads(offset, end).ranges:
                for chunk in source.read(part.channel, part.start, part.stop):
                    words += chunk.values.column(0).to_pylist()
            offset = end
        first = progress.reads({}, {**offset, "@first": {table: progress.first(table)}})
        (everything,) = source.read(table, first.ranges[0].start, first.ranges[0].stop)
    assert sorted(everything.values.column(0).to_pylist()) == ["a0", "a1", "a2", "b"]
    assert words in (["b"], ["a0", "a1", "a2", "b"])


def test_a_growing_source_can_start_at_the_end_or_at_a_number(place: Place) -> None:
    table = orders(place, 5)
    for start, expected in (("latest", 6), (3, 3), ("earliest", 1)):
        source = DatabaseSource.growing(
            place.database,
            table,
            column="id",
            delay=0,
            start=start,  # type: ignore[arg-type]
        )
        with opened(source):
            assert Progress(source).first(table) == expected


# -- refusals --------------------------------------------------------------------------------------


def test_positions_need_a_column(place: Place) -> None:
    with pytest.raises(PlanError, match="split_by= or order_by="):
        DatabaseSource.table(place.database, "orders")


def test_a_column_of_texts_gives_no_positions(place: Place) -> None:
    table = orders(place, 1)
    with pytest.raises(PlanError, match="whole numbers are needed"):
        DatabaseSource.table(place.database, table, split_by="item").get_produced_type()


def test_an_unknown_column_or_table_is_named(place: Place) -> None:
    table = orders(place, 1)
    with pytest.raises(MillstreamError, match="has no column 'nr'; it has 'id', 'item'"):
        DatabaseSource.table(place.database, table, split_by="nr").get_produced_type()
    with pytest.raises(DatabaseError, match="DATABASE_NAME"):
        DatabaseSource.table(place.database, "nowhere", split_by="id").get_produced_type()


def test_times_need_a_delay(place: Place) -> None:
    table = place.table("at timestamp")
    source = DatabaseSource.growing(place.database, table, column="at", delay=0)
    with pytest.raises(PlanError, match="the delay is 0"):
        source.get_produced_type()


def test_arguments_of_sources() -> None:
    for start in (1.5, True, "now"):
        with pytest.raises(PlanError, match="BAD_DATABASE"):
            DatabaseSource.growing("sqlite:///x.db", "t", column="id", start=start)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="BAD_DATABASE"):
        DatabaseSource.query("sqlite:///x.db", " ", split_by="id")


def test_a_source_never_shows_its_password() -> None:
    source = DatabaseSource.table("mysql://me:s3cret99@host/db", "t", split_by="id")
    assert "s3cret99" not in repr(source)
    assert "s3cret99" not in source.describe_channels()
