"""JSON functions."""

from __future__ import annotations

import pytest

from millstream.table.sql.errors import SqlError
from millstream.table.sql.expressions import JsonCall
from millstream.table.sql.parser import parse_expression
from tests.support.sql_shapes import shape


def json(text: str) -> JsonCall:
    found = parse_expression(text)
    assert isinstance(found, JsonCall)
    return found


def test_json_value() -> None:
    found = json("JSON_VALUE(a, 'lax $.b' RETURNING INT NULL ON EMPTY DEFAULT 1 ON ERROR)")
    assert shape(found.arguments) == "[a, 'lax $.b']"
    assert shape(found.returning) == "TypeName(name='INT')"
    assert [(each.event, each.kind) for each in found.behaviors] == [
        ("EMPTY", "NULL"),
        ("ERROR", "DEFAULT"),
    ]


def test_json_query() -> None:
    found = json("JSON_QUERY(a, '$' WITH CONDITIONAL ARRAY WRAPPER EMPTY ARRAY ON ERROR)")
    assert found.wrapper == "CONDITIONAL"
    assert [(each.event, each.kind) for each in found.behaviors] == [("ERROR", "EMPTY ARRAY")]
    assert json("JSON_QUERY(a, '$' WITH WRAPPER)").wrapper == "UNCONDITIONAL"


def test_json_exists() -> None:
    found = json("JSON_EXISTS(a, '$' UNKNOWN ON ERROR)")
    assert [(each.event, each.kind) for each in found.behaviors] == [("ERROR", "UNKNOWN")]


def test_json_object() -> None:
    found = json("JSON_OBJECT(KEY 'a' VALUE 1, 'b' VALUE c FORMAT JSON ABSENT ON NULL)")
    assert shape(found.arguments) == (
        "[JsonPair(key='a', value=1), JsonPair(key='b', value=c, format_json=True)]"
    )
    assert found.on_null == "ABSENT"


def test_json_array() -> None:
    found = json("JSON_ARRAY(1, NULL, a NULL ON NULL)")
    assert shape(found.arguments) == "[1, NullLiteral(), a]"
    assert found.on_null == "NULL"


def test_json_aggregates() -> None:
    assert shape(json("JSON_OBJECTAGG(KEY a VALUE b)").arguments) == "[JsonPair(key=a, value=b)]"
    found = json("JSON_ARRAYAGG(a ORDER BY b ABSENT ON NULL)")
    assert (found.on_null, shape(found.order_by)) == ("ABSENT", "[OrderItem(value=b)]")


@pytest.mark.parametrize(
    "text",
    [
        "JSON_VALUE(a)",
        "JSON_VALUE(a, '$' EMPTY ARRAY ON ERROR)",
        "JSON_VALUE(a, '$' NULL ON NULL)",
        "JSON_OBJECT('a' 1)",
        "JSON_QUERY(a, '$' WITH)",
        "JSON_ARRAY(1,)",
    ],
)
def test_errors(text: str) -> None:
    with pytest.raises(SqlError):
        parse_expression(text)
