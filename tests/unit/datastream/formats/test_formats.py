"""Formats: CSV, JSON and Parquet in files, CSV and JSON in messages."""

from __future__ import annotations

import pickle
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Configuration, Instant, Row, Types
from millstream.common.errors import FormatError, PlanError
from millstream.datastream.connectors.file_system import FileSink, FileSource
from millstream.datastream.formats.csv import (
    CsvBulkWriters,
    CsvReaderFormat,
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
    CsvSchema,
)
from millstream.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from millstream.datastream.formats.parquet import (
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)
from millstream.plan.specs import FilesSinkSpec, FilesSpec
from tests.support.strategies import examples

ROW = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])
DDL = "`word` STRING, `n` BIGINT"
ALL = Types.ROW_NAMED(
    ["day", "at", "time", "moment", "exact", "raw", "pair", "names", "counts", "inner"],
    [
        Types.SQL_DATE(),
        Types.SQL_TIMESTAMP(),
        Types.SQL_TIME(),
        Types.INSTANT(),
        Types.BIG_DEC(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.TUPLE([Types.STRING(), Types.BOOLEAN()]),
        Types.LIST(Types.STRING()),
        Types.MAP(Types.LONG(), Types.DOUBLE()),
        Types.ROW_NAMED(["x"], [Types.INT()]),
    ],
)
ONE_OF_ALL = Row(
    day=date(2026, 1, 31),
    at=datetime(2026, 1, 31, 12, 30, 0, 5),
    time=time(12, 30),
    moment=Instant.of_epoch_milli(-1),
    exact=Decimal("1.50"),
    raw=b"\x00\xff",
    pair=("a", True),
    names=["a", "é"],
    counts={1: 0.5},
    inner=Row(x=None),
)


# -- files -----------------------------------------------------------------------------------------


def test_csv_files() -> None:
    schema = (
        CsvSchema.builder()
        .add_string_column("word")
        .add_number_column("n")
        .set_column_separator("|")
        .set_use_header()
        .build()
    )
    assert len(schema) == schema.size() == 2
    source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), "/a").build()
    options = {"header": "true", "escape": '"', "sep": "|"}
    assert source.parts()[0] == FilesSpec(path="/a", format="csv", options=options, schema=DDL)
    assert source.get_produced_type() == ROW
    sink = FileSink.for_bulk_format("/o", CsvBulkWriters.for_schema(schema)).build()
    spec = sink.to_spec()
    assert spec == FilesSinkSpec(path="/o", format="csv", options=options, encoder=spec.encoder)


def test_csv_array_columns() -> None:
    schema = (
        CsvSchema.builder()
        .add_array_column("n", element_type=Types.INT())
        .add_array_column("ok", ":", Types.BOOLEAN())
        .add_array_column("s", ",")
        .set_column_separator("|")
        .disable_quote_char()
        .build()
    )
    source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), "/a").build()
    assert source.parts()[0].schema == "`n` STRING, `ok` STRING, `s` STRING"
    conversion = source.conversion()
    assert conversion is not None and source.get_produced_type() == schema.row_type
    (row,) = conversion.function(Row("1;2;3", "true:false", None))
    assert row == Row(n=[1, 2, 3], ok=[True, False], s=None)
    encoder = FileSink.for_bulk_format("/o", CsvBulkWriters.for_schema(schema)).build().to_spec()
    assert encoder.encoder is not None
    assert encoder.encoder(([1, 2, 3], [True, False], ["a", "b"])) == "1;2;3|true:false|a,b"


def test_csv_array_separators() -> None:
    builder = CsvSchema.builder().add_array_column("a").add_string_column("b").add_array_column("c")
    assert builder.set_array_element_separator("-").build().separators == {"a": "-", "c": "-"}
    assert builder.remove_array_element_separator(2).build().separators == {"a": "-", "c": ""}
    copied = CsvSchema.builder().add_columns_from(builder.build()).disable_array_element_separator()
    assert copied.build().separators == {"a": "", "c": ""}


def test_csv_escape_outside_of_quotes() -> None:
    schema = (
        CsvSchema.builder()
        .add_string_column("a")
        .add_string_column("b")
        .set_escape_char("\\")
        .set_allow_comments()
        .build()
    )
    source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), "/a").build()
    conversion = source.conversion()
    assert source.parts()[0].format == "text" and conversion is not None
    lines = [r"string\,,\"string2\"", "# a comment", ""]
    rows = [row for line in lines for row in conversion.function(line)]
    assert rows == [Row(a="string,", b='"string2"')]
    spec = FileSink.for_bulk_format("/o", CsvBulkWriters.for_schema(schema)).build().to_spec()
    assert spec.encoder is not None
    assert spec.encoder(rows[0]) == '"string,","""string2"""'


def test_csv_schema_options() -> None:
    other = CsvSchema.builder().add_boolean_column("ok").build()
    schema = (
        CsvSchema.builder()
        .add_string_column("gone")
        .clear_columns()
        .add_columns_from(other)
        .add_number_column("x", Types.DOUBLE())
        .set_quote_char("'")
        .set_escape_char("!")
        .set_line_separator("\r\n")
        .set_null_value("NULL")
        .set_allow_comments()
        .set_strict_headers()
        .set_skip_first_data_row()
        .set_any_property_name("rest")
        .build()
    )
    assert schema.row_type == Types.ROW_NAMED(["ok", "x"], [Types.BOOLEAN(), Types.DOUBLE()])
    assert schema.options == {
        "header": "true",
        "quote": "'",
        "escape": "!",
        "lineSep": "\r\n",
        "nullValue": "NULL",
        "comment": "#",
        "enforceSchema": "false",
    }
    plain = CsvSchema.builder().add_string_column("a").disable_quote_char().disable_escape_char()
    assert len(plain) == 1
    assert plain.build().options == {"header": "false", "quote": "", "escape": '"'}


def test_csv_schema_refused() -> None:
    with pytest.raises(PlanError, match="NO_COLUMNS"):
        CsvSchema.builder().build()
    with pytest.raises(PlanError, match="COLUMN_TWICE"):
        CsvSchema.builder().add_string_column("a").add_number_column("a")


def test_parquet_files(noted: list[str]) -> None:
    reader = ParquetColumnarRowInputFormat(ROW, Configuration(), 1024)
    source = FileSource.for_bulk_file_format(reader, "/a").build()
    assert source.parts()[0] == FilesSpec(path="/a", format="parquet", schema=DDL)
    writer = ParquetBulkWriters.for_row_type(ROW, Configuration())
    assert FileSink.for_bulk_format("/o", writer).build().to_spec() == FilesSinkSpec(
        path="/o", format="parquet"
    )
    assert noted == ["hadoop_config", "hadoop_config"]
    with pytest.raises(PlanError, match="NOT_A_ROW_TYPE"):
        ParquetColumnarRowInputFormat(Types.LONG())  # type: ignore[arg-type]


# -- JSON messages ---------------------------------------------------------------------------------


def from_json(row_type: Any = ROW) -> JsonRowDeserializationSchema.Builder:
    return JsonRowDeserializationSchema.builder().type_info(row_type)


def to_json(row_type: Any = ROW) -> JsonRowSerializationSchema:
    return JsonRowSerializationSchema.builder().with_type_info(row_type).build()


def test_json_and_back_for_every_type() -> None:
    message = to_json(ALL).serialize(ONE_OF_ALL)
    assert b'"moment":"1969-12-31T23:59:59.999Z"' in message
    schema = pickle.loads(pickle.dumps(from_json(ALL).build()))
    assert schema.deserialize(message) == ONE_OF_ALL
    assert schema.get_produced_type() == ALL


@examples(100)
@given(st.text(), st.integers(-(2**63), 2**63 - 1))
def test_json_and_back_for_any_text_and_number(word: str, n: int) -> None:
    assert from_json().build().deserialize(to_json().serialize((word, n))) == Row(word=word, n=n)


def test_json_fields_missing_or_too_many() -> None:
    assert from_json().build().deserialize('{"n": 1, "x": 2}') == Row(word=None, n=1)
    with pytest.raises(FormatError, match="no field 'word'"):
        from_json().fail_on_missing_field().build().deserialize('{"n": 1}')


@pytest.mark.parametrize("message", ["{", "[1]", '{"n": "one"}', '{"n": 1.5}', b"\xff"])
def test_json_that_cannot_be_read(message: Any) -> None:
    with pytest.raises(FormatError) as info:
        from_json().build().deserialize(message)
    assert info.value.code == "BAD_JSON" and "ignore_parse_errors" in (info.value.hint or "")
    assert from_json().ignore_parse_errors().build().deserialize(message) is None


def test_json_rows_that_cannot_be_written() -> None:
    for value in (None, ("a",), ("a", "b")):
        with pytest.raises(FormatError, match="FORMAT_VALUE"):
            to_json().serialize(value)


def test_json_needs_a_row_type() -> None:
    with pytest.raises(PlanError, match="NOT_A_ROW_TYPE"):
        JsonRowDeserializationSchema.builder().build()
    with pytest.raises(PlanError, match="NOT_A_ROW_TYPE"):
        JsonRowSerializationSchema.builder().with_type_info(Types.LONG()).build()


def test_json_lines_in_a_text_file() -> None:
    encoder = FileSink.text("/o", to_json()).to_spec().encoder
    assert encoder is not None and encoder(("é", 1)) == '{"word":"é","n":1}'


# -- CSV messages ----------------------------------------------------------------------------------

MIXED = Types.ROW_NAMED(
    ["text", "n", "x", "ok", "day"],
    [Types.STRING(), Types.LONG(), Types.DOUBLE(), Types.BOOLEAN(), Types.SQL_DATE()],
)


def test_csv_line_and_back() -> None:
    row = Row(text='a;"b', n=1, x=0.5, ok=True, day=date(2026, 1, 31))
    writer = CsvRowSerializationSchema.Builder(MIXED).set_field_delimiter(";").build()
    line = writer.serialize(row)
    assert line == b'"a;""b";1;0.5;true;"2026-01-31"\n'
    reader = CsvRowDeserializationSchema.Builder(MIXED).set_field_delimiter(";").build()
    assert reader.deserialize(line) == row
    assert reader.get_produced_type() == MIXED


def test_csv_null_quotes_and_line_ends() -> None:
    writer = (
        CsvRowSerializationSchema.Builder(ROW)
        .set_null_literal("NULL")
        .disable_quote_character()
        .set_escape_character("\\")
        .set_line_delimiter("\r\n")
        .set_array_element_delimiter(";")
        .build()
    )
    assert writer.serialize((None, 1)) == b"NULL,1\r\n"
    assert writer.serialize(("a,b", 1)) == b"a,b,1\r\n"  # as Flink does
    reader = (
        CsvRowDeserializationSchema.Builder(ROW)
        .set_null_literal("NULL")
        .set_quote_character("'")
        .set_allow_comments(True)
        .build()
    )
    assert reader.deserialize("NULL,1") == Row(word=None, n=1)
    assert reader.deserialize("'a,b',1") == Row(word="a,b", n=1)


def test_csv_field_that_cannot_be_read() -> None:
    builder = CsvRowDeserializationSchema.Builder(ROW)
    with pytest.raises(FormatError, match="BAD_CSV"):
        builder.build().deserialize("a,b")
    ignoring = builder.set_ignore_parse_errors(True).build()
    assert ignoring.deserialize("a,b") == Row(word="a", n=None)


@pytest.mark.parametrize("line", ["a", "a,1,2", "", '"a,1'])
def test_csv_that_cannot_be_read(line: str) -> None:
    builder = CsvRowDeserializationSchema.Builder(ROW)
    with pytest.raises(FormatError) as info:
        builder.build().deserialize(line)
    assert info.value.code == "BAD_CSV"
    assert builder.set_ignore_parse_errors(True).build().deserialize(line) is None
