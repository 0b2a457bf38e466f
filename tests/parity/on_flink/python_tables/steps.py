"""Small programs: sessions, orders, literals and values one by one, because one error ends a program."""

from __future__ import annotations

from decimal import Decimal

import pandas as pd
from pyflink.common import Configuration, Types
from pyflink.table import (
    DataTypes,
    EnvironmentSettings,
    Schema,
    SqlDialect,
    TableDescriptor,
    TableEnvironment,
)
from pyflink.table.expressions import (
    array,
    coalesce,
    col,
    if_then_else,
    lit,
    map_,
    null_of,
    range_,
    row,
    with_all_columns,
    with_columns,
    without_columns,
)
from pyflink.table.udf import udf

from .showing import failed, final, ordered, shown, typed


def three(of):
    kind = DataTypes.ROW(
        [
            DataTypes.FIELD("a", DataTypes.INT()),
            DataTypes.FIELD("b", DataTypes.STRING()),
            DataTypes.FIELD("c", DataTypes.STRING()),
        ]
    )
    return of.from_elements([(1, "x", "k"), (2, "y", "k"), (3, None, "l")], kind)


# -- sessions --------------------------------------------------------------------------------------


def modes_of_configurations(t_env):
    settings = EnvironmentSettings.new_instance().in_batch_mode()
    both = settings.with_configuration(Configuration.from_dict({"a.b": "c"})).build()
    given = Configuration.from_dict({"execution.runtime-mode": "BATCH"})
    mode = "execution.runtime-mode"
    found = []
    for each in (given, EnvironmentSettings.in_streaming_mode(), both):
        config = TableEnvironment.create(each).get_config()
        inner = config.get_configuration()
        found.append([config.get(mode, None), inner.get_string(mode, ""), config.get("a.b", None)])
    return found


def dialects_of_sql(t_env):
    config = t_env.get_config()
    found = [config.get_sql_dialect() == SqlDialect.DEFAULT]
    config.set_sql_dialect(SqlDialect.HIVE)
    found += [config.get_sql_dialect() == SqlDialect.HIVE]
    found.append(failed(lambda: t_env.sql_query("SELECT 1")) is not None)
    config.set_sql_dialect(SqlDialect.DEFAULT)
    return [*found, final(t_env.sql_query("SELECT 1"))]


def views_of_declared_streams(env, s_env):
    kind = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    schema = (
        Schema.new_builder()
        .column("a", "INT")
        .column("b", "STRING")
        .column_by_expression("p", "PROCTIME()")
        .column_by_expression("ts", "CURRENT_TIMESTAMP")
        .watermark("ts", "SOURCE_WATERMARK()")
        .build()
    )
    s_env.create_temporary_view("v", env.from_collection([(1, "a")], kind), schema)
    with s_env.execute_sql("DESCRIBE v").collect() as rows:
        described = [shown(each) for each in rows]
    return [
        [each.strip() for each in str(s_env.from_path("v").get_resolved_schema()).splitlines()],
        described,
        s_env.list_views(),
        s_env.drop_temporary_view("v"),
    ]


# -- columns ---------------------------------------------------------------------------------------


def no_more_columns(t_env):
    t = t_env.from_elements([(1, "x")], ["a", "b"])
    changed = [t.add_columns(), t.add_or_replace_columns(), t.rename_columns(), t.drop_columns()]
    return [str(each.get_schema()) for each in changed]


def names_of_computed_columns(t_env):
    t = three(t_env)
    return typed(t.select(t.a + 1, t.b, t.c.upper_case, lit(5), t.a.alias("z")))


def names_of_aggregates(t_env):
    t = three(t_env)
    return typed(t.group_by(t.c).select(t.c, t.a.sum, t.a.max + 1, t.a.avg.alias("m")))


def columns_by_place(t_env):
    t = three(t_env)
    chosen = [
        t.select(col("*")),
        t.select(with_all_columns()),
        t.select(with_columns(range_("a", "b"))),
        t.select(with_columns(range_(2, 3)), t.a),
        t.select(without_columns(col("b"))),
        t.select(without_columns(range_(1, 2))),
        t.add_columns(t.a * 2, t.b.alias("d")),
    ]
    return [str(each.get_schema()) for each in chosen]


# -- orders ----------------------------------------------------------------------------------------


def with_nulls(of):
    return of.from_elements([(1, "x"), (2, "z"), (1, "y"), (3, None)], ["a", "b"])


def order_of_nulls(b_env):
    t = with_nulls(b_env)
    return [ordered(t.order_by(t.b)), ordered(t.order_by(t.b.desc)), ordered(t.order_by(t.b.asc))]


def order_of_nulls_in_sql(b_env):
    b_env.create_temporary_view("t", with_nulls(b_env))
    queries = ["ORDER BY b", "ORDER BY b DESC"]
    return [ordered(b_env.sql_query(f"SELECT * FROM t {each}")) for each in queries]


def order_of_nulls_and_limits(b_env):
    t = with_nulls(b_env)
    return [
        ordered(t.order_by(t.a.asc, t.b.desc)),
        ordered(t.order_by(t.a, t.b).fetch(2)),
        ordered(t.order_by(t.a, t.b).offset(1).fetch(2)),
        ordered(t.order_by(t.b, t.a).limit(2, 1)),
    ]


def order_of_nulls_in_streams(t_env):
    t = with_nulls(t_env)
    return [final(t.order_by(t.b).fetch(2)), final(t.order_by(t.b.desc).fetch(2))]


# -- values ----------------------------------------------------------------------------------------


def literals_by_kind(t_env):
    t = t_env.from_elements([(1,)], ["a"])
    return typed(
        t.select(
            lit(1).alias("i"),
            lit(2**40).alias("b"),
            lit(1.5).alias("d"),
            lit("x").alias("s"),
            lit(True).alias("y"),
            lit(Decimal("1.50")).alias("n"),
            lit(None, DataTypes.INT()).alias("nil"),
            lit(1, DataTypes.INT().not_null()).alias("one"),
            lit("x", DataTypes.CHAR(1).not_null()).alias("c"),
        )
    )


def arrays_and_maps_made(t_env):
    t = three(t_env)
    made = t.where(t.a == 1).select(
        array(1, 2, 3).alias("arr"),
        map_("a", t.a, "b", 2).alias("m"),
        row(t.a, t.b, 1.5).alias("r"),
    )
    parts = [col("arr").at(1), col("arr").cardinality, col("m").at("a"), col("r").get(0)]
    return [typed(made), final(made.select(*parts, col("r").get("f1")))]


def a_row_flattened(t_env):
    t = three(t_env)
    return typed(t.where(t.a == 1).select(row(t.a, t.b, 1.5).alias("r")).select(col("r").flatten))


def conditions_as_values(t_env):
    t = three(t_env)
    return typed(
        t.select(
            null_of(DataTypes.INT()).alias("n"),
            coalesce(null_of(DataTypes.STRING()), t.b, "z").alias("c"),
            if_then_else(t.a > 2, lit("big"), lit("small")).alias("i"),
            (t.a > 2).then(1, 2).alias("t"),
            t.a.cast(DataTypes.STRING()).alias("s"),
            lit("abc").substring(2, 1).alias("sub"),
            t.b.try_cast(DataTypes.INT()).alias("tc"),
        )
    )


# -- groups ----------------------------------------------------------------------------------------


def numbers(of):
    kind = DataTypes.ROW(
        [
            DataTypes.FIELD("a", DataTypes.INT()),
            DataTypes.FIELD("b", DataTypes.STRING()),
            DataTypes.FIELD("c", DataTypes.DOUBLE()),
        ]
    )
    return of.from_elements([(1, "x", 1.5), (1, "y", None), (2, "x", 2.5), (2, None, 3.5)], kind)


def groups_of_sums(t_env):
    t = numbers(t_env)
    by_key = t.group_by(t.a)
    return typed(by_key.select(t.a, t.c.sum.alias("s"), t.c.avg.alias("m"), t.b.count.alias("n")))


def groups_of_extremes(t_env):
    t = numbers(t_env)
    return typed(t.group_by(t.b).select(t.b, t.a.max.alias("x"), t.a.min.alias("y")))


def groups_of_computed_keys(t_env):
    t = numbers(t_env)
    return typed(t.group_by((t.a % 2).alias("odd")).select(col("odd"), t.a.count.alias("n")))


def groups_of_deviations(b_env):
    t = numbers(b_env)
    spread = [t.c.stddev_pop, t.c.var_samp, t.c.var_pop, t.c.stddev_samp]
    return typed(t.group_by((t.a * 2).alias("k")).select(col("k"), *spread))


def groups_of_everything(t_env):
    t = numbers(t_env)
    return typed(t.select(t.a.count, t.c.sum0, t.b.count.distinct))


def groups_of_nothing(t_env):
    t = numbers(t_env)
    return final(t.where(t.a > 100).select(t.a.sum, t.a.count))


def groups_of_collections(t_env):
    t = numbers(t_env)
    return typed(t.group_by(t.a).select(t.a, t.b.collect.alias("bs")))


def groups_of_lists(t_env):
    t = numbers(t_env)
    return final(t.group_by(t.a).select(t.a, t.b.list_agg(), t.b.list_agg("-")))


# -- pandas ----------------------------------------------------------------------------------------


def pandas_map_of_frames(t_env):
    kind = DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.BIGINT()), DataTypes.FIELD("b", DataTypes.BIGINT())]
    )
    doubled = udf(lambda x: x * 2, result_type=kind, func_type="pandas")
    t = t_env.from_elements([(1, 2), (3, 4)], ["a", "b"])
    return [typed(t.map(doubled)), final(t.map(doubled).alias("c", "d"))]


def pandas_map_of_columns(t_env):
    kind = DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.BIGINT()), DataTypes.FIELD("b", DataTypes.BIGINT())]
    )
    sums = udf(lambda x: pd.concat([x.a, x.a + x.b], axis=1), result_type=kind, func_type="pandas")
    t = t_env.from_elements([(1, 2), (3, 4)], ["a", "b"])
    return final(t.map(sums).alias("c", "d"))


def descriptors_as_tables(t_env):
    schema = (
        Schema.new_builder()
        .column("a", "INT")
        .column("ts", "TIMESTAMP(3)")
        .column_by_expression("c", "a + 1")
        .watermark("ts", "ts - INTERVAL '1' SECOND")
        .build()
    )
    t_env.create_temporary_table(
        "d", TableDescriptor.for_connector("datagen").schema(schema).build()
    )
    found = str(t_env.from_path("d").get_schema())
    return [found, [str(each) for each in t_env.list_temporary_tables()]]
