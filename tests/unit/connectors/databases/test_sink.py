"""The sink for tables: what it writes, and that nothing is lost or written twice, on each database."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from millstream.common import Row, RowKind, Types
from millstream.common.errors import CheckpointError, MillstreamError, PlanError
from millstream.common.time import Instant
from millstream.connectors.databases import Database, DatabaseError, DatabaseSink
from millstream.connectors.databases import sink as sinks
from millstream.connectors.sink import PartContext, PartMarker, SinkContext
from millstream.datastream import StreamExecutionEnvironment
from millstream.testing import run_local
from millstream.testing.connectors import check_sink
from millstream.testing.connectors.sinks import numbered
from tests.support.databases import DATABASES, SERVERS, Place, place_of, write_part
from tests.support.strategies import scaled

HOSTILE = "a \"b\" `c` 'd' %s ? ; -- é\\"
PAIRS = "word varchar(100) primary key, n bigint"


@pytest.fixture(params=DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    yield place_of(request.param, request, tmp_path)


# -- the contract ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_the_contract_holds_whatever_fails(place: Place, mode: str) -> None:
    tables: dict[Path, str] = {}

    def table(folder: Path) -> str:
        if folder not in tables:
            tables[folder] = place.table(PAIRS, folder.name)
        return tables[folder]

    def make(folder: Path) -> DatabaseSink:
        database, markers = place.database, f"{place.prefix}epochs_{folder.name}"
        if mode == "append":
            return DatabaseSink.append(database, table(folder), markers=markers)
        return DatabaseSink.upsert(database, table(folder), key="word", markers=markers)

    passed = check_sink(make, lambda folder: place.rows(table(folder)), crashes=scaled(3, fewest=1))
    assert len(passed) == 11


@pytest.mark.slow
def test_the_contract_holds_for_deletes(place: Place) -> None:
    """The table has a row for each record of the kit; a reader sees the rows that are gone."""
    rows = [numbered(number) for number in range(1_000)]
    tables: dict[Path, str] = {}

    def table(folder: Path) -> str:
        if folder not in tables:
            tables[folder] = place.table(PAIRS, folder.name)
            filling = f"{place.prefix}filling_{folder.name}"
            filled = DatabaseSink.append(place.database, tables[folder], markers=filling)
            write_part(filled, rows)
            filled.close()
        return tables[folder]

    def make(folder: Path) -> DatabaseSink:
        markers = f"{place.prefix}epochs_{folder.name}"
        return DatabaseSink.delete(place.database, table(folder), key="word", markers=markers)

    def gone(folder: Path) -> list[Any]:
        return sorted(set(rows) - set(place.rows(table(folder))))

    assert len(check_sink(make, gone, crashes=2)) == 11


def test_an_epoch_is_written_once(place: Place) -> None:
    table = place.table("word varchar(100), n bigint")
    sink = DatabaseSink.append(place.database, table, markers=f"{place.prefix}epochs")
    assert write_part(sink, [("a", 1)])
    assert not write_part(sink, [("a", 1)])
    assert write_part(sink, [("a", 2)], epoch=1)
    sink.close()
    assert place.rows(table) == [("a", 1), ("a", 2)]


def test_a_zombie_of_an_earlier_attempt_writes_nothing(place: Place) -> None:
    table = place.table("word varchar(100), n bigint")
    sink = DatabaseSink.append(place.database, table, markers=f"{place.prefix}epochs")
    write_part(sink, [("a", 1)], epoch=5, attempt=2)
    with pytest.raises(CheckpointError, match="LEASE_LOST"):
        write_part(sink, [("zombie", 6)], epoch=6, attempt=1)
    sink.close()
    assert place.rows(table) == [("a", 1)]


def test_another_part_with_other_records_is_refused(place: Place) -> None:
    table = place.table("word varchar(100), n bigint")
    sink = DatabaseSink.append(place.database, table, markers=f"{place.prefix}epochs")
    write_part(sink, [("a", 1)], fingerprint="1-a")
    with pytest.raises(CheckpointError, match="PART_CHANGED"):
        write_part(sink, [("a", 1), ("b", 2)], fingerprint="2-b")
    sink.close()


def test_markers_keep_the_number_of_parts(place: Place) -> None:
    table = place.table("word varchar(100), n bigint")
    sink = DatabaseSink.append(place.database, table, markers=f"{place.prefix}epochs")
    context = SinkContext(job_id="job", sink="sink")
    assert sink.last_markers(context) == {}
    write_part(sink, [("a", 1)], part=2, fingerprint="1-a of 3")
    write_part(sink, [("b", 1)], part=7, epoch=1, fingerprint="1-b")
    assert sink.last_markers(context) == {2: PartMarker(0, "1-a of 3"), 7: PartMarker(1, "1-b")}
    assert sink.last_markers(replace(context, job_id="other")) == {}
    with pytest.raises(CheckpointError, match=r"PART_CHANGED.*in 3 parts and is replayed in 4"):
        write_part(sink, [("a", 1)], part=2, fingerprint="1-a of 4")
    # A marker of an earlier version has no number.
    assert not write_part(sink, [("b", 1)], part=7, epoch=1, fingerprint="1-b of 4")
    sink.close()
    assert place.rows(table) == [("a", 1), ("b", 1)]


# -- upserts and deletes ---------------------------------------------------------------------------


def test_the_last_record_of_a_key_counts(place: Place) -> None:
    table = place.table(PAIRS)
    sink = DatabaseSink.upsert(place.database, table, key="word", markers=f"{place.prefix}epochs")
    write_part(sink, [("b", 1), ("a", 1), ("b", 2), ("a", 2), ("b", 3)])
    write_part(sink, [("a", 3), ("c", 1)], epoch=1)
    sink.close()
    assert place.rows(table) == [("a", 3), ("b", 3), ("c", 1)]


def test_a_column_that_is_not_written_keeps_its_value(place: Place) -> None:
    table = place.table("id bigint primary key, n bigint, note varchar(20) default 'new'")
    name = place.dialect.table(table)
    place.run(f"insert into {name} (id, n, note) values (1, 1, 'old')")
    sink = DatabaseSink.upsert(
        place.database, table, key="id", columns=["id", "n"], markers=f"{place.prefix}epochs"
    )
    write_part(sink, [(1, 5), (2, 6)])
    sink.close()
    assert place.rows(table) == [(1, 5, "old"), (2, 6, "new")]


def test_a_table_of_key_columns_only(place: Place) -> None:
    table = place.table("a bigint, b bigint, primary key (a, b)")
    sink = DatabaseSink.upsert(
        place.database, table, key=["a", "b"], markers=f"{place.prefix}epochs"
    )
    write_part(sink, [(1, 1), (1, 2), (1, 1)])
    write_part(sink, [(1, 1), (2, 2)], epoch=1)
    sink.close()
    assert place.rows(table) == [(1, 1), (1, 2), (2, 2)]


def test_changes_of_a_changelog_replace_and_delete_rows(place: Place) -> None:
    table = place.table(PAIRS)
    rows = [
        Row.of_kind(RowKind.INSERT, "a", 1),
        Row.of_kind(RowKind.INSERT, "b", 1),
        Row.of_kind(RowKind.UPDATE_BEFORE, "a", 1),
        Row.of_kind(RowKind.UPDATE_AFTER, "a", 2),
        Row.of_kind(RowKind.DELETE, "b", 1),
        Row.of_kind(RowKind.INSERT, "c", 1),
        Row.of_kind(RowKind.DELETE, "c", 1),
        Row.of_kind(RowKind.INSERT, "c", 2),
    ]
    for epochs in (1, 3, len(rows)):
        place.run(f"delete from {place.dialect.table(table)}")
        env = StreamExecutionEnvironment.get_execution_environment()
        changes = env.from_collection(rows).changelog(Types.ROW([Types.STRING(), Types.LONG()]))
        markers = f"{place.prefix}epochs_{epochs}"
        changes.sink_to(DatabaseSink.upsert(place.database, table, key="word", markers=markers))
        run_local(env, epochs=epochs, write=True)
        assert place.rows(table) == [("a", 2), ("c", 2)]


def test_rows_are_deleted_by_key(place: Place) -> None:
    table = place.table("a bigint, b bigint, n bigint, primary key (a, b)")
    name = place.dialect.table(table)
    place.run(f"insert into {name} values (1, 1, 5), (1, 2, 6), (2, 1, 7)")
    sink = DatabaseSink.delete(
        place.database, table, key=["a", "b"], markers=f"{place.prefix}epochs"
    )
    write_part(sink, [(1, 1), (9, 9)])
    sink.close()
    assert place.rows(table) == [(1, 2, 6), (2, 1, 7)]


def test_a_sink_that_adds_refuses_to_take_back(place: Place) -> None:
    table = place.table("word varchar(100), n bigint")
    sink = DatabaseSink.append(place.database, table, markers=f"{place.prefix}epochs")
    with pytest.raises(PlanError, match="CHANGES_REFUSED"):
        write_part(sink, [Row.of_kind(RowKind.DELETE, "a", 1)])
    sink.close()


def test_parts_that_write_the_same_keys_do_not_end_each_other(place: Place) -> None:
    table = place.table(PAIRS)
    sink = DatabaseSink.upsert(place.database, table, key="word", markers=f"{place.prefix}epochs")
    words = [f"word {n % 200}" for n in range(400)]
    failures: list[BaseException] = []
    together = threading.Barrier(2)

    def write(part: int, order: list[str]) -> None:
        try:
            for epoch in range(5):
                together.wait()
                rows = [(word, part) for word in order]
                write_part(sink, rows, epoch, part=part)
        except BaseException as error:
            failures.append(error)

    threads = [
        threading.Thread(target=write, args=(part, order))
        for part, order in enumerate((words, words[::-1]))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sink.close()
    assert failures == []
    assert len(place.rows(table)) == 200


# -- values ----------------------------------------------------------------------------------------

TEXTS = [
    None,
    "",
    "NULL",
    "\\N",
    "\\",
    "a\tb",
    "a\nb\r\nc",
    "'\"`",
    "ünï 🎈",
    " ",
    "a,b",
    "%s ? $1",
]


def test_texts_come_back_as_they_are(place: Place) -> None:
    table = place.table("id bigint primary key, text_ varchar(100)")
    sink = DatabaseSink.upsert(place.database, table, key="id", markers=f"{place.prefix}epochs")
    typed = Types.ROW_NAMED(["id", "text_"], [Types.LONG(), Types.STRING()])
    write_part(sink, pa.RecordBatch.from_pydict({"id": list(range(12)), "text_": TEXTS}), 0)
    write_part(sink, [(20 + n, text) for n, text in enumerate(TEXTS)], 1, type_info=typed)
    write_part(sink, [(40 + n, text) for n, text in enumerate(TEXTS)], 2)
    sink.close()
    found = dict(place.rows(table))
    for start in (0, 20, 40):
        assert [found[start + n] for n in range(12)] == TEXTS


VALUES: dict[str, tuple[dict[str, str], Any, Any]] = {
    "bool": ({"postgres": "boolean"}, Types.BOOLEAN(), True),
    "small": ({"": "smallint"}, Types.SHORT(), -7),
    "whole": ({"": "integer"}, Types.INT(), 2**31 - 1),
    "long": ({"": "bigint"}, Types.LONG(), -(2**63)),
    "single": ({"postgres": "real", "": "float"}, Types.FLOAT(), 0.5),
    "double": ({"postgres": "double precision", "": "double"}, Types.DOUBLE(), 1e-300),
    "decimal": ({"": "decimal(30, 5)"}, Types.BIG_DEC(), Decimal("12345678901234567890.12345")),
    "bytes": (
        {"postgres": "bytea", "": "blob"},
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        b"\x00\\\xff\n",
    ),
    "day": ({"": "date"}, Types.SQL_DATE(), dt.date(1969, 12, 31)),
    "clock": ({"mariadb": "time(6)", "": "time"}, Types.SQL_TIME(), dt.time(23, 59, 59, 999_999)),
    "stamp": (
        {"mariadb": "datetime(6)", "": "timestamp"},
        Types.SQL_TIMESTAMP(),
        dt.datetime(2024, 2, 29, 12, 0, 0, 123_456),
    ),
    "moment": (
        {"postgres": "timestamp with time zone", "mariadb": "datetime(6)", "": "timestamp"},
        Types.INSTANT(),
        Instant(1_700_000_000, 5_000),
    ),
}


def test_values_of_all_types_come_back_as_they_are(place: Place) -> None:
    types = {
        n: kinds.get(place.name, kinds.get("", "boolean")) for n, (kinds, *_) in VALUES.items()
    }
    columns = ", ".join(f"c_{name} {kind}" for name, kind in types.items())
    table = place.table(f"id bigint primary key, {columns}")
    names = ["id", *(f"c_{name}" for name in VALUES)]
    typed = Types.ROW_NAMED(names, [Types.LONG(), *(kind for _, kind, _ in VALUES.values())])
    full = Row(1, *(value for *_, value in VALUES.values()))
    empty = Row(2, *(None for _ in VALUES))
    sink = DatabaseSink.upsert(place.database, table, key="id", markers=f"{place.prefix}epochs")
    write_part(sink, [full, empty], type_info=typed)
    sink.close()
    first, second = place.rows(table)
    assert list(second[1:]) == [None] * len(VALUES)
    for name, found in zip(VALUES, first[1:], strict=True):
        assert _plain(found) == _plain(VALUES[name][2]), name


def _plain(value: Any) -> Any:
    """A value as SQLite and MySQL store it."""
    if isinstance(value, Instant):
        value = dt.datetime.fromtimestamp(value.seconds, dt.UTC).replace(
            microsecond=value.nanos // 1_000, tzinfo=None
        )
    if isinstance(value, dt.timedelta):
        value = (dt.datetime.min + value).time()
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None).isoformat(" ")
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    # SQLite keeps decimals as floating-point numbers.
    return float(value) if isinstance(value, Decimal | int) else value


@pytest.mark.servers
def test_arrays_and_json_of_postgresql(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    place = place_of("postgres", request, tmp_path)
    table = place.table("id bigint primary key, a text[], b int[], c jsonb, d jsonb")
    typed = Types.ROW_NAMED(
        ["id", "a", "b", "c", "d"],
        [
            Types.LONG(),
            Types.LIST(Types.STRING()),
            Types.LIST(Types.INT()),
            Types.MAP(Types.STRING(), Types.LONG()),
            Types.LIST(Types.STRING()),
        ],
    )
    texts = ["", "NULL", 'say "hi"', "back\\slash", "{}", "a,b", None, "line\nend"]
    rows = [Row(1, texts, [1, None], {"x": 1}, texts), Row(2, [], None, {}, None)]
    sink = DatabaseSink.upsert(place.database, table, key="id", markers=f"{place.prefix}epochs")
    write_part(sink, rows, type_info=typed)
    sink.close()
    found = place.run(f"select id, a, b, c ->> 'x', d ->> 2 from {table} order by id")
    assert found == [(1, texts, [1, None], "1", 'say "hi"'), (2, [], None, None, None)]


def test_parts_of_records_become_json(place: Place) -> None:
    kind = "jsonb" if place.name == "postgres" else "text"
    table = place.table(f"id bigint primary key, item {kind}")
    inner = Types.ROW_NAMED(["name", "tags"], [Types.STRING(), Types.LIST(Types.STRING())])
    typed = Types.ROW_NAMED(["id", "item"], [Types.LONG(), inner])
    sink = DatabaseSink.upsert(place.database, table, key="id", markers=f"{place.prefix}epochs")
    write_part(sink, [Row(1, Row("pen", ["a", "ü"]))], type_info=typed)
    sink.close()
    ((_, found),) = place.rows(table)
    assert found == '{"name": "pen", "tags": ["a", "ü"]}'


# -- names -----------------------------------------------------------------------------------------


def test_hostile_names_are_names(place: Place) -> None:
    name, key, column = f"{place.prefix}{HOSTILE}", HOSTILE, "select.from"
    quoted = place.dialect.quote
    place.run(
        f"create table {quoted(name)} ({quoted(key)} bigint primary key, {quoted(column)} bigint)"
    )
    sink = DatabaseSink.upsert(
        place.database, (name,), key=key, markers=(f"{place.prefix}m{HOSTILE}",)
    )
    typed = Types.ROW_NAMED([column, key], [Types.LONG(), Types.LONG()])
    write_part(sink, [Row(10, 1), Row(20, 2)], type_info=typed)
    write_part(sink, [Row(11, 1)], 1, type_info=typed)
    sink.close()
    assert place.rows(name) == [(1, 11), (2, 20)]


def test_fields_go_to_columns_of_their_names(place: Place) -> None:
    table = place.table("a bigint, b bigint, c bigint")
    sink = DatabaseSink.append(place.database, table, markers=f"{place.prefix}epochs")
    write_part(sink, [Row(c=3, a=1), Row(c=6, a=4)])
    sink.close()
    assert place.rows(table) == [(1, None, 3), (4, None, 6)]


# -- refusals --------------------------------------------------------------------------------------


def refused(place: Place, table: str, batch: Any, **arguments: Any) -> MillstreamError:
    mode = arguments.pop("mode", "append")
    make = getattr(DatabaseSink, mode)
    sink = make(place.database, table, markers=f"{place.prefix}refused", **arguments)
    with pytest.raises(MillstreamError) as caught:
        write_part(sink, batch)
    sink.close()
    return caught.value


def test_an_unknown_table_is_named(place: Place) -> None:
    error = refused(place, "nowhere", [(1,)])
    assert error.code == "DATABASE_NAME"
    assert "nowhere" in error.message


def test_an_unknown_column_is_named_with_those_there_are(place: Place) -> None:
    table = place.table("word varchar(100), n bigint")
    error = refused(place, table, [Row(word="a", m=1)])
    assert error.code == "DATABASE_NAME"
    assert "has no column 'm'; it has 'word', 'n'" in error.message


# -- tables that change while a job runs ------------------------------------------------------------


class Changed:
    """A table of words and numbers with a sink, which has written three epochs; it keeps connections."""

    def __init__(self, place: Place, mode: str) -> None:
        self.place, self.table = place, place.table(PAIRS)
        markers = f"{place.prefix}epochs"
        options: dict[str, Any] = {"columns": ["word", "n"], "markers": markers}
        if mode == "append":
            self.sink = DatabaseSink.append(place.database, self.table, **options)
        else:
            self.sink = DatabaseSink.upsert(place.database, self.table, key="word", **options)
        for epoch in range(EPOCHS):
            self.write(epoch)

    def write(self, epoch: int) -> bool:
        return write_part(self.sink, [(f"a{epoch}", 1), (f"b{epoch}", 2)], epoch)

    def alter(self, change: str) -> None:
        self.place.run(f"alter table {self.place.dialect.table(self.table)} {change}")

    def rows(self, epochs: int) -> None:
        """Each row is there once."""
        wanted = [
            (f"{name}{epoch}", n) for epoch in range(epochs) for name, n in (("a", 1), ("b", 2))
        ]
        assert self.place.rows(self.table, "word, n") == sorted(wanted)


EPOCHS = 7
"""After five times, the driver for PostgreSQL lets the server keep the plan of a statement."""


@pytest.fixture(params=["append", "upsert"])
def changed(place: Place, request: pytest.FixtureRequest) -> Iterator[Changed]:
    found = Changed(place, request.param)
    yield found
    found.sink.close()


@pytest.mark.parametrize(
    ("away", "back"),
    [("rename column n to m", "rename column m to n"), ("drop column n", "add column n bigint")],
)
def test_a_column_that_goes_away_while_the_job_runs_is_named(
    changed: Changed, away: str, back: str
) -> None:
    changed.alter(away)
    with pytest.raises(DatabaseError, match=r"DATABASE_NAME.*table .*words.* has no column 'n'"):
        changed.write(EPOCHS)
    changed.alter(back)
    if away.startswith("drop"):
        changed.place.run(f"delete from {changed.place.dialect.table(changed.table)}")
    assert changed.write(EPOCHS), "the epoch was not marked"
    assert not changed.write(EPOCHS)
    if away.startswith("rename"):
        changed.rows(EPOCHS + 1)


def test_a_column_that_goes_away_in_the_middle_of_a_part_is_named(
    changed: Changed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sink has looked at the table, and the transaction has not begun."""
    prepare = sinks._TableWriter.prepare

    def then_renamed(writer: Any) -> None:
        prepare(writer)
        changed.alter("rename column n to m")

    with monkeypatch.context() as patch:
        patch.setattr(sinks._TableWriter, "prepare", then_renamed)
        with pytest.raises(DatabaseError, match=r"DATABASE_NAME.*words.*\bn\b"):
            changed.write(EPOCHS)
    changed.alter("rename column m to n")
    changed.rows(EPOCHS)
    assert changed.write(EPOCHS)
    changed.rows(EPOCHS + 1)


def test_a_column_that_is_added_while_the_job_runs_gets_its_default(changed: Changed) -> None:
    changed.alter("add column note varchar(20) default 'new'")
    assert changed.write(EPOCHS)
    changed.rows(EPOCHS + 1)
    assert {note for (note,) in changed.place.rows(changed.table, "note")} == {"new"}


def test_another_number_of_fields_is_refused(place: Place) -> None:
    table = place.table("word varchar(100), n bigint")
    error = refused(place, table, [(1, 2, 3)])
    assert error.code == "DATABASE_NAME"
    assert "3 fields" in error.message


def test_a_value_that_does_not_fit_is_named(place: Place) -> None:
    # SQLite takes every value for a column, unless the table has a constraint.
    kind = "bigint check (typeof(n) = 'integer')" if place.name == "sqlite" else "bigint"
    table = place.table(f"word varchar(100), n {kind}")
    error = refused(place, table, [("a", "1"), ("b", "many")])
    assert error.code == "DATABASE_VALUE"
    assert table in error.message
    assert "many" in error.message or "row 2" in error.message
    assert place.rows(table) == []


def test_a_constraint_is_named(place: Place) -> None:
    table = place.table(PAIRS)
    error = refused(place, table, [("a", 1), ("a", 2)])
    assert error.code == "DATABASE_VALUE"
    assert "word" in error.message or "PRIMARY" in error.message
    error = refused(place, place.table("n bigint not null", "others"), [(1,), (None,)])
    assert error.code == "DATABASE_VALUE"
    assert place.rows(table) == []


def test_a_text_that_is_too_long_is_not_cut(place: Place) -> None:
    if place.name == "sqlite":
        pytest.skip("SQLite has no limit")
    table = place.table("word varchar(3)")
    error = refused(place, table, [("abcd",)])
    assert error.code == "DATABASE_VALUE"
    assert place.rows(table) == []


def test_a_table_without_the_key_is_refused(place: Place) -> None:
    table = place.table("word varchar(100), n bigint")
    error = refused(place, table, [("a", 1)], mode="upsert", key="word")
    assert error.code == "DATABASE_KEY"


def test_a_key_that_is_null_is_refused(place: Place) -> None:
    table = place.table(PAIRS)
    error = refused(place, table, [("a", 1), (None, 2)], mode="upsert", key="word")
    assert error.code == "DATABASE_VALUE"
    assert "(None, 2)" in error.message


def test_records_without_the_key_are_refused(place: Place) -> None:
    table = place.table(PAIRS)
    error = refused(place, table, [Row(n=1)], mode="upsert", key="word")
    assert error.code == "DATABASE_NAME"
    assert "no field for word" in error.message


def test_a_database_that_is_not_there_is_unreachable(tmp_path: Path) -> None:
    sink = DatabaseSink.append(f"sqlite:///{tmp_path}/none/words.db", "words")
    with pytest.raises(DatabaseError, match="DATABASE_UNREACHABLE"):
        write_part(sink, [(1,)])


@pytest.mark.servers
@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_a_server_that_is_not_there_is_unreachable(kind: str) -> None:
    sink = DatabaseSink.append(f"{kind}://me:s3cret99@127.0.0.1:9/shop", "words")
    with pytest.raises(DatabaseError, match="DATABASE_UNREACHABLE") as caught:
        write_part(sink, [(1,)])
    assert "s3cret99" not in str(caught.value)


# -- arguments -------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["", "a..b", 5, (), ("a", ""), "a\0b"])
def test_a_table_has_a_name(table: Any) -> None:
    with pytest.raises(PlanError, match="BAD_DATABASE"):
        DatabaseSink.append("sqlite:///x.db", table)


@pytest.mark.parametrize("key", ["", [], ["a", "a"], [5]])
def test_a_key_has_columns(key: Any) -> None:
    with pytest.raises(PlanError, match="BAD_DATABASE"):
        DatabaseSink.upsert("sqlite:///x.db", "t", key=key)


def test_a_sink_never_shows_its_password() -> None:
    database = Database("postgresql://db.example/shop", user="ada", password="s3cret99")
    sink = DatabaseSink.append(database, "words")
    assert "s3cret99" not in repr(sink)
    assert "s3cret99" not in repr(database)


# -- in a program ----------------------------------------------------------------------------------


@pytest.mark.parametrize("epochs", [1, 3])
def test_a_program_writes_columns(place: Place, epochs: int) -> None:
    table = place.table(PAIRS)
    env = StreamExecutionEnvironment.get_execution_environment()
    words = ["to", "be", "or", "not", "to", "be"]
    typed = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])
    pairs = env.from_collection(words).map(lambda word: Row(word=word, n=len(word)), typed)
    pairs.sink_to(
        DatabaseSink.upsert(place.database, table, key="word", markers=f"{place.prefix}epochs")
    )
    run_local(env, epochs=epochs, write=True)
    assert place.rows(table) == [("be", 2), ("not", 3), ("or", 2), ("to", 2)]


# -- servers ---------------------------------------------------------------------------------------


@pytest.fixture(params=SERVERS)
def server_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    yield place_of(request.param, request, tmp_path)


def opened_writer(sink: DatabaseSink, epoch: int, rows: list[Any]) -> Any:
    context = PartContext(job_id="job", sink="sink", name="Sink", attempt=1, epoch=epoch, part=0)
    writer = sink.open_part(context)
    assert writer.begin() is None
    writer.write(rows)
    return writer


def test_a_server_that_dies_in_the_middle_loses_nothing(
    server_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = server_place
    table = place.table(PAIRS)
    sink = DatabaseSink.upsert(place.database, table, key="word", markers=f"{place.prefix}epochs")
    write_part(sink, [("a", 1)], 0)
    writer = opened_writer(sink, 1, [("a", 2), ("b", 2)])
    write_all = writer.write_all

    def die() -> None:
        write_all()
        place.server.kill()

    monkeypatch.setattr(writer, "write_all", die)
    with pytest.raises(DatabaseError, match="DATABASE_LOST") as caught:
        writer.finish()
    assert "starts again" in str(caught.value)
    writer.close()
    with pytest.raises(DatabaseError, match="DATABASE_UNREACHABLE"):
        opened_writer(sink, 1, [("a", 2), ("b", 2)])
    place.server.start()
    assert place.rows(table) == [("a", 1)]
    assert write_part(sink, [("a", 2), ("b", 2)], 1)
    sink.close()
    assert place.rows(table) == [("a", 2), ("b", 2)]


def test_a_connection_that_waited_is_made_again(server_place: Place) -> None:
    place = server_place
    table = place.table(PAIRS)
    sink = DatabaseSink.upsert(place.database, table, key="word", markers=f"{place.prefix}epochs")
    write_part(sink, [("a", 1)], 0)
    place.server.kill()
    place.server.start()
    assert write_part(sink, [("a", 2)], 1)
    sink.close()
    assert place.rows(table) == [("a", 2)]


def test_a_user_without_rights_is_told_what_to_create(server_place: Place) -> None:
    place = server_place
    table, user = place.table(PAIRS), f"{place.prefix}weak"
    if place.name == "postgres":
        place.run(f"create role {user} login password 's3cret99'")
        place.run("revoke create on schema public from public")
    else:
        place.run(f"create user {user} identified by 's3cret99'")
        place.run(f"grant select on test.{table} to {user}")
    weak = Database(place.database.address, user=user, password="s3cret99")
    sink = DatabaseSink.append(weak, table, markers=f"{place.prefix}epochs")
    with pytest.raises(DatabaseError, match="DATABASE_DENIED") as caught:
        write_part(sink, [("a", 1)])
    sink.close()
    assert f"{place.prefix}epochs" in str(caught.value)
    assert "s3cret99" not in str(caught.value)
    if place.name == "mariadb":
        wrong = DatabaseSink.append(Database(weak.address, user=user, password="wr0ngwr0ng"), table)
        with pytest.raises(DatabaseError, match="DATABASE_DENIED") as caught:
            write_part(wrong, [("a", 1)])
        assert "wr0ngwr0ng" not in str(caught.value)


@pytest.mark.servers
def test_rows_are_inserted_where_files_may_not_be_loaded(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    place = place_of("mariadb", request, tmp_path)
    table = place.table("id bigint primary key, text_ varchar(100), b blob")
    place.run("set global local_infile = 0")
    request.addfinalizer(lambda: place.run("set global local_infile = 1"))
    sink = DatabaseSink.upsert(place.database, table, key="id", markers=f"{place.prefix}epochs")
    write_part(sink, [(n, text, b"\x00'\\") for n, text in enumerate(TEXTS)])
    sink.close()
    assert sorted(place.rows(table)) == [(n, t, b"\x00'\\") for n, t in enumerate(TEXTS)]
    error = refused(place, table, [("1", "a", None), ("many", "b", None)], mode="upsert", key="id")
    assert error.code == "DATABASE_VALUE"


@pytest.mark.servers
def test_keys_that_only_the_database_takes_for_equal(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    place = place_of("postgres", request, tmp_path)
    table = place.table("price numeric primary key, n bigint")
    sink = DatabaseSink.upsert(place.database, table, key="price", markers=f"{place.prefix}epochs")
    typed = Types.ROW_NAMED(["price", "n"], [Types.BIG_DEC(), Types.LONG()])
    write_part(sink, [Row(Decimal("1.0"), 1), Row(Decimal("1.00"), 2)], type_info=typed)
    sink.close()
    assert place.rows(table) == [(Decimal(1), 2)]
