"""Catalogs by methods: `Catalog` and what it gives."""

from __future__ import annotations

import pytest

from millstream.common.errors import MillstreamError, PlanError
from millstream.table import DataTypes, Schema, TableEnvironment, TableSchema
from millstream.table.catalog import (
    Catalog,
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogPartitionSpec,
    ObjectIdentifier,
    ObjectPath,
)
from millstream.table.udf import udf

double = udf(lambda n: 2 * n, result_type="INT")
DB = "default_database"
PATH = ObjectPath(DB, "t")


def catalog() -> tuple[TableEnvironment, Catalog]:
    t_env = TableEnvironment.create()
    found = t_env.get_catalog("default_catalog")
    assert found is not None
    return t_env, found


def words(connector: str = "print") -> CatalogBaseTable:
    schema = TableSchema(["id", "word"], [DataTypes.INT(), DataTypes.STRING()])
    return CatalogBaseTable.create_table(schema, [], {"connector": connector}, "some words")


def test_databases() -> None:
    _, found = catalog()
    found.create_database("shop", CatalogDatabase.create_instance({"a": "b"}, "a shop"))
    assert found.list_databases() == [DB, "shop"]
    assert (found.get_default_database(), found.database_exists("no")) == (DB, False)
    shop = found.get_database("shop")
    assert (shop.get_properties(), shop.get_comment()) == ({"a": "b"}, "a shop")
    with pytest.raises(PlanError, match="there is a database shop already"):
        found.create_database("shop", shop)
    found.create_database("shop", shop, True)
    found.alter_database("shop", CatalogDatabase.create_instance({"c": "d"}))
    assert found.get_database("shop").get_properties() == {"c": "d"}
    found.drop_database("shop")
    found.drop_database("shop", True)
    with pytest.raises(MillstreamError, match="there is no database shop"):
        found.drop_database("shop")


def test_tables_and_views() -> None:
    t_env, found = catalog()
    found.create_table(PATH, words())
    found.create_table(PATH, words(), True)
    with pytest.raises(PlanError, match="already"):
        found.create_table(PATH, words())
    view = CatalogBaseTable.create_view("SELECT 1", "SELECT 1 AS n", Schema(), {}, "one")
    found.create_table(ObjectPath(DB, "v"), view)
    assert (found.list_tables(DB), found.list_views(DB)) == (["t", "v"], ["v"])
    assert t_env.list_tables() == ["t", "v"]
    table = found.get_table(PATH)
    assert (table.get_options(), table.get_comment()) == ({"connector": "print"}, "some words")
    assert str(table.get_unresolved_schema()) == ("(\n  `id` INT,\n  `word` STRING\n)")
    assert found.get_table_statistics(PATH).get_row_count() == -1
    found.alter_table(PATH, words("blackhole"))
    found.rename_table(PATH, "u")
    assert found.get_table(ObjectPath(DB, "u")).get_options() == {"connector": "blackhole"}
    found.drop_table(ObjectPath(DB, "u"))
    found.drop_table(ObjectPath(DB, "v"))
    found.drop_table(PATH, True)
    with pytest.raises(PlanError, match=f"there is no table {DB}.t"):
        found.drop_table(PATH)


def test_a_table_comes_back_with_all_it_declares() -> None:
    t_env, found = catalog()
    t_env.execute_sql(
        "CREATE TABLE t (id INT NOT NULL, ts TIMESTAMP(3), more AS id + 1, "
        "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, "
        "CONSTRAINT pk PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'print')"
    )
    before = str(t_env.from_path("t").get_resolved_schema())
    found.alter_table(PATH, found.get_table(PATH))
    assert str(t_env.from_path("t").get_resolved_schema()) == before


def test_functions() -> None:
    t_env, found = catalog()
    path = ObjectPath(DB, "twice")
    place = f"{__name__}.double"
    found.create_function(path, CatalogFunction.create_instance(place))
    assert (found.list_functions(DB), found.function_exists(path)) == (["twice"], True)
    assert found.get_function(path).get_class_name() == place
    assert [tuple(each) for each in t_env.sql_query("SELECT twice(4)").execute().collect()] == [
        (8,)
    ]
    found.drop_function(path)
    assert not found.function_exists(path)
    with pytest.raises(PlanError, match="class of Java"):
        found.create_function(path, CatalogFunction.create_instance("a.B", "Java"))


def test_a_catalog_of_another_session_is_the_same_catalog() -> None:
    _, found = catalog()
    other = TableEnvironment.create()
    other.register_catalog("theirs", found)
    other.execute_sql(f"CREATE TABLE theirs.{DB}.t (n INT) WITH ('connector' = 'print')")
    assert found.list_tables(DB) == ["t"]
    with pytest.raises(PlanError, match="there is a catalog theirs already"):
        other.register_catalog("theirs", found)


def test_partitions_and_statistics_say_what_to_do() -> None:
    _, found = catalog()
    with pytest.raises(PlanError, match="list_partitions is not supported") as caught:
        found.list_partitions(PATH, CatalogPartitionSpec({"day": "1"}))
    assert "SQL" in (caught.value.hint or "")


def test_paths() -> None:
    one, two = ObjectPath.from_string("a.b"), ObjectPath("a", "c")
    assert (one < two, one.compare_to(two), one.compare_to(one)) == (True, -1, 0)
    assert (str(one), one.get_database_name(), one.get_object_name()) == ("a.b", "a", "b")
    with pytest.raises(PlanError, match="is no path"):
        ObjectPath.from_string("a")
    full = ObjectIdentifier.of("c", "d", "t`")
    assert (str(full), full.to_list()) == ("`c`.`d`.`t```", ["c", "d", "t`"])
