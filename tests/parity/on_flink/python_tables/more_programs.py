"""More programs of users: functions in all places, rows, windows, changelogs, streams."""

from __future__ import annotations

import datetime
from decimal import Decimal

from pyflink.common import Row, RowKind, Types
from pyflink.table import (
    AggregateFunction,
    DataTypes,
    FormatDescriptor,
    Schema,
    TableDescriptor,
    TableFunction,
)
from pyflink.table.expressions import call_sql, col, lit, row
from pyflink.table.udf import TableAggregateFunction, udaf, udf, udtaf, udtf
from pyflink.table.window import Session, Tumble

from .aggregate_functions import timed
from .showing import failed, final, shown, typed

F = DataTypes.FIELD


class Told(AggregateFunction):
    def create_accumulator(self):
        return [""]

    def accumulate(self, accumulator, row):
        accumulator[0] += f"{len(row)}:{[shown(x) for x in row]};"

    def get_value(self, accumulator):
        return Row(accumulator[0], 1)

    def get_accumulator_type(self):
        return DataTypes.ARRAY(DataTypes.STRING())

    def get_result_type(self):
        return DataTypes.ROW([F("a", DataTypes.STRING()), F("b", DataTypes.BIGINT())])


def rows_seen_in_windows(t_env):
    t = timed(t_env)
    t = t.select(t.k, t.ts, t.v)
    w = Tumble.over(lit(1).hours).on(t.ts).alias("w")
    return final(
        t.window(w)
        .group_by(col("w"), t.k)
        .aggregate(udaf(Told()).alias("x", "y"))
        .select(t.k, col("x"))
    )


def rows_seen_in_wide_windows(t_env):
    t = timed(t_env)
    t = t.select(t.ts, t.v, t.k, t.v * 2)
    w = Session.with_gap(lit(1).hours).on(t.ts).alias("w")
    return final(
        t.window(w).group_by(col("w")).aggregate(udaf(Told()).alias("x", "y")).select(col("x"))
    )


def functions_in_conditions_joins_groups(t_env):
    t = t_env.from_elements([(1, "a"), (2, "b"), (3, "a")], ["n", "s"])
    r = t_env.from_elements([(2, "x"), (4, "y"), (6, "z")], ["m", "q"])
    twice = udf(lambda x: x * 2, result_type=DataTypes.BIGINT())
    even = udf(lambda x: x % 2 == 0, result_type=DataTypes.BOOLEAN())
    up = udf(lambda s: s.upper(), result_type=DataTypes.STRING())
    joined = t.join(r).where((twice(t.n) == r.m) & even(r.m))
    return final(
        joined.group_by(up(t.s).alias("k")).select(
            col("k"), twice(col("n").sum).alias("t"), up(col("q").max)
        )
    )


def nulls_into_functions(t_env):
    t = t_env.from_elements(
        [(None, None, None, None, None)],
        DataTypes.ROW(
            [
                F("a", DataTypes.INT()),
                F("b", DataTypes.STRING()),
                F("c", DataTypes.ARRAY(DataTypes.INT())),
                F("d", DataTypes.ROW([F("x", DataTypes.INT())])),
                F("e", DataTypes.TIMESTAMP(3)),
            ]
        ),
    )
    seen = udf(lambda *a: str(a), result_type=DataTypes.STRING())
    back = udf(lambda a: None, result_type=DataTypes.ARRAY(DataTypes.INT()))
    return typed(t.select(seen(t.a, t.b, t.c, t.d, t.e).alias("s"), back(t.a).alias("n")))


def values_seen_by_functions(t_env):
    kinds = [
        ("ti", DataTypes.TINYINT(), 1),
        ("f", DataTypes.FLOAT(), 0.1),
        ("dec", DataTypes.DECIMAL(10, 3), Decimal("1.5")),
        ("by", DataTypes.BYTES(), bytearray(b"ab")),
        ("d", DataTypes.DATE(), datetime.date(2024, 2, 29)),
        ("t", DataTypes.TIME(), datetime.time(1, 2, 3)),
        ("ts", DataTypes.TIMESTAMP(3), datetime.datetime(2024, 1, 1, 1, 2, 3, 456000)),
        ("a", DataTypes.ARRAY(DataTypes.DATE()), [datetime.date(2024, 1, 1)]),
        ("m", DataTypes.MAP(DataTypes.STRING(), DataTypes.DECIMAL(5, 2)), {"k": Decimal("2.5")}),
        ("r", DataTypes.ROW([F("x", DataTypes.INT()), F("y", DataTypes.STRING())]), Row(1, "z")),
        ("c", DataTypes.CHAR(3), "abc"),
        ("o", DataTypes.BOOLEAN(), True),
    ]
    t = t_env.from_elements(
        [tuple(v for _, _, v in kinds)], DataTypes.ROW([F(n, k) for n, k, _ in kinds])
    )
    seen = udf(lambda v: f"{type(v).__name__} {v!r}", result_type=DataTypes.STRING())
    return final(t.select(*(seen(col(n)).alias(n) for n, _, _ in kinds)))


class Flat(TableFunction):
    def eval(self, s, sep=","):
        for at, part in enumerate(s.split(sep)):
            yield Row(at, part)


def table_functions_chained(t_env):
    t = t_env.from_elements([(1, "a,b;c"), (2, "d")], ["id", "s"])
    flat = udtf(Flat(), result_types=[DataTypes.INT(), DataTypes.STRING()])
    first = t.join_lateral(flat(t.s).alias("i", "p"))
    return typed(
        first.left_outer_join_lateral(flat(col("p"), ";").alias("j", "q"))
        .select(col("id"), col("i"), col("q"))
        .where(col("q") != "b")
    )


def flat_map_then_aggregate(t_env):
    t = t_env.from_elements([(1, "a,b"), (2, "a")], ["id", "s"])
    flat = udtf(
        lambda r: [Row(p, r.id) for p in r.s.split(",")],
        result_types=[DataTypes.STRING(), DataTypes.BIGINT()],
    )
    made = t.flat_map(flat).alias("w", "n")
    return typed(
        made.group_by(col("w")).select(col("w"), col("n").sum.alias("s"), col("n").count.alias("c"))
    )


class Weighted(AggregateFunction):
    def create_accumulator(self):
        return Row(0, 0)

    def accumulate(self, acc, value, weight):
        acc[0] += value * weight
        acc[1] += weight

    def retract(self, acc, value, weight):
        acc[0] -= value * weight
        acc[1] -= weight

    def merge(self, acc, accs):
        for other in accs:
            acc[0] += other[0]
            acc[1] += other[1]

    def get_value(self, acc):
        return None if acc[1] == 0 else acc[0] / acc[1]

    def get_result_type(self):
        return DataTypes.DOUBLE()

    def get_accumulator_type(self):
        return DataTypes.ROW([F("f0", DataTypes.BIGINT()), F("f1", DataTypes.BIGINT())])


weighted = udaf(Weighted())


def weights(e):
    return e.from_elements([("a", 1, 2), ("a", 3, 4), ("b", 5, 1), ("a", 2, 1)], ["k", "v", "w"])


def weighted_in_all_places(t_env):
    t = weights(t_env)
    t_env.create_temporary_view("t", t)
    t_env.create_temporary_function("weighted", weighted)
    return [
        typed(
            t.group_by(t.k)
            .select(weighted(t.v, t.w).alias("m"), t.k, (t.v.sum + 1).alias("s"))
            .where(col("m") > 1)
        ),
        final(
            t_env.sql_query("SELECT AVG(m) FROM (SELECT k, weighted(v, w) AS m FROM t GROUP BY k)")
        ),
        final(
            t_env.sql_query(
                "SELECT weighted(s, c) FROM (SELECT k, SUM(v) AS s, COUNT(*) AS c FROM t GROUP BY k)"
            )
        ),
    ]


def weighted_in_session_windows(t_env):
    t = timed(t_env)
    w = Session.with_gap(lit(30).minutes).on(t.ts).alias("w")
    return final(
        t.window(w)
        .group_by(col("w"), t.k)
        .select(
            t.k, weighted(t.v, t.v).alias("m"), col("w").start, col("w").end, t.v.count.alias("n")
        )
    )


class TopK(TableAggregateFunction):
    def create_accumulator(self):
        return [None, None]

    def accumulate(self, acc, v):
        best = sorted([x for x in (acc[0], acc[1], v) if x is not None], reverse=True)[:2]
        acc[0], acc[1] = [*best, None, None][:2]

    def emit_value(self, acc):
        for at, each in enumerate(acc):
            if each is not None:
                yield Row(each, at + 1)

    def get_accumulator_type(self):
        return DataTypes.ARRAY(DataTypes.BIGINT())

    def get_result_type(self):
        return DataTypes.ROW([F("v", DataTypes.BIGINT()), F("rank", DataTypes.INT())])


def top_of_groups(t_env):
    t = weights(t_env)
    top = udtaf(TopK())
    return [
        typed(t.group_by(t.k).flat_aggregate(top(t.v)).select(t.k, col("v"), col("rank"))),
        typed(
            t.group_by(t.k)
            .flat_aggregate(top(t.v).alias("x", "y"))
            .select(col("y"), (col("x") + 1).alias("x1"), t.k)
            .where(col("y") == 1)
        ),
    ]


def changelog_of_views(env, s_env):
    rows = [
        Row.of_kind(RowKind.INSERT, "a", 1),
        Row.of_kind(RowKind.UPDATE_BEFORE, "a", 1),
        Row.of_kind(RowKind.UPDATE_AFTER, "a", 5),
        Row.of_kind(RowKind.INSERT, "b", 2),
        Row.of_kind(RowKind.DELETE, "b", 2),
    ]
    s = env.from_collection(rows, Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]))
    t = s_env.from_changelog_stream(s)
    return [typed(t), final(t.select(t.v.sum, t.k.count))]


def batch_orders(b_env):
    t = b_env.from_elements([(3, "c"), (1, "a"), (2, "b"), (5, "e"), (4, "d")], ["n", "s"])
    out = []
    with t.order_by(t.n.desc).offset(1).fetch(3).select(t.s + "!").execute().collect() as rows:
        out = [shown(r) for r in rows]
    return out


def rows_flattened(t_env):
    kind = DataTypes.ROW(
        [
            F(
                "r",
                DataTypes.ROW(
                    [F("x", DataTypes.INT()), F("y", DataTypes.ROW([F("z", DataTypes.STRING())]))]
                ),
            ),
            F("n", DataTypes.INT()),
        ]
    )
    t = t_env.from_elements([(Row(1, Row("q")), 5), (None, 6)], kind)
    return [
        typed(t.select(t.r.flatten, t.n)),
        typed(t.select(t.r.get("y").get("z").alias("z"), t.r.get(0))),
    ]


def rows_made(t_env):
    t = t_env.from_elements(
        [(1, "a")], DataTypes.ROW([F("i", DataTypes.INT()), F("s", DataTypes.STRING())])
    )
    return [
        typed(t.select(row(t.i, t.s).alias("r"), row(1, "q").alias("l"))),
        final(t.select(row(t.i, t.s).alias("r")).select(col("r").get(1))),
    ]


def times_with_millis(t_env):
    T = DataTypes.TIME()
    at = datetime.time(12, 0, 0, 123000)
    t = t_env.from_elements([(at,)], DataTypes.ROW([F("a", T)]))
    same = udf(lambda v: v, result_type=T)
    made = udf(lambda v: datetime.time(1, 2, 3, 456789), result_type=T)
    return final(
        t.select(
            t.a,
            t.a.cast(DataTypes.STRING()),
            same(t.a),
            made(t.a),
            same(t.a).cast(DataTypes.STRING()),
            made(t.a) > t.a,
            t.a == same(t.a),
        )
    )


def decimals_rounded(t_env):
    D2 = DataTypes.DECIMAL(10, 2)
    t = t_env.from_elements(
        [(Decimal("1.005"), Decimal("1.015"), Decimal("-2.675"))],
        DataTypes.ROW([F("a", D2), F("b", D2), F("c", D2)]),
    )
    made = udf(
        lambda v, at: [
            Decimal("1.005"),
            Decimal("1.015"),
            Decimal("-2.675"),
            Decimal("1.025"),
            None,
        ][at],
        result_type=D2,
    )
    inside = udf(lambda v: [Decimal("1.005"), Decimal("1.015")], result_type=DataTypes.ARRAY(D2))
    return final(
        t.select(
            t.a,
            t.b,
            t.c,
            made(t.a, 0),
            made(t.a, 1),
            made(t.a, 2),
            made(t.a, 3),
            made(t.a, 4),
            inside(t.a),
        )
    )


def schemas_shown(t_env):
    def built():
        return Schema.new_builder()

    nested = DataTypes.ROW(
        [F("x", DataTypes.DECIMAL(5, 2)), F("y", DataTypes.ARRAY(DataTypes.STRING().not_null()))]
    )
    schemas = [
        built().column_by_expression("b", call_sql("a + 1")),
        built().column_by_expression("b", "a + 1"),
        built().column_by_metadata("m", "INT", "key", False),
        built().column_by_metadata("m", "INT", None, True),
        built().column("ts", "TIMESTAMP(3)").watermark("ts", call_sql("ts - INTERVAL '1' SECOND")),
        built().column("ts", "TIMESTAMP(3)").watermark("ts", "SOURCE_WATERMARK()"),
        built()
        .column("a", "INT NOT NULL")
        .column("b", DataTypes.INT().not_null())
        .primary_key("a", "b"),
        built().column("a", "INT NOT NULL").primary_key_named("pk", "a"),
        built().column("a", nested),
    ]
    return [str(each.build()) for each in schemas]


def descriptors_shown(t_env):
    schema = Schema.new_builder().column("a", DataTypes.INT()).column("b", "STRING").build()
    full = TableDescriptor.for_connector("filesystem").schema(schema).option("path", "/x")
    full = full.option("k", "v").partitioned_by("b").comment("words").format("json").build()
    form = FormatDescriptor.for_format("json").option("ignore-parse-errors", "true")
    form = form.option("x.y", "1").build()
    return [
        str(full),
        str(TableDescriptor.for_connector("x").build()),
        str(form),
        str(TableDescriptor.for_connector("x").format(form).schema(schema).build()),
    ]


def schemas_of_tables_shown(t_env):
    t_env.execute_sql(
        """CREATE TABLE w (a INT NOT NULL, b STRING, ts TIMESTAMP(3), p AS PROCTIME(), c AS a + 1,
        WATERMARK FOR ts AS ts - INTERVAL '1' SECOND, PRIMARY KEY (a) NOT ENFORCED)
        WITH ('connector' = 'datagen')"""
    )
    w = t_env.from_path("w")
    return [str(w.get_schema()), str(w.distinct().get_schema()), str(w.order_by(w.ts).get_schema())]


def texts_added(t_env):
    t = t_env.from_elements([("a", 1)], ["s", "n"])
    return typed(t.select((t.s + t.s).alias("a"), (t.s + 1).alias("b")))


def configurations_set(t_env):
    config = t_env.get_config()
    config.get_configuration().set_string("k1", "v1")
    config.set_local_timezone("Asia/Shanghai")
    return [
        config.get("k1", ""),
        failed(lambda: config.set_local_timezone("Nowhere/Land")) is not None,
        config.get_local_timezone(),
    ]


def columns_named_wrongly(t_env):
    t = t_env.from_elements([(1, "x")], ["a", "b"])
    return [
        failed(lambda: t.alias("x", "x")) is not None,
        failed(lambda: t.rename_columns(col("zz").alias("y"))) is not None,
        failed(lambda: DataTypes.DECIMAL(39, 2)) is not None,
        failed(lambda: DataTypes.TIMESTAMP(10)) is not None,
        failed(lambda: Schema.new_builder().primary_key()) is not None,
    ]
