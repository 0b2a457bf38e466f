"""Tables out of tables: joins, groups, sets, orders, columns, windows."""

from __future__ import annotations

from pyflink.table import DataTypes
from pyflink.table.expressions import (
    CURRENT_RANGE,
    CURRENT_ROW,
    UNBOUNDED_RANGE,
    UNBOUNDED_ROW,
    and_,
    array,
    coalesce,
    col,
    concat,
    if_then_else,
    lag,
    lit,
    map_,
    not_,
    null_of,
    or_,
    range_,
    row,
    row_interval,
    with_all_columns,
    with_columns,
    without_columns,
)
from pyflink.table.window import Over, Session, Slide, Tumble

from .aggregate_functions import timed
from .showing import failed, final, ordered, typed


def three(env):
    return env.from_elements(
        [(1, "Hi", "Hello"), (2, "Hello", "Hello"), (3, None, "x")], ["a", "b", "c"]
    )


def selected_names(t_env):
    t = three(t_env)
    return [
        typed(t.select(t.a + 1, t.b, t.c.upper_case, lit(5), t.a.alias("z"))),
        typed(t.select(t.a.sum, t.b.count)),
        typed(t.group_by(t.c).select(t.c, t.a.sum, t.a.max + 1, t.a.avg.alias("m"))),
        typed(t.select(col("*"))),
        typed(t.select(with_all_columns())),
        typed(t.select(with_columns(range_("a", "b")))),
        typed(t.select(with_columns(2, 3), t.a)),
        typed(t.select(without_columns("b"))),
        typed(t.select(without_columns(range_(1, 2)))),
        typed(t.add_columns(t.a * 2, t.b.alias("d"))),
    ]


def columns_added_and_dropped(t_env):
    t = three(t_env)
    return [
        typed(t.add_columns(concat(t.c, "!").alias("d"))),
        typed(t.add_or_replace_columns(concat(t.c, "!").alias("b"), (t.a + 1).alias("e"))),
        typed(t.add_or_replace_columns(lit(1).alias("a"))),
        typed(t.rename_columns(t.a.alias("x"), t.c.alias("z"))),
        typed(t.drop_columns(t.b)),
        typed(t.drop_columns(t.b, t.a)),
        typed(t.alias("p", "q", "r")),
        failed(lambda: t.add_columns(t.a.alias("b"))) is not None,
        failed(lambda: t.rename_columns(t.a.alias("b"))) is not None,
        failed(lambda: t.drop_columns(col("nothing"))) is not None,
        failed(lambda: t.nothing) is not None,
    ]


def conditions(t_env):
    t = three(t_env)
    return [
        final(t.filter((t.a > 1) & (t.b == "Hello"))),
        final(t.where((t.a > 2) | (t.b == "Hi"))),
        final(t.where(~(t.b == "Hi"))),
        final(t.where(not_(t.b == "Hi"))),
        final(t.where(and_(t.a > 0, t.a < 3, t.b.is_not_null))),
        final(t.where(or_(t.a == 1, t.a == 3, t.b.is_null))),
        final(t.where(t.a.in_(1, 3))),
        final(t.where(t.b.in_("Hi", "x"))),
        final(t.where(t.a.between(2, 3))),
        final(t.where(t.a.not_between(2, 3))),
        final(t.where(t.b.like("H%") & t.c.is_not_null)),
        final(
            t.select(
                t.a == 1,
                t.b != "Hi",
                t.a >= 2,
                t.a <= 2,
                t.a < 2,
                -t.a,
                t.a % 2,
                t.a**2,
                t.a / 2,
                10 - t.a,
            )
        ),
        final(
            t.select(
                (t.a == 1).is_true,
                (t.b == "Hi").is_not_true,
                (t.b == "Hi").is_false,
                (t.b == "Hi").is_not_false,
            )
        ),
    ]


def in_of_tables(t_env):
    t = three(t_env)
    other = t_env.from_elements([(1,), (3,)], ["x"])
    return [final(t.where(t.a.in_(other))), final(t.where(~t.a.in_(other)))]


def values_made(t_env):
    t = three(t_env)
    made = t.where(t.a == 1).select(
        array(1, 2, 3).alias("arr"),
        map_("a", t.a, "b", 2).alias("m"),
        row(t.a, t.b, 1.5).alias("r"),
        null_of(DataTypes.INT()).alias("n"),
        coalesce(null_of(DataTypes.STRING()), t.b, "z").alias("c"),
        if_then_else(t.a > 5, lit("big"), lit("small")).alias("i"),
        (t.a > 5).then(1, 2).alias("t"),
        t.a.cast(DataTypes.STRING()).alias("s"),
        lit(True).alias("yes"),
        lit("abc").substring(2, 1).alias("sub"),
        t.b.try_cast(DataTypes.INT()).alias("tc"),
        lit(2, DataTypes.SMALLINT()).alias("sm"),
    )
    return [
        typed(made),
        final(
            made.select(
                col("arr").at(1),
                col("arr").cardinality,
                col("m").at("a"),
                col("r").get(0),
                col("r").get("f1"),
            )
        ),
        typed(made.select(col("r").flatten)),
    ]


def joins(t_env):
    left = t_env.from_elements([(1, "a"), (2, "b"), (3, "c")], ["a", "b"])
    right = t_env.from_elements([(2, "x"), (3, "y"), (4, "z"), (3, "w")], ["c", "d"])
    on = left.a == right.c
    return [
        typed(left.join(right, on)),
        typed(left.join(right).where(on).select(left.a, right.d)),
        typed(left.left_outer_join(right, on)),
        typed(left.right_outer_join(right, on)),
        typed(left.full_outer_join(right, on)),
        final(left.left_outer_join(right)),
        final(left.join(right, (left.a == right.c) & (right.d > "w"))),
        failed(lambda: left.join(left)) is not None,
    ]


def sets(t_env):
    left = t_env.from_elements([(1,), (1,), (2,), (3,)], ["a"])
    right = t_env.from_elements([(1,), (1,), (3,), (4,)], ["b"])
    return [
        final(left.union_all(right)),
        typed(left.union(right)),
        final(left.intersect(right)),
        final(left.intersect_all(right)),
        final(left.minus(right)),
        final(left.minus_all(right)),
        failed(lambda: left.union(left.select(left.a, left.a.alias("x")))) is not None,
    ]


def sets_of_batches(b_env):
    left = b_env.from_elements([(1,), (1,), (2,), (3,)], ["a"])
    right = b_env.from_elements([(1,), (1,), (3,), (4,)], ["b"])
    return [
        final(left.union(right)),
        final(left.intersect_all(right)),
        final(left.minus_all(right)),
        ordered(left.union_all(right).order_by(left.a.desc, left.a).offset(1).fetch(3)),
    ]


def orders(b_env):
    t = b_env.from_elements([(1, "x"), (2, "z"), (1, "y"), (3, None)], ["a", "b"])
    return [
        ordered(t.order_by(t.a.asc, t.b.desc)),
        ordered(t.order_by(t.b)),
        ordered(t.order_by(t.b.desc)),
        ordered(t.order_by(t.a, t.b).fetch(2)),
        ordered(t.order_by(t.a, t.b).offset(1).fetch(2)),
        ordered(t.order_by(t.a, t.b).limit(1, 2)),
        ordered(t.order_by(t.a, t.b).offset(3)),
    ]


def orders_of_streams(t_env):
    t = t_env.from_elements([(1, "x"), (2, "z"), (1, "y"), (3, None)], ["a", "b"])
    return [final(t.order_by(t.a.desc).fetch(2)), final(t.order_by(t.b, t.a).limit(2, 1))]


def distinct_rows(t_env):
    t = t_env.from_elements([(1, "x"), (1, "x"), (2, "x")], ["a", "b"])
    return [
        typed(t.distinct()),
        final(t.select(t.b).distinct()),
        final(t.select(t.a.count.distinct, t.a.sum.distinct)),
    ]


def groups(t_env):
    t = t_env.from_elements(
        [(1, "x", 1.5), (1, "y", None), (2, "x", 2.5), (2, None, 3.5)],
        DataTypes.ROW(
            [
                DataTypes.FIELD("a", DataTypes.INT()),
                DataTypes.FIELD("b", DataTypes.STRING()),
                DataTypes.FIELD("c", DataTypes.DOUBLE()),
            ]
        ),
    )
    return [
        typed(
            t.group_by(t.a).select(
                t.a.sum, t.c.sum.alias("s"), t.c.avg.alias("m"), t.b.count.alias("n")
            )
        ),
        typed(t.group_by(t.b).select(t.b, t.a.max.alias("x"), t.a.min.alias("y"))),
        typed(t.group_by(t.a % 2).select((t.a % 2).alias("odd"), t.a.count.alias("n"))),
        typed(
            t.group_by((t.a * 2).alias("k")).select(
                col("k"), t.c.stddev_pop, t.c.var_samp, t.c.var_pop, t.c.stddev_samp
            )
        ),
        typed(t.select(t.a.count, t.c.sum0, t.b.count.distinct)),
        typed(t.group_by(t.a).select(t.a, t.b.collect.alias("bs"))),
        typed(t.group_by(t.a).select(t.a, t.b.first_value.alias("f"), t.b.last_value.alias("l"))),
        final(t.group_by(t.a).select(t.a, t.b.list_agg(), t.b.list_agg("-"))),
        final(t.where(t.a > 100).select(t.a.sum, t.a.count)),
        final(t.where(t.a > 100).group_by(t.a).select(t.a.sum, t.a.count)),
    ]


def group_windows(t_env):
    t = timed(t_env)
    w = col("w")
    tumble = Tumble.over(lit(1).hours).on(t.ts).alias("w")
    slide = Slide.over(lit(2).hours).every(lit(1).hours).on(t.ts).alias("w")
    session = Session.with_gap(lit(1).hours).on(t.ts).alias("w")
    return [
        typed(
            t.window(tumble)
            .group_by(w, t.k)
            .select(t.k, w.start, w.end, w.rowtime, t.v.sum.alias("s"))
        ),
        typed(
            t.window(tumble)
            .group_by(w)
            .select(w.start.alias("b"), w.end.alias("e"), t.v.count.alias("n"))
        ),
        final(t.window(slide).group_by(w, t.k).select(t.k, w.start, w.end, t.v.sum)),
        final(t.window(session).group_by(w, t.k).select(t.k, w.start, w.end, t.v.sum)),
        final(
            t.window(tumble).group_by(w, t.k).select(t.k, t.v.sum.alias("s")).where(col("s") > 5)
        ),
        failed(lambda: t.window(tumble).group_by(t.k)) is not None,
    ]


def windows_behind_windows(t_env):
    t = timed(t_env)
    w = col("w")
    tumble = Tumble.over(lit(30).minutes).on(t.ts).alias("w")
    first = t.window(tumble).group_by(w, t.k).select(t.k, w.rowtime.alias("rt"), t.v.sum.alias("s"))
    second = Tumble.over(lit(2).hours).on(col("rt")).alias("w")
    return typed(first.window(second).group_by(w).select(w.start, w.end, col("s").sum.alias("t")))


def row_windows_of_batches(b_env):
    t = b_env.from_elements([(1, 1), (2, 2), (3, 3), (4, 4), (5, 9)], ["id", "v"])
    del t
    t = timed(b_env)
    w = col("w")
    tumble = Tumble.over(lit(1).hours).on(t.ts).alias("w")
    return final(t.window(tumble).group_by(w, t.k).select(t.k, w.start, w.end, t.v.sum))


def over_windows(t_env):
    t = timed(t_env)
    w = col("w")
    by = Over.partition_by(t.k).order_by(t.ts)
    frames = [
        by.preceding(UNBOUNDED_RANGE).following(CURRENT_RANGE).alias("w"),
        by.preceding(UNBOUNDED_ROW).following(CURRENT_ROW).alias("w"),
        by.preceding(row_interval(1)).following(CURRENT_ROW).alias("w"),
        by.preceding(lit(2).hours).following(CURRENT_RANGE).alias("w"),
        by.preceding(UNBOUNDED_RANGE).alias("w"),
        by.alias("w"),
        Over.order_by(t.ts).preceding(row_interval(2)).alias("w"),
    ]
    return [
        final(
            t.over_window(each).select(
                t.k, t.v, t.v.sum.over(w), t.v.avg.over(w), t.v.count.over(w), t.v.max.over(w)
            )
        )
        for each in frames
    ]


def over_lag(t_env):
    t = timed(t_env)
    window = Over.partition_by(t.k).order_by(t.ts).alias("w")
    return final(
        t.over_window(window).select(
            t.k, t.v, lag(t.v).over(col("w")), lag(t.v, 2, 0).over(col("w"))
        )
    )


def strings_of_expressions(t_env):
    t = three(t_env)
    s = t.c
    return final(
        t.select(
            s.lower_case,
            s.char_length,
            s.init_cap,
            s.substring(2),
            s.replace("l", "L"),
            lit("l").position(s),
            s.trim("x"),
            s.trim_leading(),
            s.lpad(7, "*"),
            s.rpad(7, "*"),
            s.overlay("XX", 2, 1),
            s.regexp_extract("(l+)", 1),
            s.to_base64,
            s.md5,
            s.concat("?"),
            s + "?",
            "<" + s,
            s.similar("H%"),
            s.reverse,
            s.left(2),
            s.starts_with("H"),
        )
    )


def times_of_expressions(t_env):
    from pyflink.table.expression import TimeIntervalUnit, TimePointUnit
    from pyflink.table.expressions import date_format, timestamp_diff, to_date, to_timestamp

    t = t_env.from_elements([("2020-02-29 10:11:12.345",)], ["s"])
    ts = t.s.to_timestamp
    return typed(
        t.select(
            ts.alias("a"),
            ts.extract(TimeIntervalUnit.DAY).alias("b"),
            ts.floor(TimeIntervalUnit.HOUR).alias("c"),
            ts.ceil(TimeIntervalUnit.MONTH).alias("d"),
            (ts + lit(1).days).alias("e"),
            (ts - lit(3).hours).alias("f"),
            (ts + lit(1).months).alias("g"),
            to_date(lit("2020-01-31")).alias("h"),
            (to_date(lit("2020-01-31")) + lit(1).month).alias("i"),
            date_format(ts, "yyyy/MM").alias("j"),
            timestamp_diff(TimePointUnit.HOUR, to_timestamp(lit("2020-01-01 00:00:00")), ts).alias(
                "k"
            ),
            ts.cast(DataTypes.DATE()).alias("l"),
            ts.cast(DataTypes.TIME()).alias("m"),
            lit("10:11:12").to_time.alias("n"),
        )
    )


def groups_by_names_of_columns(t_env):
    t = t_env.from_elements([(1, 10), (2, 20), (3, 30)], ["a", "b"])
    found = t.group_by((t.a % 2).alias("a")).select(col("a"), t.b.sum.alias("s"))
    same = t.group_by(t.a.alias("a")).select(t.a, t.b.sum)
    twice = t.group_by((t.a % 2).alias("x"), (t.a % 2).alias("y")).select(
        col("x"), col("y"), (col("x") + 1).alias("z"), t.b.max.alias("m")
    )
    return [final(found), final(same), typed(twice)]


def aggregates_inside_of_expressions(t_env):
    t = t_env.from_elements([("a", 1), ("a", 3), ("b", 5)], ["k", "v"])
    return [
        typed(
            t.group_by(t.k).select(
                (t.v.sum + t.v.max).alias("x"), t.k.upper_case, t.v.sum / t.v.count
            )
        ),
        typed(t.select(t.v.sum.cast(DataTypes.STRING()), t.v.min.alias("m"), (t.v + 1).sum)),
        final(
            t.group_by(t.k)
            .select(t.k, t.v.sum.alias("s"))
            .where(col("s") > 4)
            .select(col("k") + "!")
        ),
    ]


def literals_selected(t_env):
    from decimal import Decimal

    t = t_env.from_elements([(1,)], ["a"])
    return typed(
        t.select(
            lit(1).alias("i"),
            lit(2**40).alias("b"),
            lit(1.5).alias("d"),
            lit("x").alias("s"),
            lit(True).alias("y"),
            lit(Decimal("1.50")).alias("n"),
            lit(bytearray(b"ab")).alias("bin"),
            lit(None, DataTypes.INT()).alias("nil"),
            lit(1, DataTypes.BIGINT()).alias("big"),
        )
    )


def table_of_dot_access(t_env):
    t = t_env.from_elements([(1, "x")], ["count", "select"])
    return [failed(lambda: t.nothing), final(t.select(col("count"), col("select").upper_case))]
