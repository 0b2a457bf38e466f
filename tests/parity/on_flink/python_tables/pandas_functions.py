"""Functions of users over pandas Series, and tables from and to pandas frames."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
from pyflink.common import Row
from pyflink.table import AggregateFunction, DataTypes, ScalarFunction
from pyflink.table.expressions import col, lit
from pyflink.table.udf import udaf, udf
from pyflink.table.window import Over, Slide, Tumble

from .aggregate_functions import timed
from .showing import failed, final, frame, ordered, typed


def pandas_forms(t_env):
    add = udf(lambda i, j: i + j, result_type=DataTypes.BIGINT(), func_type="pandas")

    class Minus(ScalarFunction):
        def open(self, function_context):
            self.by = 1

        def eval(self, i):
            assert isinstance(i, pd.Series), type(i)
            return i - self.by

    minus = udf(Minus(), result_type=DataTypes.BIGINT(), func_type="pandas")

    @udf(result_type=DataTypes.STRING(), func_type="pandas")
    def upper(s):
        return s.str.upper()

    general = udf(lambda i: i * 100, result_type=DataTypes.BIGINT())
    t = t_env.from_elements([(1, 2, "x"), (3, 4, "y")], ["a", "b", "s"])
    return typed(
        t.where(add(t.a, t.b) > 1).select(
            add(t.a, t.b).alias("p"),
            minus(add(t.a, 1)).alias("q"),
            upper(t.s).alias("r"),
            general(t.a).alias("g"),
            add(general(t.a), minus(t.b)).alias("h"),
        )
    )


def pandas_types(t_env):
    kinds = [
        ("tiny", DataTypes.TINYINT(), 1),
        ("small", DataTypes.SMALLINT(), 2),
        ("i", DataTypes.INT(), 3),
        ("big", DataTypes.BIGINT(), 4),
        ("yes", DataTypes.BOOLEAN(), True),
        ("f", DataTypes.FLOAT(), 1.5),
        ("d", DataTypes.DOUBLE(), 2.5),
        ("s", DataTypes.STRING(), "x"),
        ("b", DataTypes.BYTES(), bytearray(b"x")),
        ("dec", DataTypes.DECIMAL(38, 18), Decimal("1.5")),
        ("day", DataTypes.DATE(), datetime.date(2020, 2, 29)),
        ("at", DataTypes.TIME(), datetime.time(1, 2, 3)),
        ("ts", DataTypes.TIMESTAMP(3), datetime.datetime(2020, 1, 2, 3, 4, 5, 678000)),
        ("arr", DataTypes.ARRAY(DataTypes.INT()), [1, 2]),
        (
            "r",
            DataTypes.ROW(
                [DataTypes.FIELD("n", DataTypes.INT()), DataTypes.FIELD("s", DataTypes.STRING())]
            ),
            Row(1, "a"),
        ),
    ]
    schema = DataTypes.ROW([DataTypes.FIELD(name, kind) for name, kind, _ in kinds])
    t = t_env.from_elements([tuple(each[2] for each in kinds)], schema)
    same = [
        udf(lambda v: v, result_type=kind, func_type="pandas", name=f"same_{name}")(
            col(name)
        ).alias(name)
        for name, kind, _ in kinds
    ]

    @udf(result_type=DataTypes.STRING(), func_type="pandas")
    def seen(*several):
        text = " ".join(
            "frame" if isinstance(each, pd.DataFrame) else f"{each.dtype}/{type(each[0]).__name__}"
            for each in several
        )
        return pd.Series([text] * len(several[0]))

    return [typed(t.select(*same)), final(t.select(seen(*(col(name) for name, _, _ in kinds))))]


def pandas_nulls(t_env):
    schema = DataTypes.ROW(
        [
            DataTypes.FIELD("i", DataTypes.INT()),
            DataTypes.FIELD("s", DataTypes.STRING()),
            DataTypes.FIELD("d", DataTypes.DOUBLE()),
        ]
    )
    t = t_env.from_elements([(1, "a", 1.0), (None, None, None)], schema)
    plus = udf(lambda i: i + 1, result_type=DataTypes.INT(), func_type="pandas")
    same = udf(lambda s: s, result_type=DataTypes.STRING(), func_type="pandas")
    filled = udf(lambda d: d.fillna(-1.0), result_type=DataTypes.DOUBLE(), func_type="pandas")
    missing = udf(lambda i: i.isnull(), result_type=DataTypes.BOOLEAN(), func_type="pandas")
    return final(t.select(plus(t.i), same(t.s), filled(t.d), missing(t.i)))


def pandas_map(t_env):
    kind = DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.BIGINT()), DataTypes.FIELD("b", DataTypes.BIGINT())]
    )

    @udf(result_type=kind, func_type="pandas")
    def doubled(x):
        assert isinstance(x, pd.DataFrame), type(x)
        return x * 2

    by_columns = udf(
        lambda x: pd.concat([x.a, x.a + x.b], axis=1), result_type=kind, func_type="pandas"
    )
    by_values = udf(
        lambda a, b: pd.DataFrame({"p": a, "q": b + 1}), result_type=kind, func_type="pandas"
    )
    t = t_env.from_elements([(1, 2), (3, 4)], ["a", "b"])
    return [
        typed(t.map(doubled)),
        final(t.map(by_columns).alias("c", "d")),
        final(t.map(by_values(t.a, t.b)).alias("c", "d")),
        final(t.map(doubled.alias("x", "y")).select(col("y"))),
    ]


def pandas_aggregates(b_env):
    class Spread(AggregateFunction):
        def open(self, function_context):
            self.counter = function_context.get_metric_group().counter("groups")

        def create_accumulator(self):
            return []

        def accumulate(self, accumulator, *args):
            accumulator.append(args[0].max() - args[0].min())

        def get_value(self, accumulator):
            self.counter.inc()
            return accumulator[0]

    mean = udaf(lambda v: v.mean(), result_type=DataTypes.FLOAT(), func_type="pandas")
    spread = udaf(Spread(), result_type=DataTypes.INT(), func_type="pandas")

    @udaf(result_type=DataTypes.INT(), func_type="pandas")
    def total(v, w):
        return (v * w).sum()

    t = b_env.from_elements(
        [(1, 2, 3), (3, 2, 3), (2, 1, 3), (1, 5, 4), (1, 8, 6), (2, 3, 4)],
        DataTypes.ROW(
            [
                DataTypes.FIELD("a", DataTypes.TINYINT()),
                DataTypes.FIELD("b", DataTypes.SMALLINT()),
                DataTypes.FIELD("c", DataTypes.INT()),
            ]
        ),
    )
    return [
        typed(
            t.group_by(t.a).select(
                t.a, mean(t.b).alias("m"), spread(t.b).alias("s"), total(t.b, t.c).alias("t")
            )
        ),
        final(t.select(mean(t.b), spread(t.c))),
        final(t.group_by(t.a + 1, t.a).select(t.a + 1, t.a + 2, spread(t.b) + 1)),
    ]


def pandas_aggregate_of_rows(b_env):
    kind = DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.FLOAT()), DataTypes.FIELD("b", DataTypes.INT())]
    )
    found = udaf(lambda x: Row(x.b.mean(), x.b.max()), result_type=kind, func_type="pandas")
    by_value = udaf(lambda b: Row(b.mean(), b.max()), result_type=kind, func_type="pandas")
    t = b_env.from_elements(
        [(1, 2), (1, 4), (2, 8)],
        DataTypes.ROW(
            [DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", DataTypes.INT())]
        ),
    )
    return [
        typed(
            t.select(t.a, t.b)
            .group_by(t.a)
            .aggregate(found.alias("m", "x"))
            .select(t.a, col("m"), col("x"))
        ),
        final(t.group_by(t.a).aggregate(by_value(t.b).alias("m", "x")).select(col("x"), col("m"))),
        final(t.aggregate(found.alias("m", "x")).select(col("x"), col("m"))),
    ]


def pandas_aggregate_results(b_env):
    t = b_env.from_elements([(1, "x", 1.5), (1, "y", 2.5), (2, "z", 0.0)], ["k", "s", "d"])
    several = udaf(
        lambda s: list(s), result_type=DataTypes.ARRAY(DataTypes.STRING()), func_type="pandas"
    )
    text = udaf(lambda s: s.str.cat(sep="+"), result_type=DataTypes.STRING(), func_type="pandas")
    decimal = udaf(
        lambda d: Decimal(str(d.sum())), result_type=DataTypes.DECIMAL(10, 2), func_type="pandas"
    )
    yes = udaf(lambda d: bool(d.max() > 1), result_type=DataTypes.BOOLEAN(), func_type="pandas")
    return typed(
        t.group_by(t.k).select(
            t.k,
            several(t.s).alias("a"),
            text(t.s).alias("b"),
            decimal(t.d).alias("c"),
            yes(t.d).alias("d"),
        )
    )


def pandas_aggregates_in_windows(t_env):
    mean = udaf(lambda v: v.mean(), result_type=DataTypes.FLOAT(), func_type="pandas")
    t = timed(t_env)
    tumble = Tumble.over(lit(1).hours).on(t.ts).alias("w")
    slide = Slide.over(lit(1).hours).every(lit(30).minutes).on(t.ts).alias("w")
    return [
        final(
            t.window(tumble)
            .group_by(t.k, col("w"))
            .select(t.k, col("w").start, col("w").end, mean(t.v))
        ),
        final(t.window(slide).group_by(t.k, col("w")).select(t.k, col("w").start, mean(t.v))),
    ]


def pandas_aggregates_over_windows(t_env):
    mean = udaf(lambda v: v.mean(), result_type=DataTypes.FLOAT(), func_type="pandas")
    t_env.create_temporary_system_function("mean_of", mean)
    t = timed(t_env)
    window = Over.partition_by(t.k).order_by(t.ts).preceding(lit(1).hours).alias("w")
    return [
        final(t.over_window(window).select(t.k, t.v, mean(t.v).over(col("w")))),
        final(
            t_env.sql_query(
                "SELECT k, v, mean_of(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM timed"
            )
        ),
    ]


def pandas_aggregates_over_windows_of_batches(b_env):
    mean = udaf(lambda v: v.mean(), result_type=DataTypes.FLOAT(), func_type="pandas")
    b_env.create_temporary_system_function("mean_of", mean)
    b_env.create_temporary_view(
        "t", b_env.from_elements([(1, 2), (1, 4), (2, 8), (1, 9)], ["k", "v"])
    )
    return final(
        b_env.sql_query(
            """SELECT k, v, mean_of(v) OVER (PARTITION BY k ORDER BY v ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
               mean_of(v) OVER (PARTITION BY k ORDER BY v ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING),
               mean_of(v) OVER (PARTITION BY k) FROM t"""
        )
    )


def frame_of_types():
    return pd.DataFrame(
        {
            "i8": np.array([1, 2], "int8"),
            "i16": np.array([1, 2], "int16"),
            "i32": np.array([1, 2], "int32"),
            "i64": np.array([1, 2], "int64"),
            "f32": np.array([1.5, 2.5], "float32"),
            "f64": np.array([1.5, 2.5], "float64"),
            "yes": np.array([True, False]),
            "s": ["a", None],
            "b": [b"x", b"y"],
            "day": [datetime.date(2020, 1, 1), None],
            "at": [datetime.time(1, 2, 3), datetime.time(4, 5, 6)],
            "ts": pd.to_datetime(["2020-01-01 01:02:03", "2021-01-01 01:02:03"]),
            "dec": [Decimal("1.50"), Decimal("2.50")],
            "arr": [[1, 2], [3]],
        }
    )


def from_pandas_types(t_env):
    return typed(t_env.from_pandas(frame_of_types()))


def from_pandas_round_trip(t_env):
    return frame(t_env.from_pandas(frame_of_types()))


def from_pandas_schemas(t_env):
    data = pd.DataFrame({"a": [1, 2], "b": [1.5, 2.5]})
    row = DataTypes.ROW(
        [DataTypes.FIELD("x", DataTypes.INT()), DataTypes.FIELD("y", DataTypes.FLOAT())]
    )
    return [
        typed(t_env.from_pandas(data, ["x", "y"])),
        typed(t_env.from_pandas(data, [DataTypes.INT(), DataTypes.FLOAT()])),
        typed(t_env.from_pandas(data, row)),
        typed(t_env.from_pandas(data, splits_num=2)),
        failed(lambda: t_env.from_pandas([1, 2])) is not None,
    ]


def from_pandas_rows(t_env):
    kind = DataTypes.ROW(
        [
            DataTypes.FIELD("n", DataTypes.INT()),
            DataTypes.FIELD(
                "r",
                DataTypes.ROW(
                    [
                        DataTypes.FIELD("x", DataTypes.INT()),
                        DataTypes.FIELD("y", DataTypes.STRING()),
                    ]
                ),
            ),
        ]
    )
    data = pd.DataFrame({"n": [1, 2], "r": [{"x": 1, "y": "a"}, {"x": 2, "y": "b"}]})
    t = t_env.from_pandas(data, kind)
    return [typed(t), final(t.select(col("r").get("y")))]


def from_pandas_zones(t_env):
    t_env.get_config().set_local_timezone("America/New_York")
    data = pd.DataFrame({"ts": pd.to_datetime(["2020-07-01 01:02:03.123"])})
    kind = DataTypes.ROW([DataTypes.FIELD("ts", DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(3))])
    t = t_env.from_pandas(data, kind)
    return [
        final(t.select(t.ts.cast(DataTypes.STRING()))),
        frame(t),
        typed(t_env.from_pandas(data)),
    ]


def to_pandas_types(t_env):
    t = t_env.sql_query(
        """SELECT CAST(1 AS TINYINT) AS a, CAST(2 AS SMALLINT) AS b, 3 AS c, CAST(4 AS BIGINT) AS d, CAST(1.5 AS FLOAT) AS e,
           CAST(2.5 AS DOUBLE) AS f, CAST(1.50 AS DECIMAL(5, 2)) AS g, TRUE AS h, 'x' AS i, X'00FF' AS j, DATE '2020-02-29' AS k,
           TIME '10:11:12' AS l, TIMESTAMP '2020-01-01 10:00:00.123' AS m, ARRAY[1, 2] AS n, CAST(NULL AS INT) AS o"""
    )
    return frame(t)


def to_pandas_nulls(t_env):
    schema = DataTypes.ROW(
        [
            DataTypes.FIELD("i", DataTypes.INT()),
            DataTypes.FIELD("d", DataTypes.DOUBLE()),
            DataTypes.FIELD("s", DataTypes.STRING()),
            DataTypes.FIELD("yes", DataTypes.BOOLEAN()),
            DataTypes.FIELD("day", DataTypes.DATE()),
            DataTypes.FIELD("ts", DataTypes.TIMESTAMP(3)),
            DataTypes.FIELD("dec", DataTypes.DECIMAL(10, 2)),
        ]
    )
    full = (
        1,
        1.5,
        "a",
        True,
        datetime.date(2020, 1, 1),
        datetime.datetime(2020, 1, 1),
        Decimal("1.25"),
    )
    return frame(t_env.from_elements([full, (None,) * 7], schema))


def to_pandas_rows(t_env):
    kind = DataTypes.ROW(
        [DataTypes.FIELD("x", DataTypes.INT()), DataTypes.FIELD("y", DataTypes.STRING())]
    )
    schema = DataTypes.ROW([DataTypes.FIELD("n", DataTypes.INT()), DataTypes.FIELD("r", kind)])
    return frame(t_env.from_elements([(1, Row(1, "a")), (2, Row(2, "b"))], schema))


def to_pandas_of_updates(t_env):
    t = t_env.from_elements([("a", 1), ("b", 2), ("a", 3)], ["k", "v"])
    return frame(t.group_by(t.k).select(t.k, t.v.sum.alias("s"), t.v.avg.alias("m")))


def to_pandas_of_batches(b_env):
    t = b_env.from_elements([("a", 1), ("b", 2), ("a", 3)], ["k", "v"])
    found = t.order_by(t.v.desc).fetch(2).to_pandas()
    return [found.columns.tolist(), found.values.tolist(), found.index.tolist()]


def to_pandas_of_one_column(t_env):
    t = t_env.from_elements([(1,), (2,)], ["a"])
    return [frame(t.select(t.a + 1)), frame(t.where(t.a > 5))["rows"]]


def pandas_function_of_wrong_length(t_env):
    t = t_env.from_elements([(1,), (2,)], ["a"])
    wrong = udf(
        lambda a: pd.Series([1, 2, 3, 4, 5]), result_type=DataTypes.BIGINT(), func_type="pandas"
    )
    return failed(lambda: ordered(t.select(wrong(t.a)))) is not None
