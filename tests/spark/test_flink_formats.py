"""CSV files as Flink reads and writes them, and records that the next job brings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millstream.common import Row, Types, WatermarkStrategy
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors.file_system import FileSink, FileSource
from millstream.datastream.formats.csv import CsvBulkWriters, CsvReaderFormat, CsvSchema
from tests.support.spark.spark_support import Collecting

pytestmark = pytest.mark.spark

MakeEnv = Callable[..., StreamExecutionEnvironment]
ARRAYS = (
    CsvSchema.builder()
    .add_array_column("n", element_type=Types.INT())
    .add_array_column("s", ",")
    .set_column_separator("|")
    .disable_quote_char()
    .build()
)
ESCAPED = (
    CsvSchema.builder()
    .add_string_column("a")
    .add_number_column("n")
    .set_escape_char("\\")
    .set_allow_comments()
    .build()
)


def read(schema: CsvSchema, path: Path) -> Any:
    return FileSource.for_record_stream_format(
        CsvReaderFormat.for_schema(schema), str(path)
    ).build()


def test_csv_with_arrays_and_escapes_there_and_back(make_env: MakeEnv, tmp_path: Path) -> None:
    for name, text in (("arrays", "1;2|a,b\n|c\n"), ("escaped", "# comment\na\\,b,1\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "in.csv").write_text(text)
    env, sinks = make_env("batch"), {}
    for name, schema in (("arrays", ARRAYS), ("escaped", ESCAPED)):
        source = read(schema, tmp_path / name)
        rows = env.from_source(source, WatermarkStrategy.no_watermarks(), name)
        sinks[name] = Collecting()
        rows.sink_to(sinks[name])
        out = str(tmp_path / f"{name}-out")
        rows.sink_to(FileSink.for_bulk_format(out, CsvBulkWriters.for_schema(schema)).build())
    later = env.from_collection([1, 2]).map(lambda n: n / 2).collect_async()
    env.execute()
    assert sinks["arrays"].values == [Row(n=[1, 2], s=["a", "b"]), Row(n=None, s=["c"])]
    assert sinks["escaped"].values == [Row(a="a,b", n=1)]
    written = {
        name: "".join(path.read_text() for path in (tmp_path / f"{name}-out").glob("part*"))
        for name in sinks
    }
    assert written == {"arrays": "1;2|a,b\n|c\n", "escaped": '"a,b",1\n'}
    assert list(later) == [0.5, 1.0]
