"""Encoders that are made for a type write what the general functions write, and refuse the same."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Row, RowKind, Types
from millstream.common.csv_text import CsvDialect
from millstream.common.errors import FormatError
from millstream.common.typeinfo import RowTypeInfo
from millstream.datastream.formats.csv import CsvRowSerializationSchema
from millstream.datastream.formats.json import JsonRowSerializationSchema, positional_values
from millstream.datastream.formats.json_text import json_text
from tests.support.strategies import examples
from tests.support.type_strategies import TEXT, anything, types, values_of

PAIR = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])
DIALECTS = st.builds(
    CsvDialect,
    delimiter=st.sampled_from(",;\t~"),
    quote=st.sampled_from(['"', "'", None]),
    escape=st.sampled_from([None, "\\", "*"]),
    null_literal=st.sampled_from([None, "", "null"]),
    line_end=st.sampled_from(["\n", "\r\n", ""]),
)


@st.composite
def typed_rows(draw: st.DrawFn) -> tuple[RowTypeInfo, Any]:
    """A row type, and a value that is or nearly is one of it, in any of the forms."""
    fields = draw(st.lists(types(), min_size=1, max_size=4))
    names = [f"{'ä' if draw(st.booleans()) else 'f'}{number}" for number in range(len(fields))]
    row_type = RowTypeInfo(fields, names if draw(st.booleans()) else None)
    right = [draw(values_of(field)) for field in fields]
    values = [draw(st.one_of(st.just(value), anything())) for value in right]
    values = right if draw(st.booleans()) else values
    by_name = dict(zip(row_type.get_field_names(), values, strict=True))
    kind = draw(st.sampled_from(list(RowKind)))
    forms = [tuple(values), values, Row(*values), by_name, Row(**by_name), values[1:], None]
    forms += [Row(**dict(reversed(by_name.items()))), Row.of_kind(kind, *values)]
    return row_type, draw(st.sampled_from(forms))


def outcome(function: Any, *arguments: Any) -> Any:
    """What a function returns, or what is wrong."""
    try:
        return function(*arguments)
    except (FormatError, UnicodeEncodeError) as error:
        return str(error)


@examples(400)
@given(typed_rows())
def test_json_is_that_of_the_general_function(case: tuple[RowTypeInfo, Any]) -> None:
    row_type, value = case
    schema = JsonRowSerializationSchema.builder().with_type_info(row_type).build()

    def general(value: Any) -> bytes:
        return json_text(row_type, positional_values(row_type, value)).encode()

    assert outcome(schema.serialize, value) == outcome(general, value)


@examples(400)
@given(typed_rows(), DIALECTS)
def test_csv_is_that_of_the_dialect(case: tuple[RowTypeInfo, Any], dialect: CsvDialect) -> None:
    row_type, value = case
    schema = CsvRowSerializationSchema(row_type, dialect)

    def general(value: Any) -> bytes:
        return dialect.line(positional_values(row_type, value), row_type.field_types).encode()

    assert outcome(schema.serialize, value) == outcome(general, value)


@examples(200)
@given(st.one_of(TEXT, st.text(max_size=30)), DIALECTS)
def test_texts_get_quotes_as_in_flink(text: str, dialect: CsvDialect) -> None:
    """A text is long, or has a character that is special or sorts before a special one."""
    if dialect.quote is None:
        assert dialect.quoted(text) == text
        return
    last = max(dialect.delimiter, dialect.quote, *dialect.line_end[:2])
    needed = len(text) > 24 or any(
        char <= last or char == (dialect.escape or "\\") for char in text
    )
    assert (dialect.quoted(text) != text) == needed


@pytest.mark.parametrize(
    "value",
    ["", 'a"b', "back\\slash", "\\u00e4", "\x01\x1f", "\x7f", "ä", "\U0001f600", "/", "a\nb"],
)
def test_texts_in_json(value: str) -> None:
    schema = JsonRowSerializationSchema.builder().with_type_info(PAIR).build()
    assert schema.serialize((value, 1)) == json_text(PAIR, (value, 1)).encode()


def test_moments_in_a_zone_take_the_general_way() -> None:
    row_type = Types.ROW([Types.SQL_TIMESTAMP()])
    schema = JsonRowSerializationSchema.builder().with_type_info(row_type).build()
    assert schema.serialize((datetime(2024, 1, 2, 3, 4, 5, 600_000),)) == (
        b'{"f0":"2024-01-02T03:04:05.6Z"}'
    )
    with pytest.raises(FormatError):
        schema.serialize((datetime(2024, 1, 2, tzinfo=UTC),))


def test_a_schema_that_was_used_can_travel() -> None:
    for schema in (
        JsonRowSerializationSchema.builder().with_type_info(PAIR).build(),
        CsvRowSerializationSchema.Builder(PAIR).build(),
    ):
        written = schema.serialize(("a, b", 1))
        assert pickle.loads(pickle.dumps(schema)).serialize(("a, b", 1)) == written
