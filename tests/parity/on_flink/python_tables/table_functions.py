"""Table functions of users, and functions of whole rows."""

from __future__ import annotations

import datetime
from decimal import Decimal

from pyflink.common import Row
from pyflink.table import DataTypes, TableFunction
from pyflink.table.expressions import call, col
from pyflink.table.udf import udf, udtf

from .showing import final, typed


class Parts(TableFunction):
    def open(self, function_context):
        self.counter = function_context.get_metric_group().counter("rows")

    def eval(self, n, text):
        for at in range(n):
            self.counter.inc()
            yield at, f"{text}{at}"


def words(of):
    return of.from_elements([(1, "a b"), (2, ""), (3, "c")], ["id", "line"])


split = udtf(lambda line: line.split(), result_types=DataTypes.STRING())


def udtf_lateral_joins(t_env):
    parts = udtf(Parts(), result_types=[DataTypes.BIGINT(), DataTypes.STRING()])
    t = words(t_env)
    joined = t.join_lateral(parts(t.id, t.line).alias("n", "part"))
    return [
        typed(joined),
        final(joined.where(col("n") > 0).select(t.id, col("part"))),
        typed(t.left_outer_join_lateral(split(t.line).alias("word"))),
        final(t.join_lateral(split(t.line).alias("word")).select(col("word"), t.id)),
    ]


def udtf_without_alias(t_env):
    parts = udtf(Parts(), result_types=["BIGINT", "STRING"])
    t = words(t_env)
    return [
        typed(t.join_lateral(parts(t.id, t.line))),
        typed(t.left_outer_join_lateral(split(t.line))),
    ]


def udtf_named_by_row_type(t_env):
    parts = udtf(Parts(), result_types="ROW<n BIGINT, part STRING>")
    t = words(t_env)
    return typed(t.join_lateral(parts(t.id, t.line)))


def udtf_of_row_type(t_env):
    kind = DataTypes.ROW(
        [DataTypes.FIELD("n", DataTypes.BIGINT()), DataTypes.FIELD("part", DataTypes.STRING())]
    )
    parts = udtf(Parts(), result_types=kind)
    t = words(t_env)
    return typed(t.join_lateral(parts(t.id, t.line).alias("n", "part")).where(col("n") == 0))


def udtf_in_sql(t_env):
    t_env.create_temporary_function(
        "parts", udtf(Parts(), result_types=[DataTypes.INT(), DataTypes.STRING()])
    )
    t_env.create_temporary_system_function("split", split)
    t_env.create_temporary_view("t", words(t_env))
    return [
        final(t_env.sql_query("SELECT id, n, p FROM t, LATERAL TABLE(parts(id, line)) AS x(n, p)")),
        final(
            t_env.sql_query(
                "SELECT id, w FROM t LEFT JOIN LATERAL TABLE(split(line)) AS x(w) ON TRUE"
            )
        ),
        final(
            t_env.sql_query(
                "SELECT id, w FROM t CROSS JOIN LATERAL TABLE(split(UPPER(line))) AS x(w) WHERE w < 'C'"
            )
        ),
        final(
            t_env.sql_query(
                "SELECT w, COUNT(*) FROM t, LATERAL TABLE(split(line)) AS x(w) GROUP BY w"
            )
        ),
    ]


def udtf_what_may_be_returned(t_env):
    t = t_env.from_elements([(1,), (2,), (3,), (4,), (5,)], ["a"])

    @udtf(result_types=[DataTypes.BIGINT(), DataTypes.STRING()])
    def some(a):
        if a == 1:
            return [(a, "tuple"), Row(a, "row")]
        if a == 2:
            return a, "one tuple"
        if a == 3:
            return Row(a, "one row")
        return None if a == 4 else ((a, each) for each in "xy")

    return final(t.join_lateral(some(t.a).alias("b", "c")))


def udtf_of_plain_values(t_env):
    t = t_env.from_elements([(1,), (3,)], ["a"])
    counted = udtf(lambda n: range(n), result_types=DataTypes.BIGINT())
    single = udtf(lambda n: n * 10, result_types=DataTypes.BIGINT())
    return [
        final(t.join_lateral(counted(t.a).alias("b"))),
        final(t.join_lateral(single(t.a).alias("b"))),
    ]


def udtf_chained(t_env):
    t = words(t_env)
    letters = udtf(lambda w: list(w.upper() * 2), result_types=DataTypes.STRING())
    upper = udf(lambda s: s.upper(), result_type=DataTypes.STRING())
    first = t.join_lateral(split(upper(t.line)).alias("word"))
    second = first.left_outer_join_lateral(letters(col("word")).alias("letter"))
    return final(second.select(col("id"), col("word"), upper(col("letter"))))


def udtf_types(t_env):
    kinds = [
        DataTypes.DATE(),
        DataTypes.DECIMAL(10, 2),
        DataTypes.ARRAY(DataTypes.INT()),
        DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()),
        DataTypes.TIMESTAMP(3),
        DataTypes.BYTES(),
        DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT())]),
        DataTypes.FLOAT(),
    ]

    @udtf(result_types=kinds)
    def made(a):
        day = datetime.datetime(2020, 1, a)
        yield day.date(), Decimal("1.5"), [a, None], {"k": a}, day, b"x", Row(a), 0.5
        yield (None,) * 8

    t = t_env.from_elements([(1,), (2,)], ["a"])
    return typed(t.join_lateral(made(t.a).alias("b", "c", "d", "e", "f", "g", "h", "i")))


def udtf_with_condition(t_env):
    parts = udtf(Parts(), result_types=[DataTypes.BIGINT(), DataTypes.STRING()])
    t = words(t_env)
    call_ = parts(t.id, t.line).alias("n", "part")
    return [
        final(t.join_lateral(call_, col("id") == col("n") + 1)),
        final(t.left_outer_join_lateral(call_)),
    ]


def udtf_by_name(t_env):
    t_env.create_temporary_system_function("split", split)
    t = words(t_env)
    return final(t.join_lateral(call("split", t.line).alias("w")).select(col("w")))


def udtf_after_a_group(t_env):
    t = t_env.from_elements([(1, "x"), (2, "x"), (1, "y")], ["n", "k"])
    counted = udtf(lambda n: range(n), result_types=DataTypes.BIGINT())
    grouped = t.group_by(t.k).select(t.k, t.n.sum.alias("s"))
    return final(grouped.join_lateral(counted(col("s")).alias("i")))


# -- functions of whole rows -------------------------------------------------------------------------


def map_of_values(t_env):
    kind = DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.BIGINT()), DataTypes.FIELD("b", DataTypes.STRING())]
    )
    made = udf(lambda i, s: Row(i + 1, s + s), result_type=kind)
    t = t_env.from_elements([(1, "x"), (2, "y")], ["id", "s"])
    return [
        typed(t.map(made(t.id, t.s))),
        typed(t.map(made(t.id, t.s)).alias("c", "d")),
        typed(t.map(made(t.id, t.s).alias("c", "d"))),
    ]


def map_of_rows(t_env):
    kind = DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.BIGINT()), DataTypes.FIELD("b", DataTypes.STRING())]
    )

    @udf(result_type=kind)
    def by_name(r):
        return Row(r.id * 2, r["s"] + "!")

    by_place = udf(lambda r: Row(r[0] * r[0], str(r)), result_type=kind)
    whole = udf(lambda r: r, result_type=kind)
    t = t_env.from_elements([(1, "x"), (2, "y")], ["id", "s"])
    return [
        typed(t.map(by_name)),
        typed(t.map(by_place).alias("c", "d")),
        typed(t.map(whole.alias("x", "y"))),
        final(
            t.map(by_name)
            .alias("a", "b")
            .map(udf(lambda r: Row(r.a + 1, r.b), result_type=kind))
            .alias("c", "d")
            .select(col("c") * 10)
        ),
    ]


def map_to_one_value(t_env):
    t = t_env.from_elements([(1, "x"), (2, "y")], ["id", "s"])
    plus = udf(lambda r: r.id + 1, result_type=DataTypes.BIGINT())
    return typed(t.map(plus).alias("n"))


def flat_map_of_rows(t_env):
    @udtf(result_types=[DataTypes.INT(), DataTypes.STRING()])
    def parts(r):
        for each in r.line.split():
            yield r.id, each

    t = words(t_env)
    return [
        typed(t.flat_map(parts)),
        typed(t.flat_map(parts).alias("a", "b")),
        final(
            t.flat_map(parts.alias("x", "y"))
            .flat_map(udtf(lambda r: [Row(r.x, r.y)] * r.x, result_types="ROW<p INT, q STRING>"))
            .select(col("q"))
        ),
    ]


def flat_map_of_values(t_env):
    t = words(t_env)
    return typed(t.flat_map(split(t.line)).alias("w"))


def map_then_group(t_env):
    kind = DataTypes.ROW(
        [DataTypes.FIELD("k", DataTypes.STRING()), DataTypes.FIELD("n", DataTypes.BIGINT())]
    )
    t = t_env.from_elements([("a", 1), ("b", 2), ("a", 3)], ["w", "n"])
    doubled = t.map(udf(lambda r: Row(r.w, r.n * 2), result_type=kind)).alias("k", "n")
    return typed(doubled.group_by(col("k")).select(col("k"), col("n").sum.alias("s")))
