"""The Iceberg sink and source, with a catalog in SQLite."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from millstream.common import Row, Types, WatermarkStrategy
from millstream.common.errors import CheckpointError, MillstreamError, PlanError
from millstream.common.time import Instant
from millstream.connectors.reading import Progress
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import IcebergSink, IcebergSource
from millstream.testing import run_local
from millstream.testing.connectors import check_sink, check_source
from tests.support.lake import Attempt, parquet_files

# Importing pyiceberg alone takes seconds.
pytestmark = pytest.mark.slow


def in_folder(folder: Path) -> dict[str, Any]:
    properties = {
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalog.db",
        "warehouse": f"file://{folder}/warehouse",
    }
    return {"catalog": "lake", "catalog_properties": properties}


def catalog(folder: Path) -> Any:
    from pyiceberg.catalog import load_catalog

    return load_catalog("lake", **in_folder(folder)["catalog_properties"])


def table(folder: Path) -> Any:
    return catalog(folder).load_table("db.t")


def rows(folder: Path, order: str) -> list[dict[str, Any]]:
    """What pyiceberg's own reader sees."""
    return table(folder).scan().to_arrow().sort_by(order).to_pylist()


def ids(folder: Path) -> list[int]:
    return [row["id"] for row in rows(folder, "id")]


def pairs(*numbers: int) -> list[Row]:
    return [Row(id=n, name=f"n{n}") for n in numbers]


def sink(folder: Path, **options: Any) -> IcebergSink:
    return IcebergSink.append("db.t", **in_folder(folder), **options)


def source(folder: Path, **options: Any) -> IcebergSource:
    return IcebergSource.of("db.t", **in_folder(folder), **options)


def values(made: IcebergSource) -> list[Any]:
    def program(env: StreamExecutionEnvironment) -> Any:
        return env.from_source(made, WatermarkStrategy.no_watermarks(), "table")

    return run_local(program).values()


def _table(chunk: Any) -> Any:
    return chunk.values


# -- the contracts ---------------------------------------------------------------------------------


def seen(folder: Path) -> list[tuple[str, int]]:
    made = catalog(folder)
    if not made.namespace_exists("db") or not made.table_exists("db.t"):
        return []
    found = made.load_table("db.t").scan().to_arrow()
    return list(zip(found["f0"].to_pylist(), found["f1"].to_pylist(), strict=True))


def test_appends_keep_the_contract() -> None:
    passed = check_sink(sink, seen, crashes=3)
    assert {"a zombie driver", "epochs are taken back", "the driver dies in commit()"} <= {*passed}


def test_the_source_keeps_its_contract(tmp_path: Path) -> None:
    attempt = Attempt(sink(tmp_path)).recover()
    for epoch in range(3):
        attempt.write(epoch, pairs(*range(epoch * 5, epoch * 5 + 5)))
    check_source(lambda: source(tmp_path, channels=2), expected=pairs(*range(15)))


# -- what is written -------------------------------------------------------------------------------


def test_an_epoch_is_one_snapshot_that_says_who_has_written_it(tmp_path: Path) -> None:
    attempt = Attempt(sink(tmp_path)).recover()
    attempt.write(7, pairs(1), pairs(2))
    assert ids(tmp_path) == [1, 2]
    note = dict(table(tmp_path).current_snapshot().summary.additional_properties)
    assert {k: v for k, v in note.items() if k.startswith("millstream.")} == {
        "millstream.job": "job",
        "millstream.sink": "out",
        "millstream.attempt": "1",
        "millstream.epoch": "7",
        "millstream.files": "2",
    }


def test_types_come_back(tmp_path: Path) -> None:
    from datetime import time

    given = {
        "na'me`\"x.y": (Types.LONG(), 1),
        "byte": (Types.BYTE(), -5),
        "text": (Types.STRING(), "ä"),
        "flag": (Types.BOOLEAN(), True),
        "float": (Types.DOUBLE(), 0.5),
        "amount": (Types.BIG_DEC(), Decimal("1.50")),
        "at": (Types.INSTANT(), Instant.of_epoch_milli(1_700_000_000_123)),
        "local": (Types.SQL_TIMESTAMP(), datetime(2026, 2, 28, 1, 2, 3, 456789)),
        "day": (Types.SQL_DATE(), date(2026, 2, 28)),
        "time": (Types.SQL_TIME(), time(1, 2, 3)),
        "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00"),
        "list": (Types.LIST(Types.LONG()), [1, None]),
        "map": (Types.MAP(Types.STRING(), Types.LONG()), {"a": 1}),
        "row": (Types.ROW_NAMED(["x"], [Types.LONG()]), Row(x=1)),
    }
    type_info = Types.ROW_NAMED(list(given), [kind for kind, _ in given.values()])
    made = sink(tmp_path, column_types={"amount": pa.decimal128(10, 2)})
    full, empty = Row(*(v for _, v in given.values())), Row(*(None for _ in given))
    Attempt(made, type_info=type_info).recover().write(0, [full, empty])
    there, none = values(source(tmp_path))
    assert {name: there[name] for name in given} == {name: v for name, (_, v) in given.items()}
    assert list(none) == [None] * len(given)
    (one, _) = table(tmp_path).scan().to_arrow().to_pylist()
    assert one["amount"] == Decimal("1.50") and one["local"] == datetime(
        2026, 2, 28, 1, 2, 3, 456789
    )
    assert one["at"] == datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=UTC)


def test_rows_are_divided_by_partition_columns(tmp_path: Path) -> None:
    type_info = Types.ROW_NAMED(["day", "n"], [Types.SQL_DATE(), Types.LONG()])
    attempt = Attempt(sink(tmp_path, partition_by=["day"]), type_info=type_info).recover()
    given = [
        Row(date(2026, 1, 1), 1),
        Row(None, 2),
        Row(date(2026, 1, 2), 3),
        Row(date(2026, 1, 1), 4),
    ]
    attempt.write(0, given)
    assert [tuple(row.values()) for row in rows(tmp_path, "n")] == [tuple(row) for row in given]
    assert len(parquet_files(tmp_path)) == 3


def test_a_table_may_be_partitioned_by_month_and_not_by_bucket(tmp_path: Path) -> None:
    from pyiceberg.transforms import BucketTransform, MonthTransform

    type_info = Types.ROW_NAMED(["day", "n"], [Types.SQL_DATE(), Types.LONG()])
    schema = pa.schema([("day", pa.date32()), ("n", pa.int64())])
    catalog(tmp_path).create_namespace("db")
    made = catalog(tmp_path).create_table("db.t", schema)
    with made.update_spec() as spec:
        spec.add_field("day", MonthTransform())
    attempt = Attempt(sink(tmp_path), type_info=type_info).recover()
    attempt.write(0, [Row(date(2026, 1, n), n) for n in (1, 2)], [Row(date(2026, 2, 3), 3)])
    assert [row["n"] for row in rows(tmp_path, "n")] == [1, 2, 3]
    with made.update_spec() as spec:
        spec.add_field("n", BucketTransform(4))
    with pytest.raises(PlanError, match=r"LAKE_TABLE.*n_bucket"):
        attempt.stage(1, [Row(date(2026, 1, 1), 1)])


def test_a_stream_that_does_not_fit_the_table_is_refused(tmp_path: Path) -> None:
    Attempt(sink(tmp_path)).recover()
    other = Types.ROW_NAMED(["id", "more"], [Types.STRING(), Types.LONG()])
    with pytest.raises(PlanError, match=r"LAKE_SCHEMA.*'id' is string.*no column 'more'"):
        Attempt(sink(tmp_path), 2, type_info=other).recover()


# -- others write too ------------------------------------------------------------------------------


def test_a_zombie_cannot_commit_whenever_it_wakes_up(tmp_path: Path) -> None:
    """The client would put its commit on top of the takeover, if it were allowed to try again."""
    from millstream.connectors.lake.commits import Conflict, Marks

    zombie = Attempt(sink(tmp_path), 1).recover()
    staged = zombie.stage(0, pairs(666))
    looked: Any = zombie.committer
    looked.refresh()
    later = Attempt(sink(tmp_path), 2)
    later.committer.folder = lambda: None  # type: ignore[attr-defined]  # it deletes no files
    later.recover()
    with pytest.raises(Conflict):
        looked.write(0, staged, Marks(0, 2))
    with pytest.raises(CheckpointError, match=r"LEASE_LOST.*attempt 2 holds the right"):
        looked.commit(0, [staged])
    assert ids(tmp_path) == []
    assert "commit.retry.num-retries" not in table(tmp_path).properties


def test_appends_of_others_do_not_disturb(tmp_path: Path) -> None:
    attempt = Attempt(sink(tmp_path)).recover()
    attempt.write(0, pairs(1))
    staged = attempt.stage(1, pairs(2))
    table(tmp_path).append(pa.table({"id": [9], "name": ["x"]}))
    attempt.committer.commit(1, [staged])
    assert ids(tmp_path) == [1, 2, 9]
    attempt.committer.take_back(0)
    assert ids(tmp_path) == [1, 9]


def test_what_was_rewritten_cannot_be_taken_back(tmp_path: Path) -> None:
    attempt = Attempt(sink(tmp_path)).recover()
    attempt.write(0, pairs(1))
    attempt.write(1, pairs(2))
    table(tmp_path).overwrite(pa.table({"id": [1, 2], "name": ["a", "b"]}))
    with pytest.raises(CheckpointError, match=r"LAKE_NOT_TAKEN_BACK.*1 files.* 0 are there"):
        attempt.committer.take_back(0)


def test_upserts_are_refused_with_the_name_of_a_sink_that_can() -> None:
    with pytest.raises(PlanError, match="ICEBERG_UPSERT") as caught:
        IcebergSink.upsert("db.t", keys=["id"])
    assert "DeltaSink.upsert" in str(caught.value.hint)
    assert caught.value.location is not None and caught.value.location.file == __file__


# -- secrets ---------------------------------------------------------------------------------------


def test_secrets_are_neither_shown_nor_kept() -> None:
    properties = {
        "type": "sql",
        "uri": "postgresql://me:s3cr3t@host/db",
        "s3.secret-access-key": "s3cr3t-value",
        "warehouse": "s3://bucket",
    }
    made = IcebergSink.append("db.t", catalog="lake", catalog_properties=properties)
    config = made.to_config()
    assert config["catalog_properties"] == {"type": "sql", "warehouse": "s3://bucket"}
    assert "s3cr3t" not in repr(made) + repr(config)
    assert IcebergSink.from_config(config).catalog == "lake"
    assert made.place.masked("login with s3cr3t-value failed") == "login with ***** failed"
    assert "s3cr3t" not in repr(IcebergSource.of("db.t", catalog_properties=properties))


def test_a_catalog_that_cannot_be_reached_is_named_without_secrets() -> None:
    properties = {"type": "sql", "uri": "sqlite:////no/such/folder/s3cr3t.db", "token": "s3cr3t"}
    made = IcebergSink.append("db.t", catalog="lake", catalog_properties=properties)
    with pytest.raises(
        MillstreamError, match=r"LAKE_UNAVAILABLE.*cannot use lake\.db\.t"
    ) as caught:
        Attempt(made).recover()
    assert "s3cr3t" not in str(caught.value)


# -- reading ---------------------------------------------------------------------------------------


@pytest.fixture
def three(tmp_path: Path) -> Path:
    attempt = Attempt(sink(tmp_path)).recover()
    for epoch in range(3):
        attempt.write(epoch, pairs(epoch))
    return tmp_path


def test_snapshots_are_chosen_by_id_and_by_time(three: Path) -> None:
    _, first, second, _ = table(three).snapshots()
    assert values(source(three, snapshot_id=first.snapshot_id)) == pairs(0)
    at = datetime.fromtimestamp(second.timestamp_ms / 1_000, UTC)
    assert sorted(row.id for row in values(source(three, timestamp=at))) == [0, 1]
    with pytest.raises(MillstreamError, match=r"LAKE_NOT_READABLE.*has no snapshot 7"):
        values(source(three, snapshot_id=7))


def test_a_job_that_goes_on_reads_the_snapshot_it_began_with(three: Path) -> None:
    offset = Progress(source(three, channels=2)).next({})
    table(three).append(pa.table({"id": [9], "name": ["x"]}))
    again = source(three, channels=5)
    assert again.latest_after(offset) == offset
    found = [
        row
        for channel, end in offset.items()
        for chunk in again.read(channel, 0, end)
        for row in _table(chunk).column("id").to_pylist()
    ]
    assert sorted(found) == [0, 1, 2]


def test_columns_and_filters(three: Path) -> None:
    found = values(source(three, columns=["name"], filters=[("id", ">=", 1), ("id", "in", [1, 5])]))
    assert found == [Row(name="n1")]
    assert values(source(three, filters=[("id", "not in", [0, 1])])) == pairs(2)
    with pytest.raises(PlanError, match=r"UNKNOWN_FIELD.*no column 'nope'"):
        values(source(three, columns=["nope"]))


def test_rows_that_were_deleted_are_not_read(three: Path) -> None:
    table(three).delete("id = 1")
    assert sorted(row.id for row in values(source(three))) == [0, 2]


def test_a_table_without_a_snapshot_has_no_rows(tmp_path: Path) -> None:
    catalog(tmp_path).create_namespace("db")
    catalog(tmp_path).create_table("db.t", pa.schema([("id", pa.int64())]))
    assert values(source(tmp_path)) == []


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: IcebergSink.append("t"), "BAD_NAME"),
        (lambda: IcebergSink.append("db.t", catalog={}), "BAD_NAME"),  # type: ignore[arg-type]
        (lambda: IcebergSource.of("t"), "BAD_NAME"),
        (lambda: IcebergSource.of("db.t", watch=True), "LAKE_STREAMING"),
        (lambda: IcebergSource.of("db.t", snapshot_id="1"), "BAD_VERSION"),  # type: ignore[arg-type]
    ],
)
def test_bad_arguments_are_refused(make: Any, code: str) -> None:
    with pytest.raises(PlanError) as caught:
        make()
    assert caught.value.code == code and caught.value.hint
