"""Statements that change and show catalogs."""

from __future__ import annotations

from millstream.table.catalog.results import StatementResult
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
