"""Statements that change and show catalogs."""

from __future__ import annotations

import pytest

from millstream.common.errors import MillstreamError
from millstream.table.catalog.results import StatementResult
from millstream.table.sql.errors import SqlError
from tests.support.catalogs import catalog, run, schema


def rows(sql: str, manager: object) -> list[tuple[object, ...]]:
    found = run(sql, manager)  # type: ignore[arg-type]
    assert isinstance(found, StatementResult)
    return list(found.rows)


def test_temporary_objects_come_before_permanent_ones() -> None:
    manager = catalog()
    run("CREATE TEMPORARY VIEW t AS SELECT k FROM u", manager)
    assert schema("SELECT * FROM t", manager) == [["k", "STRING NOT NULL"]]
    run("DROP TEMPORARY VIEW t", manager)
    assert len(schema("SELECT * FROM t", manager)) == 12


def test_an_option_with_nearly_the_name_of_another_is_warned_of() -> None:
    manager = catalog()
    with pytest.warns(UserWarning, match=r"did you mean 'table\.exec\.state\.ttl'\?"):
        run("SET 'table.exec.stat.ttl' = '1 h'", manager)
    assert manager.option("table.exec.stat.ttl") == "1 h", "it is kept, as in Flink"
    run("SET 'table.exec.mini-batch.size' = '5'", manager)


def test_like_takes_and_leaves_parts() -> None:
    manager = catalog()
    run("CREATE TABLE l (x INT) WITH ('a' = 'b') LIKE u (EXCLUDING OPTIONS)", manager)
    entry = manager.find_table(("l",))
    assert entry is not None and [each.name for each in entry.row_type.fields][-1] == "x"
    assert entry.options == (("a", "b"),)  # type: ignore[union-attr]


def test_alter_table_moves_columns_and_binds_again() -> None:
    manager = catalog()
    run("ALTER TABLE u ADD (first_one INT FIRST)", manager)
    names = [name for name, *_ in rows("DESCRIBE u", manager)]
    assert names == ["first_one", "a", "k", "v", "n", "ts"]
    entry = manager.find_table(("u",))
    assert str(entry.watermark.expression) == "ts"  # type: ignore[union-attr]
    assert entry.watermark.expression.index == 5  # type: ignore[union-attr]


def test_describe_shows_keys_and_watermarks() -> None:
    found = rows("DESCRIBE u", catalog())
    assert found[1] == ("k", "STRING", False, "PRI(k)", None, None)
    assert found[4] == ("ts", "TIMESTAMP(3) *ROWTIME*", True, None, None, "`ts`")


def test_use_show_and_set() -> None:
    manager = catalog()
    run("CREATE DATABASE db", manager)
    run("USE db", manager)
    assert rows("SHOW CURRENT DATABASE", manager) == [("db",)]
    assert rows("SHOW TABLES", manager) == []
    assert rows("SHOW TABLES FROM default_database LIKE 'u%'", manager) == [("u",)]
    run("SET 'k' = 'v'", manager)
    assert rows("SET", manager) == [("k", "v")]
    run("RESET", manager)
    assert rows("SET", manager) == []


def test_show_create_table_can_be_run_again() -> None:
    manager = catalog()
    text = str(rows("SHOW CREATE TABLE t", manager)[0][0])
    run("DROP TABLE t", manager)
    run(text, manager)
    assert rows("SHOW CREATE TABLE t", manager)[0][0] == text


def refused(sql: str, manager: object) -> str:
    """The code and the message of the error that a statement gets."""
    with pytest.raises(MillstreamError) as error:
        run(sql, manager)  # type: ignore[arg-type]
    return f"{error.value.code}: {error.value.message}"


BASE = """
    CREATE TABLE base (id INT NOT NULL COMMENT 'key', p AS id * 2, m BIGINT METADATA, ts TIMESTAMP(3),
        WATERMARK FOR ts AS ts)
    DISTRIBUTED BY HASH(id) INTO 4 BUCKETS PARTITIONED BY (ts) WITH ('connector' = 'x', 'a' = '1')
"""


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("(p AS id + 1) LIKE base", "DUPLICATE_COLUMN"),
        ("WITH ('a' = '2') LIKE base (INCLUDING OPTIONS)", "TABLE_OPTION"),
        ("WITH ('a' = '2') LIKE base (EXCLUDING ALL INCLUDING OPTIONS)", "TABLE_OPTION"),
        ("LIKE base (OVERWRITING ALL)", "LIKE_OPTION"),
        ("LIKE base (OVERWRITING CONSTRAINTS)", "LIKE_OPTION"),
        ("LIKE base (INCLUDING OPTIONS EXCLUDING OPTIONS)", "LIKE_OPTION"),
        ("PARTITIONED BY (id) LIKE base", "LIKE_OPTION"),
        ("DISTRIBUTED INTO 2 BUCKETS LIKE base", "LIKE_OPTION"),
    ],
)
def test_like_refuses_what_is_there_twice(statement: str, problem: str) -> None:
    manager = catalog()
    run(BASE, manager)
    assert refused(f"CREATE TABLE l {statement}", manager).startswith(problem)


def test_like_overwrites_what_may_be_overwritten() -> None:
    manager = catalog()
    run(BASE, manager)
    run(
        "CREATE TABLE l (p AS id + 1, m INT METADATA FROM 'k',"
        " WATERMARK FOR ts AS ts - INTERVAL '1' DAY)"
        " WITH ('a' = '2')"
        " LIKE base (OVERWRITING GENERATED OVERWRITING METADATA OVERWRITING WATERMARKS)",
        manager,
    )
    shown = rows("SHOW CREATE TABLE l", manager)[0][0]
    assert shown == (
        "CREATE TABLE `default_catalog`.`default_database`.`l` (\n"
        "  `id` INT NOT NULL COMMENT 'key',\n"
        "  `p` AS `id` + 1,\n"
        "  `m` INT METADATA FROM 'k',\n"
        "  `ts` TIMESTAMP(3),\n"
        "  WATERMARK FOR `ts` AS `ts` - INTERVAL '1' DAY\n"
        ")\n"
        "DISTRIBUTED BY HASH(`id`) INTO 4 BUCKETS\n"
        "PARTITIONED BY (`ts`)\n"
        "WITH (\n"
        "  'a' = '2',\n"
        "  'connector' = 'x'\n"
        ")\n"
    )


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("ALTER TABLE base DROP PRIMARY KEY", "NOTHING_TO_DROP: the table has no PRIMARY KEY"),
        ("ALTER TABLE t DROP DISTRIBUTION", "NOTHING_TO_DROP: the table has no DISTRIBUTION"),
        ("ALTER TABLE comp DROP WATERMARK", "NOTHING_TO_DROP: the table has no WATERMARK"),
        ("ALTER TABLE base RESET ()", "TABLE_OPTION"),
        ("ALTER TABLE base RESET ('connector')", "TABLE_OPTION"),
        ("ALTER TABLE base RENAME ts TO time_of_it", "COLUMN_IN_USE"),
        ("ALTER TABLE base DROP CONSTRAINT c", "UNKNOWN_CONSTRAINT"),
        ("ALTER TABLE base ADD PARTITION (ts = 'x')", "NOT_SUPPORTED"),
        ("ALTER CATALOG default_catalog RESET ('type')", "TABLE_OPTION"),
        ("ALTER CATALOG default_catalog SET ('type' = 'spark')", "CATALOG_TYPE"),
        ("CREATE CATALOG c WITH ('type' = 'generic_in_memory', 'x' = 'y')", "TABLE_OPTION"),
        ("CREATE TABLE d (a INT) DISTRIBUTED BY (b) INTO 3 BUCKETS", "UNKNOWN_COLUMN"),
        ("CREATE TABLE d (a INT) DISTRIBUTED BY (a) INTO 0 BUCKETS", "TABLE_OPTION"),
        ("CREATE VIEW w AS SELECT id, id FROM base", "DUPLICATE_COLUMN"),
        ("SHOW CREATE VIEW base", "UNKNOWN_TABLE"),
        ("ALTER FUNCTION nothing AS 'json.dumps' LANGUAGE PYTHON", "UNKNOWN_FUNCTION"),
    ],
)
def test_what_cannot_be_changed_is_refused(statement: str, problem: str) -> None:
    manager = catalog()
    run(BASE, manager)
    run("CREATE TABLE comp (a INT)", manager)
    assert refused(statement, manager).startswith(problem)


def test_a_view_is_shown_so_that_it_can_be_made_in_any_database() -> None:
    manager = catalog()
    run(BASE, manager)
    run("CREATE VIEW inner_one AS SELECT id FROM base", manager)
    run("CREATE VIEW v AS WITH base AS (SELECT id FROM base) SELECT b.id FROM base b JOIN inner_one "
        "ON b.id = inner_one.id WHERE b.id IN (SELECT id FROM base)", manager)  # fmt: skip
    text = str(rows("SHOW CREATE VIEW v", manager)[0][0])
    full = "`default_catalog`.`default_database`"
    assert text == (
        f"CREATE VIEW {full}.`v` (\n  `id`\n)\nAS WITH base AS (SELECT id FROM {full}.`base`) "
        f"SELECT b.id FROM base b JOIN {full}.`inner_one` ON b.id = inner_one.id "
        "WHERE b.id IN (SELECT id FROM base)\n"
    )
    run("CREATE DATABASE other", manager)
    run("USE other", manager)
    run(f"DROP VIEW {full}.`v`", manager)
    run(text, manager)
    assert rows(f"SHOW CREATE VIEW {full}.`v`", manager)[0][0] == text


def test_a_column_that_is_modified_keeps_its_comment() -> None:
    manager = catalog()
    run(BASE, manager)
    run("ALTER TABLE base MODIFY id BIGINT NOT NULL", manager)
    assert "`id` BIGINT NOT NULL COMMENT 'key'" in str(
        rows("SHOW CREATE TABLE base", manager)[0][0]
    )


def test_own_columns_of_create_table_as_come_first() -> None:
    manager = catalog()
    run("CREATE TABLE c (x AS k || 'y', k STRING) AS SELECT v, k FROM u", manager)
    assert [name for name, *_ in rows("DESCRIBE c", manager)] == ["x", "v", "k"]


def test_a_function_is_altered() -> None:
    manager = catalog()
    run("CREATE FUNCTION f AS 'a.B' LANGUAGE JAVA", manager)
    run("ALTER FUNCTION f AS 'a.C' LANGUAGE JAVA", manager)
    run("ALTER FUNCTION IF EXISTS g AS 'a.C' LANGUAGE JAVA", manager)
    entry = manager.find_function(("f",))
    assert entry is not None and entry.class_name == "a.C"
    assert manager.find_function(("g",)) is None


def test_catalogs_are_shown_as_in_flink() -> None:
    manager = catalog()
    run("CREATE CATALOG c WITH ('type' = 'generic_in_memory', 'default-database' = 'd')", manager)
    assert rows("SHOW CREATE CATALOG c", manager)[0][0] == (
        "CREATE CATALOG `c`\nWITH (\n"
        "  'default-database' = 'd',\n  'type' = 'generic_in_memory'\n)\n"
    )
    assert rows("DESCRIBE CATALOG EXTENDED c", manager)[-1] == ("option:default-database", "d")


def test_names_with_backticks_are_shown_so_that_they_can_be_run_again() -> None:
    manager = catalog()
    run("CREATE TABLE `a``b` (`c``d` INT, PRIMARY KEY (`c``d`) NOT ENFORCED)", manager)
    text = str(rows("SHOW CREATE TABLE `a``b`", manager)[0][0])
    run("DROP TABLE `a``b`", manager)
    run(text, manager)
    assert rows("DESCRIBE `a``b`", manager)[0][0] == "c`d"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a, v AS a FROM u",
        "SELECT *, a FROM u",
        "SELECT x.a, y.a FROM u AS x JOIN u AS y ON x.a = y.a",
        "WITH w AS (SELECT a FROM u) SELECT a, a FROM w",
        "SELECT a, a FROM u UNION ALL SELECT a, a FROM u",
        "(SELECT a, a FROM u LIMIT 1)",
    ],
)
def test_a_view_has_no_two_columns_of_one_name(query: str) -> None:
    assert refused(f"CREATE VIEW w AS {query}", catalog()).startswith("DUPLICATE_COLUMN")


def test_the_columns_of_a_join_get_numbers_in_a_view() -> None:
    manager = catalog()
    run("CREATE VIEW w AS SELECT * FROM (SELECT a FROM u) AS x, (SELECT a FROM u) AS y", manager)
    run("CREATE VIEW l (p, q) AS SELECT a, a FROM u", manager)
    assert [name for name, *_ in rows("DESCRIBE w", manager)] == ["a", "a0"]
    assert refused("CREATE VIEW m (p, p) AS SELECT a, v FROM u", manager).startswith("DUPLICATE")


@pytest.mark.parametrize(
    ("statement", "problem", "hint"),
    [
        (
            "DROP TABLE w",
            "there is no table w: it is a temporary view",
            "write DROP TEMPORARY VIEW",
        ),
        ("DROP VIEW w", "there is no view w: it is a temporary view", "write DROP TEMPORARY VIEW"),
        ("DROP VIEW u", "there is no view u: it is a table", "write DROP TABLE"),
        ("ALTER TABLE w RENAME TO x", "there is no table w: it is a temporary view", "ALTER VIEW"),
        ("ALTER VIEW u RENAME TO x", "there is no view u: it is a table", "write ALTER TABLE"),
        ("CREATE TABLE x LIKE w", "there is no table w: it is a temporary view", "AS SELECT"),
        ("DROP TABLE uu", "there is no table uu", "did you mean u?"),
        ("DROP DATABASE default_databas", "there is no database default_databas", "did you mean"),
    ],
)
def test_what_is_there_under_the_name_is_said(statement: str, problem: str, hint: str) -> None:
    manager = catalog()
    run("CREATE TEMPORARY VIEW w AS SELECT a FROM u", manager)
    with pytest.raises(MillstreamError) as error:
        run(statement, manager)
    assert error.value.message.startswith(problem) and hint in str(error.value.hint)


@pytest.mark.parametrize(
    ("statement", "underlined"),
    [
        ("ALTER TABLE u DROP nope", "nope"),
        ("ALTER TABLE u RENAME nope TO x", "nope"),
        ("ALTER TABLE u RENAME a TO v", "v"),
        ("ALTER TABLE u ADD x INT AFTER nope", "nope"),
        ("ALTER TABLE u DROP ts", "ts"),
        ("ALTER TABLE comp DROP a", "a"),
        ("ALTER TABLE comp RENAME a TO x", "a"),
        ("CREATE TABLE x (b AS 1, PRIMARY KEY (b) NOT ENFORCED)", "PRIMARY KEY (b) NOT ENFORCED"),
        ("CREATE TABLE x (b INT) PARTITIONED BY (c)", "c"),
        ("CREATE TABLE x (b INT) DISTRIBUTED BY (c) INTO 2 BUCKETS", "BY (c) INTO 2 BUCKETS"),
    ],
)
def test_the_wrong_part_is_underlined(statement: str, underlined: str) -> None:
    manager = catalog()
    run("CREATE TABLE comp (a INT, b AS a * 2)", manager)
    with pytest.raises(SqlError) as error:
        run(statement, manager)
    begin, length = (error.value.column or 0) - 1, str(error.value.excerpt).count("^")
    assert statement[begin : begin + length] == underlined


def test_functions_are_described() -> None:
    manager = catalog()
    run("CREATE TEMPORARY SYSTEM FUNCTION f AS 'a.B' LANGUAGE JAVA", manager)
    assert rows("DESCRIBE FUNCTION uuid", manager) == [
        ("is system function", "true"),
        ("is temporary", "false"),
    ]
    assert rows("DESCRIBE FUNCTION EXTENDED uuid", manager)[2:] == [
        ("kind", "SCALAR"),
        ("is deterministic", "false"),
        ("signature", "UUID()"),
    ]
    assert ("class name", "a.B") in rows("DESCRIBE FUNCTION EXTENDED f", manager)
    assert refused("DESCRIBE FUNCTION uuidd", manager).startswith("UNKNOWN_FUNCTION")
