"""What stands in FROM."""

from __future__ import annotations

import pytest

from millstream.table.sql.errors import SqlError
from millstream.table.sql.parser import parse
from millstream.table.sql.queries import MatchRecognize, Query, Relation, Select
from tests.support.sql_shapes import shape


def relation(text: str) -> Relation:
    found = parse(f"SELECT * FROM {text}")
    assert isinstance(found, Query)
    assert isinstance(found.body, Select)
    assert found.body.from_ is not None
    return found.body.from_


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("c.d.t", "TableRef(name=c.d.t)"),
        ("t AS x (a, b)", "Aliased(relation=TableRef(name=t), name=x, columns=[a, b])"),
        (
            "t /*+ OPTIONS('a' = 'b') */ x",
            "Aliased(relation=TableRef(name=t, hints=[Hint(name=OPTIONS, "
            "options=[HintOption(key='a', value='b')])]), name=x)",
        ),
        ("t, s", "Join(kind='COMMA', left=TableRef(name=t), right=TableRef(name=s))"),
        (
            "t LEFT OUTER JOIN s ON t.a = s.a",
            "Join(kind='LEFT', left=TableRef(name=t), right=TableRef(name=s), "
            "condition=(= t.a s.a))",
        ),
        (
            "t JOIN s USING (a, b)",
            "Join(kind='INNER', left=TableRef(name=t), right=TableRef(name=s), using=[a, b])",
        ),
        (
            "t NATURAL FULL JOIN s",
            "Join(kind='FULL', left=TableRef(name=t), right=TableRef(name=s), natural=True)",
        ),
        (
            "t FOR SYSTEM_TIME AS OF o.ts AS x",
            "Aliased(relation=Snapshot(relation=TableRef(name=t), time=o.ts), name=x)",
        ),
        ("UNNEST(a) WITH ORDINALITY", "Unnest(items=[a], ordinality=True)"),
        ("LATERAL TABLE(f(a))", "FunctionTable(call=f(a), lateral=True)"),
        ("TABLE(f(a))", "FunctionTable(call=f(a))"),
        ("d.f(a)", "FunctionTable(call=d.f(a), wrapped=False)"),
        (
            "TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY)",
            "FunctionTable(call=TUMBLE(TableArgument(table=t), DESCRIPTOR(ts), IntervalLiteral("
            "text='1', qualifier=IntervalQualifier(first='DAY'))), wrapped=False)",
        ),
        (
            "t TABLESAMPLE SYSTEM (10) REPEATABLE (3)",
            "Sample(relation=TableRef(name=t), method='SYSTEM', percentage=10, seed=3)",
        ),
    ],
)
def test_shapes(text: str, expected: str) -> None:
    assert shape(relation(text)) == expected


def test_joins_are_read_from_left_to_right() -> None:
    found = shape(relation("a JOIN b ON x CROSS JOIN c"))
    assert found.startswith("Join(kind='CROSS', left=Join(kind='INNER'")
    found = shape(relation("a JOIN (b CROSS JOIN c) ON x"))
    assert found.startswith("Join(kind='INNER', left=TableRef(name=a), right=Join(kind='CROSS'")


def test_a_query_in_from() -> None:
    assert shape(relation("(SELECT 1) AS x")).startswith("Aliased(relation=Derived(query=Query(")
    assert shape(relation("((SELECT 1) UNION (SELECT 2))")).startswith("Derived(query=Query(")
    assert shape(relation("((SELECT 1) AS x JOIN s ON y)")).startswith("Join(kind='INNER'")


def test_match_recognize() -> None:
    found = relation(
        "t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES LAST(B.x) AS x ONE ROW PER MATCH "
        "AFTER MATCH SKIP TO LAST B PATTERN (A B{2,}? (C | D)*) WITHIN INTERVAL '1' HOUR "
        "DEFINE B AS B.x > 1)"
    )
    assert isinstance(found, MatchRecognize)
    assert (found.rows, found.after, str(found.after_symbol)) == ("ONE", "LAST", "B")
    assert shape(found.pattern) == (
        "PatternConcat(items=[PatternSymbol(name='A'), PatternQuantifier("
        "pattern=PatternSymbol(name='B'), least=2, most=None, reluctant=True), "
        "PatternQuantifier(pattern=PatternAlternation(items=[PatternSymbol(name='C'), "
        "PatternSymbol(name='D')]), least=0, most=None)])"
    )
    assert shape(found.defines) == "[MatchDefine(name=B, condition=(> B.x 1))]"


@pytest.mark.parametrize(
    "text",
    [
        "t NATURAL s",
        "t JOIN",
        "t JOIN s ON",
        "t JOIN s USING ()",
        "t LEFT s",
        "LATERAL t",
        "(t)",
        "TABLE(t)",
        "UNNEST()",
        "t FOR SYSTEM_TIME AS o.ts",
        "t /*+ OPTIONS('a' = ) */",
        "t MATCH_RECOGNIZE (PATTERN (A))",
        "t MATCH_RECOGNIZE (PATTERN () DEFINE A AS x)",
        "select",
    ],
)
def test_errors(text: str) -> None:
    with pytest.raises(SqlError):
        relation(text)
