"""What a file sink writes: its options do what they say."""

from __future__ import annotations

import bz2
import gzip
import io
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from millstream.common import Configuration, Instant, Row, Types
from millstream.common.errors import MillstreamError, PlanError
from millstream.common.serialization import Encoder
from millstream.common.typesystem.certainty import inferred
from millstream.datastream.connectors.file_system import FileSink
from millstream.datastream.formats.avro import AvroBulkWriters, AvroSchema
from millstream.datastream.formats.csv import CsvBulkWriters, CsvSchema
from millstream.datastream.formats.orc import OrcBulkWriters
from millstream.plan.specs import FilesSinkSpec
from millstream.spark.io.file_formats import FileEncoder, extension

PAIRS: list[Any] = [("a", 1), ('say "x", or', None)]


def encoded(spec: FilesSinkSpec, type_info: Any, *batches: list[Any]) -> bytes:
    """The bytes of a file with these records."""
    stream = pa.BufferOutputStream()
    encoder = FileEncoder(spec, type_info, stream)
    for batch in batches:
        encoder.write(batch)
    encoder.close()
    data: bytes = stream.getvalue().to_pybytes()
    return data


def written(sink: FileSink, values: list[Any] | None = None) -> str:
    return encoded(sink.to_spec(), None, PAIRS if values is None else values).decode()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, 'f0,f1\na,1\n"say ""x"", or",\n'),
        ({"header": False}, 'a,1\n"say ""x"", or",\n'),
        ({"header": False, "sep": ";"}, 'a;1\n"say ""x"", or";\n'),
        ({"header": False, "nullValue": "NULL"}, 'a,1\n"say ""x"", or",NULL\n'),
        ({"header": False, "quoteAll": True}, '"a","1"\n"say ""x"", or",""\n'),
        ({"header": False, "quote": "'"}, "a,1\n'say \"x\", or',\n"),
        ({"header": False, "escape": "\\"}, 'a,1\n"say \\"x\\", or",\n'),
        ({"header": False, "quote": "", "escape": "\\"}, 'a,1\nsay "x"\\, or,\n'),
        ({"header": False, "lineSep": "\r\n"}, 'a,1\r\n"say ""x"", or",\r\n'),
    ],
)
def test_csv_options(options: dict[str, Any], text: str) -> None:
    assert written(FileSink.csv("/o", **options)) == text


def test_a_csv_schema_gives_its_options_to_the_writer() -> None:
    schema = (
        CsvSchema.builder()
        .add_string_column("word")
        .add_number_column("n")
        .set_column_separator("|")
        .set_null_value("-")
        .set_allow_comments()
        .build()
    )
    sink = FileSink.for_bulk_format("/o", CsvBulkWriters.for_schema(schema)).build()
    assert written(sink, [("a", None)]) == '"a"|-\n'  # as Flink


@pytest.mark.parametrize(
    ("compression", "ending", "decompress"),
    [("gzip", ".gz", gzip.decompress), ("bzip2", ".bz2", bz2.decompress), ("none", "", bytes)],
)
def test_text_is_compressed_under_a_name_that_says_so(
    compression: str, ending: str, decompress: Any
) -> None:
    spec = FileSink.text("/o", compression=compression).to_spec()
    assert extension(spec) == f"txt{ending}"
    assert decompress(encoded(spec, None, ["a", "é"])) == "a\né\n".encode()


def test_json_has_rows_as_objects() -> None:
    values = [Row(word="a", at=(1, None)), ("b", {"n": 2})]
    text = encoded(FileSink.json("/o").to_spec(), None, values).decode()
    assert text == '{"word": "a", "at": [1, null]}\n["b", {"n": 2}]\n'


@pytest.mark.parametrize("compression", ["snappy", "zstd", "none"])
def test_parquet_is_compressed_as_asked(compression: str) -> None:
    row_type = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])
    spec = FileSink.parquet("/o", compression=compression).to_spec()
    data = encoded(spec, row_type, [Row(word="a", n=1)])
    file = pq.ParquetFile(io.BytesIO(data))
    assert extension(spec) == "parquet"
    assert file.read().to_pylist() == [{"word": "a", "n": 1}]
    wanted = "UNCOMPRESSED" if compression == "none" else compression.upper()
    assert file.metadata.row_group(0).column(0).compression == wanted


@pytest.mark.parametrize(
    ("sink", "named", "hint"),
    [
        (FileSink.csv("/o", delimiter=";"), "delimiter", "sep"),
        (FileSink.json("/o", dateFormat="yyyy"), "dateFormat", "compression"),
        (FileSink.text("/o", compression="zip"), "compression='zip'", "gzip"),
        (FileSink.parquet("/o", header=True), "header", "compression"),
    ],
)
def test_an_option_that_would_have_no_effect_is_refused(
    sink: FileSink, named: str, hint: str
) -> None:
    with pytest.raises(PlanError, match="UNKNOWN_OPTION") as caught:
        sink.to_spec()
    assert named in str(caught.value)
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("type_info", "style", "text"),
    [
        (Types.TUPLE([Types.STRING(), Types.BOOLEAN()]), "flink", "(a,true)\n(null,false)\n"),
        (Types.ROW([Types.STRING(), Types.BOOLEAN()]), "flink", "+I[a, true]\n+I[null, false]\n"),
        (inferred(Types.TUPLE([Types.STRING(), Types.BOOLEAN()])), "flink", None),
        (Types.TUPLE([Types.STRING(), Types.BOOLEAN()]), "python", None),
        (None, "flink", None),
    ],
)
def test_the_string_encoder_knows_the_type_of_the_stream(
    type_info: Any, style: Any, text: str | None
) -> None:
    values = [("a", True), (None, False)]
    sink = FileSink.for_row_format("/out", Encoder.simple_string_encoder(text=style)).build()
    expected = "".join(f"{value}\n" for value in values) if text is None else text
    assert encoded(sink.to_spec(), type_info, values).decode() == expected


def test_an_encoder_of_the_users_is_called_as_it_is() -> None:
    sink = FileSink.for_row_format("/out", Encoder(lambda value: f"<{value}>\n".encode())).build()
    assert encoded(sink.to_spec(), Types.BOOLEAN(), [True]).decode() == "<True>\n"


# -- several batches ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sink", "read"),
    [
        (FileSink.csv("/o"), lambda data: data.decode()),
        (FileSink.json("/o"), lambda data: data.decode()),
        (FileSink.text("/o"), lambda data: data.decode()),
        (FileSink.text("/o", compression="gzip"), lambda data: gzip.decompress(data).decode()),
        (FileSink.parquet("/o"), lambda data: pq.read_table(io.BytesIO(data)).to_pylist()),
    ],
)
def test_a_file_of_several_batches_is_that_of_all_records(sink: FileSink, read: Any) -> None:
    whole = encoded(sink.to_spec(), None, [("a", 1), ("b", 2), ("c", 3)])
    parts = encoded(sink.to_spec(), None, [("a", 1), ("b", 2)], [("c", 3)])
    assert read(parts) == read(whole)


def test_a_later_batch_of_other_types_is_refused() -> None:
    with pytest.raises(MillstreamError, match="PARQUET_TYPE"):
        encoded(FileSink.parquet("/o").to_spec(), None, [("a", 1)], [("b", "two")])


# -- ORC and Avro ----------------------------------------------------------------------------------

TYPED = Types.ROW_NAMED(
    ["word", "n", "at", "day", "tags", "inner", "exact", "whole", "counts"],
    [
        Types.STRING(),
        Types.INT(),
        Types.INSTANT(),
        Types.SQL_DATE(),
        Types.LIST(Types.STRING()),
        Types.ROW_NAMED(["x"], [Types.DOUBLE()]),
        Types.BIG_DEC(),
        Types.BIG_INT(),
        Types.MAP(Types.STRING(), Types.SQL_TIMESTAMP()),
    ],
)
TYPED_ROWS = [
    Row("a", 1, Instant(5, 0), date(2026, 1, 31), ["x", None], Row(1.5), Decimal("1.5"), 2**90, {}),
    Row(None, None, None, None, None, None, None, None, {"k": datetime(2026, 1, 31, 5)}),
]


def avro_records(data: bytes) -> list[Any]:
    return list(fastavro.reader(io.BytesIO(data)))


@pytest.mark.parametrize("compression", ["none", "deflate", "bzip2", "xz"])
def test_avro_files_of_a_type(compression: str) -> None:
    sink = FileSink.avro("/o", compression=compression)
    assert extension(sink.to_spec()) == "avro"
    first, second = avro_records(encoded(sink.to_spec(), TYPED, TYPED_ROWS[:1], TYPED_ROWS[1:]))
    assert first == {
        "word": "a",
        "n": 1,
        "at": datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC),
        "day": date(2026, 1, 31),
        "tags": ["x", None],
        "inner": {"x": 1.5},
        "exact": Decimal("1.5"),
        "whole": Decimal(2**90),
        "counts": {},
    }
    assert second["word"] is None and second["counts"] == {"k": datetime(2026, 1, 31, 5)}


def test_avro_files_of_tuples_and_of_unknown_records() -> None:
    spec = FileSink.avro("/o").to_spec()
    pairs = Types.TUPLE([Types.STRING(), Types.LONG()])
    expected = [{"f0": "a", "f1": 1}, {"f0": "b", "f1": None}]
    for type_info in (pairs, None):
        assert avro_records(encoded(spec, type_info, [("a", 1), ("b", None)])) == expected


def test_avro_files_with_a_schema() -> None:
    schema = """{"type": "record", "name": "R", "fields": [
        {"name": "word", "type": "string"}, {"name": "n", "type": "int", "default": 7}]}"""
    writer = AvroBulkWriters.for_generic_record(AvroSchema(schema))
    spec = FileSink.for_bulk_format("/o", writer).build().to_spec()
    assert spec == FileSink.avro("/o", schema).to_spec()
    data = encoded(spec, None, [{"word": "a"}, Row(word="b", n=1)])
    assert avro_records(data) == [{"word": "a", "n": 7}, {"word": "b", "n": 1}]


def test_records_that_are_no_avro_records() -> None:
    spec = FileSink.avro("/o", '{"type": "record", "name": "R", "fields": []}').to_spec()
    with pytest.raises(MillstreamError, match=r"AVRO_RECORD.*'text'"):
        encoded(spec, None, ["text"])
    with pytest.raises(MillstreamError, match="AVRO_RECORD"):
        encoded(FileSink.avro("/o").to_spec(), None, [(object(),)])
    for wrong in (Types.MAP(Types.LONG(), Types.LONG()), Types.PICKLED_BYTE_ARRAY()):
        row = Types.ROW_NAMED(["m"], [wrong])
        with pytest.raises(PlanError, match="AVRO_TYPE"):
            encoded(FileSink.avro("/o").to_spec(), row, [({},)])
    with pytest.raises(PlanError, match=r"AVRO_TYPE.*'a b'"):
        encoded(FileSink.avro("/o").to_spec(), Types.ROW_NAMED(["a b"], [Types.LONG()]), [(1,)])
    with pytest.raises(PlanError, match="BAD_AVRO_SCHEMA"):
        FileSink.avro("/o", "{")


@pytest.mark.parametrize("compression", ["none", "snappy", "zlib", "zstd", "lz4"])
def test_orc_files(compression: str) -> None:
    spec = FileSink.orc("/o", compression=compression).to_spec()
    assert extension(spec) == "orc"
    pairs = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])
    data = encoded(spec, pairs, [("a", 1)], [("b", None)])
    table = orc.read_table(io.BytesIO(data))
    assert table.to_pylist() == [{"word": "a", "n": 1}, {"word": "b", "n": None}]


def test_orc_writers_in_flinks_way() -> None:
    pairs = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])
    properties = Configuration.from_dict({"orc.compress": "ZSTD"})
    writer = OrcBulkWriters.for_row_type(pairs, properties)
    spec = FileSink.for_bulk_format("/o", writer).build().to_spec()
    assert spec == FileSink.orc("/o", compression="zstd").to_spec()


def test_what_orc_cannot_hold() -> None:
    times = Types.ROW_NAMED(["t"], [Types.SQL_TIME()])
    with pytest.raises(MillstreamError, match="ORC_TYPE"):
        encoded(FileSink.orc("/o").to_spec(), times, [(time(1, 2),)])
