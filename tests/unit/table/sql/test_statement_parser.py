"""INSERT, statement sets, EXPLAIN, SHOW and the session."""

from __future__ import annotations

import pytest

from millstream.table.sql.errors import SqlError
from millstream.table.sql.parser import parse
from millstream.table.sql.statements import Execute, Explain, Insert, StatementSet
from tests.support.sql_shapes import shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("USE CATALOG c", "Use(kind='CATALOG', name=c)"),
        ("USE c.d", "Use(kind='DATABASE', name=c.d)"),
        ("USE MODULES a, b", "UseModules(names=[a, b])"),
        ("SET", "SetOption()"),
        ("SET 'a' = 'b'", "SetOption(key='a', value='b')"),
        ("RESET 'a'", "Reset(key='a')"),
        ("LOAD MODULE m WITH ('a' = 'b')", None),
        ("UNLOAD MODULE m", "UnloadModule(name=m)"),
        ("ADD JAR 'x'", "AddJar(path='x')"),
        ("REMOVE JAR 'x'", "RemoveJar(path='x')"),
        ("DESC EXTENDED t", "Describe(kind='TABLE', name=t, extended=True)"),
        ("DESCRIBE CATALOG c", "Describe(kind='CATALOG', name=c)"),
        ("DESCRIBE JOB 'x'", "Describe(kind='JOB', name='x')"),
        ("SHOW TABLES", "Show(what='TABLES')"),
        (
            "SHOW USER FUNCTIONS FROM d NOT ILIKE 'x%'",
            "Show(what='USER FUNCTIONS', name=d, operator='ILIKE', pattern='x%', negated=True, "
            "preposition='FROM')",
        ),
        ("SHOW CREATE TABLE t", "Show(what='CREATE TABLE', name=t)"),
        ("SHOW CURRENT DATABASE", "Show(what='CURRENT DATABASE')"),
        (
            "SHOW PARTITIONS t PARTITION (a = 1)",
            "Show(what='PARTITIONS', name=t, partition=[PartitionValue(name=a, value=1)])",
        ),
        ("STOP JOB 'x' WITH SAVEPOINT", "StopJob(job='x', with_savepoint=True)"),
        (
            "ANALYZE TABLE t PARTITION (a) COMPUTE STATISTICS FOR COLUMNS b",
            "AnalyzeTable(table=t, partition=[PartitionValue(name=a, value=None)], columns=[b])",
        ),
        ("TRUNCATE TABLE t", "TruncateTable(table=t)"),
        ("CALL p(1)", "CallProcedure(call=p(1))"),
        ("DELETE FROM t WHERE a", "Delete(table=TableRef(name=t), where=a)"),
        (
            "UPDATE t SET a = 1, b = a WHERE c",
            "Update(table=TableRef(name=t), assignments=[Assignment(column=a, value=1), "
            "Assignment(column=b, value=a)], where=c)",
        ),
        ("BEGIN STATEMENT SET", "BeginStatementSet()"),
        ("END", "EndStatementSet()"),
        ("EXECUTE PLAN 'x'", "Unsupported(feature='EXECUTE PLAN')"),
    ],
)
def test_shapes(text: str, expected: str | None) -> None:
    found = shape(parse(text))
    if expected is None:
        assert found == "LoadModule(name=m, options=[Option(key='a', value='b')])"
    else:
        assert found == expected


def test_insert() -> None:
    found = parse(
        "INSERT OVERWRITE d.t PARTITION (p = 'x') (a, b.c) SELECT 1, 2 ON CONFLICT DO ERROR"
    )
    assert isinstance(found, Insert)
    assert (found.overwrite, found.conflict) == (True, "ERROR")
    assert shape(found.columns) == "[a, b.c]"
    assert shape(found.partition) == "[PartitionValue(name=p, value='x')]"


def test_a_statement_set() -> None:
    text = "STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END"
    found = parse(f"EXECUTE {text}")
    assert isinstance(found, Execute)
    assert isinstance(found.statement, StatementSet)
    assert [str(each.table) for each in found.statement.inserts] == ["a", "b"]
    explained = parse(f"EXPLAIN PLAN FOR {text}")
    assert isinstance(explained, Explain)
    assert explained.statement == found.statement


def test_explain_has_details() -> None:
    found = parse("EXPLAIN CHANGELOG_MODE, PLAN_ADVICE SELECT 1")
    assert isinstance(found, Explain)
    assert found.details == ("CHANGELOG_MODE", "PLAN_ADVICE")


@pytest.mark.parametrize(
    "text",
    [
        "INSERT t SELECT 1",
        "INSERT INTO t",
        "INSERT INTO t () SELECT 1",
        "INSERT INTO t SELECT 1 ON CONFLICT",
        "UPSERT OVERWRITE t SELECT 1",
        "EXECUTE STATEMENT SET BEGIN END",
        "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1 END",
        "EXPLAIN",
        "EXPLAIN CHANGELOG_MODE, CHANGELOG_MODE SELECT 1",
        "EXPLAIN CREATE TABLE t (a INT)",
        "EXPLAIN EXPLAIN SELECT 1",
        "SHOW",
        "SHOW TABLE",
        "SHOW TABLES LIKE x",
        "SHOW TABLES NOT",
        "SHOW TABLES ILIKE 'x'",
        "SHOW COLUMNS",
        "SET a = b",
        "SET 'a'",
        "STOP JOB 'x' WITH DRAIN",
        "USE",
        "UPDATE t",
        "DELETE t",
        "MERGE INTO t USING s ON a",
        "FOO",
    ],
)
def test_errors(text: str) -> None:
    with pytest.raises(SqlError):
        parse(text)
