"""Operators and operands."""

from __future__ import annotations

import pytest

from millstream.table.sql.errors import SqlError
from millstream.table.sql.parser import parse_expression
from tests.support.sql_shapes import shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", "(+ 1 (* 2 3))"),
        ("1 - 2 - 3", "(- (- 1 2) 3)"),
        ("-a * b", "(* (- a) b)"),
        ("- -1", "(- (- 1))"),
        ("a || b || c", "(|| (|| a b) c)"),
        ("a OR b AND c", "(OR a (AND b c))"),
        ("NOT a = b AND c", "(AND (NOT (= a b)) c)"),
        ("a < b = c", "(= (< a b) c)"),
        ("1 + NOT a", "(+ 1 (NOT a))"),
        ("a IS NULL IS TRUE", "Check(value=Check(value=a, what='NULL'), what='TRUE')"),
        ("a = b IS NOT NULL", "Check(value=(= a b), what='NULL', negated=True)"),
        ("a IS NOT DISTINCT FROM b + 1", "(IS NOT DISTINCT FROM a (+ b 1))"),
        ("a BETWEEN 1 AND 2 AND b", "(AND Between(value=a, low=1, high=2) b)"),
        (
            "a NOT BETWEEN SYMMETRIC 2 AND 1",
            "Between(value=a, low=2, high=1, negated=True, symmetric=True)",
        ),
        ("a + 1 IN (1, 2)", "InList(value=(+ a 1), items=[1, 2])"),
        (
            "a LIKE 'x!%' ESCAPE '!'",
            "Like(operator='LIKE', value=a, pattern='x!%', escape='!')",
        ),
        (
            "a NOT SIMILAR TO b",
            "Like(operator='SIMILAR TO', value=a, pattern=b, negated=True)",
        ),
        ("a IS JSON ARRAY", "Check(value=a, what='JSON ARRAY')"),
        ("a > ANY (1, 2)", "Quantified(operator='>', value=a, quantifier='SOME', operand=[1, 2])"),
        ("(a, b) OVERLAPS (c, d)", None),
        ("a MULTISET EXCEPT ALL b", "(MULTISET EXCEPT ALL a b)"),
        ("((a))", "a"),
        ("(1, a)", "RowConstructor(items=[1, a], explicit=False)"),
        ("ROW(1, a)", "RowConstructor(items=[1, a])"),
        ("ARRAY[1, 2]", "ArrayConstructor(items=[1, 2])"),
        ("MAP['a', 1]", "MapConstructor(items=['a', 1])"),
        ("a[1]['x']", "Access(value=Access(value=a, index=1), index='x')"),
        ("a.b.c", "a.b.c"),
        ("f(a).b.c", "Field(value=Field(value=f(a), name=b), name=c)"),
        ("CASE WHEN a THEN 1 ELSE 2 END", None),
        (
            "CASE a WHEN 1, 2 THEN 'x' END",
            "Case(value=a, branches=[When(conditions=[1, 2], result='x')])",
        ),
        ("DATE '2024-01-31'", "TemporalLiteral(kind='DATE', text='2024-01-31')"),
        ("X'0aFF'", r"BinaryLiteral(value=b'\n\xff')"),
        ("'it''s'", '"it\'s"'),
        ("'a'\n'b'", "'ab'"),
        (r"U&'\00e9\\x'", r"'é\\x'"),
        ("U&'!00e9' UESCAPE '!'", "'é'"),
        ("_UTF8'x'", "'x'"),
        ("?", "Parameter(index=0)"),
        ("TRUE", "BooleanLiteral(value=True)"),
        ("UNKNOWN", "BooleanLiteral(value=None)"),
    ],
)
def test_shapes(text: str, expected: str | None) -> None:
    found = shape(parse_expression(text))
    if expected is not None:
        assert found == expected
    else:
        assert text.split()[0].strip("(,") in found or found.startswith(("Case", "(OVERLAPS"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INTERVAL '1' DAY", "text='1', qualifier=IntervalQualifier(first='DAY')"),
        (
            "INTERVAL -'1 2:3:4' DAY(3) TO SECOND(2)",
            "text='1 2:3:4', qualifier=IntervalQualifier(first='DAY', last='SECOND', precision=3, "
            "fraction=2), negative=True",
        ),
        ("INTERVAL '10' MINUTES", "text='10', qualifier=IntervalQualifier(first='MINUTE')"),
        (
            "INTERVAL '1' SECOND(3, 2)",
            "text='1', qualifier=IntervalQualifier(first='SECOND', precision=3, fraction=2)",
        ),
    ],
)
def test_intervals(text: str, expected: str) -> None:
    assert shape(parse_expression(text)) == f"IntervalLiteral({expected})"


def test_an_interval_can_be_computed() -> None:
    found = shape(parse_expression("INTERVAL (a + 1) DAY"))
    assert found == "IntervalValue(value=(+ a 1), qualifier=IntervalQualifier(first='DAY'))"


def test_a_difference_of_times_may_have_a_unit() -> None:
    found = shape(parse_expression("(a - b) DAY TO SECOND > c"))
    unit = "IntervalQualifier(first='DAY', last='SECOND')"
    assert found == f"(> TimeDifference(left=a, right=b, qualifier={unit}) c)"


def test_a_query_in_brackets_is_told_from_an_expression() -> None:
    found = shape(parse_expression("((SELECT 1) + 1)"))
    assert found.startswith("(+ ScalarQuery(")
    assert shape(parse_expression("a IN ((SELECT 1), 2)")).startswith("InList(")
    assert shape(parse_expression("a IN ((SELECT 1) UNION SELECT 2)")).startswith("InQuery(")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("1 +", "SQL_END"),
        ("a IN ()", "SQL_SYNTAX"),
        ("a IS", "SQL_END"),
        ("a IS 1", "SQL_SYNTAX"),
        ("CASE END", "SQL_SYNTAX"),
        ("CASE WHEN a, b THEN 1 END", "SQL_CLAUSE"),
        ("MAP['a']", "SQL_CLAUSE"),
        ("X'0G'", "SQL_LITERAL"),
        ("X'0'", "SQL_LITERAL"),
        (r"U&'\00'", "SQL_LITERAL"),
        ("U&'a' UESCAPE 'ab'", "SQL_LITERAL"),
        ("INTERVAL '1'", "SQL_END"),
        ("INTERVAL '1' DAY TO MONTH", "SQL_SYNTAX"),
        ("INTERVAL '1' PARSEC", "SQL_SYNTAX"),
        ("(a + b) DAY", "SQL_CLAUSE"),
        ("(a - b, c) DAY", "SQL_CLAUSE"),
        ("DECIMAL 'x'", "SQL_LITERAL"),
        ("a b", "SQL_SYNTAX"),
        ("select", "SQL_SYNTAX"),
        ("order", "SQL_SYNTAX"),
        ("value", "SQL_RESERVED_WORD"),
        ("{x '1'}", "SQL_SYNTAX"),
    ],
)
def test_errors(text: str, code: str) -> None:
    with pytest.raises(SqlError) as info:
        parse_expression(text)
    assert info.value.code == code


def test_all_nodes_have_their_places() -> None:
    text = "a +\n  f(b, 'x') IS NULL"
    found = parse_expression(text)
    texts = {text[node.span.start : node.span.stop] for node in found.walk()}
    assert texts == {text, "a", "a +\n  f(b, 'x')", "f", "f(b, 'x')", "b", "'x'"}
    call = next(node for node in found.walk() if text[node.span.start :].startswith("f("))
    assert (call.span.line, call.span.column, call.span.end_line, call.span.end_column) == (
        (2, 3, 2, 11)
    )
