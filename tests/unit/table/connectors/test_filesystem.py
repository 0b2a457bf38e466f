"""Tables of files."""

from __future__ import annotations

import datetime
import pickle
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.common import Types
from millstream.common.errors import CheckpointError, MillstreamError, PlanError
from millstream.common.types import Row
from millstream.connectors.files.text import TextReader
from millstream.connectors.reading import Progress
from millstream.table.connectors.partition_commit import CommitRule
from millstream.table.connectors.table_files import GrowingTableFiles
from millstream.table.table_environment import TableEnvironment
from millstream.testing import in_memory

ROW = (
    1,
    "a b",
    Decimal("1.50"),
    datetime.datetime(2020, 1, 1, 0, 0, 0, 123_000),
    Row(1, "q"),
    [1, 2],
)
COLUMNS = (
    "id INT, s STRING, d DECIMAL(10, 2), ts TIMESTAMP(3), r ROW<a INT, b STRING>, l ARRAY<INT>"
)


@dataclass
class Touch:
    """An object that makes a file when it is unpickled."""

    path: Path

    def __reduce__(self):
        return Path.touch, (self.path,)


def environment(*rows):
    t_env = TableEnvironment.create()
    t = t_env.from_elements(rows or [(1, "x", "p"), (2, None, "q/r")], "id INT, s STRING, p STRING")
    t_env.create_temporary_view("t", t)
    return t_env


def files(folder: Path):
    found = (each for each in sorted(folder.rglob("*")) if each.is_file())
    return [each for each in found if "_millstream" not in each.parts]


def rows(t_env, query):
    return sorted(map(tuple, t_env.final_rows(t_env.sql_query(query))), key=repr)


@pytest.mark.parametrize("form", ["json", "csv", "parquet", "orc", "avro"])
def test_what_is_written_is_read(tmp_path, form):
    t_env = environment()
    with_options = f"('connector' = 'filesystem', 'path' = '{tmp_path}/o', 'format' = '{form}')"
    t_env.execute_sql(f"CREATE TABLE o ({COLUMNS}) WITH {with_options}")
    t_env.execute_sql(
        "INSERT INTO o VALUES (1, 'a b', CAST(1.5 AS DECIMAL(10, 2)), "
        "TIMESTAMP '2020-01-01 00:00:00.123', ROW(1, 'q'), ARRAY[1, 2])"
    )
    assert rows(t_env, "SELECT * FROM o") == [ROW]


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_partitions_are_folders(tmp_path, form):
    t_env = environment()
    with_options = f"('connector' = 'filesystem', 'path' = '{tmp_path}/o', 'format' = '{form}')"
    t_env.execute_sql(
        f"CREATE TABLE o (p STRING, id INT, s STRING) PARTITIONED BY (p) WITH {with_options}"
    )
    t_env.execute_sql(
        "INSERT INTO o SELECT p, id, s FROM t UNION ALL SELECT s, 3, 'z' FROM t WHERE id = 2"
    )
    folders = {each.parent.name for each in files(tmp_path / "o")}
    assert folders == {"p=p", "p=q%2Fr", "p=__DEFAULT_PARTITION__"}
    assert rows(t_env, "SELECT * FROM o") == [
        ("p", 1, "x"),
        ("q/r", 2, None),
        (None, 3, "z"),
    ]


@pytest.mark.parametrize(
    ("column", "folder"),
    [("_day", "_day=p"), ("a/../x", "a%2F..%2Fx=p"), ("a=b", "a%3Db=p"), ("p%41", "p%2541=p")],
)
def test_names_of_partition_columns_are_escaped_as_their_values(tmp_path, column, folder):
    t_env = environment((1, "x", "p"))
    with_options = f"('connector' = 'filesystem', 'path' = '{tmp_path}/o', 'format' = 'json')"
    t_env.execute_sql(
        f"CREATE TABLE o (`{column}` STRING, id INT) PARTITIONED BY (`{column}`) WITH {with_options}"
    )
    t_env.execute_sql("INSERT INTO o SELECT p, id FROM t")
    assert [each.parent for each in files(tmp_path)] == [tmp_path / "o" / folder]
    assert rows(t_env, "SELECT * FROM o") == [("p", 1)]


@pytest.mark.parametrize("column", [".p", "../../x"])
def test_partitions_that_nobody_would_read_are_refused(tmp_path, column):
    t_env = environment()
    with_options = f"('connector' = 'filesystem', 'path' = '{tmp_path}/o', 'format' = 'json')"
    t_env.execute_sql(
        f"CREATE TABLE o (`{column}` STRING, id INT) PARTITIONED BY (`{column}`) WITH {with_options}"
    )
    with pytest.raises(PlanError, match=f"partitioned by {column!r}"):
        t_env.execute_sql("INSERT INTO o SELECT p, id FROM t")


def test_only_files_whose_paths_match_are_read(tmp_path):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    for name in ("a.json", "deep/b.json", "c.txt", "_d.json"):
        (tmp_path / "in" / name).write_text(f'{{"s":"{name}"}}\n')
    t_env = environment()

    def found(pattern):
        t_env.execute_sql(
            "CREATE OR REPLACE TABLE i (s STRING) WITH ('connector' = 'filesystem', "
            f"'path' = '{tmp_path}/in', 'format' = 'json', 'source.path.regex-pattern' = '{pattern}')"
        )
        return rows(t_env, "SELECT * FROM i")

    assert found(".*[.]json") == [("a.json",), ("deep/b.json",)]
    assert found("[ab][.]json") == []
    with pytest.raises(MillstreamError, match="no regular expression"):
        found("(")


def test_a_growing_table_is_not_read_again_by_another_path(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "f").write_text('{"s":"x"}\n')
    (tmp_path / "link").symlink_to(tmp_path / "in")

    def source(path):
        return GrowingTableFiles(str(path), {}, TextReader(), Types.STRING())

    offset = Progress(source(tmp_path / "in")).next({})
    assert Progress(source(tmp_path / "in")).next(offset) == offset
    with pytest.raises(CheckpointError, match="FILES_ELSEWHERE"):
        Progress(source(tmp_path / "link")).next(offset)


@pytest.mark.parametrize("kind", ["RAW('a.B', 'AA==')", "ARRAY<ROW<o RAW('a.B', 'AA==')>>"])
def test_objects_in_files_are_refused_before_they_are_unpickled(tmp_path, kind):
    bytes_ = pa.array([pickle.dumps(Touch(tmp_path / "touched"))], pa.binary())
    pq.write_table(pa.table({"a": bytes_}), tmp_path / "f.parquet")
    t_env = environment()
    t_env.execute_sql(
        f"CREATE TABLE i (a {kind}) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}/f.parquet', 'format' = 'parquet')"
    )
    with pytest.raises(PlanError, match="run as code"):
        rows(t_env, "SELECT * FROM i")
    assert not (tmp_path / "touched").exists()


def test_metadata_of_files(tmp_path):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "deep" / "f1").write_text('{"s":"x"}\n')
    for hidden in (".hidden", "_x"):
        (tmp_path / "in" / hidden).write_text('{"s":"h"}\n')
    t_env = environment()
    t_env.execute_sql(
        "CREATE TABLE i (n STRING METADATA FROM 'file.name', s STRING, "
        "z BIGINT METADATA FROM 'file.size' VIRTUAL, u AS UPPER(s)) "
        f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/in', 'format' = 'json')"
    )
    assert rows(t_env, "SELECT * FROM i") == [("f1", "x", 10, "X")]


def test_changes_go_out_and_come_back(tmp_path):
    t_env = environment()
    with_options = (
        f"('connector' = 'filesystem', 'path' = '{tmp_path}/o', 'format' = 'debezium-json')"
    )
    t_env.execute_sql(f"CREATE TABLE o (p STRING, n BIGINT) WITH {with_options}")
    t_env.execute_sql("INSERT INTO o SELECT p, COUNT(*) FROM t GROUP BY p")
    assert rows(t_env, "SELECT n, COUNT(*) FROM o GROUP BY n") == [(1, 2)]


def test_updates_are_refused_where_files_only_grow(tmp_path):
    t_env = environment()
    with_options = f"('connector' = 'filesystem', 'path' = '{tmp_path}/o', 'format' = 'json')"
    t_env.execute_sql(f"CREATE TABLE o (p STRING, n BIGINT) WITH {with_options}")
    with pytest.raises(PlanError, match=r"insertions only.*Aggregate"):
        t_env.execute_sql("INSERT INTO o SELECT p, COUNT(*) FROM t GROUP BY p")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("'path' = 'x'", "needs the option 'format'"),
        ("'path' = 'x', 'format' = 'jsn'", "unknown format 'jsn'"),
        (
            "'path' = 'x', 'format' = 'json', 'json.ignore-parse-error' = 'true'",
            "did you mean 'json.ignore-parse-errors'",
        ),
        ("'path' = 'x', 'format' = 'csv', 'csv.field-delimiter' = 'ab'", "single character"),
        ("'path' = 'x', 'format' = 'raw'", "one value"),
    ],
)
def test_wrong_options(options, message):
    t_env = environment()
    t_env.execute_sql(f"CREATE TABLE o (a INT, b INT) WITH ('connector' = 'filesystem', {options})")
    with pytest.raises(MillstreamError, match=message):
        t_env.final_rows(t_env.from_path("o"))


def test_watermarks_and_windows_over_files(tmp_path):
    (tmp_path / "in").mkdir()
    lines = [f'{{"k":"a","ts":"2024-01-01 00:00:{second:02d}"}}\n' for second in (1, 5, 12, 25)]
    (tmp_path / "in" / "f").write_text("".join(lines))
    t_env = environment()
    t_env.execute_sql(
        "CREATE TABLE i (k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) "
        f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/in', 'format' = 'json')"
    )
    found = rows(
        t_env,
        "SELECT k, COUNT(*) FROM TUMBLE(TABLE i, DESCRIPTOR(ts), INTERVAL '10' SECOND) "
        "GROUP BY k, window_start, window_end",
    )
    assert found == [("a", 1), ("a", 1), ("a", 2)]


def test_only_columns_that_are_used_are_read(tmp_path):
    (tmp_path / "f").write_text('{"a":1,"b":"no number","p":2}\n')
    t_env = environment()
    t_env.execute_sql(
        "CREATE TABLE i (b INT, a INT, c AS a + 1) "
        f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/f', 'format' = 'json')"
    )
    assert rows(t_env, "SELECT c FROM i") == [(2,)]
    with pytest.raises(MillstreamError, match="no number"):
        rows(t_env, "SELECT b, c FROM i")


def committed(tmp_path, options):
    (tmp_path / "in").mkdir()
    times = ("00:10", "00:50", "01:10", "03:10")
    lines = [f'{{"d":"2024-01-01","h":"{t[:2]}","ts":"2024-01-01 {t}:00"}}\n' for t in times]
    (tmp_path / "in" / "f").write_text("".join(lines))
    t_env = environment()
    t_env.execute_sql(
        "CREATE TABLE i (d STRING, h STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
        f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/in', 'format' = 'json')"
    )
    t_env.execute_sql(
        "CREATE TABLE o (ts TIMESTAMP(3), d STRING, h STRING) PARTITIONED BY (d, h) "
        f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/out', 'format' = 'csv', {options})"
    )
    with in_memory(epochs=1):
        t_env.execute_sql("INSERT INTO o SELECT ts, d, h FROM i").wait()
    found = {each.parent.name for each in (tmp_path / "out").rglob("_SUCCESS")}
    assert len(rows(t_env, "SELECT * FROM o")) == 4
    return sorted(found)


def test_a_partition_is_complete_with_its_epoch(tmp_path):
    options = "'sink.partition-commit.policy.kind' = 'success-file'"
    assert committed(tmp_path, options) == ["h=00", "h=01", "h=03"]


def test_a_partition_is_complete_when_its_time_is_over(tmp_path):
    options = (
        "'sink.partition-commit.policy.kind' = 'metastore,success-file', "
        "'sink.partition-commit.trigger' = 'partition-time', 'sink.partition-commit.delay' = '1 h', "
        "'partition.time-extractor.timestamp-pattern' = '$d $h:00:00'"
    )
    # The last watermark is that of the end: it passes all times.
    assert committed(tmp_path, options) == ["h=00", "h=01", "h=03"]


def test_the_time_of_a_partition_is_in_a_zone():
    row, names = {"d": "2024-01-01", "h": "1"}, ("d", "h")
    utc = CommitRule(pattern="$d $h:00:00")
    shanghai = replace(utc, zone="Asia/Shanghai")
    assert utc.time_ms(names, row) - shanghai.time_ms(names, row) == 8 * 3_600_000


def test_an_unknown_zone_of_partitions_is_refused(tmp_path):
    options = (
        "'sink.partition-commit.policy.kind' = 'success-file', "
        "'sink.partition-commit.watermark-time-zone' = 'Asia/Shangri-La'"
    )
    with pytest.raises(PlanError, match="unknown time zone 'Asia/Shangri-La'"):
        committed(tmp_path, options)


def test_there_are_no_other_policies(tmp_path):
    with pytest.raises(PlanError, match="success-file"):
        committed(tmp_path, "'sink.partition-commit.policy.kind' = 'metastore'")
