"""Sources and sinks: which spec each of them stands for."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from millstream.common import Encoder, SimpleStringSchema, Types, WatermarkStrategy
from millstream.common.errors import PlanError
from millstream.connectors.source import ChannelSource, Limits, Source
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.building.spark_schema import row_type_of_ddl, row_type_of_schema, to_ddl
from millstream.datastream.connectors import (
    DataGeneratorSource,
    FileSink,
    FileSource,
    GeneratorFunction,
    NumberSequenceSource,
    RateLimiterStrategy,
)
from millstream.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileEnumeratorProvider,
    FileSplitAssignerProvider,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
    StreamingFileSink,
)
from millstream.plan.graph import UnionNode
from millstream.plan.specs import FilesSinkSpec, FilesSpec
from tests.support.datastream_support import check_error, last

Env = StreamExecutionEnvironment
NO_TIME = WatermarkStrategy.no_watermarks()
ROW = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])


# -- numbers ---------------------------------------------------------------------------------------


def records(source: Source) -> list[list[Any]]:
    (part,) = source.parts()
    assert isinstance(part, ChannelSource)
    ends = part.latest()
    return [[v for c in part.read(n, 0, end) for v in c.values] for n, end in ends.items()]


def test_number_sequence_includes_both_ends() -> None:
    assert records(NumberSequenceSource(3, 6)) == [[3, 4, 5, 6]]
    assert records(NumberSequenceSource(3, 7, parts=2)) == [[3, 5, 7], [4, 6]]
    assert NumberSequenceSource(1, 1).bounded


@pytest.mark.parametrize(("start", "end"), [(2, 1), ("1", 2), (1, None)])
def test_number_sequence_refused(start: Any, end: Any) -> None:
    with pytest.raises(PlanError, match="BAD_SEQUENCE"):
        NumberSequenceSource(start, end)


def square(n: int) -> int:
    return n * n


class Square(GeneratorFunction):
    def map(self, value: int) -> int:
        return value * value


@pytest.mark.parametrize("function", [square, Square(), lambda n: n * n])
def test_generator_calls_its_function_with_numbers_from_0(function: Any) -> None:
    source = DataGeneratorSource(function, 4, parts=2)
    assert records(source) == [[0, 4], [1, 9]]


def test_generator_type_comes_from_the_annotation_or_is_declared() -> None:
    assert DataGeneratorSource(square, 1).get_produced_type() == Types.LONG()
    assert DataGeneratorSource(lambda n: n, 1).get_produced_type() is None
    assert DataGeneratorSource(lambda n: n, 1, None, int).get_produced_type() == Types.LONG()


def test_generator_without_an_end() -> None:
    assert not DataGeneratorSource(square, None).bounded


def limits_of(source: DataGeneratorSource) -> Limits:
    return source.parts()[0].limits()


def test_rates_are_shared_among_the_parts() -> None:
    per_second = DataGeneratorSource(square, 9, RateLimiterStrategy.per_second(10), parts=4)
    assert limits_of(per_second) == Limits(per_second=2.5)
    per_epoch = DataGeneratorSource(square, 9, RateLimiterStrategy.per_checkpoint(10), parts=4)
    assert limits_of(per_epoch) == Limits(per_epoch=3)
    assert limits_of(DataGeneratorSource(square, 9, RateLimiterStrategy.no_op())) == Limits()


nothing: Any = lambda: None  # noqa: E731


class Opening(GeneratorFunction):
    def open(self, runtime_context: Any) -> None:
        pass

    def map(self, value: int) -> int:
        return value


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: DataGeneratorSource(square, 0), "BAD_NUMBER"),
        (lambda: DataGeneratorSource(square, 1, parts=0), "BAD_NUMBER"),
        (lambda: DataGeneratorSource(nothing, 1), "WRONG_ARITY"),
        (lambda: DataGeneratorSource(Opening(), 1), "NO_OPEN_HERE"),
        (lambda: RateLimiterStrategy.per_second(0), "BAD_NUMBER"),
        (lambda: RateLimiterStrategy.per_checkpoint(-1), "BAD_NUMBER"),
    ],
)
def test_generator_refused(make: Any, code: str) -> None:
    with pytest.raises(PlanError) as info:
        make()
    check_error(info.value, code, here=__file__, hint="")


# -- files to read ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "spec", "produced"),
    [
        (FileSource.text("/a"), FilesSpec(path="/a", format="text"), Types.STRING()),
        (
            FileSource.text("/a", watch=True),
            FilesSpec(path="/a", format="text", watch=True),
            Types.STRING(),
        ),
        (
            FileSource.csv("/a"),
            FilesSpec(path="/a", format="csv", options={"header": "true", "escape": '"'}),
            None,
        ),
        (
            FileSource.csv("/a", schema=ROW, header=False, sep=";"),
            FilesSpec(
                path="/a",
                format="csv",
                options={"header": "false", "escape": '"', "sep": ";"},
                schema="`word` STRING, `n` BIGINT",
            ),
            ROW,
        ),
        (
            FileSource.json("/a", schema="word STRING, n BIGINT"),
            FilesSpec(path="/a", format="json", schema="word STRING, n BIGINT"),
            ROW,
        ),
        (FileSource.parquet("/a"), FilesSpec(path="/a", format="parquet"), None),
        (
            FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/a").build(),
            FilesSpec(path="/a", format="text"),
            Types.STRING(),
        ),
        (
            FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/a")
            .monitor_continuously("5 s")
            .build(),
            FilesSpec(path="/a", format="text", watch=True),
            Types.STRING(),
        ),
        (
            FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/a")
            .monitor_continuously("5 s")
            .process_static_file_set()
            .build(),
            FilesSpec(path="/a", format="text"),
            Types.STRING(),
        ),
    ],
)
def test_file_source(env: Env, source: FileSource, spec: FilesSpec, produced: Any) -> None:
    assert source.parts() == (spec,)
    assert source.get_produced_type() == produced
    stream = env.from_source(source, NO_TIME, "files")
    assert last(env).source == spec and last(env).name == "files"
    assert last(env).strategy is NO_TIME
    assert stream._node.output_type == produced


def test_several_paths_are_several_sources_in_one_stream(env: Env) -> None:
    source = FileSource.text("/a", "/b")
    stream = env.from_source(source, NO_TIME, "files").map(len)
    assert [node.source.path for node in env._graph if hasattr(node, "source")] == ["/a", "/b"]
    assert isinstance(env._graph[3], UnionNode) and env._graph[3].inputs == (1, 2)
    assert stream._node.inputs == (3,)


def test_declared_type_of_a_source_wins(env: Env) -> None:
    stream = env.from_source(FileSource.parquet("/a"), NO_TIME, "files", type_info=ROW)
    assert stream.get_type() == ROW


class Schema:
    """As much of a Spark schema as is asked for."""

    fields = ()

    def jsonValue(self) -> Any:
        return {"type": "struct", "fields": [{"name": "n", "type": "long"}]}


def test_spark_schema_is_passed_on_and_understood() -> None:
    schema = Schema()
    source = FileSource.json("/a", schema=schema)
    assert source.parts()[0].schema is schema
    assert source.get_produced_type() == Types.ROW_NAMED(["n"], [Types.LONG()])


def test_flink_choices_about_files_are_explained(noted: list[str]) -> None:
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/a")
    builder.set_file_enumerator(FileEnumeratorProvider.default_splittable_file_enumerator())
    builder.set_split_assigner(FileSplitAssignerProvider.locality_aware_split_assigner())
    assert noted == ["set_file_enumerator", "set_split_assigner"]
    assert not FileEnumeratorProvider.default_non_splittable_file_enumerator().splittable


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: FileSource.text(), "NO_PATH"),
        (lambda: FileSource.text(""), "BAD_PATH"),
        (lambda: FileSource.text(3), "BAD_PATH"),  # type: ignore[arg-type]
        (lambda: FileSource.text("/a", charset="klingon"), "CHARSET"),
        (lambda: FileSource.csv("/a", schema=3), "BAD_SCHEMA"),
        (
            lambda: FileSource.json(
                "/a", schema=Types.ROW_NAMED(["a"], [Types.PICKLED_BYTE_ARRAY()])
            ),
            "NO_SPARK_TYPE",
        ),
        (lambda: FileSource.for_record_stream_format("text", "/a"), "BAD_FORMAT"),  # type: ignore[arg-type]
    ],
)
def test_file_source_refused(make: Any, code: str) -> None:
    with pytest.raises(PlanError) as info:
        make()
    check_error(info.value, code, here=__file__, hint="")


# -- files to write --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sink", "spec"),
    [
        (FileSink.text("/o"), FilesSinkSpec(path="/o", format="text")),
        (
            FileSink.text("/o", repr, prefix="p"),
            FilesSinkSpec(path="/o", format="text", prefix="p", encoder=repr),
        ),
        (
            FileSink.csv("/o", sep=";"),
            FilesSinkSpec(path="/o", format="csv", options={"header": "true", "sep": ";"}),
        ),
        (FileSink.json("/o"), FilesSinkSpec(path="/o", format="json")),
        (
            FileSink.parquet("/o", compression="zstd"),
            FilesSinkSpec(path="/o", format="parquet", options={"compression": "zstd"}),
        ),
    ],
)
def test_file_sink(sink: FileSink, spec: FilesSinkSpec) -> None:
    assert sink.to_spec() == spec


@pytest.mark.parametrize("cls", [FileSink, StreamingFileSink])
def test_flink_way_to_write_lines(cls: type[FileSink], noted: list[str]) -> None:
    sink = (
        cls.for_row_format("/o", Encoder.simple_string_encoder("UTF-8"))
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=1 << 20))
        .with_output_file_config(
            OutputFileConfig.builder().with_part_prefix("pre").with_part_suffix(".txt").build()
        )
        .with_bucket_check_interval(100)
        .enable_compact(
            FileCompactStrategy.builder().enable_compaction_on_checkpoint(3).build(),
            FileCompactor.concat_file_compactor(),
        )
        .disable_compact()
        .build()
    )
    spec = sink.to_spec()
    assert (spec.path, spec.format, spec.prefix) == ("/o", "text", "pre")
    assert spec.encoder is not None
    assert spec.encoder(("a", 1)) == "('a', 1)"
    assert pickle.loads(pickle.dumps(spec.encoder))("x") == "x"
    assert spec.part_size == 1 << 20
    assert noted == ["part_suffix", "with_bucket_check_interval"]


def test_subdirectories_by_time() -> None:
    sink = (
        FileSink.for_row_format("/o", str)
        .with_bucket_assigner(BucketAssigner.date_time_bucket_assigner("yyyy", "UTC"))
        .build()
    )
    assert sink.is_bucketed and sink.to_spec().bucketed
    assert sink.buckets.bucket("a", None) >= "2024"


def test_serialization_schema_encodes_lines() -> None:
    encoder = FileSink.text("/o", SimpleStringSchema()).to_spec().encoder
    assert encoder is not None and encoder("é") == "é"


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: FileSink.text("/o", 3), "BAD_ENCODER"),
        (lambda: FileSink.text(""), "BAD_PATH"),
        (lambda: FileSink.text("/o", prefix="../part").to_spec(), "BAD_PREFIX"),
        (lambda: FileSink.text("/o", prefix="a/part").to_spec(), "BAD_PREFIX"),
        (lambda: FileSink.text("/o", Encoder.simple_string_encoder("latin-1")), "CHARSET"),
        (lambda: FileSink.for_bulk_format("/o", "csv"), "BAD_FORMAT"),  # type: ignore[arg-type]
    ],
)
def test_file_sink_refused(make: Any, code: str) -> None:
    with pytest.raises(PlanError) as info:
        make()
    check_error(info.value, code, here=__file__, hint="")


# -- schemas ---------------------------------------------------------------------------------------


def test_nested_types_as_ddl() -> None:
    inner = Types.ROW_NAMED(["a"], [Types.MAP(Types.STRING(), Types.DOUBLE())])
    row_type = Types.ROW_NAMED(
        ["x`y", "rows", "pair", "raw"],
        [
            Types.BIG_DEC(),
            Types.LIST(inner),
            Types.TUPLE([Types.INT(), Types.BOOLEAN()]),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
        ],
    )
    assert to_ddl(row_type) == (
        "`x``y` DECIMAL(38, 18), `rows` ARRAY<STRUCT<`a`: MAP<STRING, DOUBLE>>>, "
        "`pair` STRUCT<`f0`: INT, `f1`: BOOLEAN>, `raw` BINARY"
    )


def test_ddl_as_a_row_type() -> None:
    assert row_type_of_ddl("a INT, `b c` decimal(10, 2), d: STRING") == Types.ROW_NAMED(
        ["a", "b c", "d"], [Types.INT(), Types.BIG_DEC(), Types.STRING()]
    )
    for unknown in ("a INTERVAL", "a ARRAY<INT>", "", "a", "a INT NOT NULL", "a INT, a INT"):
        assert row_type_of_ddl(unknown) is None


def test_spark_schema_as_a_row_type() -> None:
    struct = {"type": "struct", "fields": [{"name": "f0", "type": "date"}]}
    fields = [
        {"name": "list", "type": {"type": "array", "elementType": "short"}},
        {"name": "map", "type": {"type": "map", "keyType": "string", "valueType": struct}},
        {"name": "ntz", "type": "timestamp_ntz"},
        {"name": "raw", "type": "binary"},
        {"name": "exact", "type": "decimal(10,2)"},
    ]
    assert row_type_of_schema({"type": "struct", "fields": fields}) == Types.ROW_NAMED(
        ["list", "map", "ntz", "raw", "exact"],
        [
            Types.LIST(Types.SHORT()),
            Types.MAP(Types.STRING(), Types.TUPLE([Types.SQL_DATE()])),
            Types.SQL_TIMESTAMP(),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
            Types.BIG_DEC(),
        ],
    )
    assert row_type_of_schema({"fields": [{"name": "a", "type": "variant"}]}) is None


def test_row_type_of_a_real_spark_schema() -> None:
    types = pytest.importorskip("pyspark.sql.types")
    schema = types.StructType(
        [
            types.StructField("word", types.StringType()),
            types.StructField("tags", types.ArrayType(types.LongType())),
            types.StructField("at", types.TimestampType()),
        ]
    )
    assert FileSource.json("/a", schema=schema).get_produced_type() == Types.ROW_NAMED(
        ["word", "tags", "at"], [Types.STRING(), Types.LIST(Types.LONG()), Types.INSTANT()]
    )


def test_the_older_file_sink_has_builders() -> None:
    builder = StreamingFileSink.for_row_format("/o", Encoder.simple_string_encoder())
    assert isinstance(builder, StreamingFileSink.DefaultRowFormatBuilder)
    assert builder.build().to_spec().path == "/o"
    assert StreamingFileSink.DefaultBulkFormatBuilder is FileSink.BulkFormatBuilder
