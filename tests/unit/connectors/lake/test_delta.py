"""The Delta sink: what a reader of the table sees beside other writers, and after failures."""

from __future__ import annotations

import threading
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from millstream.common import Row, RowKind, Types
from millstream.common.errors import CheckpointError, MillstreamError, PlanError
from millstream.common.time import Instant
from millstream.common.typeinfo import TypeInformation
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DeltaSink, FileSink
from millstream.testing import run_local
from millstream.testing.connectors import check_sink
from tests.support.lake import PAIRS, Attempt, parquet_files

SECRET = {"aws_secret_access_key": "s3cr3t-value"}


def rows(path: Path | str, *order: str) -> list[dict[str, Any]]:
    """What deltalake's own reader sees."""
    found = DeltaTable(str(path)).to_pyarrow_table()
    return found.sort_by(
        [(name, "ascending") for name in order or found.column_names[:1]]
    ).to_pylist()


def pairs(*numbers: int) -> list[Row]:
    return [Row(id=n, name=f"n{n}") for n in numbers]


def ids(path: Path | str) -> list[int]:
    return [row["id"] for row in rows(path)]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "table"


# -- the contract ----------------------------------------------------------------------------------


def seen(folder: Path) -> list[tuple[str, int]]:
    if not DeltaTable.is_deltatable(str(folder / "t")):
        return []
    found = DeltaTable(str(folder / "t")).to_pyarrow_table()
    return list(zip(found["f0"].to_pylist(), found["f1"].to_pylist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"partition_by": ["f1"]}])
def test_appends_keep_the_contract(options: dict[str, Any]) -> None:
    passed = check_sink(lambda folder: DeltaSink.append(str(folder / "t"), **options), seen)
    assert {"a zombie driver", "epochs are taken back", "the driver dies in commit()"} <= {*passed}


@pytest.mark.slow
def test_merges_keep_the_contract() -> None:
    passed = check_sink(lambda folder: DeltaSink.upsert(str(folder / "t"), keys=["f1"]), seen)
    assert {"a zombie driver", "epochs are taken back", "the driver dies in commit()"} <= {*passed}


# -- whole jobs ------------------------------------------------------------------------------------


def test_a_job_makes_the_table_and_appends_to_it(place: Path) -> None:
    def run(first: int) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_collection([(n, f"n{n}") for n in range(first, first + 3)])
        typed = stream.map(lambda p: Row(id=p[0], name=p[1]), output_type=PAIRS)
        typed.sink_to(DeltaSink.append(str(place))).uid("out")
        run_local(env, epochs=2, write=True)

    run(0)
    run(3)  # another job, the same table
    assert ids(place) == [0, 1, 2, 3, 4, 5]


def test_an_epoch_is_one_version_that_says_who_has_written_it(place: Path) -> None:
    attempt = Attempt(DeltaSink.append(str(place))).recover()
    version = DeltaTable(str(place)).version()
    attempt.write(7, pairs(1), pairs(2))
    table = DeltaTable(str(place))
    assert table.version() == version + 1
    assert table.history(1)[0]["millstream"] == {
        "job": "job",
        "sink": "out",
        "attempt": 1,
        "epoch": 7,
        "files": 2,
    }


EVERY_TYPE: dict[str, tuple[TypeInformation, Any]] = {
    "string": (Types.STRING(), "ä\x00b"),
    "byte": (Types.BYTE(), -128),
    "boolean": (Types.BOOLEAN(), True),
    "short": (Types.SHORT(), -(2**15)),
    "int": (Types.INT(), 2**31 - 1),
    "long": (Types.LONG(), -(2**63)),
    "float": (Types.FLOAT(), 1.5),
    "double": (Types.DOUBLE(), float("-inf")),
    "char": (Types.CHAR(), "x"),
    "big_int": (Types.BIG_INT(), 2**80),
    "big_dec": (Types.BIG_DEC(), Decimal("123.4500")),
    "instant": (Types.INSTANT(), Instant.of_epoch_milli(1_700_000_000_123)),
    "date": (Types.SQL_DATE(), date(2026, 2, 28)),
    "timestamp": (Types.SQL_TIMESTAMP(), datetime(2026, 2, 28, 1, 2, 3, 456789)),
    "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00\xff"),
    "list": (Types.LIST(Types.LONG()), [1, None, 3]),
    "map": (Types.MAP(Types.STRING(), Types.LONG()), {"a": 1, "b": None}),
    "row": (
        Types.ROW_NAMED(["x", "y"], [Types.LONG(), Types.LIST(Types.STRING())]),
        Row(x=1, y=["a"]),
    ),
    "tuple": (Types.TUPLE([Types.LONG(), Types.STRING()]), (1, "b")),
}


def test_every_type_comes_back_and_none_too(place: Path) -> None:
    from millstream.common import WatermarkStrategy
    from millstream.datastream.connectors import DeltaSource

    names, kinds = list(EVERY_TYPE), [kind for kind, _ in EVERY_TYPE.values()]
    full = Row(*(value for _, value in EVERY_TYPE.values()))
    empty = Row(*(None for _ in EVERY_TYPE))
    type_info = Types.ROW_NAMED(names, kinds)
    Attempt(DeltaSink.append(str(place)), type_info=type_info).recover().write(0, [full, empty])

    def program(env: StreamExecutionEnvironment) -> Any:
        source = DeltaSource.of(str(place))
        return env.from_source(source, WatermarkStrategy.no_watermarks(), "table")

    there, none = run_local(program).values()
    given = dict(zip(names, full, strict=True))
    as_text = {"big_int": str(2**80), "big_dec": "123.4500"}
    assert {name: there[name] for name in names} == {**given, **as_text}
    assert list(none) == [None] * len(names)
    # What another reader sees.
    (one, _) = DeltaTable(str(place)).to_pyarrow_table().to_pylist()
    assert one["instant"] == datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=UTC)
    assert one["timestamp"] == datetime(2026, 2, 28, 1, 2, 3, 456789)
    assert dict(one["map"]) == {"a": 1, "b": None}
    assert one["row"] == {"x": 1, "y": ["a"]}


def test_numbers_without_bounds_become_decimals_where_the_table_has_them(place: Path) -> None:
    type_info = Types.ROW_NAMED(["id", "amount"], [Types.LONG(), Types.BIG_DEC()])
    types = {"amount": pa.decimal128(10, 2)}
    attempt = Attempt(DeltaSink.append(str(place), column_types=types), type_info=type_info)
    attempt.recover().write(0, [Row(1, Decimal("12.30")), Row(2, None)])
    assert [row["amount"] for row in rows(place)] == [Decimal("12.30"), None]
    with pytest.raises(PlanError, match=r"LAKE_SCHEMA.*'amount' is no decimal128") as caught:
        attempt.stage(1, [Row(3, Decimal("12.345"))])
    assert caught.value.hint


def test_a_time_of_day_is_refused(place: Path) -> None:
    type_info = Types.ROW_NAMED(["at"], [Types.LIST(Types.SQL_TIME())])
    with pytest.raises(PlanError, match=r"LAKE_SCHEMA.*no type for a time of day"):
        Attempt(DeltaSink.append(str(place)), type_info=type_info).recover()
    assert time(1, 2)  # what a value would be


# -- partitions and names --------------------------------------------------------------------------


def test_rows_are_divided_by_partition_columns(place: Path) -> None:
    type_info = Types.ROW_NAMED(
        ["day", "shop", "n"], [Types.SQL_DATE(), Types.STRING(), Types.LONG()]
    )
    given = [
        Row(date(2026, 1, 1), "a/b=c d", 1),
        Row(None, "a/b=c d", 2),
        Row(date(2026, 1, 1), None, 3),
        Row(date(2026, 1, 1), "a/b=c d", 4),
    ]
    sink = DeltaSink.append(str(place), partition_by=["day", "shop"])
    Attempt(sink, type_info=type_info).recover().write(0, given)
    assert [tuple(row.values()) for row in rows(place, "n")] == [tuple(row) for row in given]
    assert len(DeltaTable(str(place)).file_uris()) == 3
    found = DeltaTable(str(place)).to_pyarrow_table(filters=[("shop", "=", "a/b=c d")])
    assert sorted(found["n"].to_pylist()) == [1, 2, 4]


@pytest.mark.parametrize(
    "value",
    [True, -7, 2.5, datetime(2026, 1, 1, 0, 0, 0, 5), Instant.of_epoch_milli(5), Decimal("1.50")],
)
def test_partition_values_of_any_plain_type_come_back(place: Path, value: Any) -> None:
    kind = {
        bool: Types.BOOLEAN(),
        int: Types.LONG(),
        float: Types.DOUBLE(),
        datetime: Types.SQL_TIMESTAMP(),
        Instant: Types.INSTANT(),
        Decimal: Types.BIG_DEC(),
    }[type(value)]
    types = {"p": pa.decimal128(10, 2)} if isinstance(value, Decimal) else None
    type_info = Types.ROW_NAMED(["p", "n"], [kind, Types.LONG()])
    sink = DeltaSink.append(str(place), partition_by=["p"], column_types=types)
    Attempt(sink, type_info=type_info).recover().write(0, [Row(value, 1)])
    wanted = datetime(1970, 1, 1, 0, 0, 0, 5_000, UTC) if isinstance(value, Instant) else value
    assert rows(place) == [{"p": wanted, "n": 1}]


@pytest.mark.parametrize("name", ["a b", "ü", "x#y?z", "q'\"`", "a=b;c", "100%"])
def test_a_folder_may_have_nearly_any_name(tmp_path: Path, name: str) -> None:
    place = str(tmp_path / name)
    Attempt(DeltaSink.append(place), 1).recover().write(0, pairs(1))
    Attempt(DeltaSink.upsert(place, keys=["id"]), 1, job="other").recover().write(0, pairs(1, 2))
    assert ids(place) == [1, 2]
    assert [path.name for path in tmp_path.iterdir()] == [name]


HOSTILE = ["na'me`\"x.y", "select", "a b", "ü", "t", "s"]


@pytest.mark.parametrize("keys", [(), ("na'me`\"x.y", "select")])
def test_columns_may_have_any_name(place: Path, keys: tuple[str, ...]) -> None:
    type_info = Types.ROW_NAMED(HOSTILE, [Types.LONG()] * len(HOSTILE))
    sink = DeltaSink.upsert(str(place), keys=keys) if keys else DeltaSink.append(str(place))
    attempt = Attempt(sink, type_info=type_info).recover()
    attempt.write(0, [Row(*range(6))])
    attempt.write(1, [Row(*range(1, 7))])
    assert [tuple(row.values()) for row in rows(place)] == [tuple(range(6)), tuple(range(1, 7))]


# -- a stream that does not fit --------------------------------------------------------------------


def other(names: list[str], kinds: list[TypeInformation]) -> TypeInformation:
    return Types.ROW_NAMED(names, kinds)


@pytest.mark.parametrize(
    ("type_info", "told"),
    [
        (other(["id", "more"], [Types.LONG(), Types.LONG()]), "the table has no column 'more'"),
        (other(["id"], [Types.STRING()]), "column 'id' is string, and int64 in the table"),
        (other(["ID"], [Types.LONG()]), "the table has no column 'ID'"),
    ],
)
def test_a_stream_that_does_not_fit_the_table_is_refused(
    place: Path, type_info: TypeInformation, told: str
) -> None:
    Attempt(DeltaSink.append(str(place))).recover().write(0, pairs(1))
    with pytest.raises(PlanError, match="LAKE_SCHEMA") as caught:
        Attempt(DeltaSink.append(str(place)), 2, type_info=type_info).recover()
    assert told in caught.value.message and caught.value.hint
    assert ids(place) == [1]


def test_narrower_numbers_and_missing_columns_fit(place: Path) -> None:
    Attempt(DeltaSink.append(str(place))).recover().write(0, pairs(1))
    narrow = Types.ROW_NAMED(["id"], [Types.INT()])
    Attempt(DeltaSink.append(str(place)), 2, type_info=narrow).recover().write(1, [Row(id=2)])
    assert rows(place) == [{"id": 1, "name": "n1"}, {"id": 2, "name": None}]


def test_evolve_adds_columns(place: Path) -> None:
    Attempt(DeltaSink.append(str(place))).recover().write(0, pairs(1))
    more = Types.ROW_NAMED(["id", "more"], [Types.LONG(), Types.DOUBLE()])
    sink = DeltaSink.append(str(place), evolve=True)
    for number in (2, 3):
        attempt = Attempt(sink, number, type_info=more).recover()
        attempt.write(number, [Row(id=number, more=0.5)])
    assert rows(place)[:2] == [
        {"id": 1, "name": "n1", "more": None},
        {"id": 2, "name": None, "more": 0.5},
    ]
    clash = Types.ROW_NAMED(["ID"], [Types.LONG()])
    with pytest.raises(PlanError, match=r"LAKE_SCHEMA.*'ID'.*'id'"):
        Attempt(sink, 4, type_info=clash).recover()


def test_columns_that_differ_in_case_only_are_refused(place: Path) -> None:
    type_info = Types.ROW_NAMED(["a", "A"], [Types.LONG(), Types.LONG()])
    with pytest.raises(PlanError, match=r"LAKE_SCHEMA.*several columns 'a'"):
        Attempt(DeltaSink.append(str(place)), type_info=type_info).recover()


def test_other_partitions_and_unknown_columns_are_refused(place: Path) -> None:
    Attempt(DeltaSink.append(str(place), partition_by=["name"])).recover()
    with pytest.raises(PlanError, match=r"LAKE_SCHEMA.*partitioned by"):
        Attempt(DeltaSink.append(str(place), partition_by=["id"]), 2).recover()
    Attempt(DeltaSink.append(str(place)), 3).recover().write(0, pairs(1))  # as the table says
    assert ids(place) == [1]
    with pytest.raises(PlanError, match=r"UNKNOWN_FIELD.*no column 'nope'"):
        Attempt(DeltaSink.upsert(str(place), keys=["nope"]), 4).recover()


def test_a_table_with_rules_that_a_sink_does_not_keep_is_refused(place: Path) -> None:
    write_deltalake(str(place), pa.table({"id": [1], "name": ["a"]}))
    DeltaTable(str(place)).alter.add_constraint({"positive": "id > 0"})
    with pytest.raises(PlanError, match=r"LAKE_TABLE.*delta\.constraints\.positive"):
        Attempt(DeltaSink.append(str(place))).recover()


def test_the_schema_changes_between_staging_and_commit(place: Path) -> None:
    attempt = Attempt(DeltaSink.append(str(place))).recover()
    staged = attempt.stage(0, pairs(1))
    write_deltalake(str(place), pa.table({"id": ["x"]}), mode="overwrite", schema_mode="overwrite")
    with pytest.raises(CheckpointError, match=r"LAKE_SCHEMA.*'id' of .* was int64.*string now"):
        attempt.committer.commit(0, [staged])


# -- others write too ------------------------------------------------------------------------------


def test_a_zombie_cannot_commit_whenever_it_wakes_up(place: Path) -> None:
    """Before the takeover it has looked at the table; after it, it looks again."""
    sink = DeltaSink.append(str(place))
    zombie = Attempt(sink, 1).recover()
    staged = zombie.stage(0, pairs(666))
    looked = zombie.committer
    looked.refresh()  # type: ignore[attr-defined]
    Attempt(sink, 2).recover()
    with pytest.raises(Exception, match="Concurrent transaction failed"):
        # The commit itself, on the version that the zombie has looked at.
        from millstream.connectors.lake.commits import Marks

        looked.write(0, staged, Marks(0, 2))  # type: ignore[attr-defined]
    with pytest.raises(CheckpointError, match=r"LEASE_LOST.*attempt 2 holds the right"):
        looked.commit(0, [staged])
    with pytest.raises(CheckpointError, match="LEASE_LOST"):
        Attempt(sink, 1).recover()
    assert ids(place) == []


def test_after_a_take_back_no_earlier_attempt_commits(place: Path) -> None:
    sink = DeltaSink.append(str(place))
    zombie = Attempt(sink, 3).recover()
    zombie.write(0, pairs(1))
    zombie.write(1, pairs(2))
    Attempt(sink, 0).committer.take_back(0)
    assert ids(place) == [1]
    with pytest.raises(CheckpointError, match="LEASE_LOST"):
        zombie.write(1, pairs(2))
    assert Attempt(sink, 4).recover().last == 0


def test_two_jobs_write_at_the_same_time(place: Path) -> None:
    sink = DeltaSink.append(str(place), commit_retries=30)
    jobs = [Attempt(sink, job=f"job {n}").recover() for n in range(3)]

    def run(number: int) -> None:
        for epoch in range(5):
            jobs[number].write(epoch, pairs(number * 10 + epoch))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ids(place) == sorted(n * 10 + epoch for n in range(3) for epoch in range(5))


def test_optimize_vacuum_and_appends_of_others_do_not_disturb(place: Path) -> None:
    attempt = Attempt(DeltaSink.append(str(place))).recover()
    attempt.write(0, pairs(1), pairs(2))
    staged = attempt.stage(1, pairs(3))
    DeltaTable(str(place)).optimize.compact()
    write_deltalake(str(place), pa.table({"id": [9], "name": ["x"]}), mode="append")
    DeltaTable(str(place)).vacuum(0, dry_run=False, enforce_retention_duration=False)
    attempt.committer.commit(1, [staged])
    assert ids(place) == [1, 2, 3, 9]
    assert Attempt(attempt.sink, 2).recover().last == 1


def test_a_commit_that_always_comes_too_late_fails_with_the_number_of_tries(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from millstream.connectors.lake.commits import Conflict

    attempt = Attempt(DeltaSink.append(str(place), commit_retries=2)).recover()
    tries: list[int] = []

    def lose(*_: object) -> None:
        tries.append(1)
        raise Conflict("somebody else")

    monkeypatch.setattr(attempt.committer, "write", lose)
    with pytest.raises(MillstreamError, match=r"LAKE_CONFLICT.*3 times.*somebody else") as caught:
        attempt.write(0, pairs(1))
    assert len(tries) == 3 and "commit_retries" in str(caught.value.hint)


def test_a_commit_whose_answer_was_lost_is_not_made_twice(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from millstream.connectors.lake.commits import Conflict

    attempt = Attempt(DeltaSink.append(str(place))).recover()
    write = attempt.committer.write  # type: ignore[attr-defined]

    def committed_but(*given: Any) -> None:
        write(*given)
        raise Conflict("the answer was lost")

    monkeypatch.setattr(attempt.committer, "write", committed_but)
    attempt.write(0, pairs(1))
    assert ids(place) == [1]


def test_files_that_nobody_needs_are_deleted_and_no_others(place: Path) -> None:
    sink = DeltaSink.append(str(place))
    first = Attempt(sink, 1).recover()
    first.stage(0, pairs(1))  # an attempt of a task that did not count
    first.write(0, pairs(1))
    assert len(parquet_files(place)) == 1
    first.stage(1, pairs(2))
    assert len(parquet_files(place)) == 2
    DeltaTable(str(place)).optimize.compact()
    second = Attempt(sink, 2).recover()
    assert len(parquet_files(place)) == 1  # the committed one, for readers of older versions too
    second.committer.commit(0, [second.stage(0, pairs(1))])
    assert len(parquet_files(place)) == 1
    assert ids(place) == [1]


def test_what_was_compacted_cannot_be_taken_back(place: Path) -> None:
    attempt = Attempt(DeltaSink.append(str(place))).recover()
    attempt.write(0, pairs(1))
    attempt.write(1, pairs(2))
    DeltaTable(str(place)).optimize.compact()
    with pytest.raises(CheckpointError, match=r"LAKE_NOT_TAKEN_BACK.*1 files.* 0 are there"):
        attempt.committer.take_back(0)
    assert ids(place) == [1, 2]


def test_a_table_that_is_gone_cannot_be_taken_back_from(place: Path) -> None:
    with pytest.raises(CheckpointError, match="LAKE_TABLE_GONE"):
        Attempt(DeltaSink.append(str(place))).committer.check_take_back()


# -- upserts ---------------------------------------------------------------------------------------


def change(kind: RowKind, number: int, name: str | None = None) -> Row:
    row = Row.of_kind(kind, number, name)
    row.set_field_names(["id", "name"])
    return row


def test_the_last_change_of_a_key_counts(place: Path) -> None:
    attempt = Attempt(DeltaSink.upsert(str(place), keys=["id"])).recover()
    attempt.write(0, pairs(1, 2, 3))
    attempt.write(
        1,
        [
            change(RowKind.UPDATE_BEFORE, 1, "n1"),
            change(RowKind.UPDATE_AFTER, 1, "new"),
            change(RowKind.DELETE, 2),
            change(RowKind.INSERT, 4, "a"),
            change(RowKind.DELETE, 4),
            change(RowKind.DELETE, 3),
            change(RowKind.INSERT, 3, "again"),
        ],
    )
    assert rows(place) == [{"id": 1, "name": "new"}, {"id": 3, "name": "again"}]
    attempt.write(2, [change(RowKind.DELETE, 77)])  # changes nothing, and counts as written
    assert Attempt(attempt.sink, 2).recover().last == 2
    assert parquet_files(place / attempt.sink.ours(attempt.context).folder) == []  # type: ignore[attr-defined]


def test_a_changelog_is_merged_by_a_job(place: Path) -> None:
    changes = [
        Row(id=1, name="a"),
        Row(id=2, name="b"),
        change(RowKind.DELETE, 2, "b"),
        change(RowKind.UPDATE_AFTER, 1, "c"),
    ]
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection(changes).changelog(PAIRS)
    stream.sink_to(DeltaSink.upsert(str(place), keys=["id"])).uid("out")
    run_local(env, epochs=2, write=True)
    assert rows(place) == [{"id": 1, "name": "c"}]


def test_a_changelog_cannot_be_appended(place: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([Row(id=1, name="a")]).changelog(PAIRS)
    stream.sink_to(DeltaSink.append(str(place)))
    with pytest.raises(PlanError, match="CHANGELOG_NOT_TAKEN"):
        run_local(env, write=True)


def test_a_stream_of_an_unknown_type_is_refused(place: Path) -> None:
    for sink in (DeltaSink.append(str(place)), DeltaSink.upsert(str(place), keys=["id"])):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([1]).map(lambda n: n).sink_to(sink)
        with pytest.raises(PlanError, match="UNTYPED_COLUMNS"):
            run_local(env, write=True)


def test_the_first_epoch_is_taken_back(place: Path) -> None:
    attempt = Attempt(DeltaSink.append(str(place))).recover()
    attempt.write(0, pairs(1))
    attempt.write(1, pairs(2))
    attempt.committer.take_back(-1)
    assert ids(place) == []


def test_keys_that_are_none_or_in_two_parts_are_refused(place: Path) -> None:
    attempt = Attempt(DeltaSink.upsert(str(place), keys=["id"])).recover()
    with pytest.raises(PlanError, match=r"LAKE_KEY.*'id' is None in 1 of 2 records"):
        attempt.stage(0, [Row(id=None, name="a"), Row(id=1, name="b")])
    with pytest.raises(PlanError, match=r"LAKE_KEY.*two tasks have changes of the key {'id': 2}"):
        attempt.write(0, pairs(1, 2), pairs(2))
    assert ids(place) == []


def test_merged_epochs_are_taken_back_unless_others_have_written(place: Path) -> None:
    attempt = Attempt(DeltaSink.upsert(str(place), keys=["id"])).recover()
    attempt.write(0, pairs(1))
    attempt.write(1, [Row(id=1, name="later")])
    DeltaTable(str(place)).optimize.compact()
    Attempt(attempt.sink, 0).committer.take_back(0)
    assert rows(place) == [{"id": 1, "name": "n1"}]
    again = Attempt(attempt.sink, 2).recover()
    assert again.last == 0
    again.write(1, [Row(id=1, name="later")])
    write_deltalake(str(place), pa.table({"id": [9], "name": ["x"]}), mode="append")
    with pytest.raises(CheckpointError, match=r"LAKE_NOT_TAKEN_BACK.*WRITE of another program"):
        Attempt(attempt.sink, 0).committer.take_back(0)


def test_two_jobs_merge_at_the_same_time(place: Path) -> None:
    sink = DeltaSink.upsert(str(place), keys=["id"], commit_retries=30)
    jobs = [Attempt(sink, job=f"job {n}").recover() for n in range(2)]

    def run(number: int) -> None:
        for epoch in range(3):
            jobs[number].write(epoch, [Row(id=number, name=f"{epoch}")])

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rows(place) == [{"id": 0, "name": "2"}, {"id": 1, "name": "2"}]


# -- secrets and arguments -------------------------------------------------------------------------


def test_secrets_are_neither_shown_nor_kept() -> None:
    sink = DeltaSink.append("s3://bucket/t", storage_options=SECRET)
    config = sink.to_config()
    assert "s3cr3t" not in repr(sink) and "s3cr3t" not in repr(config)
    assert DeltaSink.from_config(config) == DeltaSink("s3://bucket/t")
    assert sink.place.masked("denied for s3cr3t-value") == "denied for *****"


def test_an_error_of_the_client_names_the_table_and_no_secret(tmp_path: Path) -> None:
    (tmp_path / "table").write_text("no folder")
    sink = DeltaSink.append(str(tmp_path / "table"), storage_options=SECRET)
    with pytest.raises(MillstreamError, match=r"LAKE_UNAVAILABLE.*'out' cannot use") as caught:
        Attempt(sink).recover()
    assert "s3cr3t" not in str(caught.value) and caught.value.hint


def test_paths_are_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert DeltaSink.append("t").path == str(tmp_path / "t")
    assert DeltaSink.append("s3://b/t").to_config() == {"path": "s3://b/t", "keys": []}


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: DeltaSink.append(7), "BAD_PATH"),  # type: ignore[arg-type]
        (lambda: DeltaSink.append("/data/a%20b"), "BAD_PATH"),
        (lambda: DeltaSink.upsert("t", keys=[]), "BAD_FIELD"),
        (lambda: DeltaSink.upsert("t", keys="id"), "BAD_FIELD"),
        (lambda: DeltaSink.append("t", partition_by=["a", "a"]), "BAD_FIELD"),
        (lambda: DeltaSink.append("t", commit_retries=-1), "BAD_NUMBER"),
        (lambda: DeltaSink.append("t", storage_options={"a": 1}), "BAD_OPTION"),  # type: ignore[dict-item]
        (lambda: DeltaSink.append("t", column_types={"a": int}), "BAD_SCHEMA"),
    ],
)
def test_bad_arguments_are_refused_at_the_users_line(make: Any, code: str) -> None:
    with pytest.raises(PlanError) as caught:
        make()
    assert caught.value.code == code and caught.value.hint
    assert caught.value.location is not None and caught.value.location.file == __file__


def test_file_sinks_still_take_no_changes() -> None:
    assert FileSink.json("out").changelog == "append"


def test_the_kit_crashes_at_lines_of_this_connector_too(place: Path) -> None:
    """It leaves out the modules of the contract, which are in the same package."""
    from millstream.testing.connectors.crash import CrashAt

    attempt = Attempt(DeltaSink.append(str(place)))
    counting = CrashAt("millstream")
    counting.run(attempt.recover)
    assert counting.lines > 20
