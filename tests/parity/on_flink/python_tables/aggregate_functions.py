"""Aggregate functions of users."""

from __future__ import annotations

from pyflink.common import Row
from pyflink.table import AggregateFunction, DataTypes, ListView, MapView, TableAggregateFunction
from pyflink.table.expressions import call, col, lit
from pyflink.table.udf import udaf, udtaf
from pyflink.table.window import Over, Session, Slide, Tumble

from .showing import final, typed


class Total(AggregateFunction):
    """The sum of values times weights; NULL counts as nothing."""

    def open(self, function_context):
        self.counter = function_context.get_metric_group().counter("rows")

    def get_value(self, accumulator):
        return accumulator[0]

    def create_accumulator(self):
        return [0]

    def accumulate(self, accumulator, value, weight=1):
        self.counter.inc()
        if value is not None:
            accumulator[0] += value * weight

    def retract(self, accumulator, value, weight=1):
        if value is not None:
            accumulator[0] -= value * weight

    def merge(self, accumulator, accumulators):
        for other in accumulators:
            accumulator[0] += other[0]

    def get_accumulator_type(self):
        return DataTypes.ARRAY(DataTypes.BIGINT())

    def get_result_type(self):
        return DataTypes.BIGINT()


class Joined(AggregateFunction):
    """Texts in the order of their coming, in a list of the state."""

    def get_value(self, accumulator):
        return accumulator[1].join(str(each) for each in accumulator[0])

    def create_accumulator(self):
        return Row(ListView(), ",")

    def accumulate(self, accumulator, value, separator=","):
        accumulator[1] = separator
        accumulator[0].add(value)

    def retract(self, accumulator, value, separator=","):
        left = list(accumulator[0].get())
        left.remove(value)
        accumulator[0].clear()
        accumulator[0].add_all(left)

    def get_accumulator_type(self):
        return DataTypes.ROW(
            [
                DataTypes.FIELD("f0", DataTypes.LIST_VIEW(DataTypes.STRING())),
                DataTypes.FIELD("f1", DataTypes.STRING()),
            ]
        )

    def get_result_type(self):
        return DataTypes.STRING()


class Different(AggregateFunction):
    """The number of values that differ, in a map of the state."""

    def get_value(self, accumulator):
        return accumulator[1]

    def create_accumulator(self):
        return Row(MapView(), 0)

    def accumulate(self, accumulator, value):
        counts = accumulator[0]
        if value in counts:
            counts[value] = counts[value] + 1
        else:
            counts.put(value, 1)
            accumulator[1] += 1

    def retract(self, accumulator, value):
        counts = accumulator[0]
        if counts.get(value) == 1:
            del counts[value]
            accumulator[1] -= 1
        else:
            counts[value] -= 1

    def get_accumulator_type(self):
        return DataTypes.ROW(
            [
                DataTypes.FIELD("f0", DataTypes.MAP_VIEW(DataTypes.STRING(), DataTypes.BIGINT())),
                DataTypes.FIELD("f1", DataTypes.BIGINT()),
            ]
        )

    def get_result_type(self):
        return DataTypes.BIGINT()


class Views(AggregateFunction):
    """All of what a map of the state can do, as one text."""

    def get_value(self, accumulator):
        view = accumulator[0]
        items = sorted(view.items())
        return f"{items} {sorted(view.keys())} {sorted(view.values())} {sorted(view)} {view.is_empty()} {accumulator[1]}"

    def create_accumulator(self):
        return Row(MapView(), "")

    def accumulate(self, accumulator, key, value):
        view = accumulator[0]
        if value < 0:
            view.clear()
        elif value == 0:
            view.remove(key)
        else:
            view.put(key, value)
            view[key + "!"] = value
        accumulator[1] = f"{view.contains(key)} {key in view} {view.get(key)} {view.get('nothing')}"

    def get_accumulator_type(self):
        return DataTypes.ROW(
            [
                DataTypes.FIELD("f0", DataTypes.MAP_VIEW(DataTypes.STRING(), DataTypes.BIGINT())),
                DataTypes.FIELD("f1", DataTypes.STRING()),
            ]
        )

    def get_result_type(self):
        return DataTypes.STRING()


class Extremes(AggregateFunction):
    """A row of the least and the greatest value."""

    def get_value(self, accumulator):
        return Row(accumulator[0], accumulator[1])

    def create_accumulator(self):
        return Row(None, None)

    def accumulate(self, accumulator, value):
        known = [each for each in accumulator if each is not None]
        accumulator[0] = min([value, *known])
        accumulator[1] = max([value, *known])

    def get_accumulator_type(self):
        return DataTypes.ROW(
            [DataTypes.FIELD("a", DataTypes.BIGINT()), DataTypes.FIELD("b", DataTypes.BIGINT())]
        )

    def get_result_type(self):
        return DataTypes.ROW(
            [
                DataTypes.FIELD("low", DataTypes.BIGINT()),
                DataTypes.FIELD("high", DataTypes.BIGINT()),
            ]
        )


class RowTotal(AggregateFunction):
    """Count and sum of a whole row's field."""

    def get_value(self, accumulator):
        return Row(accumulator[0], accumulator[1])

    def create_accumulator(self):
        return Row(0, 0)

    def accumulate(self, accumulator, row):
        accumulator[0] += 1
        accumulator[1] += row.v if hasattr(row, "v") else row[1]

    def retract(self, accumulator, row):
        accumulator[0] -= 1
        accumulator[1] -= row.v if hasattr(row, "v") else row[1]

    def get_accumulator_type(self):
        return DataTypes.ROW(
            [DataTypes.FIELD("a", DataTypes.BIGINT()), DataTypes.FIELD("b", DataTypes.BIGINT())]
        )

    def get_result_type(self):
        return DataTypes.ROW(
            [DataTypes.FIELD("n", DataTypes.BIGINT()), DataTypes.FIELD("s", DataTypes.BIGINT())]
        )


class Top2(TableAggregateFunction):
    """The two greatest values, with their places."""

    def create_accumulator(self):
        return [None, None]

    def accumulate(self, accumulator, value):
        value = value[1] if isinstance(value, Row) else value
        known = sorted((each for each in [*accumulator, value] if each is not None), reverse=True)
        accumulator[:] = [*known, None, None][:2]

    def emit_value(self, accumulator):
        for at, each in enumerate(accumulator):
            if each is not None:
                yield at + 1, each

    def get_accumulator_type(self):
        return DataTypes.ARRAY(DataTypes.BIGINT())

    def get_result_type(self):
        return DataTypes.ROW(
            [DataTypes.FIELD("place", DataTypes.BIGINT()), DataTypes.FIELD("v", DataTypes.BIGINT())]
        )


def sales(env):
    rows = [("a", 1, 2), ("b", 5, 1), ("a", 3, 1), ("b", None, 4), ("a", 1, 3)]
    schema = DataTypes.ROW(
        [
            DataTypes.FIELD("k", DataTypes.STRING()),
            DataTypes.FIELD("v", DataTypes.BIGINT()),
            DataTypes.FIELD("w", DataTypes.BIGINT()),
        ]
    )
    return env.from_elements(rows, schema)


def udaf_by_key(t_env):
    total = udaf(Total())
    t = sales(t_env)
    return typed(
        t.group_by(t.k).select(t.k, total(t.v).alias("s"), total(t.v, t.w).alias("x"), t.v.count)
    )


def udaf_of_all(t_env):
    total = udaf(Total())
    t = sales(t_env)
    return [
        typed(t.group_by().select(total(t.v, t.w).alias("s"))),
        final(t.select(total(t.v) + 1, total(t.w, 2))),
        final(t.where(t.k == "nobody").select(total(t.v).alias("s"))),
    ]


def udaf_in_sql(t_env):
    t_env.create_temporary_system_function("total", udaf(Total()))
    t_env.create_temporary_function("different", udaf(Different()))
    t_env.create_temporary_view("t", sales(t_env))
    return [
        final(t_env.sql_query("SELECT k, total(v), total(v, w) FROM t GROUP BY k")),
        final(t_env.sql_query("SELECT total(v) FROM t HAVING total(v) > 3")),
        final(
            t_env.sql_query(
                "SELECT k, total(v) FILTER (WHERE w < 3), different(CAST(v AS STRING)) FROM t WHERE v IS NOT NULL GROUP BY k"
            )
        ),
    ]


def udaf_distinct(t_env):
    total = udaf(Total())
    t = sales(t_env)
    t_env.create_temporary_function("total", total)
    t_env.create_temporary_view("t", t)
    return [
        final(t.group_by(t.k).select(t.k, total(t.v).distinct.alias("s"))),
        final(t_env.sql_query("SELECT k, total(DISTINCT v), total(v) FROM t GROUP BY k")),
    ]


def udaf_retracted(t_env):
    t = sales(t_env)
    total = udaf(Total())
    inner = t.group_by(t.k).select(t.k, t.v.sum.alias("s"))
    return final(
        inner.group_by().select(
            total(col("s")).alias("r"), udaf(Different())(col("s").cast(DataTypes.STRING()))
        )
    )


def udaf_list_view(t_env):
    joined = udaf(Joined())
    t = sales(t_env)
    text = t.v.cast(DataTypes.STRING())
    whole = t.where(t.v.is_not_null)
    return final(
        whole.group_by(t.k).select(t.k, joined(text), joined(text, "-"), joined(text).distinct)
    )


def udaf_list_view_retracted(t_env):
    t = sales(t_env)
    inner = t.group_by(t.k).select(t.k, t.w.sum.cast(DataTypes.STRING()).alias("s"))
    return final(inner.select(udaf(Joined())(col("s")).alias("r")).select(col("r").char_length))


def udaf_map_view(t_env):
    t = sales(t_env)
    different = udaf(Different())
    return final(
        t.group_by(t.k).select(t.k, different(t.w.cast(DataTypes.STRING())), different(t.k))
    )


def udaf_views(t_env):
    t = t_env.from_elements(
        [("a", 1), ("b", 2), ("a", 0), ("c", -1), ("d", 4), ("d", 5)], ["k", "v"]
    )
    return final(t.select(udaf(Views())(t.k, t.v)))


def udaf_of_row_type(t_env):
    t = sales(t_env).where(col("v").is_not_null)
    extremes = udaf(Extremes())
    grouped = t.group_by(t.k).select(t.k, extremes(t.v).alias("r"))
    return [
        typed(grouped),
        typed(grouped.select(col("k"), col("r").flatten)),
        typed(grouped.select(col("r").get("low"), col("r").get(1))),
    ]


def udaf_given_types(t_env):
    class Mean(AggregateFunction):
        def create_accumulator(self):
            return Row(0.0, 0)

        def accumulate(self, accumulator, value):
            accumulator[0] += value
            accumulator[1] += 1

        def get_value(self, accumulator):
            return accumulator[0] / accumulator[1]

    mean = udaf(
        Mean(),
        input_types=[DataTypes.DOUBLE()],
        result_type=DataTypes.DOUBLE(),
        accumulator_type=DataTypes.ROW(
            [DataTypes.FIELD("a", DataTypes.DOUBLE()), DataTypes.FIELD("b", DataTypes.BIGINT())]
        ),
        name="mean",
    )
    t = t_env.from_elements([(1, 1.5), (1, 2.25)], ["k", "v"])
    return typed(t.group_by(t.k).select(mean(t.v).alias("m")))


def udaf_with_built_in_ones(t_env):
    t = sales(t_env)
    total = udaf(Total())
    return final(
        t.group_by(t.k).select(
            t.k,
            total(t.v),
            t.v.sum,
            t.v.avg,
            t.v.count,
            t.v.min,
            t.v.max,
            t.w.count.distinct,
            t.w.sum0,
        )
    )


def udaf_in_tumbling_windows(t_env):
    t = timed(t_env)
    total = udaf(Total())
    window = Tumble.over(lit(1).hours).on(col("ts")).alias("w")
    grouped = t.window(window).group_by(col("w"), t.k)
    return typed(grouped.select(t.k, col("w").start, col("w").end, total(t.v).alias("s")))


def udaf_in_sliding_windows(t_env):
    t = timed(t_env)
    window = Slide.over(lit(1).hours).every(lit(30).minutes).on(col("ts")).alias("w")
    grouped = t.window(window).group_by(col("w"), t.k)
    return final(
        grouped.select(t.k, col("w").start, col("w").end, udaf(Total())(t.v, lit(2)).alias("s"))
    )


def udaf_in_session_windows(t_env):
    t = timed(t_env)
    window = Session.with_gap(lit(30).minutes).on(col("ts")).alias("w")
    grouped = t.window(window).group_by(col("w"), t.k)
    return final(
        grouped.select(
            t.k, col("w").start, col("w").end, col("w").rowtime, udaf(Total())(t.v).alias("s")
        )
    )


def udaf_in_windows_of_sql(t_env):
    t_env.create_temporary_function("total", udaf(Total()))
    t_env.create_temporary_view("t", timed(t_env))
    return [
        final(
            t_env.sql_query(
                "SELECT k, TUMBLE_START(ts, INTERVAL '1' HOUR), total(v) FROM t GROUP BY k, TUMBLE(ts, INTERVAL '1' HOUR)"
            )
        ),
        final(
            t_env.sql_query(
                "SELECT SESSION_START(ts, INTERVAL '30' MINUTE), total(v), COUNT(*) FROM t GROUP BY SESSION(ts, INTERVAL '30' MINUTE)"
            )
        ),
    ]


def udaf_over_windows(t_env):
    # Flink has no OVER windows of such functions but those of pandas; built-in ones show the frames.
    t = timed(t_env)
    rows = Over.partition_by(t.k).order_by(t.ts).preceding(lit(1).hours).alias("w")
    return final(
        t.over_window(rows).select(t.k, t.v, t.v.sum.over(col("w")), t.v.count.over(col("w")))
    )


def timed(of):
    of.execute_sql(
        f"""CREATE TEMPORARY TABLE timed (k STRING, v BIGINT, moment STRING,
           ts AS TO_TIMESTAMP(moment), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
           WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '{times_file()}')"""
    )
    return of.from_path("timed")


def times_file():
    import os
    import tempfile

    path = os.path.join(tempfile.mkdtemp(), "times.csv")
    with open(path, "w") as file:
        for minute, (k, v) in enumerate(
            [("a", 1), ("b", 2), ("a", 3), ("a", 4), ("b", 5), ("a", 6), ("b", 7)]
        ):
            total = minute * minute * 6
            file.write(f"{k},{v},2024-01-01 {10 + total // 60:02d}:{total % 60:02d}:00\n")
    return path


def udtaf_by_key(t_env):
    top = udtaf(Top2())
    t = sales(t_env).where(col("v").is_not_null)
    grouped = t.group_by(t.k)
    return [
        typed(grouped.flat_aggregate(top(t.v).alias("p", "x")).select(t.k, col("p"), col("x"))),
        final(grouped.flat_aggregate(top(t.v)).select(col("k"), col("v") * 2, col("place"))),
    ]


def udtaf_of_all(t_env):
    top = udtaf(Top2())
    t = sales(t_env).where(col("v").is_not_null)
    return [
        final(t.flat_aggregate(top(t.v).alias("p", "x")).select(col("x"), col("p"))),
        final(t.flat_aggregate(top(t.v)).select(col("v"))),
    ]


def udtaf_of_rows(t_env):
    top = udtaf(Top2())
    t = sales(t_env).where(col("v").is_not_null)
    return final(
        t.group_by(t.k).flat_aggregate(top.alias("p", "x")).select(t.k, col("p"), col("x"))
    )


def udtaf_by_name(t_env):
    t_env.create_temporary_system_function("top2", udtaf(Top2()))
    t = sales(t_env).where(col("v").is_not_null)
    return final(
        t.group_by(t.k).flat_aggregate(call("top2", t.v).alias("p", "x")).select(t.k, col("x"))
    )


def aggregate_of_rows(t_env):
    t = t_env.from_elements([("a", 1), ("b", 2), ("a", 4)], ["k", "v"])
    counted = udaf(RowTotal())
    return [
        typed(t.group_by(t.k).aggregate(counted.alias("n", "s")).select(t.k, col("n"), col("s"))),
        final(t.aggregate(counted.alias("n", "s")).select(col("s"), col("n"))),
        final(t.group_by(t.k).aggregate(counted).select(col("k"), col("n") + col("s"))),
    ]


def aggregate_of_values(t_env):
    t = sales(t_env).where(col("v").is_not_null)
    extremes = udaf(
        Extremes(),
        accumulator_type=DataTypes.ROW(
            [DataTypes.FIELD("a", DataTypes.BIGINT()), DataTypes.FIELD("b", DataTypes.BIGINT())]
        ),
    )
    grouped = t.group_by(t.k).aggregate(extremes(t.v).alias("lo", "hi"))
    return typed(grouped.select(col("hi"), col("lo"), t.k))


def aggregate_of_expression_keys(t_env):
    t = sales(t_env)
    found = t.group_by(t.k.upper_case.alias("u"), (t.w % 2).alias("odd")).select(
        col("u"), col("odd"), udaf(Total())(t.w)
    )
    return final(found)


def udaf_batch(b_env):
    t = b_env.from_elements([("a", 1), ("b", 2), ("a", 4)], ["k", "v"])
    mean = udaf(lambda v: v.mean(), result_type=DataTypes.DOUBLE(), func_type="pandas")
    return typed(t.group_by(t.k).select(t.k, mean(t.v).alias("m")).order_by(col("k")))


def aggregate_of_rows_in_windows(t_env):
    class Seen(AggregateFunction):
        def create_accumulator(self):
            return [0]

        def accumulate(self, accumulator, row):
            accumulator[0] += len(row) * row.v

        def get_value(self, accumulator):
            return Row(accumulator[0], 1)

        def get_accumulator_type(self):
            return DataTypes.ARRAY(DataTypes.BIGINT())

        def get_result_type(self):
            return DataTypes.ROW(
                [DataTypes.FIELD("a", DataTypes.BIGINT()), DataTypes.FIELD("b", DataTypes.BIGINT())]
            )

    t = timed(t_env)
    t = t.select(t.ts, t.k, t.v)
    window = Tumble.over(lit(1).hours).on(t.ts).alias("w")
    grouped = t.window(window).group_by(col("w"), t.k)
    return final(grouped.aggregate(udaf(Seen()).alias("x", "y")).select(t.k, col("x"), col("y")))


def aggregates_with_times_of_windows(t_env):
    t = timed(t_env)
    w = col("w")
    window = Tumble.over(lit(1).hours).on(t.ts).alias("w")
    grouped = t.window(window).group_by(w, t.k)
    extremes = udaf(Extremes())
    top = udtaf(Top2())
    return [
        final(
            grouped.aggregate(extremes(t.v).alias("lo", "hi")).select(
                t.k, col("lo"), col("hi"), w.start, w.end.alias("e")
            )
        ),
        final(grouped.flat_aggregate(top(t.v).alias("p", "x")).select(w.start, t.k, col("x"))),
    ]
