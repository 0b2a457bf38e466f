"""Streams as tables and tables as streams, in one job."""

from __future__ import annotations

import pytest

from millstream.common import Row, RowKind, Types, WatermarkStrategy
from millstream.common.errors import PlanError
from millstream.common.watermark_strategy import TimestampAssigner
from millstream.datastream import ProcessFunction, StreamExecutionEnvironment
from millstream.table import ChangelogMode, Schema, StreamTableEnvironment
from millstream.table.expressions import col

PAIR = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.INT()])


@pytest.fixture
def t_env() -> StreamTableEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    return StreamTableEnvironment.create(env)


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1_000


def timed(t_env, rows):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
    return t_env._env.from_collection(rows, PAIR).assign_timestamps_and_watermarks(strategy)


def texts(stream):
    return [f"{row.get_row_kind()}{tuple(row)}" for row in stream.execute_and_collect()]


def test_columns_are_the_fields_of_records(t_env):
    env = t_env._env
    tuples = env.from_collection([(1, "a")], Types.TUPLE([Types.INT(), Types.STRING()]))
    assert t_env.from_data_stream(tuples)._columns == ["f0", "f1"]
    assert t_env.from_data_stream(env.from_collection([1]))._columns == ["f0"]
    assert t_env.from_data_stream(env.from_collection([Row("a", 1)], PAIR))._columns == [
        "word",
        "n",
    ]


def test_a_stream_is_queried_and_goes_on_as_a_stream(t_env):
    stream = t_env._env.from_collection([Row("a", 1), Row("b", 5)], PAIR)
    t_env.create_temporary_view("pairs", stream)
    large = t_env.sql_query("SELECT UPPER(word) AS w, n + 1 AS m FROM pairs WHERE n > 1")
    found = t_env.to_data_stream(large).map(lambda row: (row.w, row["m"]))
    assert list(found.execute_and_collect()) == [("B", 6)]


def test_statements_leave_the_program_s_own_job_alone(t_env):
    stream = t_env._env.from_collection([Row("a", 1)], PAIR)
    table = t_env.from_data_stream(stream)
    assert [tuple(row) for row in table.execute().collect()] == [("a", 1)]
    assert list(stream.map(lambda row: row.n).execute_and_collect()) == [1]
    assert [tuple(row) for row in table.execute().collect()] == [("a", 1)]


def test_a_schema_adds_columns_and_overwrites_types(t_env):
    stream = t_env._env.from_collection([Row("a", 1)], PAIR)
    schema = Schema.new_builder().column_by_expression("m", "n * 2").build()
    assert t_env.from_data_stream(stream, schema)._columns == ["word", "n", "m"]
    schema = Schema.new_builder().column("n", "BIGINT").column("word", "STRING").build()
    table = t_env.from_data_stream(stream, schema)
    assert str(table.get_resolved_schema()) == "(\n  `n` BIGINT,\n  `word` STRING\n)"
    assert [tuple(row) for row in table.execute().collect()] == [(1, "a")]
    with pytest.raises(PlanError, match="no field x"):
        t_env.from_data_stream(stream, Schema.new_builder().column("x", "INT").build())


def test_expressions_name_columns_by_name_or_in_order(t_env):
    stream = t_env._env.from_collection([Row("a", 1)], PAIR)
    by_name = t_env.from_data_stream(stream, col("n").alias("m"), col("word"))
    assert [tuple(row) for row in by_name.execute().collect()] == [(1, "a")]
    assert by_name._columns == ["m", "word"]
    in_order = t_env.from_data_stream(stream, col("x"), col("y"), col("p").proctime)
    assert in_order._columns == ["x", "y", "p"]
    with pytest.raises(PlanError, match="3 columns are named"):
        t_env.from_data_stream(stream, col("x"), col("y"), col("z"))


def test_event_times_and_watermarks_go_through_in_both_directions(t_env):
    schema = (
        Schema.new_builder()
        .column_by_metadata("ts", "TIMESTAMP_LTZ(3)", "rowtime")
        .watermark("ts", "SOURCE_WATERMARK()")
        .build()
    )
    stream = timed(t_env, [Row("a", 1), Row("a", 4), Row("b", 12), Row("a", 13)])
    t_env.create_temporary_view("pairs", stream, schema)
    counts = t_env.sql_query(
        "SELECT window_start, COUNT(*) AS c FROM"
        " TUMBLE(TABLE pairs, DESCRIPTOR(ts), INTERVAL '10' SECOND)"
        " GROUP BY window_start, window_end"
    )
    found = [row.c for row in t_env.to_data_stream(counts).execute_and_collect()]
    assert found == [2, 2]
    times = t_env.to_data_stream(t_env.from_path("pairs")).process(Times())
    assert list(times.execute_and_collect()) == [1_000, 4_000, 12_000, 13_000]


class Times(ProcessFunction):
    def process_element(self, value, ctx):
        yield ctx.timestamp()


def test_changes_come_with_their_kinds(t_env):
    from millstream.testing import in_memory

    words = t_env.from_elements([("a",), ("b",), ("a",)], ["w"])
    t_env.create_temporary_view("words", words)
    counts = t_env.sql_query("SELECT w, COUNT(*) FROM words GROUP BY w")
    with in_memory(epochs=1):
        changes = texts(t_env.to_changelog_stream(counts))
        upserts = texts(t_env.to_changelog_stream(counts, None, ChangelogMode.upsert()))
    assert changes == ["+I('a', 1)", "+I('b', 1)", "-U('a', 1)", "+U('a', 2)"]
    assert upserts == ["+I('a', 1)", "+I('b', 1)", "+U('a', 2)"]
    with pytest.raises(PlanError, match="insertions only"):
        t_env.to_data_stream(counts)
    with pytest.raises(PlanError, match="insertions only"):
        t_env.to_changelog_stream(counts, None, ChangelogMode.insert_only())


def test_retract_and_append_streams(t_env):
    from millstream.testing import in_memory

    words = t_env.from_elements([("a",), ("a",)], ["w"])
    t_env.create_temporary_view("words", words)
    counts = t_env.sql_query("SELECT w, COUNT(*) FROM words GROUP BY w")
    kind = Types.ROW([Types.STRING(), Types.LONG()])
    with in_memory(epochs=1):
        found = [
            (add, tuple(row))
            for add, row in t_env.to_retract_stream(counts, kind).execute_and_collect()
        ]
    assert found == [(True, ("a", 1)), (False, ("a", 1)), (True, ("a", 2))]
    rows = t_env.to_append_stream(words, Types.ROW([Types.STRING()])).execute_and_collect()
    assert [tuple(row) for row in rows] == [("a",), ("a",)]


def test_a_changelog_stream_becomes_a_table(t_env):
    rows = [
        Row.of_kind(RowKind.INSERT, "a", 1),
        Row.of_kind(RowKind.UPDATE_BEFORE, "a", 1),
        Row.of_kind(RowKind.UPDATE_AFTER, "a", 5),
        Row.of_kind(RowKind.INSERT, "b", 2),
    ]
    stream = t_env._env.from_collection(rows, PAIR)
    t_env.create_temporary_view("pairs", t_env.from_changelog_stream(stream))
    (found,) = t_env.final_rows(t_env.sql_query("SELECT SUM(n) FROM pairs"))
    assert tuple(found) == (7,)
    again = t_env.from_changelog_stream(t_env.to_changelog_stream(t_env.from_path("pairs")))
    assert sorted(map(tuple, t_env.final_rows(again))) == [("a", 5), ("b", 2)]


def test_upserts_become_a_table_by_their_key(t_env):
    rows = [
        Row("a", 1),
        Row.of_kind(RowKind.UPDATE_AFTER, "a", 5),
        Row.of_kind(RowKind.DELETE, "b", 0),
    ]
    stream = t_env._env.from_collection(rows, Types.PICKLED_BYTE_ARRAY())
    schema = (
        Schema.new_builder().column("f0", "STRING").column("f1", "INT").primary_key("f0").build()
    )
    table = t_env.from_changelog_stream(stream, schema, ChangelogMode.upsert())
    assert [tuple(row) for row in t_env.final_rows(table)] == [("a", 5)]
