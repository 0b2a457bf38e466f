"""Filters that connectors get: results stay the same, and less is read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Types
from millstream.connectors.conditions import Comparison
from millstream.connectors.databases import DatabaseSource
from millstream.connectors.files.opening import Fragment
from millstream.connectors.files.parquet import ParquetReader
from millstream.connectors.files.text import TextReader
from millstream.table.connectors.table_files import ArrowColumn, TableFiles
from millstream.table.table_environment import TableEnvironment
from tests.support.strategies import examples

ROWS = [(n, f"k{n // 10}", None if n % 7 == 0 else n % 5) for n in range(40)]
COLUMNS = "n BIGINT, k STRING, v BIGINT"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("filtered")


@pytest.fixture(scope="module")
def t_env(folder: Path) -> TableEnvironment:
    """The same rows as Parquet in four row groups, in folders, and in a database."""
    t_env = TableEnvironment.create()
    n, k, v = map(list, zip(*ROWS, strict=True))
    (folder / "groups").mkdir()
    table = pa.table({"n": n, "k": k, "v": v})
    pq.write_table(table, folder / "groups" / "rows.parquet", row_group_size=10)
    for number, key, value in ROWS:
        part = folder / "folders" / f"k={key}"
        part.mkdir(parents=True, exist_ok=True)
        shown = "none" if value is None else value
        with open(part / "rows.csv", "a") as file:
            file.write(f"{number},{shown}\n")
    with closing(sqlite3.connect(folder / "rows.db")) as database, database:
        for name in ("whole", "ranges"):
            database.execute(f"create table {name} (n bigint primary key, k text, v bigint)")
            database.executemany(f"insert into {name} values (?, ?, ?)", ROWS)
    files = f"'connector' = 'filesystem', 'path' = '{folder}"
    jdbc = f"'connector' = 'jdbc', 'url' = 'jdbc:sqlite:{folder}/rows.db', 'table-name' ="
    split = "'scan.partition.column' = 'n', 'scan.partition.num' = '2'"
    key = f"{COLUMNS}, PRIMARY KEY (n) NOT ENFORCED"
    for statement in (
        f"groups ({COLUMNS}) WITH ({files}/groups', 'format' = 'parquet')",
        f"folders ({COLUMNS}) PARTITIONED BY (k) WITH ({files}/folders', 'format' = 'csv', "
        "'csv.null-literal' = 'none')",
        f"whole ({COLUMNS}) WITH ({jdbc} 'whole')",
        f"ranges ({key}) WITH ({jdbc} 'ranges', {split})",
    ):
        t_env.execute_sql(f"CREATE TABLE {statement.replace('groups (', '`groups` (', 1)}")
    return t_env


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How many row groups, files and rows of a database were read."""
    counts = {"groups": 0, "folders": 0, "rows": 0}
    groups, lines, rows = ParquetReader._rows, TextReader.read, DatabaseSource.rows

    def read_groups(self: Any, parquet: Any, some: list[int], path: str) -> Any:
        counts["groups"] += len(some)
        return groups(self, parquet, some, path)

    def read_lines(self: Any, fragment: Fragment) -> Any:
        counts["folders"] += 1
        return lines(self, fragment)

    def read_rows(self: Any, *arguments: Any) -> Iterator[Any]:
        for chunk in rows(self, *arguments):
            counts["rows"] += len(chunk.values)
            yield chunk

    monkeypatch.setattr(ParquetReader, "_rows", read_groups)
    monkeypatch.setattr(TextReader, "read", read_lines)
    monkeypatch.setattr(DatabaseSource, "rows", read_rows)
    return counts


def found(t_env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, t_env.final_rows(t_env.sql_query(query))), key=repr)


@pytest.mark.parametrize(
    ("query", "count", "pushed", "what", "read"),
    [
        ("SELECT n FROM `groups` WHERE n >= 31", 9, "n >= 31", "groups", 1),
        ("SELECT n FROM `groups` WHERE n IN (3, 25)", 2, "n IN (3, 25)", "groups", 2),
        ("SELECT n FROM `groups` WHERE n BETWEEN 8 AND 12", 5, "n >= 8 AND n <= 12", "groups", 2),
        ("SELECT n FROM `groups` WHERE 'k1' = k AND v > 1", 5, "k = 'k1' AND v > 1", "groups", 1),
        ("SELECT n FROM `groups` WHERE v IS NULL AND n < 5", 1, "v IS NULL AND n < 5", "groups", 1),
        ("SELECT n FROM `groups` WHERE n > 99", 0, "n > 99", "groups", 0),
        ("SELECT n FROM folders WHERE k = 'k2'", 10, "k = 'k2'", "folders", 1),
        ("SELECT n FROM folders WHERE k > 'k1' AND n < 25", 5, "k > 'k1'", "folders", 2),
        ("SELECT n FROM whole WHERE n < 5", 5, "n < 5", "rows", 5),
        ("SELECT n FROM whole WHERE k = 'k3' AND v <> 2", 7, "k = 'k3' AND v <> 2", "rows", 7),
        ("SELECT n FROM ranges WHERE n > 15 AND n < 25", 9, "n > 15 AND n < 25", "rows", 9),
        ("SELECT n FROM ranges WHERE v IS NULL", 6, "v IS NULL", "rows", 6),
    ],
)
def test_less_is_read(
    t_env: TableEnvironment,
    seen: dict[str, int],
    query: str,
    count: int,
    pushed: str,
    what: str,
    read: int,
) -> None:
    assert f"filter=[{pushed}]" in t_env.explain_sql(query)
    assert len(found(t_env, query)) == count
    assert seen[what] == read


def test_all_scans_of_a_job_get_their_rows(t_env: TableEnvironment, seen: dict[str, int]) -> None:
    query = (
        "SELECT n FROM `groups` WHERE n < 5 UNION ALL SELECT n + 100 FROM `groups` WHERE k = 'k3'"
    )
    text = t_env.explain_sql(query)
    assert text.count("filter=[n < 5 OR k = 'k3']") == 2
    assert [row[0] for row in found(t_env, query)] == [
        *sorted([*range(5), *range(130, 140)], key=lambda n: repr((n,)))
    ]
    assert seen["groups"] == 2
    whole = "SELECT n FROM `groups` WHERE n < 5 UNION ALL SELECT n FROM `groups`"
    assert "filter=" not in t_env.explain_sql(whole)


@pytest.mark.parametrize(
    "condition",
    ["n + 1 > 3", "n > v", "MOD(n, 2) = 0", "n > 3 OR v IS NULL", "CAST(n AS STRING) = '3'"],
)
def test_other_conditions_stay_above(t_env: TableEnvironment, condition: str) -> None:
    assert "filter=" not in t_env.explain_sql(f"SELECT n FROM `groups` WHERE {condition}")


def test_rows_that_move_a_watermark_are_all_read(
    t_env: TableEnvironment, folder: Path, seen: dict[str, int]
) -> None:
    t_env.execute_sql(
        "CREATE TABLE timed (n BIGINT, ts AS TO_TIMESTAMP_LTZ(n, 3), WATERMARK FOR ts AS ts) WITH "
        f"('connector' = 'filesystem', 'path' = '{folder}/groups', 'format' = 'parquet')"
    )
    assert "filter=" not in t_env.explain_sql("SELECT n FROM timed WHERE n > 35")
    assert len(found(t_env, "SELECT n FROM timed WHERE n > 35")) == 4
    assert seen["groups"] == 4


def test_rows_that_change_are_all_read(t_env: TableEnvironment, folder: Path) -> None:
    t_env.execute_sql(
        "CREATE TABLE changes (n BIGINT, p STRING) PARTITIONED BY (p) WITH "
        f"('connector' = 'filesystem', 'path' = '{folder}/c', 'format' = 'debezium-json')"
    )
    assert "filter=" not in t_env.explain_sql("SELECT n FROM changes WHERE p = 'a'")


def test_a_database_can_be_told_to_filter_nothing(
    t_env: TableEnvironment, seen: dict[str, int]
) -> None:
    query = "SELECT n FROM whole /*+ OPTIONS('filter.handling.policy' = 'never') */ WHERE n < 5"
    assert "filter=" not in t_env.explain_sql(query)
    assert len(found(t_env, query)) == 5
    assert seen["rows"] == 40


@pytest.mark.parametrize(("start", "stop"), [(0, 40), (0, 7), (7, 12), (15, 33), (31, 40), (5, 5)])
def test_places_in_a_file_do_not_depend_on_the_conditions(
    folder: Path, t_env: TableEnvironment, start: int, stop: int
) -> None:
    """So a job with another filter goes on from a savepoint."""
    columns = (ArrowColumn("n", "other", pa.int64()),)
    row = Types.ROW_NAMED(["n"], [Types.LONG()])
    files = TableFiles(f"{folder}/groups", {}, ParquetReader(columns, True), row, names=("n",))
    some = replace(files, conditions=((Comparison("n", ">=", (30,)),),))
    ((channel, end),) = files.latest().items()
    assert some.latest() == files.latest()
    mark = [stop, *end[1:]]
    chunks = some.read(channel, start, mark)
    found = [n for chunk in chunks for n in pa.table(chunk.values).column("n").to_pylist()]
    assert found == [n for n in range(start, stop) if n >= 30]


_SIGNS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
_PARTS = st.one_of(
    st.builds("n {} {}".format, _SIGNS, st.integers(-2, 42)),
    st.builds("{} {} v".format, st.integers(-1, 5), _SIGNS),
    st.builds("k {} 'k{}'".format, _SIGNS, st.integers(0, 4)),
    st.builds("v IN ({}, {})".format, st.integers(0, 5), st.integers(0, 5)),
    st.sampled_from(["v IS NULL", "v IS NOT NULL", "MOD(n, 3) = 1", "(n < 9 OR v = 2)"]),
)


@given(st.lists(_PARTS, min_size=1, max_size=3).map(" AND ".join))
@examples(25)
def test_any_filter_gives_the_same_rows(t_env: TableEnvironment, condition: str) -> None:
    t_env.drop_temporary_view("plain")
    t_env.create_temporary_view("plain", t_env.from_elements(ROWS, COLUMNS))
    wanted = found(t_env, f"SELECT n FROM plain WHERE {condition}")
    for name in ("`groups`", "folders", "whole", "ranges"):
        assert found(t_env, f"SELECT n FROM {name} WHERE {condition}") == wanted, name
