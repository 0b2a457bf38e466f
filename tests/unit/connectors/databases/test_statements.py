"""The sink for the user's own statement, by PyFlink's names."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from millstream.common import Row, Types
from millstream.common.errors import MillstreamError, PlanError
from millstream.common.time import Instant
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
)
from millstream.testing import run_local
from millstream.testing.connectors import check_sink
from tests.support.databases import DATABASES, Place, place_of, write_part

PAIRS = Types.ROW([Types.STRING(), Types.LONG()])


@pytest.fixture(params=DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    yield place_of(request.param, request, tmp_path)


def own_markers(place: Place, sink: JdbcSink) -> JdbcSink:
    """A sink with markers that no other test has."""
    return replace(sink, markers=f"{place.prefix}epochs")


def options(place: Place) -> JdbcConnectionOptions:
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
    if place.name == "sqlite":
        return builder.with_url(f"jdbc:sqlite:{place.database.name}").build()
    url = f"jdbc:{place.database.address}".replace(f"{place.database.user}@", "")
    return (
        builder.with_url(f"{url}?useSSL=false")
        .with_driver_name("org.example.Driver")
        .with_user_name(str(place.database.user))
        .build()
    )


def test_a_statement_keeps_the_contract(place: Place) -> None:
    tables: dict[Path, str] = {}

    def table(folder: Path) -> str:
        if folder not in tables:
            tables[folder] = place.table("word varchar(100), n bigint", folder.name)
        return tables[folder]

    def make(folder: Path) -> JdbcSink:
        sql = f"insert into {place.dialect.table(table(folder))} values (?, ?)"
        made = JdbcSink.sink(sql, PAIRS, options(place))
        return replace(made, markers=f"{place.prefix}epochs_{folder.name}")

    passed = check_sink(make, lambda folder: place.rows(table(folder)), crashes=2)
    assert len(passed) == 11


def test_a_program_of_pyflink_writes_its_words(place: Place) -> None:
    table = place.table("word varchar(100) primary key, n bigint")
    name = place.dialect.table(table)
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([Row("a", 1), Row("b?", 2), Row("100 %s", 3)], PAIRS)
    stream.add_sink(
        JdbcSink.sink(
            f"insert into {name} (word, n) values (?, ? * 10) -- why?",
            PAIRS,
            options(place),
            JdbcExecutionOptions.builder().with_batch_size(2).with_max_retries(1).build(),
        )
    )
    run_local(env, write=True)
    assert place.rows(table) == [("100 %s", 30), ("a", 10), ("b?", 20)]


def test_values_of_all_types_reach_the_driver(place: Place) -> None:
    kind = "datetime" if place.name == "mariadb" else "timestamp"
    table = place.table(
        f"id bigint, d decimal(9, 2), day date, at {kind}, seen {kind}, flag boolean, note varchar(9)"
    )
    sql = f"insert into {place.dialect.table(table)} values (?, ?, ?, ?, ?, ?, ?)"
    sink = own_markers(place, JdbcSink.sink(sql, None, options(place)))  # type: ignore[arg-type]
    day, at = dt.date(2024, 1, 2), dt.datetime(2024, 1, 2, 3, 4, 5)
    write_part(sink, [(1, Decimal("1.25"), day, at, Instant(0, 0), True, None)])
    sink.close()
    ((number, decimal, *times, flag, note),) = place.rows(table)
    assert (number, float(decimal), bool(flag), note) == (1, 1.25, True, None)
    assert [str(time) for time in times] == [
        *("2024-01-02", "2024-01-02 03:04:05", "1970-01-01 00:00:00"),
    ]


def test_a_row_that_is_refused_is_shown_and_nothing_is_written(place: Place) -> None:
    table = place.table("word varchar(100) primary key, n bigint")
    sql = f"insert into {place.dialect.table(table)} values (?, ?)"
    sink = own_markers(place, JdbcSink.sink(sql, PAIRS, options(place)))
    with pytest.raises(MillstreamError, match="DATABASE_VALUE"):
        write_part(sink, [("a", 1), ("b", 2), ("a", 3)])
    sink.close()
    assert place.rows(table) == []


def test_marks_and_fields_must_be_as_many() -> None:
    made = JdbcConnectionOptions("jdbc:sqlite:x.db")
    with pytest.raises(PlanError, match="1 question marks, and a record has 2 fields"):
        JdbcSink.sink("insert into t values (?)", PAIRS, made)


def test_a_record_with_other_fields_is_refused(place: Place) -> None:
    table = place.table("word varchar(100), n bigint")
    sql = f"insert into {place.dialect.table(table)} values (?, ?)"
    sink = own_markers(place, JdbcSink.sink(sql, PAIRS, options(place)))
    with pytest.raises(MillstreamError, match="TYPE_MISMATCH"):
        write_part(sink, [("a", 1, 2)])
    sink.close()


def test_options_of_flink() -> None:
    made = JdbcExecutionOptions.defaults()
    assert (made.get_batch_interval_ms(), made.get_batch_size(), made.get_max_retries()) == (
        *(0, 5_000, 3),
    )
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
    with pytest.raises(PlanError, match="with_url"):
        builder.build()
    found = builder.with_url("jdbc:mysql://h/d").with_user_name("me").with_password("s3cret99")
    connection = found.with_driver_name("com.mysql.cj.jdbc.Driver").build()
    assert connection.get_db_url() == "jdbc:mysql://h/d"
    assert connection.get_user_name() == "me"
    assert connection.get_password() == "s3cret99"
    assert connection.get_driver_name() == "com.mysql.cj.jdbc.Driver"
    assert "s3cret99" not in repr(connection)
    assert "s3cret99" not in repr(JdbcSink.sink("insert into t values (?, ?)", PAIRS, connection))


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "many"])
def test_options_are_numbers(wrong: Any) -> None:
    with pytest.raises(PlanError):
        JdbcExecutionOptions.builder().with_max_retries(wrong)
    with pytest.raises(PlanError):
        JdbcExecutionOptions.builder().with_batch_size(wrong)
