"""The Delta source: one version of a table, the same for every restart."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from millstream.common import Row, Types, WatermarkStrategy
from millstream.common.errors import MillstreamError, PlanError
from millstream.connectors.reading import Progress, opened
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DeltaSource
from millstream.plan.options import JobOptions
from millstream.testing import CollectSink, LocalJob, run_local
from millstream.testing.connectors import check_source
from tests.support.lake import Attempt

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def table(*numbers: int) -> pa.Table:
    return pa.table({"id": pa.array(numbers), "name": [f"n{n}" for n in numbers]})


def append(place: Path, *numbers: int, **options: Any) -> None:
    write_deltalake(str(place), table(*numbers), mode="append", **options)


def rows(*numbers: int) -> list[Row]:
    return [Row(id=n, name=f"n{n}") for n in numbers]


def values(source: DeltaSource) -> list[Any]:
    def program(env: StreamExecutionEnvironment) -> Any:
        return env.from_source(source, WatermarkStrategy.no_watermarks(), "table")

    return run_local(program).values()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for first in (0, 5, 10, 15):
        append(tmp_path / "table", *range(first, first + 5))
    return tmp_path / "table"


@pytest.mark.slow
def test_it_keeps_the_contract_of_sources(place: Path) -> None:
    check_source(lambda: DeltaSource.of(str(place), channels=3), expected=rows(*range(20)))


@pytest.mark.slow
def test_partitions_columns_and_filters_keep_the_contract_too(tmp_path: Path) -> None:
    place = tmp_path / "table"
    for first in (0, 5):
        append(place, *range(first, first + 5), partition_by=["name"])

    def make() -> DeltaSource:
        return DeltaSource.of(
            str(place), columns=["name"], filters=[("id", ">", 2), ("name", "!=", "n4")]
        )

    wanted = [Row(name=f"n{n}") for n in (3, 5, 6, 7, 8, 9)]
    check_source(make, expected=wanted)


# -- time travel -----------------------------------------------------------------------------------


def test_versions_are_chosen_by_number_and_by_time(place: Path) -> None:
    assert values(DeltaSource.of(str(place), version=1, channels=1)) == rows(*range(10))
    at_ms = DeltaTable(str(place)).history()[-1]["timestamp"]
    at = datetime.fromtimestamp(at_ms / 1_000, UTC)
    assert values(DeltaSource.of(str(place), timestamp=at)) == rows(*range(5))
    assert sorted(row.id for row in values(DeltaSource.of(str(place)))) == list(range(20))


def test_a_version_that_is_not_there_is_refused(place: Path) -> None:
    with pytest.raises(MillstreamError, match="LAKE_NOT_READABLE") as caught:
        values(DeltaSource.of(str(place), version=99))
    assert str(place) in caught.value.message and caught.value.hint


def test_a_file_that_was_deleted_is_an_error_that_names_the_table(place: Path) -> None:
    source = DeltaSource.of(str(place), version=3)
    with opened(source):
        ends = source.latest()
        for file in place.glob("*.parquet"):
            file.unlink()
        with pytest.raises(MillstreamError, match=r"LAKE_NOT_READABLE.*not found") as caught:
            for channel, end in ends.items():
                list(source.read(channel, 0, end))
        assert "VACUUM" in str(caught.value.hint) and "\x1b" not in caught.value.message


def _table(chunk: Any) -> Any:
    return chunk.values


# -- the version stays -----------------------------------------------------------------------------


def test_a_job_that_goes_on_from_a_savepoint_reads_the_version_it_began_with(place: Path) -> None:
    def job(savepoint: Any = None) -> LocalJob:
        env = StreamExecutionEnvironment.get_execution_environment()
        source = DeltaSource.of(str(place), channels=2)
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "table")
        stream.uid("table").sink_to(CollectSink()).name("out")
        options = JobOptions(parallelism=1, slots=1)
        return LocalJob(env._job_graph(), options, savepoint=savepoint)

    first = job()
    some = [value.id for value, _ in first.epoch(4)["out"]]
    append(place, 100, 101)
    DeltaTable(str(place)).optimize.compact()
    rest = [value.id for value, _ in job(first.savepoint()).epoch(None)["out"]]
    assert len(some) == 8 and sorted(some + rest) == list(range(20))


def test_an_offset_names_the_version(place: Path) -> None:
    source = DeltaSource.of(str(place), channels=2)
    offset = Progress(source).next({})
    assert list(offset) == ["3.0-of-2", "3.1-of-2"]
    append(place, 100)
    # Another process, with another number of channels: what was begun goes on as it was.
    again = DeltaSource.of(str(place), channels=7)
    assert again.latest_after(offset) == offset
    assert set(again.latest()) == {f"4.{n}-of-5" for n in range(5)}


def test_columns_that_are_newer_than_the_version_are_null(place: Path) -> None:
    offset = Progress(DeltaSource.of(str(place), channels=1)).next({})
    more = table(50).append_column("more", pa.array([1.5]))
    write_deltalake(str(place), more, mode="append", schema_mode="merge")
    source = DeltaSource.of(str(place), channels=1)
    assert source.get_produced_type() == Types.ROW_NAMED(
        ["id", "name", "more"], [Types.LONG(), Types.STRING(), Types.DOUBLE()]
    )
    ((channel, end),) = source.latest_after(offset).items()
    chunks = list(source.read(channel, 0, end))
    found = [row for chunk in chunks for row in _table(chunk).to_pylist()]
    assert len(found) == 20 and {row["more"] for row in found} == {None}


# -- what is read ----------------------------------------------------------------------------------


def test_columns_are_selected_in_the_given_order(place: Path) -> None:
    source = DeltaSource.of(str(place), version=0, columns=["name", "id"])
    assert source.get_produced_type() == Types.ROW_NAMED(
        ["name", "id"], [Types.STRING(), Types.LONG()]
    )
    assert values(source)[0] == Row(name="n0", id=0)
    with pytest.raises(PlanError, match=r"UNKNOWN_FIELD.*no column 'nope'; it has id, name"):
        values(DeltaSource.of(str(place), columns=["nope"]))
    with pytest.raises(PlanError, match="UNKNOWN_FIELD"):
        values(DeltaSource.of(str(place), filters=[("nope", "=", 1)]))


def test_an_empty_table_has_no_rows(tmp_path: Path) -> None:
    from millstream.datastream.connectors import DeltaSink

    Attempt(DeltaSink.append(str(tmp_path / "t"))).recover()
    assert values(DeltaSource.of(str(tmp_path / "t"))) == []


def test_files_are_read_in_the_order_in_which_they_were_written(place: Path) -> None:
    assert [row.id for row in values(DeltaSource.of(str(place), channels=1))] == list(range(20))


def test_a_range_in_the_middle_of_a_file_reads_its_row_groups_only(tmp_path: Path) -> None:
    import pyarrow.parquet as pq
    from deltalake.transaction import AddAction

    place = tmp_path / "table"
    made = DeltaTable.create(str(place), table(1).schema)
    pq.write_table(table(*range(100)), place / "f.parquet", row_group_size=10)
    size = (place / "f.parquet").stat().st_size
    # A writer that keeps no statistics: the footer of the file has the number of rows.
    made.create_write_transaction(
        [AddAction("f.parquet", size, {}, 0, True, "{}")], "append", table(1).schema
    )
    source = DeltaSource.of(str(place))
    assert source.latest() == {"1.0-of-1": 100}
    version = source._version(1)
    firsts = [at for at, _ in version.batches(version.files[0], 35)]
    assert firsts[0] == 30
    (chunk,) = source.read("1.0-of-1", 35, 38)
    assert _table(chunk).column("id").to_pylist() == [35, 36, 37]


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: DeltaSource.of("t", watch=True), "LAKE_STREAMING"),
        (lambda: DeltaSource.of("t", version=1, timestamp=NOON), "BAD_VERSION"),
        (lambda: DeltaSource.of("t", timestamp=datetime(2026, 1, 1)), "BAD_VERSION"),
        (lambda: DeltaSource.of("t", version="1"), "BAD_VERSION"),  # type: ignore[arg-type]
        (lambda: DeltaSource.of("t", filters=["id > 1"]), "BAD_FILTER"),  # type: ignore[list-item]
        (lambda: DeltaSource.of("t", filters=[("id", "like", 1)]), "BAD_FILTER"),
        (lambda: DeltaSource.of("t", channels=0), "BAD_NUMBER"),
        (lambda: DeltaSource.of("t", columns=[]), "BAD_FIELD"),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused_at_the_users_line(make: Any, code: str) -> None:
    with pytest.raises(PlanError) as caught:
        make()
    assert caught.value.code == code and caught.value.hint
    assert caught.value.location is not None and caught.value.location.file == __file__


def test_no_secret_is_shown() -> None:
    source = DeltaSource.of("s3://b/t", storage_options={"aws_secret_access_key": "s3cr3t-value"})
    assert "s3cr3t" not in repr(source) and source.place.masked("no s3cr3t-value") == "no *****"
