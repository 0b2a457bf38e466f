"""Tables of streams, and streams of tables."""

from __future__ import annotations

import datetime
from decimal import Decimal

from pyflink.common import Row, RowKind, Types
from pyflink.common.time import Instant
from pyflink.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from pyflink.table import ChangelogMode, DataTypes, Schema
from pyflink.table.expressions import col, lit
from pyflink.table.udf import udf
from pyflink.table.window import Tumble

from .showing import GONE, TIMES, final, shown, typed


def collected(stream):
    with stream.execute_and_collect() as rows:
        return sorted(
            f"{row.get_row_kind().name} {shown(row)}" if isinstance(row, Row) else shown(row)
            for row in rows
        )


def pairs(env):
    return env.from_collection([(1, "a"), (2, "b")], Types.ROW([Types.INT(), Types.STRING()]))


def streams_as_tables(env, s_env):
    named = env.from_collection(
        [Row(1, "x")], Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
    )
    single = env.from_collection([1, 2], Types.INT())
    tuples = env.from_collection(
        [(1, "x", 1.5)], Types.TUPLE([Types.INT(), Types.STRING(), Types.DOUBLE()])
    )
    return [
        typed(s_env.from_data_stream(pairs(env))),
        typed(s_env.from_data_stream(named)),
        typed(s_env.from_data_stream(single)),
        typed(s_env.from_data_stream(tuples)),
        typed(s_env.from_data_stream(pairs(env), col("a"), col("b"))),
        typed(s_env.from_data_stream(named, col("name"), col("id").alias("i"))),
        typed(
            s_env.from_data_stream(
                named,
                Schema.new_builder()
                .column("id", DataTypes.BIGINT())
                .column_by_expression("twice", "id * 2")
                .build(),
            )
        ),
    ]


def stream_types(env, s_env):
    kinds = [
        (Types.BOOLEAN(), True),
        (Types.BYTE(), 1),
        (Types.SHORT(), 2),
        (Types.INT(), 3),
        (Types.LONG(), 4),
        (Types.FLOAT(), 1.5),
        (Types.DOUBLE(), 2.5),
        (Types.STRING(), "x"),
        (Types.BIG_DEC(), Decimal("1.5")),
        (Types.SQL_DATE(), datetime.date(2020, 1, 1)),
        (Types.SQL_TIME(), datetime.time(1, 2, 3)),
        (Types.SQL_TIMESTAMP(), datetime.datetime(2020, 1, 1, 1, 2, 3)),
        (Types.INSTANT(), Instant(1, 500_000_000)),
        (Types.LIST(Types.INT()), [1, 2]),
        (Types.MAP(Types.STRING(), Types.INT()), {"a": 1}),
        (Types.PRIMITIVE_ARRAY(Types.INT()), [1]),
        (Types.OBJECT_ARRAY(Types.STRING()), ["a"]),
        (Types.ROW([Types.INT(), Types.STRING()]), Row(1, "r")),
    ]
    stream = env.from_collection(
        [Row(*(value for _, value in kinds))], Types.ROW([kind for kind, _ in kinds])
    )
    table = s_env.from_data_stream(stream)
    schema = table.get_schema()
    return [
        TIMES.sub("TimestampType(3", f"{name}: {kind!r}")
        for name, kind in zip(schema.get_field_names(), schema.get_field_data_types(), strict=True)
    ]


def tables_as_streams(env, s_env):
    t = s_env.from_elements(
        [(1, "a"), (2, "b")],
        DataTypes.ROW(
            [DataTypes.FIELD("id", DataTypes.INT()), DataTypes.FIELD("s", DataTypes.STRING())]
        ),
    )
    by_name = s_env.to_data_stream(t).map(
        lambda r: (r[0] * 10, r.s if hasattr(r, "s") else r[1]),
        Types.TUPLE([Types.INT(), Types.STRING()]),
    )
    return [collected(s_env.to_data_stream(t)), collected(by_name)]


def tables_as_changelogs(env, s_env):
    t = s_env.from_elements([("a", 1), ("b", 2), ("a", 3)], ["k", "v"])
    grouped = t.group_by(t.k).select(t.k, t.v.sum.alias("s"))
    return [folded(s_env.to_changelog_stream(grouped)), collected(s_env.to_changelog_stream(t))]


def folded(stream):
    counts = {}
    with stream.execute_and_collect() as rows:
        for row in rows:
            counts[shown(row)] = counts.get(shown(row), 0) + (
                -1 if row.get_row_kind() in GONE else 1
            )
    return sorted(key for key, count in counts.items() for _ in range(count))


def changelogs_as_tables(env, s_env):
    def kinded(kind, *values):
        row = Row(*values)
        row.set_row_kind(kind)
        return row

    rows = [
        kinded(RowKind.INSERT, "Alice", 12),
        kinded(RowKind.INSERT, "Bob", 5),
        kinded(RowKind.UPDATE_BEFORE, "Alice", 12),
        kinded(RowKind.UPDATE_AFTER, "Alice", 100),
        kinded(RowKind.DELETE, "Bob", 5),
    ]
    stream = env.from_collection(rows, Types.ROW([Types.STRING(), Types.INT()]))
    t = s_env.from_changelog_stream(stream)
    s_env.create_temporary_view("t", t)
    upserts = [each for each in rows if each.get_row_kind() != RowKind.UPDATE_BEFORE]
    keyed = s_env.from_changelog_stream(
        env.from_collection(upserts, Types.ROW([Types.STRING(), Types.INT()])),
        Schema.new_builder()
        .column("f0", DataTypes.STRING().not_null())
        .column("f1", DataTypes.INT())
        .primary_key("f0")
        .build(),
        ChangelogMode.upsert(),
    )
    return [final(t), final(s_env.sql_query("SELECT f0, SUM(f1) FROM t GROUP BY f0")), final(keyed)]


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return int(value[0]) * 1000


def timed_stream(env):
    stream = env.from_collection(
        [(1, "a"), (5, "b"), (12, "a"), (14, "a"), (25, "b")],
        Types.ROW([Types.INT(), Types.STRING()]),
    )
    return stream.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    )


def timed_streams_as_tables(env, s_env):
    s_env.get_config().set_local_timezone("UTC")
    schema = (
        Schema.new_builder()
        .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
        .watermark("rowtime", "SOURCE_WATERMARK()")
        .build()
    )
    t = s_env.from_data_stream(timed_stream(env), schema)
    w = col("w")
    tumble = Tumble.over(lit(10).seconds).on(t.rowtime).alias("w")
    other = s_env.from_data_stream(timed_stream(env), col("n"), col("s"), col("ts").rowtime)
    return [
        final(t.window(tumble).group_by(w, t.f1).select(t.f1, w.start, w.end, t.f0.sum)),
        [
            f"{name}: {kind!r}"
            for name, kind in zip(
                other.get_schema().get_field_names(),
                other.get_schema().get_field_data_types(),
                strict=True,
            )
        ],
        final(
            other.window(Tumble.over(lit(10).seconds).on(other.ts).alias("w"))
            .group_by(w)
            .select(w.start, other.n.count)
        ),
    ]


def functions_between(env, s_env):
    doubled = pairs(env).map(
        lambda r: Row(r[0] * 2, r[1]), Types.ROW_NAMED(["n", "s"], [Types.INT(), Types.STRING()])
    )
    t = s_env.from_data_stream(doubled)
    upper = udf(lambda s: s.upper(), result_type=DataTypes.STRING())
    back = s_env.to_data_stream(t.select(t.n, upper(t.s).alias("s")))
    return collected(back.filter(lambda r: r[0] > 2))


def views_of_streams(env, s_env):
    s_env.create_temporary_view("v", pairs(env))
    s_env.create_temporary_view("w", pairs(env), col("x"), col("y"))
    s_env.create_temporary_view(
        "z", pairs(env), Schema.new_builder().column("f0", "BIGINT").column("f1", "STRING").build()
    )
    return [
        typed(s_env.from_path("v")),
        typed(s_env.sql_query("SELECT y, x FROM w")),
        typed(s_env.from_path("z")),
    ]


def append_and_retract_streams(env, s_env):
    t = s_env.from_elements([("a", 1), ("b", 2)], ["k", "v"])
    info = Types.ROW([Types.STRING(), Types.LONG()])
    return [
        collected(s_env.to_append_stream(t, info)),
        collected(
            s_env.to_retract_stream(t, info).map(
                lambda pair: f"{pair[0]} {list(pair[1])}", Types.STRING()
            )
        ),
    ]
