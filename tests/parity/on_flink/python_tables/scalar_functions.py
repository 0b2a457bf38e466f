"""Scalar functions of users, one row at a time."""

from __future__ import annotations

import asyncio
import datetime
import functools
from decimal import Decimal

from pyflink.common import Row
from pyflink.table import AsyncScalarFunction, DataTypes, ScalarFunction
from pyflink.table.expressions import call, col, lit, row
from pyflink.table.udf import udf

from .showing import final, typed

add = udf(lambda i, j: i + j, result_type=DataTypes.BIGINT())


class SubtractBy(ScalarFunction):
    def __init__(self, by=1):
        self.by = by

    def eval(self, i):
        return i - self.by


class Counting(ScalarFunction):
    def open(self, function_context):
        group = function_context.get_metric_group().add_group("kind", "value")
        self.counter = group.counter("calls")
        self.distribution = group.distribution("sizes")
        self.meter = group.meter("speed")
        self.last = 0
        group.gauge("last", lambda: self.last)

    def eval(self, i):
        self.counter.inc()
        self.counter.inc(i)
        self.counter.dec(1)
        self.distribution.update(i)
        self.meter.mark_event(1)
        self.last = i
        return i * 10


class WithParameter(ScalarFunction):
    def open(self, function_context):
        self.by = int(function_context.get_job_parameter("by", "1"))
        self.other = function_context.get_job_parameter("other", "nothing")

    def eval(self, i):
        return f"{i * self.by} {self.other}"


class Callable_:
    def __call__(self, i):
        return i + 100


def partly(i, j, k):
    return i * 100 + j * 10 + k


def numbers(of):
    return of.from_elements([(1, 2, 3), (2, 5, 6), (3, 1, 9)], ["a", "b", "c"])


def udf_forms(t_env):
    plus_one = udf(
        lambda i: i + 1, input_types=[DataTypes.BIGINT()], result_type=DataTypes.BIGINT()
    )
    by_class = udf(SubtractBy(), result_type=DataTypes.BIGINT())
    by_callable = udf(Callable_(), result_type=DataTypes.BIGINT())
    by_partial = udf(functools.partial(partly, k=7), result_type=DataTypes.BIGINT())

    @udf(result_type=DataTypes.BIGINT())
    def by_decorator(i, j):
        return i - j

    @udf(input_types=["BIGINT", "BIGINT"], result_type="BIGINT")
    def by_text(i, j):
        return i * j

    t = numbers(t_env)
    return typed(
        t.select(
            plus_one(t.a),
            by_class(t.b),
            by_callable(t.c),
            by_partial(t.a, t.b),
            by_decorator(t.a, t.b),
            by_text(t.b, t.c),
        )
    )


def udf_chained_and_nested(t_env):
    plus_one = udf(lambda i: i + 1, result_type=DataTypes.BIGINT())
    t = numbers(t_env)
    return final(
        t.where(add(plus_one(t.a), t.b) > 3).select(
            plus_one(add(plus_one(t.a), plus_one(t.b))),
            plus_one(t.a) + t.c,
            (t.c + 1) * plus_one(t.a),
        )
    )


def udf_registered_names(t_env):
    t_env.create_temporary_system_function("plus_one", udf(lambda i: i + 1, result_type="BIGINT"))
    t_env.create_temporary_function("less", udf(SubtractBy(5), result_type=DataTypes.BIGINT()))
    t_env.create_temporary_view("t", numbers(t_env))
    t = t_env.from_path("t")
    by_name = t.select(call("plus_one", t.a), call("less", t.b), call("PLUS_ONE", 1))
    by_sql = t_env.sql_query("SELECT plus_one(a), less(plus_one(b)) FROM t WHERE plus_one(c) > 4")
    return [final(by_name), final(by_sql)]


def udf_metrics(t_env):
    counting = udf(Counting(), result_type=DataTypes.BIGINT())
    t = numbers(t_env)
    return final(t.select(counting(t.a)))


def udf_job_parameters(t_env):
    t_env.get_config().set("pipeline.global-job-parameters", "by:4,other:some")
    found = udf(WithParameter(), result_type=DataTypes.STRING())
    t = numbers(t_env)
    return final(t.select(found(t.a)))


def udf_job_parameters_by_default(t_env):
    found = udf(WithParameter(), result_type=DataTypes.STRING())
    t = numbers(t_env)
    return final(t.select(found(t.a)))


def udf_constants(t_env):
    @udf(result_type=DataTypes.BIGINT())
    def some(a, one, two, none, text, yes, decimal, day):
        assert isinstance(decimal, Decimal) and isinstance(day, datetime.date)
        assert none is None and text == "x" and yes is True
        return a + one + two

    t = numbers(t_env)
    day = lit("2020-02-29").to_date
    return final(
        t.select(
            some(t.a, 1, lit(2), lit(None, DataTypes.STRING()), "x", True, lit(Decimal("1.5")), day)
        )
    )


def udf_without_arguments(t_env):
    one = udf(lambda: 7, input_types=[], result_type=DataTypes.BIGINT())
    t = numbers(t_env)
    return final(t.select(t.a, one()))


def udf_many_arguments(t_env):
    total = udf(lambda *args: sum(args), result_type=DataTypes.BIGINT())
    t = numbers(t_env)
    return final(t.select(total(t.a), total(t.a, t.b), total(t.a, t.b, t.c, 1000)))


def udf_in_join(t_env):
    key = udf(lambda i: i % 2, result_type=DataTypes.BIGINT())
    left = t_env.from_elements([(1, "l1"), (2, "l2"), (3, "l3")], ["a", "b"])
    right = t_env.from_elements([(5, "r5"), (6, "r6")], ["c", "d"])
    equal = left.join(right).where(key(left.a) == key(right.c)).select(left.b, right.d)
    other = left.join(right, key(col("a")) < col("c") - 4).select(col("b"), col("d"))
    outer = left.left_outer_join(right, (col("a") == col("c") - 4) & (key(col("a")) == 1))
    return [final(equal), final(other), final(outer)]


def udf_over_both_sides_of_a_join(t_env):
    left = t_env.from_elements([(1, 10), (2, 20)], ["a", "b"])
    right = t_env.from_elements([(1, 100), (2, 200)], ["c", "d"])
    joined = left.join(right).where((left.a == right.c) & (add(left.b, right.d) > 150))
    return final(joined.select(left.a, add(left.b, right.d)))


def udf_in_group_by(t_env):
    odd = udf(lambda i: i % 2 == 1, result_type=DataTypes.BOOLEAN())
    t = numbers(t_env)
    grouped = t.group_by(odd(t.a).alias("odd")).select(col("odd"), t.b.sum.alias("s"), t.a.count)
    t_env.create_temporary_function("odd", odd)
    t_env.create_temporary_view("t", t)
    by_sql = t_env.sql_query("SELECT odd(a), MAX(odd(b)) FROM t GROUP BY odd(a) HAVING odd(SUM(b))")
    return [typed(grouped), final(by_sql)]


def udf_over_aggregates(t_env):
    t = t_env.from_elements([(1, "x"), (2, "x"), (3, "y")], ["v", "k"])
    grouped = t.group_by(t.k).select(t.k, add(t.v.sum, t.v.count).alias("r"))
    return final(grouped.where(add(col("r"), 1) > 4))


def udf_types(t_env):
    kinds = [
        ("tiny", DataTypes.TINYINT(), 1),
        ("small", DataTypes.SMALLINT(), -2),
        ("i", DataTypes.INT(), 3),
        ("big", DataTypes.BIGINT(), 2**40),
        ("f", DataTypes.FLOAT(), 1.5),
        ("d", DataTypes.DOUBLE(), 2.25),
        ("yes", DataTypes.BOOLEAN(), True),
        ("s", DataTypes.STRING(), "Straße"),
        ("b", DataTypes.BYTES(), bytearray(b"\x00\xff")),
        ("day", DataTypes.DATE(), datetime.date(2020, 2, 29)),
        ("at", DataTypes.TIME(), datetime.time(1, 2, 3)),
        ("ts", DataTypes.TIMESTAMP(3), datetime.datetime(2020, 1, 2, 3, 4, 5, 678000)),
        ("ts6", DataTypes.TIMESTAMP(6), datetime.datetime(1969, 12, 31, 23, 59, 59, 123456)),
        ("dec", DataTypes.DECIMAL(10, 3), Decimal("-12.345")),
        ("arr", DataTypes.ARRAY(DataTypes.BIGINT()), [1, 2]),
        ("m", DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()), {"a": 1, "b": None}),
    ]
    schema = DataTypes.ROW([DataTypes.FIELD(name, kind) for name, kind, _ in kinds])
    t = t_env.from_elements([tuple(each[2] for each in kinds), (None,) * len(kinds)], schema)
    same = [
        udf(lambda v: v, result_type=kind, name=f"same_{name}")(col(name)).alias(name)
        for name, kind, _ in kinds
    ]
    seen = udf(
        lambda *v: " ".join(type(each).__name__ for each in v), result_type=DataTypes.STRING()
    )
    return [typed(t.select(*same)), final(t.select(seen(*(col(name) for name, _, _ in kinds))))]


def udf_nested_types(t_env):
    inner = DataTypes.ROW(
        [DataTypes.FIELD("n", DataTypes.INT()), DataTypes.FIELD("s", DataTypes.STRING())]
    )
    schema = DataTypes.ROW(
        [
            DataTypes.FIELD("r", inner),
            DataTypes.FIELD("rs", DataTypes.ARRAY(inner)),
            DataTypes.FIELD("nested", DataTypes.ARRAY(DataTypes.ARRAY(DataTypes.STRING()))),
            DataTypes.FIELD(
                "m", DataTypes.MAP(DataTypes.STRING(), DataTypes.ARRAY(DataTypes.INT()))
            ),
        ]
    )
    t = t_env.from_elements(
        [(Row(1, "a"), [Row(2, "b"), Row(3, None)], [["x"], ["y", None]], {"k": [1, 2]})], schema
    )

    @udf(result_type=inner)
    def changed(r):
        return Row(r[0] + 1, r.s + "!")

    @udf(result_type=DataTypes.STRING())
    def described(r, rs, nested, m):
        return f"{r.n} {r['s']} {[(each.n, each.s) for each in rs]} {nested} {m}"

    @udf(
        result_type=DataTypes.ROW(
            [DataTypes.FIELD("x", DataTypes.INT()), DataTypes.FIELD("r", inner)]
        )
    )
    def deeper(r):
        return Row(r.n, Row(n=r.n + 1, s=r.s))

    return typed(
        t.select(
            changed(t.r).alias("c"),
            described(t.r, t.rs, t.nested, t.m).alias("d"),
            deeper(t.r).alias("e"),
            deeper(t.r).get("r").get("s").alias("f"),
            udf(lambda v: v, result_type=DataTypes.ARRAY(inner))(t.rs).alias("g"),
        )
    )


def udf_result_by_text(t_env):
    t = numbers(t_env)
    made = udf(lambda a, b: Row(a, [b, a]), result_type="ROW<x BIGINT, ys ARRAY<BIGINT>>")
    mapped = udf(lambda a: {"a": a}, result_type="MAP<STRING, BIGINT>")
    decimal = udf(lambda a: Decimal(a) / 4, result_type="DECIMAL(8, 2)")
    return typed(
        t.select(made(t.a, t.b).alias("r"), mapped(t.a).alias("m"), decimal(t.a).alias("d"))
    )


def udf_decimals(t_env):
    schema = DataTypes.ROW([DataTypes.FIELD("d", DataTypes.DECIMAL(38, 18))])
    t = t_env.from_elements([(Decimal("1000000000000000000.050000000000000001"),)], schema)
    cut = udf(lambda d: d, result_type=DataTypes.DECIMAL(38, 2))
    less = udf(lambda d: Decimal("1.005"), result_type=DataTypes.DECIMAL(10, 2))
    more = udf(lambda d: Decimal("1.5"), result_type=DataTypes.DECIMAL(20, 10))
    return final(t.select(t.d, cut(t.d), less(t.d), more(t.d)))


def udf_times(t_env):
    schema = DataTypes.ROW(
        [
            DataTypes.FIELD("d", DataTypes.DATE()),
            DataTypes.FIELD("t", DataTypes.TIME()),
            DataTypes.FIELD("ts", DataTypes.TIMESTAMP(3)),
        ]
    )
    t = t_env.from_elements(
        [
            (
                datetime.date(2014, 9, 13),
                datetime.time(hour=12, minute=0, second=0, microsecond=123000),
                datetime.datetime(2018, 3, 11, 3, 0, 0, 123000),
            )
        ],
        schema,
    )
    later = udf(lambda v: v + datetime.timedelta(days=1), result_type=DataTypes.TIMESTAMP(3))
    next_day = udf(lambda v: v + datetime.timedelta(days=1), result_type=DataTypes.DATE())
    same = udf(lambda v: v, result_type=DataTypes.TIME())
    text = udf(lambda v: str(v), result_type=DataTypes.STRING())
    return typed(
        t.select(
            next_day(t.d).alias("a"),
            same(t.t).alias("b"),
            later(t.ts).alias("c"),
            text(t.d).alias("e"),
            text(t.t).alias("f"),
            text(t.ts).alias("g"),
        )
    )


def udf_local_timestamps(t_env):
    t_env.get_config().set_local_timezone("Asia/Shanghai")
    schema = DataTypes.ROW([DataTypes.FIELD("ts", DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(3))])
    t = t_env.from_elements([(datetime.datetime(1970, 1, 2, 0, 0, 0, 123000),)], schema)
    same = udf(lambda v: v, result_type=DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(3))
    text = udf(lambda v: str(v), result_type=DataTypes.STRING())
    return final(
        t.select(t.ts.cast(DataTypes.STRING()), same(t.ts).cast(DataTypes.STRING()), text(t.ts))
    )


def udf_not_deterministic(t_env):
    @udf(result_type=DataTypes.BIGINT(), deterministic=False)
    def one(i):
        return 1

    t = numbers(t_env)
    return final(t.select(one(t.a), one(t.b)).where(lit(1) == 1))


def udf_closure_and_recursion(t_env):
    factor = 3

    def factorial(n):
        return 1 if n <= 1 else n * factorial(n - 1)

    t = numbers(t_env)
    scaled = udf(lambda i: factorial(i) * factor, result_type=DataTypes.BIGINT())
    return final(t.select(scaled(t.a)))


def udf_in_views_and_case(t_env):
    t_env.create_temporary_function("twice", udf(lambda i: 2 * i, result_type=DataTypes.BIGINT()))
    t_env.create_temporary_view("t", numbers(t_env))
    t_env.execute_sql("CREATE TEMPORARY VIEW v AS SELECT twice(a) AS x, b FROM t")
    return [
        final(t_env.sql_query("SELECT CASE WHEN twice(x) > 4 THEN twice(b) ELSE -1 END, x FROM v")),
        final(t_env.sql_query("SELECT COALESCE(twice(x), 0), twice(b) IN (4, 10) FROM v")),
        final(t_env.sql_query("SELECT x FROM v ORDER BY twice(b) DESC LIMIT 2")),
    ]


def udf_with_rows_as_arguments(t_env):
    taking = udf(lambda r: f"{type(r).__name__} {r[0]} {r[1]}", result_type=DataTypes.STRING())
    t = numbers(t_env)
    return final(t.select(taking(row(t.a, t.b))))


def udf_in_sql_with_nulls(t_env):
    seen = udf(lambda v: "none" if v is None else type(v).__name__, result_type=DataTypes.STRING())
    t_env.create_temporary_function("seen", seen)
    return final(
        t_env.sql_query(
            "SELECT seen(CAST(NULL AS INT)), seen(1), seen(CAST(1 AS TINYINT)), seen(1.5), seen(1e0), seen('x'),"
            " seen(X'00'), seen(ARRAY[1]), seen(MAP['a', 1]), seen(ROW(1, 2)), seen(DATE '2020-01-01'),"
            " seen(TIME '10:00:00'), seen(TIMESTAMP '2020-01-01 00:00:00'), seen(TRUE)"
        )
    )


def udf_by_sql_statement(t_env):
    t_env.execute_sql(
        "CREATE TEMPORARY FUNCTION thrice AS 'python_tables.scalar_functions.thrice' LANGUAGE PYTHON"
    )
    t_env.execute_sql(
        "CREATE TEMPORARY SYSTEM FUNCTION thrice_too AS 'python_tables.scalar_functions.thrice' LANGUAGE PYTHON"
    )
    t = numbers(t_env)
    t_env.create_temporary_view("t", t)
    return final(t_env.sql_query("SELECT thrice(a), thrice_too(b) FROM t"))


thrice = udf(lambda i: 3 * i, input_types=[DataTypes.BIGINT()], result_type=DataTypes.BIGINT())


def udf_async(t_env):
    class Slow(AsyncScalarFunction):
        def open(self, function_context):
            self.by = 2

        async def eval(self, i):
            await asyncio.sleep(0.001)
            return i * self.by

    @udf(result_type=DataTypes.STRING())
    async def text(i, s):
        await asyncio.sleep(0.001)
        return f"{i}{s}"

    slow = udf(Slow(), input_types=[DataTypes.BIGINT()], result_type=DataTypes.BIGINT())
    t = t_env.from_elements([(1, "a"), (2, "b")], ["i", "s"])
    return [typed(t.select(slow(t.i).alias("x"))), final(t.select(text(t.i, t.s).alias("y")))]


def udf_batch(b_env):
    t = numbers(b_env)
    return typed(t.select(add(t.a, t.b).alias("x")).order_by(col("x").desc))
