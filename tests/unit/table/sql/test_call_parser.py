"""Calls of functions."""

from __future__ import annotations

import pytest

from millstream.table.sql.errors import SqlError
from millstream.table.sql.parser import parse_expression
from tests.support.sql_shapes import shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f()", "f()"),
        ("c.d.f(a, 1)", "c.d.f(a, 1)"),
        ("COUNT(*)", "COUNT(Star())"),
        ("SUM(DISTINCT a)", "Call(name=SUM, arguments=[a], quantifier='DISTINCT')"),
        (
            "ARRAY_AGG(a IGNORE NULLS ORDER BY b)",
            "Call(name=ARRAY_AGG, arguments=[a], order_by=[OrderItem(value=b)], nulls='IGNORE')",
        ),
        ("f(x => 1)", "f(NamedArgument(name=x, value=1))"),
        ("f(DEFAULT)", "f(Default())"),
        ("f(TABLE t)", "f(TableArgument(table=t))"),
        (
            "f(TABLE t PARTITION BY (a, b) ORDER BY c DESC)",
            "f(TableArgument(table=t, partition_by=[a, b], "
            "order_by=[OrderItem(value=c, descending=True)]))",
        ),
        ("f(MODEL m)", "f(ModelArgument(name=m))"),
        ("DESCRIPTOR(a, b)", "DESCRIPTOR(a, b)"),
        ("CURRENT_DATE", "Call(name=CURRENT_DATE, has_parentheses=False)"),
        ("LOCALTIMESTAMP(3)", "LOCALTIMESTAMP(3)"),
        ("CAST(a AS INT)", "Cast(value=a, type=TypeName(name='INT'))"),
        (
            "TRY_CAST(a AS DECIMAL(5, 2))",
            "Cast(value=a, type=TypeName(name='DECIMAL', arguments=[5, 2]), lenient=True)",
        ),
        ("EXTRACT(year FROM a)", "EXTRACT(Symbol(name='YEAR'), a)"),
        ("FLOOR(a TO DAY)", "FLOOR(a, Symbol(name='DAY'))"),
        ("CEIL(a)", "CEIL(a)"),
        ("POSITION('x' IN a)", "POSITION('x', a)"),
        ("TRIM(BOTH 'x' FROM a)", "TRIM(Symbol(name='BOTH'), 'x', a)"),
        ("TRIM(LEADING FROM a)", "TRIM(Symbol(name='LEADING'), a)"),
        ("TRIM('x' FROM a)", "TRIM('x', a)"),
        ("TRIM(a)", "TRIM(a)"),
        ("OVERLAY(a PLACING b FROM 1 FOR 2)", "OVERLAY(a, b, 1, 2)"),
        ("SUBSTRING(a FROM 1 FOR 2)", "SUBSTRING(a, 1, 2)"),
        ("SUBSTRING(a, 1)", "SUBSTRING(a, 1)"),
        ("TIMESTAMPADD(DAY, 1, a)", "TIMESTAMPADD(Symbol(name='DAY'), 1, a)"),
        ("LEFT(a, 1)", "LEFT(a, 1)"),
        (
            "LISTAGG(a, ',') WITHIN GROUP (ORDER BY b)",
            "Call(name=LISTAGG, arguments=[a, ','], within_group=[OrderItem(value=b)])",
        ),
        (
            "COUNT(*) FILTER (WHERE a > 1)",
            "Call(name=COUNT, arguments=[Star()], filter=(> a 1))",
        ),
        (
            "LAG(a) IGNORE NULLS OVER w",
            "Call(name=LAG, arguments=[a], nulls='IGNORE', over=Over(window=w))",
        ),
        (
            "SUM(a) OVER (PARTITION BY b ORDER BY c ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
            "Call(name=SUM, arguments=[a], over=Over(window=WindowSpec(partition_by=[b], "
            "order_by=[OrderItem(value=c)], frame=WindowFrame(unit='ROWS', "
            "start=WindowBound(kind='PRECEDING', value=2), end=WindowBound(kind='CURRENT ROW')))))",
        ),
        ("FINAL LAST(a)", "FINAL(LAST(a))"),
    ],
)
def test_shapes(text: str, expected: str) -> None:
    assert shape(parse_expression(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "f(a,)",
        "f(,)",
        "f(a",
        "f(1, SELECT 1)",
        "f(DISTINCT)",
        "CAST(a INT)",
        "CAST(a AS)",
        "EXTRACT(a)",
        "SUBSTRING(a)",
        "TRIM()",
        "COUNT(*, a)",
        "SUM(a) OVER",
        "SUM(a) OVER (ROWS)",
        "TIMESTAMPADD(DAY, 1)",
        "from(a)",
        "OVERLAY(a, b)",
    ],
)
def test_errors(text: str) -> None:
    with pytest.raises(SqlError):
        parse_expression(text)
