"""The state processor on real Spark: savepoints read, made of batch data, changed and compared."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.checkpoint.savepoints import Savepoint, describe
from millstream.common import Types, WatermarkStrategy
from millstream.common.errors import CheckpointError, PlanError
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DataGeneratorSource, RateLimiterStrategy
from millstream.datastream.state import MapStateDescriptor
from millstream.state_processor import SavepointReader, SavepointWriter, diff, diff_state
from tests.support.spark.savepoint_programs import Remember, Ruled, everything, lines
from tests.support.spark.spark_support import Collecting, cancel, wait_for_job

pytestmark = pytest.mark.spark

MakeEnv = Callable[..., StreamExecutionEnvironment]
EVENT = Types.TUPLE([Types.STRING(), Types.LONG()])


@pytest.fixture(scope="module")
def stopped(spark: Any, tmp_path_factory: Any) -> Path:
    """A job that was stopped with a savepoint in the middle: its output and its savepoint."""
    folder = tmp_path_factory.mktemp("stopped")
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    env.set_parallelism(2).set_runtime_mode("STREAMING")
    env.set_checkpoint_directory(str(folder / "checkpoint"))
    client = everything(env, folder / "out").execute_async()
    wait_for_job(lambda: client.metrics().epoch >= 4, client, "epoch 4")
    client.stop_with_savepoint(str(folder / "saved"))
    return folder


@pytest.fixture(scope="module")
def records(stopped: Path) -> list[list[Any]]:
    """What the stopped job has written of its records."""
    found = [json.loads(line) for line in lines(stopped / "out")]
    return sorted((f for f in found if f[0] == "process"), key=lambda f: (f[1], f[3]))


def last_of(records: list[list[Any]]) -> dict[str, list[Any]]:
    """The last record of each key: what the state of the key is after it."""
    return {record[1]: record for record in records}


def go_on(env: StreamExecutionEnvironment, folder: Path, savepoint: str, **options: Any) -> None:
    env.set_checkpoint_directory(str(folder / "checkpoint"))
    env.restore_from_savepoint(savepoint, **options)
    everything(env, folder / "out").execute()


# -- reading --------------------------------------------------------------------------------------


def test_every_kind_of_state_is_read(spark: Any, stopped: Path, records: list[list[Any]]) -> None:
    reader = SavepointReader.read(spark, str(stopped / "saved"))
    states = {(o["uid"], s["name"]): s for o in reader.operators() for s in o["states"]}
    assert states["remember", "count"]["kind"] == "value"
    assert states["remember", "count"]["type"] == "INT"
    assert states["ruled", "broadcast/rules"]["kind"] == "broadcast"
    last = last_of(records)

    counts = reader.keyed_state("remember", "count")
    assert dict(counts.dtypes) == {"key": "string", "value": "int"}
    assert {r["key"]: r["value"] for r in counts.collect()} == {k: r[3] for k, r in last.items()}
    assert states["remember", "count"]["rows"] == len(last)

    seen = reader.keyed_state("remember", "seen", collect=True).collect()
    assert {r["key"]: r["value"] for r in seen} == {
        key: [record[2] for record in records if record[1] == key] for key in last
    }
    places = reader.keyed_state("remember", "seen").where("key = 'a'").orderBy("position")
    assert [r["value"] for r in places.collect()] == next(
        r["value"] for r in seen if r["key"] == "a"
    )

    entries = reader.keyed_state("remember", "last")
    assert entries.columns == ["key", "map_key", "value_repr", "value_pickled"]
    found = {(r["key"], r["map_key"]): r["value_repr"] for r in entries.collect()}
    assert found == {
        (key, map_key): repr(tuple(value))
        for key, record in last.items()
        for map_key, value in record[5]
    }

    timers = reader.timers("remember")
    assert timers.columns == ["key", "time", "domain"]
    fired = {
        (line[1], line[2]) for line in map(json.loads, lines(stopped / "out")) if line[0] == "timer"
    }
    due = {(r["key"], r["time"]) for r in timers.collect()}
    assert due | fired == {(record[1], record[2] + 200) for record in records}
    assert not due & fired

    windows = reader.window_state("sessions")
    assert {"key", "window_start", "window_end", "content"} <= set(windows.columns)
    one = windows.collect()[0]
    assert one["window_end"] - one["window_start"] >= 60
    assert one["content"].startswith(f"('{one['key']}', ")
    panes = reader.panes("contents").collect()
    assert {(p["field_0"], p["field_1"]) for p in panes} <= {(r[1], r[2]) for r in records}
    assert panes
    assert all(p["time"] == p["field_1"] for p in panes)

    rules = reader.broadcast_state("ruled", "rules").collect()
    assert {r["map_key"]: r["value"] for r in rules} == {
        key: max((r[2] for r in records if r[1] == key and r[2] % 4 == 0), key=by_number(records))
        for key in {r[1] for r in records if r[2] % 4 == 0}
    }
    with pytest.raises(CheckpointError, match=r"NO_SUCH_STATE.*'count'"):
        reader.keyed_state("remember", "total")
    with pytest.raises(CheckpointError, match="NO_SUCH_OPERATOR"):
        reader.timers("nobody")
    with pytest.raises(PlanError, match="NOT_A_LIST"):
        reader.keyed_state("remember", "count", collect=True)


def by_number(records: list[list[Any]]) -> Callable[[int], int]:
    """The order in which values of a key have come."""
    order = {record[2]: record[3] for record in records}
    return lambda value: order[value]


def test_the_checkpoint_of_a_job_is_read_while_it_runs(
    spark: Any, make_env: MakeEnv, tmp_path: Path
) -> None:
    env = make_env()
    env.set_checkpoint_directory(str(tmp_path / "checkpoint"))
    source = DataGeneratorSource(
        lambda n: ("ab"[n % 2], n), None, RateLimiterStrategy.per_checkpoint(4), EVENT
    )
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "events").uid("events")
    out = Collecting()
    stream.key_by(lambda v: v[0]).sum(1).uid("sums").sink_to(out)
    client = env.execute_async()
    try:
        wait_for_job(lambda: client.metrics().epoch >= 2, client, "epoch 2")
        with SavepointReader.read(spark, str(tmp_path / "checkpoint")) as reader:
            rows = reader.state("sums", "reduced").collect()
            sums = {row["key"]: tuple(row["value"]) for row in rows}
            folder = Path(reader.savepoint.path)
            assert folder.exists()
        assert not folder.exists()
        assert sums.keys() == {"a", "b"}
        assert set(sums.values()) <= set(map(tuple, out.values))
        with pytest.raises(CheckpointError, match="UNTRUSTED_STATE"):
            SavepointReader.read(spark, str(tmp_path / "checkpoint"), trusted=False)
        assert not client.get_job_execution_result().done()
    finally:
        cancel(client)


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return open, (self.path, "w")


def test_nothing_is_unpickled_of_what_is_not_trusted(
    spark: Any, stopped: Path, tmp_path: Path
) -> None:
    import pickle
    import zlib

    saved = next((stopped / "saved").iterdir())
    copy = tmp_path / "copy"
    shutil.copytree(saved, copy)
    went_off = tmp_path / "bomb"
    manifest = json.loads((copy / "savepoint.json").read_text())
    for table in manifest["tables"]:
        if table["state"] == "last":
            for file in table["files"]:
                rows = pq.read_table(copy / file["path"])
                place = rows.schema.get_field_index("value_pickled")
                bombs = [pickle.dumps(Bomb(str(went_off)))] * rows.num_rows
                rows = rows.set_column(place, "value_pickled", pa.array(bombs, pa.binary()))
                number = rows.schema.get_field_index("value_number")
                plain = pa.array([7] + [None] * (rows.num_rows - 1), pa.int64())
                if file is table["files"][0]:
                    rows = rows.set_column(number, "value_number", plain)
                pq.write_table(rows, copy / file["path"])
                data = (copy / file["path"]).read_bytes()
                file |= {"bytes": len(data), "crc32": zlib.crc32(data)}
    (copy / "savepoint.json").write_text(json.dumps(manifest))

    reader = SavepointReader.read(spark, str(copy), trusted=False)
    assert reader.keyed_state("remember", "count").count() == 5
    with pytest.warns(UserWarning, match="are pickled"):
        entries = reader.keyed_state("remember", "last").collect()
    assert sorted({r["value_repr"] for r in entries}, key=str) == ["7", None]
    with pytest.raises(CheckpointError, match="UNTRUSTED_STATE"):
        reader.window_state("sessions")
    found = diff(spark, str(saved), reader)
    assert [(d["uid"], d["state"], d["change"]) for d in found] == [("remember", "last", "changed")]
    with pytest.warns(UserWarning, match="are pickled"):
        writer = SavepointWriter.from_existing(spark, str(copy), trusted=False)
        writer.transform_keyed_state("remember", "last", lambda df: df.where("key = 'a'"))
    written = SavepointReader.read(spark, writer.write(str(tmp_path / "new")), trusted=False)
    assert written.savepoint.table("remember", "last").rows < len(entries)  # type: ignore[union-attr]
    assert not went_off.exists()
    # It is one: whoever trusts it, runs it.
    SavepointReader.read(spark, str(copy)).keyed_state("remember", "last").collect()
    assert went_off.exists()


# -- changing -------------------------------------------------------------------------------------


def test_a_savepoint_written_again_restores_the_same(
    spark: Any, make_env: MakeEnv, stopped: Path, tmp_path: Path
) -> None:
    saved = str(stopped / "saved")
    path = SavepointWriter.from_existing(spark, saved).write(str(tmp_path / "again"))
    assert diff(spark, saved, path) == []
    one, other = Savepoint.load(saved), Savepoint.load(path)
    assert one.id != other.id
    for name in ("operators", "states", "sources", "time", "epoch", "job_id"):
        assert getattr(one, name) == getattr(other, name)
    outputs = []
    for number, savepoint in enumerate((saved, path)):
        folder = tmp_path / str(number)
        go_on(make_env(), folder, savepoint)
        outputs.append(lines(folder / "out"))
    assert outputs[0] == outputs[1]
    assert outputs[0]


def test_a_job_goes_on_with_changed_state(
    spark: Any, make_env: MakeEnv, stopped: Path, tmp_path: Path, records: list[list[Any]]
) -> None:
    saved = str(stopped / "saved")
    writer = SavepointWriter.from_existing(spark, saved)
    writer.transform_keyed_state(
        "remember",
        "count",
        lambda df: df.selectExpr("key", "if(key = 'a', 1000, value) as value"),
    )
    # All that remains of these is what is written anew.
    writer.transform_keyed_state("remember", "last", lambda df: df.where("key <> 'b'"))
    writer.remove_operator("join")
    path = writer.write(str(tmp_path / "changed"), name="changed")
    assert describe(path)["name"] == "changed"

    found = {(d["uid"], d["state"]): d for d in diff(spark, saved, path)}
    assert found.pop(("remember", "count")) == {
        "uid": "remember", "state": "count", "change": "changed",
        "rows_left": 5, "rows_right": 5, "different": 1,
    }  # fmt: skip
    last = found.pop(("remember", "last"))
    assert (last["change"], last["different"]) == ("changed", 1)
    assert {(uid, d["change"]) for (uid, _), d in found.items()} == {("join", "removed")}
    count = last_of(records)["a"][3]
    keys = diff_state(spark, saved, path, "remember", "count").collect()
    assert [tuple(key) for key in keys] == [("'a'", "changed", str(count), "1000")]
    keys = diff_state(spark, saved, path, "remember", "last").collect()
    assert [(k["key"], k["change"], k["right"]) for k in keys] == [("'b'", "removed", None)]

    go_on(make_env(), tmp_path, path)
    after = [json.loads(line) for line in lines(tmp_path / "out")]
    mine = sorted(f[3] for f in after if f[0] == "process" and f[1] == "a")
    assert mine == list(range(1001, 1001 + len(mine)))
    other = min(f[3] for f in after if f[0] == "process" and f[1] == "c")
    assert other == last_of(records)["c"][3] + 1
    first = min((f for f in after if f[0] == "process" and f[1] == "b"), key=lambda f: f[3])
    assert len(first[5]) == 1, "its map begins anew"


def test_a_uid_changes_with_all_that_belongs_to_it(
    spark: Any, make_env: MakeEnv, stopped: Path, tmp_path: Path
) -> None:
    saved = str(stopped / "saved")
    writer = SavepointWriter.from_existing(spark, saved)
    with pytest.raises(PlanError, match="DUPLICATE_UID"):
        writer.change_uid("remember", "sums")
    path = writer.change_uid("remember", "r").change_uid("events", "e").write(str(tmp_path))
    with pytest.raises(CheckpointError, match="'r'"):
        go_on(make_env(), tmp_path / "x", path)
    back = SavepointWriter.from_existing(spark, path).change_uid("r", "remember")
    again = back.change_uid("e", "events").remove_state("remember", "timers").write(str(tmp_path))
    timers = SavepointReader.read(spark, again).timers("remember")
    assert timers.count() == 0
    assert [(d["state"], d["change"]) for d in diff(spark, saved, again)] == [("timers", "removed")]
    wider = SavepointWriter.from_existing(spark, saved).transform_keyed_state(
        "remember", "count", lambda df: df, value_type=Types.LONG()
    )
    found = SavepointReader.read(spark, wider.write(str(tmp_path / "wider")))
    assert dict(found.keyed_state("remember", "count").dtypes)["value"] == "bigint"


# -- from batch data ------------------------------------------------------------------------------


def test_a_job_goes_on_from_batch_data(spark: Any, make_env: MakeEnv, tmp_path: Path) -> None:
    history = spark.createDataFrame(
        [("a", 5), ("a", 6), ("b", 7), ("c", 8)], "who string, amount long"
    )
    counts = history.groupBy("who").count()
    entries = spark.createDataFrame([("a", 0, 60), ("a", 1, 61)], "who string, k int, v long")
    due = spark.createDataFrame(
        [("a", datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)), ("c", None)],
        "key string, time timestamp",
    ).dropna()
    rules = spark.createDataFrame([("a", 77)], "name string, rule long")
    writer = SavepointWriter.new(spark)
    writer.with_keyed_state(
        "remember", "count", counts.selectExpr("who", "int(count) n"), "who", "n"
    )
    writer.with_keyed_state(
        "remember", "seen", history, "who", "amount", kind="list", position="amount"
    )
    writer.with_keyed_state(
        "remember", "last", entries, "who", ["v", "k"], kind="map", map_key="k",
        value_type=Types.TUPLE([Types.LONG(), Types.INT()]),
    )  # fmt: skip
    writer.with_timers("remember", due)
    writer.with_broadcast_state("ruled", "rules", rules, "name", "rule")
    writer.with_source("events", {0: 4})
    path = writer.write(str(tmp_path / "saved"), name="from history")

    def build(env: StreamExecutionEnvironment, out: Collecting) -> StreamExecutionEnvironment:
        source = DataGeneratorSource(
            lambda n: ("abcd"[n % 4], n * 500), 9, RateLimiterStrategy.per_checkpoint(3), EVENT
        )
        times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda value, _: value[1]
        )
        stream = env.from_source(source, times, "events").uid("events")
        keyed = stream.key_by(lambda value: value[0])
        no_rules = stream.filter(lambda _: False).broadcast(
            MapStateDescriptor("rules", Types.STRING(), Types.LONG())
        )
        remembered = keyed.process(Remember()).uid("remember")
        remembered.union(keyed.connect(no_rules).process(Ruled()).uid("ruled")).sink_to(out)
        return env

    out = Collecting()
    env = make_env().set_parallelism(3)
    build(env.restore_from_savepoint(path), out).execute()
    found = [value for value in out.values if value[0] == "process"]
    assert [(v[1], v[2], v[3], v[4]) for v in found] == [
        ("a", 2_000, 3, 5 + 6 + 2_000),
        ("b", 2_500, 2, 7 + 2_500),
        ("c", 3_000, 2, 8 + 3_000),
        ("d", 3_500, 1, 3_500),
        ("a", 4_000, 4, 5 + 6 + 2_000 + 4_000),
    ]
    assert found[0][5] == [(0, (60, 0)), (1, (61, 1)), (2, (2_000, 3))]
    assert next(v for v in out.values if v[0] == "timer") == ("timer", "a", 1_000, 3)
    ruled = {v[1]: v[3] for v in out.values if v[0] == "ruled"}
    assert ruled == {"a": 77, "b": None, "c": None, "d": None}


def test_all_types_of_columns_come_back(spark: Any, tmp_path: Path) -> None:
    rows = spark.sql("""
        select 1 as k, date'2020-01-02' as d, timestamp_ntz'2020-01-02 03:04:05' as n,
            timestamp'2020-01-02 03:04:05Z' as t, '03:04:05.000006' as m, 1.50BD as dec,
            map('x', array(1, 2)) as ma, named_struct('f0', 'p', 'f1', 2L) as tu, x'0102' as bin,
            cast(1 as tinyint) as b, 2.5f as f, true as yes
        union all select 2, null, null, null, null, null, null, null, null, null, null, null
    """)
    fields = [name for name in rows.columns if name != "k"]
    writer = SavepointWriter.new(spark)
    for name in fields:
        value_type = Types.SQL_TIME() if name == "m" else None
        writer.with_keyed_state("one", name, rows, "k", name, value_type=value_type)
    writer.with_keyed_state("one", "all", rows, "k", fields)
    reader = SavepointReader.read(spark, writer.write(str(tmp_path)))
    expected = rows.where("k = 1").collect()[0]
    for name in fields:
        (row,) = reader.keyed_state("one", name).collect()
        shown = str(expected[name]) if name == "dec" else expected[name]
        assert (row["key"], row["value"]) == (1, shown), name
    both = {row["key"]: row["value"] for row in reader.keyed_state("one", "all").collect()}
    assert both[1]["ma"] == expected["ma"]
    assert both[1]["m"] == expected["m"]
    assert both[2]["ma"] is None


def test_rows_that_cannot_be_state_are_refused_and_nothing_is_left(
    spark: Any, tmp_path: Path
) -> None:
    target = str(tmp_path / "saved")
    twice = spark.createDataFrame([("a", 1), ("b", 2), ("a", 3)], "key string, value int")
    with pytest.raises(CheckpointError, match=r"DUPLICATE_STATE.*'n' of operator 'o'.*'a'"):
        SavepointWriter.new(spark).with_keyed_state("o", "n", twice).write(target)
    null = spark.createDataFrame([(None, 1)], "key string, value int")
    with pytest.raises(Exception, match="NULL_KEY"):
        SavepointWriter.new(spark).with_keyed_state("o", "n", null).write(target)
    assert list(Path(target).iterdir()) == []
    writer = SavepointWriter.new(spark).with_keyed_state("o", "n", twice)
    with pytest.raises(PlanError, match="KEY_TYPE_CHANGED"):
        writer.with_keyed_state("o", "m", twice, key_type=Types.TUPLE([Types.STRING()]))
    with pytest.raises(PlanError, match="BAD_STATE_KIND"):
        writer.with_keyed_state("o", "m", twice, kind="heap")
