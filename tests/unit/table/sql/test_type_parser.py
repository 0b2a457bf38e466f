"""Types as they are written."""

from __future__ import annotations

import pytest

from millstream.table.sql.errors import SqlError
from millstream.table.sql.parser import parse, parse_type
from tests.support.sql_shapes import shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INTEGER", "name='INT'"),
        ("INT NOT NULL", "name='INT', nullable=False"),
        ("INT NULL", "name='INT', nullable=True"),
        ("CHARACTER VARYING(5)", "name='VARCHAR', arguments=[5]"),
        ("NUMERIC(5, 2)", "name='DECIMAL', arguments=[5, 2]"),
        ("DOUBLE PRECISION", "name='DOUBLE'"),
        ("TIMESTAMP(3) WITHOUT TIME ZONE", "name='TIMESTAMP', arguments=[3]"),
        ("TIMESTAMP_LTZ(3)", "name='TIMESTAMP WITH LOCAL TIME ZONE', arguments=[3]"),
        ("TIMESTAMP WITH TIME ZONE", "name='TIMESTAMP WITH TIME ZONE'"),
        ("ARRAY<INT NOT NULL>", "name='ARRAY', items=[TypeName(name='INT', nullable=False)]"),
        ("INT ARRAY ARRAY", None),
        ("MAP<STRING, ARRAY<INT>>", None),
        ("ROW<>", "name='ROW'"),
        (
            "ROW(a INT 'text', b ROW<c DATE>)",
            "name='ROW', items=[TypeName(name='INT'), TypeName(name='ROW', items=[TypeName("
            "name='DATE')], fields=[c], comments=[None])], fields=[a, b], comments=['text', None]",
        ),
        ("RAW('a.B', 'c')", "name='RAW', texts=['a.B', 'c']"),
        ("my.Type", "name='USER', identifier=my.Type"),
        ("INTERVAL DAY", "name='INTERVAL', interval=IntervalQualifier(first='DAY')"),
        ("NULL", "name='NULL'"),
    ],
)
def test_shapes(text: str, expected: str | None) -> None:
    found = shape(parse_type(text))
    assert expected is None or found == f"TypeName({expected})"
    assert found.count("TypeName(") == {"INT ARRAY ARRAY": 3, "MAP<STRING, ARRAY<INT>>": 4}.get(
        text, found.count("TypeName(")
    )


@pytest.mark.parametrize(
    "text", ["ARRAY", "ARRAY<>", "MAP<INT>", "INT(", "ROW", "ROW<a>", "DECIMAL(1, 2, 3)", "FROM"]
)
def test_errors(text: str) -> None:
    with pytest.raises(SqlError):
        parse_type(text)


def test_an_interval_is_no_type_of_a_column() -> None:
    with pytest.raises(SqlError):
        parse("CREATE TABLE t (a INTERVAL DAY)")
