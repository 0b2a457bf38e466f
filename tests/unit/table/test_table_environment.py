"""Statements and tables of an environment, in memory."""

from __future__ import annotations

import datetime
import itertools
import json

import pytest

from millstream.common import Configuration, Row
from millstream.common.errors import MillstreamError, PlanError
from millstream.datastream.streams.collect import CollectBuffer
from millstream.table import (
    DataTypes,
    EnvironmentSettings,
    ExplainDetail,
    FormatDescriptor,
    ResultKind,
    Schema,
    TableDescriptor,
    TableEnvironment,
)
from millstream.table.expressions import col, lit, row
from millstream.table.sql.errors import SqlError
from millstream.table.table_result import TableResult
from millstream.table.udf import udf
from millstream.table.window import Tumble
from millstream.testing import in_memory

PRINT = TableDescriptor.for_connector("print")


def environment(mode=EnvironmentSettings.in_streaming_mode):
    t_env = TableEnvironment.create(mode())
    t = t_env.from_elements([(1, "a"), (2, "b"), (3, "a")], "id INT, name STRING")
    t_env.create_temporary_view("t", t)
    return t_env


def lines(capsys):
    return capsys.readouterr().out.splitlines()


# -- statements ------------------------------------------------------------------------------------


def test_queries_are_collected():
    found = environment().execute_sql("SELECT name, COUNT(*) FROM t GROUP BY name").collect()
    assert sorted(map(tuple, found)) == [("a", 2), ("b", 1)]


def test_insert_prints_changes(capsys):
    t_env = environment()
    t_env.execute_sql("CREATE TABLE p (name STRING, n BIGINT) WITH ('connector' = 'print')")
    result = t_env.execute_sql("INSERT INTO p SELECT name, COUNT(*) FROM t GROUP BY name")
    result.wait()
    assert sorted(lines(capsys)) == ["+I[a, 2]", "+I[b, 1]"]
    assert result.get_resolved_schema().get_column_names() == ["default_catalog.default_database.p"]
    result.print()
    assert lines(capsys) == ["-1"]


def test_what_a_statement_shows_is_not_cut(capsys):
    t_env = TableEnvironment.create()
    t_env.execute_sql("CREATE TABLE t (a INT) WITH ('connector' = 'blackhole')")
    t_env.execute_sql("SHOW CREATE TABLE t").print()
    assert "CREATE TABLE `default_catalog`.`default_database`.`t` (" in capsys.readouterr().out


def test_a_batch_prints_without_kinds(capsys):
    t_env = environment(EnvironmentSettings.in_batch_mode)
    t_env.execute_sql("SELECT id FROM t WHERE id > 2").print()
    assert lines(capsys) == [
        "+-------------+",
        "|          id |",
        "+-------------+",
        "|           3 |",
        "+-------------+",
        "1 row in set",
    ]


def test_statements_of_the_catalog_say_ok_or_show_a_table(capsys):
    t_env = environment()
    result = t_env.execute_sql("CREATE TABLE p (n INT) WITH ('connector' = 'print')")
    assert result.get_result_kind() == ResultKind.SUCCESS
    assert result.get_job_client() is None
    result.print()
    assert lines(capsys) == ["OK"]
    assert [r[0] for r in t_env.execute_sql("SHOW TABLES").collect()] == ["p", "t"]


def test_create_table_as_writes_the_rows(capsys):
    t_env = environment()
    t_env.execute_sql("CREATE TABLE p WITH ('connector' = 'print') AS SELECT id FROM t").wait()
    assert sorted(lines(capsys)) == ["+I[1]", "+I[2]", "+I[3]"]


def test_a_statement_set_is_one_job(capsys):
    t_env = environment()
    for name in ("p", "q"):
        t_env.execute_sql(f"CREATE TABLE {name} (n INT) WITH ('connector' = 'print')")
    statements = t_env.create_statement_set()
    statements.add_insert_sql("INSERT INTO p SELECT id FROM t WHERE id = 1")
    statements.add_insert("q", t_env.from_path("t").select(col("id")).where(col("id") == 2))
    result = statements.execute()
    result.wait()
    assert sorted(lines(capsys)) == ["+I[1]", "+I[2]"]
    assert [tuple(r) for r in result.collect()] == [(-1, -1)]
    with pytest.raises(PlanError, match="no statements"):
        statements.execute()
    t_env.execute_sql(
        "EXECUTE STATEMENT SET BEGIN INSERT INTO p VALUES (7); INSERT INTO q VALUES (8); END"
    ).wait()
    assert sorted(lines(capsys)) == ["+I[7]", "+I[8]"]


def test_mistakes_are_errors_with_a_hint():
    t_env = environment()
    with pytest.raises(PlanError, match="takes a query"):
        t_env.sql_query("CREATE TABLE p (a INT)")
    with pytest.raises(MillstreamError, match="connector"):
        t_env.execute_sql("CREATE TABLE q (a INT) WITH ('connector' = 'prnt')")
        t_env.execute_sql("INSERT INTO q SELECT id FROM t")
    with pytest.raises(SqlError, match="line 1"):
        t_env.execute_sql("SELECT nothing FROM t")
    with pytest.raises(PlanError, match="INSERT only"):
        t_env.create_statement_set().add_insert_sql("SELECT 1")


# -- tables ----------------------------------------------------------------------------------------


def test_tables_of_the_catalog():
    t_env = environment()
    found = sorted(map(tuple, t_env.final_rows(t_env.from_path("t"))))
    assert found == [(1, "a"), (2, "b"), (3, "a")]
    assert t_env.list_tables() == t_env.list_views() == t_env.list_temporary_views() == ["t"]
    assert t_env.drop_temporary_view("t")
    assert not t_env.drop_temporary_view("t")


def test_descriptors_are_tables(capsys):
    t_env = environment()
    schema = Schema.new_builder().column("n", DataTypes.INT()).build()
    t_env.create_temporary_table("p", PRINT.schema(schema).build())
    t_env.from_path("t").select(col("id")).execute_insert("p").wait()
    t_env.from_path("t").select(col("id")).insert_into(
        PRINT.schema(schema).build()
    ).execute().wait()
    assert sorted(lines(capsys)) == sorted(["+I[1]", "+I[2]", "+I[3]"] * 2)
    assert t_env.create_table("q", PRINT.schema(schema).build())
    assert not t_env.create_table("q", PRINT.schema(schema).build(), ignoreIfExists=True)
    assert t_env.drop_table("q")
    with pytest.raises(PlanError, match="no table q"):
        t_env.drop_table("q", ignore_if_not_exists=False)
    generated = (
        TableDescriptor.for_connector("datagen")
        .schema(schema)
        .option("number-of-rows", "3")
        .build()
    )
    assert len(t_env.final_rows(t_env.from_descriptor(generated))) == 3
    assert FormatDescriptor.for_format("json").build().get_format() == "json"


def test_types_of_elements_are_those_of_pyflink():
    moment = datetime.datetime(2020, 1, 1)
    values = (1, 1.5, "a", True, bytearray(b"x"), moment, moment.date(), moment.time())
    nested = ([1, 2], {"a": 1}, Row(x=1, y="z"))
    table = environment().from_elements([(*values, *nested)])
    types = [field.type.as_summary() for field in table.relation.row_type.fields]
    assert types == [
        "BIGINT",
        "DOUBLE",
        "STRING",
        "BOOLEAN",
        "BYTES",
        "TIMESTAMP_LTZ(6)",
        "DATE",
        "TIME(0)",
        "ARRAY<BIGINT>",
        "MAP<STRING NOT NULL, BIGINT>",
        "ROW<`x` BIGINT, `y` STRING>",
    ]
    (found,) = table.execute().collect()
    assert (found[8], found[9], tuple(found[10])) == ([1, 2], {"a": 1}, (1, "z"))


def test_elements_have_many_forms():
    t_env = environment()
    schema = DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", DataTypes.STRING())]
    )
    for elements, given, columns in [
        ([(1, "x")], ["a", "b"], ["a", "b"]),
        ([(1, "x")], None, ["_1", "_2"]),
        ([{"b": "x", "a": 1}], None, ["a", "b"]),
        ([Row(a=1, b="x")], None, ["a", "b"]),
        ([(1, "x")], schema, ["a", "b"]),
        ([row(1, "x")], schema, ["a", "b"]),
        ([(1, "x")], "a INT, b STRING", ["a", "b"]),
    ]:
        table = t_env.from_elements(elements, given)
        assert table._columns == columns
        assert [tuple(r) for r in table.execute().collect()] == [(1, "x")]
    single = t_env.from_elements([1, 2], DataTypes.INT())
    assert [tuple(r) for r in single.execute().collect()] == [(1,), (2,)]
    for wrong, message in [
        ([(1, 2), (1,)], "rows have 2 and 1"),
        ([(None,)], "not known"),
        ([], "no rows"),
    ]:
        with pytest.raises(PlanError, match=message):
            t_env.from_elements(wrong)
    with pytest.raises(PlanError, match="column a is INT"):
        t_env.from_elements([("x", "y")], schema)


def test_pandas_in_and_out():
    import pandas as pd

    t_env = environment()
    frame = pd.DataFrame({"n": [1, 2], "w": ["a", None]})
    table = t_env.from_pandas(frame, ["x", "y"])
    assert [f.type.as_summary() for f in table.relation.row_type.fields] == ["BIGINT", "STRING"]
    found = table.where(col("x") > 1).to_pandas()
    assert found.to_dict("list") == {"x": [2], "y": [None]}
    assert list(t_env.sql_query("SELECT id FROM t WHERE id > 9").to_pandas().columns) == ["id"]


# -- settings --------------------------------------------------------------------------------------


def test_settings_name_the_catalog_and_the_mode():
    settings = (
        EnvironmentSettings.new_instance()
        .in_batch_mode()
        .with_built_in_catalog_name("c")
        .with_built_in_database_name("d")
        .with_configuration(Configuration.from_dict({"parallelism.default": "3"}))
        .build()
    )
    t_env = TableEnvironment.create(settings)
    assert (t_env.get_current_catalog(), t_env.get_current_database()) == ("c", "d")
    assert t_env.list_databases() == ["d"]
    assert not settings.is_streaming_mode()
    assert t_env.get_config().get("parallelism.default", "1") == "3"
    assert t_env._statements.settings().parallelism == 3


def test_options_of_the_session_are_settings_of_its_jobs():
    t_env = environment()
    t_env.execute_sql("SET 'parallelism.default' = '5'")
    t_env.get_config().set("execution.savepoint.path", "somewhere")
    settings = t_env._statements.settings()
    assert (settings.parallelism, settings.savepoint_path) == (5, "somewhere")
    t_env.execute_sql("RESET")
    assert t_env._statements.settings().savepoint_path is None
    t_env.get_config().set_idle_state_retention(datetime.timedelta(hours=1))
    assert t_env.get_config().get_idle_state_retention() == datetime.timedelta(hours=1)


def test_state_without_bounds_can_be_refused(caplog):
    t_env = environment()
    query = t_env.sql_query("SELECT name, COUNT(*) FROM t GROUP BY name")
    t_env.get_config().set("table.exec.unbounded-state", "refuse")
    with pytest.raises(PlanError, match="Aggregate: grows with the groups"):
        query.execute()
    t_env.get_config().set("table.exec.unbounded-state", "warn")
    query.explain()
    assert "no bound" in caplog.text
    t_env.get_config().set("table.exec.unbounded-state", "perhaps")
    with pytest.raises(PlanError, match="perhaps"):
        query.execute()


def test_modules():
    t_env = environment()
    assert t_env.list_modules() == ["core"]
    t_env.execute_sql("UNLOAD MODULE core")
    assert t_env.list_full_modules() == []
    t_env.execute_sql("LOAD MODULE core")
    assert [(each.name(), each.used()) for each in t_env.list_full_modules()] == [("core", True)]
    with pytest.raises(PlanError, match="no module hive"):
        t_env.use_modules("hive")


# -- explanations ----------------------------------------------------------------------------------


def test_explain_says_what_each_operator_does(capsys):
    t_env = environment()
    text = t_env.explain_sql("SELECT name, COUNT(*) AS n FROM t GROUP BY name")
    assert "changelogMode=[I,UB,UA,D], upsertKey=[(name)], state=[grows with the groups]" in text
    assert "exchange, stage=[1]" in text
    headings = [line for line in text.splitlines() if line.startswith("==")]
    assert headings == [
        "== Abstract Syntax Tree ==",
        "== Optimized Physical Plan ==",
        "== Optimized Execution Plan ==",
    ]
    t_env.execute_sql("EXPLAIN SELECT id FROM t").print()
    assert lines(capsys)[0] == "== Abstract Syntax Tree =="
    advice = t_env.from_path("t").distinct().explain(ExplainDetail.PLAN_ADVICE)
    assert "advice[1]: the state of " in advice
    t_env.execute_sql("CREATE TABLE p (n INT) WITH ('connector' = 'print')")
    insert = t_env.explain_sql("INSERT INTO p SELECT id FROM t", ExplainDetail.JSON_EXECUTION_PLAN)
    assert "Sink(table=[default_catalog.default_database.p], fields=[n]" in insert
    assert '"nodes"' in insert
    with pytest.raises(SqlError, match="EXPLAIN takes"):
        t_env.explain_sql("SHOW TABLES")


def test_a_notebook_shows_rows_and_plan():
    html = environment().from_path("t")._repr_html_()
    assert "<table" in html
    assert "Abstract Syntax Tree" in html


# -- what is told about tables ---------------------------------------------------------------------

DECLARED = """CREATE TABLE declared (
    id INT NOT NULL COMMENT 'a number',
    ts TIMESTAMP(3),
    more AS id + 1,
    p AS PROCTIME(),
    seen TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
    WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,
    PRIMARY KEY (id) NOT ENFORCED
) WITH ('connector' = 'upsert-kafka')"""


def test_the_schema_of_a_table_has_all_it_declares(capsys):
    t_env = environment()
    t_env.execute_sql(DECLARED)
    t_env.from_path("declared").print_schema()
    assert lines(capsys) == [
        "(",
        "  `id` INT NOT NULL COMMENT 'a number',",
        "  `ts` TIMESTAMP(3) *ROWTIME*,",
        "  `more` INT NOT NULL AS `id` + 1,",
        "  `p` TIMESTAMP_LTZ(3) NOT NULL *PROCTIME* AS PROCTIME(),",
        "  `seen` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,",
        "  WATERMARK FOR `ts`: TIMESTAMP(3) AS `ts` - INTERVAL '5' SECOND,",
        "  CONSTRAINT `PK_id` PRIMARY KEY (`id`) NOT ENFORCED",
        ")",
    ]
    t_env.sql_query("SELECT id, ts FROM declared").print_schema()
    assert lines(capsys) == ["(", "  `id` INT NOT NULL,", "  `ts` TIMESTAMP(3) *ROWTIME*", ")"]


def test_a_resolved_schema_is_asked_for_its_parts():
    t_env = environment()
    t_env.execute_sql(DECLARED)
    schema = t_env.from_path("declared").get_resolved_schema()
    assert schema.get_column_count() == 5
    assert schema.get_column("more").get_expression().as_summary_string() == "`id` + 1"
    assert (schema.get_column("seen").is_virtual(), schema.get_column(9)) == (True, None)
    (mark,) = schema.get_watermark_specs()
    assert mark.get_rowtime_attribute() == "ts"
    assert (schema.get_primary_key().get_columns(), schema.get_primary_key_indexes()) == (
        ["id"],
        [0],
    )
    assert schema.to_physical_row_data_type().field_names() == ["id", "ts"]
    assert schema.to_sink_row_data_type().field_names() == ["id", "ts"]
    assert schema.to_source_row_data_type().field_names() == schema.get_column_names()
    assert schema == t_env.from_path("declared").get_resolved_schema()


def test_describe_shows_columns_in_backticks(capsys):
    t_env = environment()
    t_env.execute_sql(DECLARED)
    found = [tuple(row) for row in t_env.execute_sql("DESCRIBE declared").collect()]
    assert [(row[0], row[4], row[5]) for row in found] == [
        ("id", None, None),
        ("ts", None, "`ts` - INTERVAL '5' SECOND"),
        ("more", "AS `id` + 1", None),
        ("p", "AS PROCTIME()", None),
        ("seen", "METADATA FROM 'timestamp' VIRTUAL", None),
    ]


def test_every_detail_of_explain_is_taken():
    t_env = environment()
    query = "SELECT name, COUNT(*) FROM t GROUP BY name"
    plain, costs = (
        t_env.explain_sql(query, *each) for each in ((), (ExplainDetail.ESTIMATED_COST,))
    )
    assert plain == costs
    everything = [
        ExplainDetail.ESTIMATED_COST,
        ExplainDetail.CHANGELOG_MODE,
        ExplainDetail.JSON_EXECUTION_PLAN,
        ExplainDetail.PLAN_ADVICE,
    ]
    text = t_env.sql_query(query).explain(*everything)
    _, _, graph = text.partition("== Physical Execution Plan ==\n")
    nodes = json.loads(graph)["nodes"]
    known = {node["id"] for node in nodes}
    assert {each["id"] for node in nodes for each in node["predecessors"]} < known
    assert {"Data Source", "Data Sink"} <= {node["pact"] for node in nodes}
    t_env.execute_sql("CREATE TABLE p (name STRING, n BIGINT) WITH ('connector' = 'print')")
    statements = t_env.create_statement_set().add_insert_sql(f"INSERT INTO p {query}")
    assert "== Physical Execution Plan ==" in statements.explain(*everything)


# -- waiting ---------------------------------------------------------------------------------------


def test_wait_ends_with_the_time():
    buffer = CollectBuffer()
    row_type = environment().sql_query("SELECT 1").relation.row_type
    rows = itertools.chain.from_iterable(iter(buffer.take, []))
    result = TableResult(row_type, rows, wait_for=buffer.wait)
    with pytest.raises(TimeoutError):
        result.wait(1)
    buffer.deliver(1, [(Row(7), None)])
    result.wait(1)
    result.wait()
    assert next(result.collect()) == Row(7)


def test_a_table_that_is_written_twice_has_two_columns_in_the_result(capsys):
    t_env = environment()
    t_env.execute_sql("CREATE TABLE p (id INT) WITH ('connector' = 'print')")
    statements = t_env.create_statement_set()
    statements.add_insert_sql("INSERT INTO p SELECT id FROM t WHERE id < 2")
    statements.add_insert_sql("INSERT INTO p SELECT id FROM t WHERE id > 2")
    result = statements.execute()
    result.wait()
    assert sorted(lines(capsys)) == ["+I[1]", "+I[3]"]
    full = "default_catalog.default_database.p"
    assert result.get_resolved_schema().get_column_names() == [f"{full}_1", f"{full}_2"]


def test_wait_keeps_the_first_row_of_a_query():
    result = environment().execute_sql("SELECT id FROM t")
    result.wait(10_000)
    assert [tuple(row) for row in result.collect()] == [(1,), (2,), (3,)]


# -- a time for a query ----------------------------------------------------------------------------


def second(number):
    return datetime.datetime(2024, 1, 1, 0, 0, number)


def clicks(times, kind="TIMESTAMP(6)"):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    return t_env.from_elements([(second(each), each) for each in times], f"ts {kind}, n INT")


def sums(table):
    windows = table.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w"))
    found = windows.group_by(col("w")).select(col("w").start, col("n").sum).execute().collect()
    return [(row[0].second, row[1]) for row in found]


@pytest.mark.parametrize(
    "delay",
    ["5 seconds", "INTERVAL '5' SECOND", datetime.timedelta(seconds=5), lit(5).seconds],
    ids=["spark", "sql", "python", "expression"],
)
def test_with_watermark_makes_a_column_the_time(delay):
    # The 3 after 14 comes in time, the one after 25 is late.
    table = clicks([1, 14, 3, 25, 3, 41])
    assert sums(table.with_watermark("ts", delay)) == [(0, 4), (10, 14), (20, 25), (40, 41)]


def test_with_watermark_without_delay_drops_more():
    assert sums(clicks([1, 14, 3, 25]).with_watermark("ts", "0 seconds")) == [
        (0, 1),
        (10, 14),
        (20, 25),
    ]


def test_with_watermark_takes_queries_that_change_rows():
    table = clicks([1, 2, 1], "TIMESTAMP(3)").group_by(col("ts")).select(col("ts"), col("n").sum)
    found = table.with_watermark("ts", "1 second")
    assert sorted(tuple(row) for row in found._t_env.final_rows(found)) == [
        (second(1), 2),
        (second(2), 2),
    ]


def test_with_watermark_of_what_is_no_time():
    with pytest.raises(PlanError, match="the time of a table is a timestamp, and n is INT"):
        clicks([1]).with_watermark("n", "1 second")
    with pytest.raises(PlanError, match="there is no column tss") as caught:
        clicks([1]).with_watermark("tss", "1 second")
    assert caught.value.hint == "did you mean ts?"
    with pytest.raises(PlanError, match="is not a span of time"):
        clicks([1]).with_watermark("ts", "soon")


def test_statements_about_catalogs_print_everything_as_flink_does(capsys):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    words = "a_text_that_is_longer_than_thirty_characters"
    t_env.execute_sql(f"CREATE TABLE t (id INT COMMENT '{words}') WITH ('connector' = 'print')")
    t_env.execute_sql("DESCRIBE t").print()
    assert capsys.readouterr().out.splitlines()[1:4:2] == [
        f"| name | type | null | key | extras | watermark | {'comment':>44} |",
        f"|   id |  INT | TRUE |     |        |           | {words} |",
    ]
    t_env.execute_sql("SHOW CREATE TABLE t").print()
    assert f"  `id` INT COMMENT '{words}'\n" in capsys.readouterr().out


def test_create_table_as_writes_into_a_table_that_was_there(capsys):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql("CREATE TABLE p (id INT) WITH ('connector' = 'print')")
    with in_memory():
        t_env.execute_sql(
            "CREATE TABLE IF NOT EXISTS p WITH ('connector' = 'print') AS SELECT 5 AS id"
        ).wait()
    assert capsys.readouterr().out == "+I[5]\n"


def test_explain_of_create_table_as_makes_no_table():
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    statement = "CREATE TABLE p WITH ('connector' = 'print') AS SELECT 5 AS id"
    assert "Sink(table=[default_catalog.default_database.p]" in t_env.explain_sql(statement)
    assert t_env.list_tables() == []
    t_env.execute_sql("CREATE TABLE p (id INT) WITH ('connector' = 'blackhole')")
    t_env.explain_sql(statement.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))
    t_env.explain_sql(statement.replace("CREATE", "CREATE OR REPLACE"))
    assert "blackhole" in str(list(t_env.execute_sql("SHOW CREATE TABLE p").collect()))


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        ("UPDATE t SET a = 1", "INSERT INTO"),
        ("TRUNCATE TABLE t", "INSERT INTO"),
        ("ANALYZE TABLE t COMPUTE STATISTICS", "cost model"),
        ("ADD JAR 'x.jar'", "Python"),
        ("SHOW JOBS", "millstream sql"),
        ("STOP JOB 'x'", "millstream sql"),
        ("BEGIN STATEMENT SET", "EXECUTE STATEMENT SET"),
        ("EXECUTE PLAN 'x.json'", "savepoint"),
        ("CREATE MODEL m WITH ('a' = 'b')", "user function"),
    ],
)
def test_statements_that_do_not_run_say_what_to_do(statement, hint):
    with pytest.raises(SqlError) as error:
        TableEnvironment.create().execute_sql(statement)
    assert error.value.code == "NOT_SUPPORTED"
    assert hint in (error.value.hint or "") and statement.split()[0] in error.value.message


def test_errors_of_rows_have_no_python_in_them():
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    with in_memory(), pytest.raises(MillstreamError) as error:
        t_env.execute_sql("SELECT 1 / CAST(a AS INT) FROM (VALUES ('0')) AS t (a)").print()
    text = str(error.value)
    assert "by zero" in text and "NULLIF" in text
    assert "Error" not in text and "millstream." not in text


def test_lines_that_do_not_fit_say_how_to_go_on(tmp_path):
    (tmp_path / "rows.json").write_text('{"a": 1}\n{"a":\n')
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    options = f"'connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'json'"
    t_env.execute_sql(f"CREATE TABLE t (a INT) WITH ({options})")
    with in_memory(), pytest.raises(MillstreamError) as error:
        t_env.execute_sql("SELECT * FROM t").print()
    text = str(error.value)
    assert "[JSON_ROW] no JSON" in text and "'json.ignore-parse-errors' = 'true'" in text
    assert "JSONDecodeError" not in text and ".on_error" not in text


@pytest.mark.parametrize(
    ("key", "value"),
    [("table.local-time-zone", "Mars/Phobos"), ("table.exec.mini-batch.enabled", "maybe")],
)
def test_a_wrong_value_of_an_option_is_refused_before_the_query_runs(key, value):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set(key, value)
    with in_memory(), pytest.raises(PlanError, match=f"{key}.*{value}") as error:
        t_env.execute_sql("SELECT COUNT(*), CURRENT_TIMESTAMP FROM (VALUES (1))")
    assert error.value.code == "TABLE_OPTION"


def test_a_call_with_too_many_arguments_is_found_before_it_runs():
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())

    @udf(result_type=DataTypes.INT())
    def add(x, y=1, *more):
        return x + y

    @udf(result_type=DataTypes.INT())
    def single(x):
        return x

    t_env.create_temporary_system_function("add", add)
    t_env.create_temporary_system_function("single", single)
    t_env.sql_query("SELECT add(1), add(1, 2, 3), single(1)")
    for call, takes in (
        ("add()", "takes at least 1 arguments"),
        ("single(1, 2)", "takes 1 arguments"),
    ):
        with pytest.raises(SqlError, match=takes):
            t_env.sql_query(f"SELECT {call}")
