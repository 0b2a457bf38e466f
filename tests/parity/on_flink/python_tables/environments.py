"""Table environments: names, statements, statement sets, descriptors, results, explanations."""

from __future__ import annotations

import datetime
import os
import tempfile

from pyflink.common import Configuration
from pyflink.table import (
    DataTypes,
    EnvironmentSettings,
    ExplainDetail,
    FormatDescriptor,
    ResultKind,
    Schema,
    SqlDialect,
    TableConfig,
    TableDescriptor,
    TableEnvironment,
)
from pyflink.table.expressions import col
from pyflink.table.udf import udf

from .showing import failed, final, ordered, typed


def files():
    return os.path.join(tempfile.mkdtemp(), "out")


def content(path):
    lines = []
    for folder, _, names in os.walk(path):
        for name in names:
            if not name.startswith((".", "_")) and "/_" not in folder:
                with open(os.path.join(folder, name)) as file:
                    lines += file.read().splitlines()
    return sorted(lines)


def sink(t_env, name, columns, path):
    t_env.execute_sql(
        f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"
    )


def names_of_tables(t_env):
    t = t_env.from_elements([(1, "x")], ["a", "b"])
    t_env.create_temporary_view("view1", t)
    t_env.execute_sql("CREATE TABLE real1 (a INT) WITH ('connector' = 'datagen')")
    t_env.execute_sql("CREATE TEMPORARY TABLE temp1 (a INT) WITH ('connector' = 'datagen')")
    t_env.execute_sql("CREATE VIEW view2 AS SELECT a FROM real1")
    found = [
        t_env.list_tables(),
        t_env.list_views(),
        t_env.list_temporary_tables(),
        t_env.list_temporary_views(),
    ]
    found += [
        t_env.drop_temporary_view("view1"),
        t_env.drop_temporary_view("view1"),
        t_env.drop_temporary_table("temp1"),
        t_env.drop_temporary_table("temp1"),
    ]
    found += [
        t_env.list_tables(),
        t_env.list_views(),
        t_env.drop_table("real1"),
        t_env.drop_view("view2"),
        t_env.list_tables(),
    ]
    found += [
        t_env.list_catalogs(),
        t_env.get_current_catalog(),
        t_env.list_databases(),
        t_env.get_current_database(),
        t_env.list_modules(),
    ]
    return found


def databases_and_catalogs(t_env):
    t_env.execute_sql("CREATE DATABASE db1")
    t_env.use_database("db1")
    t_env.execute_sql("CREATE TABLE t1 (a INT) WITH ('connector' = 'datagen')")
    found = [t_env.get_current_database(), t_env.list_tables(), t_env.list_databases()]
    t_env.execute_sql("CREATE CATALOG cat1 WITH ('type' = 'generic_in_memory')")
    t_env.use_catalog("cat1")
    found += [
        t_env.get_current_catalog(),
        t_env.list_databases(),
        t_env.list_tables(),
        sorted(t_env.list_catalogs()),
    ]
    found += [
        failed(lambda: t_env.use_catalog("nothing")) is not None,
        failed(lambda: t_env.use_database("nothing")) is not None,
    ]
    found += [
        failed(lambda: t_env.from_path("t1")) is not None,
        t_env.from_path("default_catalog.db1.t1").get_schema().get_field_names(),
    ]
    return found


def functions_registered(t_env):
    one = udf(lambda i: i, result_type=DataTypes.INT())
    t_env.create_temporary_system_function("sys1", one)
    t_env.create_temporary_function("tmp1", one)
    found = [
        sorted(t_env.list_user_defined_functions()),
        "upper" in t_env.list_functions(),
        "sys1" in t_env.list_functions(),
    ]
    found += [
        t_env.drop_temporary_system_function("sys1"),
        t_env.drop_temporary_system_function("sys1"),
        t_env.drop_temporary_function("tmp1"),
    ]
    found += [t_env.drop_temporary_function("tmp1"), t_env.list_user_defined_functions()]
    return found


def results_of_statements(t_env):
    def told(result):
        schema = result.get_table_schema()
        with result.collect() as rows:
            values = [list(row) for row in rows]
        kind = (
            "SUCCESS" if result.get_result_kind() == ResultKind.SUCCESS else "SUCCESS_WITH_CONTENT"
        )
        return [
            kind,
            schema.get_field_names(),
            values,
            result.get_job_client() is None,
        ]

    return [
        told(
            t_env.execute_sql(
                "CREATE TABLE tbl (a BIGINT, b STRING NOT NULL, PRIMARY KEY (b) NOT ENFORCED) WITH ('connector' = 'datagen')"
            )
        ),
        told(t_env.execute_sql("SHOW TABLES")),
        told(t_env.execute_sql("DESCRIBE tbl")),
        told(t_env.execute_sql("SHOW CREATE TABLE tbl")),
        told(t_env.execute_sql("ALTER TABLE tbl SET ('k1' = 'v1')")),
        told(t_env.execute_sql("SHOW DATABASES")),
        told(t_env.execute_sql("SHOW CATALOGS")),
        told(t_env.execute_sql("USE CATALOG default_catalog")),
        told(t_env.execute_sql("SHOW CURRENT DATABASE")),
        told(t_env.execute_sql("SHOW VIEWS")),
        told(t_env.execute_sql("SHOW COLUMNS FROM tbl")),
        told(t_env.execute_sql("DROP TABLE tbl")),
        told(t_env.execute_sql("SHOW MODULES")),
    ]


def inserted(t_env):
    path, other = files(), files()
    sink(t_env, "s1", "a BIGINT, b STRING", path)
    sink(t_env, "s2", "a BIGINT", other)
    t = t_env.from_elements([(1, "x"), (2, "y")], ["a", "b"])
    t_env.create_temporary_view("t", t)
    result = t.execute_insert("s1")
    result.wait()
    t_env.execute_sql("INSERT INTO s2 SELECT a * 10 FROM t").wait()
    t.select(t.a).insert_into("s2").execute().wait()
    return [
        content(path),
        content(other),
        result.get_table_schema().get_field_names(),
        result.get_job_client() is not None,
    ]


def inserted_wrong(t_env):
    sink(t_env, "s1", "a BIGINT, b STRING", files())
    t = t_env.from_elements([(1, "x"), (2, "y")], ["a", "b"])
    return [
        failed(lambda: t.select(t.a).execute_insert("s1")) is not None,
        failed(lambda: t.select(t.b, t.a).execute_insert("s1")) is not None,
        failed(lambda: t.execute_insert("nothing")) is not None,
        failed(lambda: t.group_by(t.b).select(t.a.sum, t.b).execute_insert("s1").wait())
        is not None,
    ]


def statement_sets(t_env):
    first, second, third = files(), files(), files()
    sink(t_env, "s1", "a BIGINT", first)
    sink(t_env, "s2", "b STRING", second)
    t = t_env.from_elements([(1, "x"), (2, "y")], ["a", "b"])
    t_env.create_temporary_view("t", t)
    several = t_env.create_statement_set()
    several.add_insert("s1", t.select(t.a)).add_insert_sql(
        "INSERT INTO s2 SELECT b FROM t WHERE a > 1"
    )
    several.add(t.select(t.a + 100).insert_into("s1"))
    descriptor = (
        TableDescriptor.for_connector("filesystem")
        .schema(Schema.new_builder().column("b", DataTypes.STRING()).build())
        .option("path", third)
        .format("csv")
        .build()
    )
    several.add_insert(descriptor, t.select(t.b.upper_case))
    explained = several.explain()
    result = several.execute()
    result.wait()
    return [
        content(first),
        content(second),
        content(third),
        isinstance(explained, str) and len(explained) > 0,
    ]


def descriptors(t_env):
    schema = (
        Schema.new_builder()
        .column("f0", DataTypes.STRING())
        .column_by_expression("f1", "f0 || 'x'")
        .build()
    )
    built = (
        TableDescriptor.for_connector("fake")
        .schema(schema)
        .partitioned_by("f0")
        .option("key1", "value1")
        .option("key2", "value2")
        .format("json")
        .comment("words")
        .build()
    )
    keyed = (
        TableDescriptor.for_connector("fake")
        .format(FormatDescriptor.for_format("csv").option("field-delimiter", ";").build(), None)
        .build()
    )
    found = [
        str(built),
        dict(built.get_options()),
        list(built.get_partition_keys()),
        built.get_comment(),
        str(built.get_schema()) == str(schema),
        dict(keyed.get_options()),
        str(keyed),
        keyed.get_schema(),
    ]
    fmt = FormatDescriptor.for_format("json").option("a", "b").build()
    return [
        *found,
        str(fmt),
        fmt.get_format(),
        dict(fmt.get_options()),
    ]


def tables_of_descriptors(t_env):
    path = files()
    descriptor = (
        TableDescriptor.for_connector("filesystem")
        .schema(
            Schema.new_builder()
            .column("a", DataTypes.BIGINT())
            .column("b", DataTypes.STRING())
            .build()
        )
        .option("path", path)
        .format(FormatDescriptor.for_format("csv").option("field-delimiter", ";").build())
        .build()
    )
    t_env.create_temporary_table("temp", descriptor)
    t_env.create_table("kept", descriptor)
    t_env.from_elements([(1, "x"), (2, "y")], ["a", "b"]).execute_insert("temp").wait()
    found = [
        content(path),
        typed(t_env.from_path("kept")),
        typed(t_env.from_descriptor(descriptor)),
    ]
    t_env.from_elements([(3, "z")], ["a", "b"]).execute_insert(descriptor).wait()
    return [
        *found,
        content(path),
        t_env.create_table("kept", descriptor, True) in (None, True, False),
        failed(lambda: t_env.create_table("kept", descriptor)) is not None,
    ]


def printed_schemas(t_env):
    t_env.execute_sql(
        """CREATE TABLE t (id INT NOT NULL, name STRING, price DECIMAL(10, 2), ts TIMESTAMP(3),
           twice AS id * 2, p AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,
           PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'datagen')"""
    )
    t = t_env.from_path("t")
    return [
        str(t.get_resolved_schema()),
        str(t.get_schema()),
        str(t.select(t.id, t.ts, t.p).get_schema()),
        str(t.select(t.ts, t.id + 1).get_resolved_schema()),
        list(t.get_resolved_schema().get_column_names()),
        [str(each) for each in t.get_resolved_schema().get_column_data_types()],
        list(t.get_resolved_schema().get_primary_key().get_columns()),
    ]


def explained(t_env):
    t = t_env.from_elements([(1, "x")], ["a", "b"])
    t_env.create_temporary_view("t", t)
    plain = t.where(t.a > 1).explain()
    detailed = t.explain(
        ExplainDetail.ESTIMATED_COST,
        ExplainDetail.CHANGELOG_MODE,
        ExplainDetail.JSON_EXECUTION_PLAN,
    )
    by_sql = t_env.explain_sql("SELECT COUNT(*) FROM t", ExplainDetail.CHANGELOG_MODE)
    heads = [
        [line for line in text.splitlines() if line.startswith("== ")]
        for text in (plain, detailed, by_sql)
    ]
    return heads


def settings(t_env):
    stream = EnvironmentSettings.in_streaming_mode()
    batch = EnvironmentSettings.in_batch_mode()
    built = (
        EnvironmentSettings.new_instance()
        .in_batch_mode()
        .with_built_in_catalog_name("cat")
        .with_built_in_database_name("db")
        .build()
    )
    configured = (
        EnvironmentSettings.new_instance()
        .with_configuration(Configuration().set_string("table.dml-sync", "true") or Configuration())
        .build()
    )
    made = TableEnvironment.create(built)
    return [
        stream.is_streaming_mode(),
        batch.is_streaming_mode(),
        built.get_built_in_catalog_name(),
        built.get_built_in_database_name(),
        stream.get_built_in_catalog_name(),
        stream.get_built_in_database_name(),
        made.get_current_catalog(),
        made.get_current_database(),
        configured.is_streaming_mode(),
    ]


def configurations(t_env):
    config = t_env.get_config()
    config.set("table.exec.state.ttl", "5 s")
    config.set_local_timezone("Europe/Berlin")
    config.set_sql_dialect(SqlDialect.DEFAULT)
    found = [
        config.get("table.exec.state.ttl", ""),
        config.get("nothing", "default"),
        config.get_local_timezone(),
        config.get_sql_dialect() == SqlDialect.DEFAULT,
    ]
    config.set_idle_state_retention(datetime.timedelta(days=1))
    config.set("parallelism.default", "3")
    found += [
        str(config.get_idle_state_retention()),
        t_env.get_config().get("parallelism.default", ""),
    ]
    default = TableConfig.get_default()
    default.set("a", "b")
    return [*found, default.get("a", "")]


def views_replaced(t_env):
    t_env.create_temporary_view("v", t_env.from_elements([(1,)], ["a"]))
    t_env.create_temporary_view("v2", t_env.sql_query("SELECT a + 1 AS b FROM v"))
    found = [final(t_env.from_path("v2"))]
    return [
        *found,
        failed(lambda: t_env.create_temporary_view("v", t_env.from_elements([(2,)], ["c"])))
        is not None,
        final(t_env.from_path("v2")),
    ]


def table_by_name_in_sql(t_env):
    t = t_env.from_elements([(1, "x"), (2, "y")], ["a", "b"])
    return (
        final(t_env.sql_query(f"SELECT a, UPPER(b) FROM {t}"))
        if failed(lambda: t_env.sql_query(f"SELECT a FROM {t}")) is None
        else "refused"
    )


def paths(t_env):
    t_env.create_temporary_view(
        "default_catalog.default_database.t", t_env.from_elements([(1,)], ["a"])
    )
    t_env.create_temporary_view("`with space`", t_env.from_elements([(2,)], ["select"]))
    return [
        final(t_env.from_path("t")),
        final(t_env.from_path("default_database.t")),
        final(t_env.from_path("default_catalog.default_database.t")),
        final(t_env.from_path("`with space`").select(col("select"))),
        final(t_env.sql_query("SELECT `select` FROM `with space`")),
    ]


def collected_limits(b_env):
    t = b_env.from_elements([(at,) for at in range(10)], ["a"])
    with t.order_by(t.a).execute().collect() as rows:
        first = next(rows)
        second = rows.next()
    return [list(first), list(second), ordered(t.order_by(t.a.desc).limit(2))]


def files_for_functions(t_env):
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "python_tables_helper.py"), "w") as file:
        file.write("def plus_two(i):\n    return i + 2\n")
    t_env.add_python_file(folder)

    @udf(result_type=DataTypes.BIGINT())
    def plus_two(i):
        from python_tables_helper import plus_two

        return plus_two(i)

    t = t_env.from_elements([(1,), (2,)], ["a"])
    return final(t.select(plus_two(t.a)))
