"""CREATE and DROP."""

from __future__ import annotations

import pytest

from millstream.table.sql.errors import SqlError
from millstream.table.sql.parser import parse
from millstream.table.sql.statements import CreateTable
from tests.support.sql_shapes import shape


def table(text: str) -> CreateTable:
    found = parse(text)
    assert isinstance(found, CreateTable)
    return found


def test_all_parts_of_a_table() -> None:
    found = table(
        "CREATE TEMPORARY TABLE IF NOT EXISTS d.t (a INT NOT NULL COMMENT 'x', b AS a + 1, "
        "c BIGINT METADATA FROM 'offset' VIRTUAL, ts TIMESTAMP(3), "
        "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, CONSTRAINT pk PRIMARY KEY (a) NOT ENFORCED) "
        "COMMENT 'text' DISTRIBUTED BY HASH (a) INTO 4 BUCKETS PARTITIONED BY (a) WITH ('k' = 'v')"
    )
    assert (found.temporary, found.if_not_exists, found.comment) == (True, True, "text")
    assert [shape(column) for column in found.columns] == [
        "PhysicalColumn(name=a, type=TypeName(name='INT', nullable=False), comment='x')",
        "ComputedColumn(name=b, value=(+ a 1))",
        "MetadataColumn(name=c, type=TypeName(name='BIGINT'), key='offset', virtual=True)",
        "PhysicalColumn(name=ts, type=TypeName(name='TIMESTAMP', arguments=[3]))",
    ]
    assert found.watermark is not None
    assert shape(found.watermark.column) == "ts"
    assert shape(found.constraints) == (
        "[TableConstraint(kind='PRIMARY KEY', columns=[a], name=pk, enforced=False)]"
    )
    assert shape(found.distribution) == "Distribution(kind='HASH', columns=[a], buckets=4)"
    assert shape(found.partitioned_by) == "[a]"
    assert shape(found.options) == "[Option(key='k', value='v')]"


def test_like_and_as() -> None:
    found = table("CREATE TABLE t LIKE s (INCLUDING ALL EXCLUDING OPTIONS)")
    assert shape(found.like) == (
        "TableLike(table=s, options=[LikeOption(strategy='INCLUDING', feature='ALL'), "
        "LikeOption(strategy='EXCLUDING', feature='OPTIONS')])"
    )
    found = table("CREATE TABLE t (b, a) AS SELECT 1, 2")
    assert shape(found.column_names) == "[b, a]"
    assert found.query is not None


def test_replace() -> None:
    found = table("CREATE OR REPLACE TABLE t AS SELECT 1")
    assert (found.replace, found.creates) == (True, True)
    found = table("REPLACE TABLE t AS SELECT 1")
    assert (found.replace, found.creates) == (True, False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "CREATE FUNCTION f AS 'a.B' LANGUAGE JAVA USING JAR 'x.jar', JAR 'y.jar'",
            "CreateFunction(name=f, class_name='a.B', language='JAVA', jars=['x.jar', 'y.jar'])",
        ),
        (
            "CREATE TEMPORARY SYSTEM FUNCTION IF NOT EXISTS f AS 'm.f' LANGUAGE PYTHON",
            "CreateFunction(name=f, class_name='m.f', language='PYTHON', temporary=True, "
            "system=True, if_not_exists=True)",
        ),
        (
            "CREATE CATALOG c WITH ('type' = 'x')",
            "CreateCatalog(name=c, options=[Option(key='type', value='x')])",
        ),
        (
            "CREATE DATABASE IF NOT EXISTS c.d COMMENT 'x'",
            "CreateDatabase(name=c.d, comment='x', if_not_exists=True)",
        ),
        ("DROP TABLE IF EXISTS t", "Drop(kind='TABLE', name=t, if_exists=True)"),
        ("DROP DATABASE d CASCADE", "Drop(kind='DATABASE', name=d, cascade=True)"),
        (
            "DROP TEMPORARY SYSTEM FUNCTION f",
            "Drop(kind='FUNCTION', name=f, temporary=True, system=True)",
        ),
        ("DROP MODEL m", "Unsupported(feature='DROP MODEL', name=m)"),
    ],
)
def test_shapes(text: str, expected: str) -> None:
    assert shape(parse(text)) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("CREATE TABLE t ()", "SQL_SYNTAX"),
        ("CREATE TABLE t (a INT,)", "SQL_SYNTAX"),
        ("CREATE TABLE t (a, b)", "SQL_CLAUSE"),
        ("CREATE TABLE t (a INT, WATERMARK FOR a AS a, WATERMARK FOR a AS a)", "SQL_CLAUSE"),
        ("CREATE TABLE t (a INT) WITH ('a')", "SQL_SYNTAX"),
        ("CREATE TABLE t (a INT) WITH (a = 'b')", "SQL_SYNTAX"),
        ("CREATE TABLE t (a INT) LIKE s ()", "SQL_SYNTAX"),
        ("CREATE TABLE t (a INT PRIMARY)", "SQL_SYNTAX"),
        ("CREATE SYSTEM FUNCTION f AS 'a'", "SQL_CLAUSE"),
        ("CREATE FUNCTION f AS 'a' LANGUAGE PYTHON USING JAR 'x'", "SQL_CLAUSE"),
        ("CREATE FUNCTION f AS 'a' LANGUAGE RUST", "SQL_SYNTAX"),
        ("CREATE VIEW v AS", "SQL_END"),
        ("CREATE VIEW v", "SQL_END"),
        ("CREATE TEMPORARY MATERIALIZED TABLE m AS SELECT 1", "SQL_CLAUSE"),
        ("CREATE MATERIALIZED TABLE m FRESHNESS = 3 AS SELECT 1", "SQL_CLAUSE"),
        ("CREATE INDEX i", "SQL_SYNTAX"),
        ("REPLACE TABLE t (a INT)", "SQL_END"),
        ("DROP t", "SQL_SYNTAX"),
        ("DROP TABLE", "SQL_END"),
        ("DROP SYSTEM TABLE t", "SQL_SYNTAX"),
    ],
)
def test_errors(text: str, code: str) -> None:
    with pytest.raises(SqlError) as info:
        parse(text)
    assert info.value.code == code
