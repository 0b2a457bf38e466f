"""ALTER."""

from __future__ import annotations

import pytest

from millstream.table.sql.errors import SqlError
from millstream.table.sql.parser import parse
from millstream.table.sql.statements import AlterTable
from tests.support.sql_shapes import shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SET ('a' = 'b')", "SetOptions(options=[Option(key='a', value='b')])"),
        ("RESET ('a', 'b')", "ResetOptions(keys=['a', 'b'])"),
        ("RENAME TO s", "RenameTable(name=s)"),
        ("RENAME a TO b", "RenameColumn(old=a, new=b)"),
        (
            "ADD a INT AFTER b",
            "AddColumns(columns=[ColumnPosition(column=PhysicalColumn(name=a, "
            "type=TypeName(name='INT')), place='AFTER', after=b)])",
        ),
        (
            "MODIFY (a AS 1 FIRST, PRIMARY KEY (a) NOT ENFORCED)",
            "AddColumns(columns=[ColumnPosition(column=ComputedColumn(name=a, value=1), "
            "place='FIRST')], constraints=[TableConstraint(kind='PRIMARY KEY', columns=[a], "
            "enforced=False)], modify=True)",
        ),
        ("ADD DISTRIBUTION INTO 3 BUCKETS", "AddColumns(distribution=Distribution(buckets=3))"),
        (
            "ADD IF NOT EXISTS PARTITION (a = 1) PARTITION (a = 'x') WITH ('k' = 'v')",
            "AddPartitions(partitions=[[PartitionValue(name=a, value=1)], [PartitionValue(name=a, "
            "value='x')]], options=[[], [Option(key='k', value='v')]], if_not_exists=True)",
        ),
        (
            "DROP PARTITION (a = -1)",
            "DropPartitions(partitions=[[PartitionValue(name=a, value=(- 1))]])",
        ),
        ("DROP (a, b.c)", "DropColumns(columns=[a, b.c])"),
        ("DROP a", "DropColumns(columns=[a])"),
        ("DROP PRIMARY KEY", "DropPart(part='PRIMARY KEY')"),
        ("DROP WATERMARK", "DropPart(part='WATERMARK')"),
        ("DROP CONSTRAINT pk", "DropConstraint(name=pk)"),
    ],
)
def test_tables(text: str, expected: str) -> None:
    found = parse(f"ALTER TABLE IF EXISTS d.t {text}")
    assert isinstance(found, AlterTable)
    assert (str(found.name), found.if_exists) == ("d.t", True)
    assert shape(found.action) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ALTER VIEW v RENAME TO w", "AlterView(name=v, new_name=w)"),
        (
            "ALTER TEMPORARY FUNCTION f AS 'a' LANGUAGE PYTHON",
            "AlterFunction(name=f, class_name='a', language='PYTHON', temporary=True)",
        ),
        (
            "ALTER DATABASE d SET ('a' = 'b')",
            "AlterDatabase(name=d, options=[Option(key='a', value='b')])",
        ),
        ("ALTER CATALOG c COMMENT 'x'", "AlterCatalog(name=c, comment='x')"),
        ("ALTER CATALOG c RESET ('a')", "AlterCatalog(name=c, action=ResetOptions(keys=['a']))"),
        (
            "ALTER MATERIALIZED TABLE m SUSPEND",
            "Unsupported(feature='ALTER MATERIALIZED TABLE', name=m)",
        ),
    ],
)
def test_others(text: str, expected: str) -> None:
    assert shape(parse(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE t",
        "ALTER TABLE t ADD",
        "ALTER TABLE t ADD (a INT",
        "ALTER TABLE t ADD a INT, b INT",
        "ALTER TABLE t DROP",
        "ALTER TABLE t RENAME a",
        "ALTER TABLE t SET 'a' = 'b'",
        "ALTER VIEW v",
        "ALTER CATALOG c",
        "ALTER SYSTEM FUNCTION f AS 'a'",
    ],
)
def test_errors(text: str) -> None:
    with pytest.raises(SqlError):
        parse(text)
