"""Names of PyFlink that programs use: they are here, or say in one line what takes their place."""

from __future__ import annotations

import copy
import importlib
import pkgutil
from io import BytesIO
from typing import Any

import pytest

import millstream
from millstream.common import (
    CompletableFuture,
    Configuration,
    ExecutionConfig,
    InputDependencyConstraint,
    JobClient,
    Row,
    RowFieldExtractorSchema,
    Types,
    constants,
)
from millstream.common.absent import METHODS, NAMES
from millstream.common.errors import ConfigurationError, FormatError, PlanError
from millstream.common.serializer import TypeSerializer, VoidNamespaceSerializer
from millstream.connectors.simple_sinks import CollectingSink, PrintSink
from millstream.datastream import (
    CheckpointConfig,
    DataStream,
    EmbeddedRocksDBStateBackend,
    ExternalizedCheckpointRetention,
    FileSystemCheckpointStorage,
    HashMapStateBackend,
    JobManagerCheckpointStorage,
    StreamExecutionEnvironment,
)
from millstream.datastream.data_stream import CachedDataStream
from millstream.datastream.state import StateTtlConfig
from millstream.datastream.window import (
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
    TimeWindow,
    TimeWindowSerializer,
)
from millstream.missing_modules import MODULES
from millstream.plan.graph import SinkNode
from millstream.testing import in_memory, run_local

Env = StreamExecutionEnvironment
OURS = {module.name for module in pkgutil.walk_packages(millstream.__path__, "millstream.")}


@pytest.fixture
def env() -> Env:
    return StreamExecutionEnvironment.get_execution_environment()


# -- what is not here ------------------------------------------------------------------------------


@pytest.mark.parametrize("module", MODULES)
def test_a_module_that_is_not_here_names_what_takes_its_place(module: str) -> None:
    assert module not in OURS
    for name in (module, f"{module}.inside"):
        with pytest.raises(ModuleNotFoundError) as info:
            importlib.import_module(name)
        assert str(info.value) == f"there is no {module}: {MODULES[module]}"


def test_any_other_module_fails_as_always() -> None:
    with pytest.raises(ModuleNotFoundError, match="No module named"):
        importlib.import_module("millstream.tables")


WHERE = {
    "AssignerWithPeriodicWatermarksWrapper": ("common", "common.watermark_strategy"),
    "CustomCheckpointStorage": ("datastream", "datastream.checkpoint_storage"),
    "CustomStateBackend": ("datastream", "datastream.state_backend"),
    "StreamTransformer": ("datastream.connectors.base",),
    "SupportsPreprocessing": ("datastream.connectors.base",),
    "AvroParquetReaders": ("datastream.formats.parquet",),
    "AvroParquetWriters": ("datastream.formats.parquet",),
    "AsyncFunctionDescriptor": ("datastream.functions",),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_not_here_names_what_takes_its_place(name: str) -> None:
    for module in WHERE[name]:
        with pytest.raises(ImportError) as info:
            exec(f"from millstream.{module} import {name}")
        assert str(info.value) == f"millstream.{module} has no {name}: {NAMES[name]}"
        with pytest.raises(ImportError, match="cannot import name 'Nonsense'"):
            exec(f"from millstream.{module} import Nonsense")


def test_a_method_that_is_not_here_names_what_takes_its_place(env: Env) -> None:
    stream = env.from_collection([1])
    for name, instead in METHODS.items():
        owners = [owner for owner in (env, stream, stream.print()) if not hasattr(owner, name)]
        assert len(owners) == 3
        with pytest.raises(AttributeError, match=f"DataStream has no {name}: ") as info:
            getattr(stream, name)
        assert str(info.value).endswith(instead)
    with pytest.raises(AttributeError, match="'DataStream' object has no attribute 'nonsense'"):
        stream.nonsense  # type: ignore[attr-defined]  # noqa: B018


# -- common ----------------------------------------------------------------------------------------


def test_names_of_modules_above() -> None:
    above = {
        "common.job_client": ("datastream.job_client", "JobClient"),
        "common.serialization": ("datastream.connectors.file_formats", "BulkWriterFactory"),
    }
    for module, (home, name) in above.items():
        found = getattr(importlib.import_module(f"millstream.{module}"), name)
        assert found is getattr(importlib.import_module(f"millstream.{home}"), name)


def test_accumulators_of_a_client(env: Env) -> None:
    env.from_collection([1]).print()
    with in_memory():
        client = env.execute_async()
        assert client.get_accumulators().result() == {}


def test_a_configuration_of_a_dict_by_name() -> None:
    assert Configuration.from_dict(map={"a": "1"}).to_dict() == {"a": "1"}


def test_configurations_are_equal_and_hashed_by_content() -> None:
    one = Configuration().set_string("a", "1").set_bytearray("b", bytearray(b"xy"))
    other = Configuration().set_bytearray("b", bytearray(b"xy")).set_integer("a", 1)
    assert one == other and hash(one) == hash(other) and len({one, other}) == 1
    assert str(Configuration().set_string("k1", "v1").set_integer("k2", 1)) == "{k1=v1, k2=1}"
    copied = copy.deepcopy(one)
    copied.set_string("a", "2")
    assert one != copied and one.get_string("a", "") == "1"
    assert hash(ExecutionConfig()) == hash(ExecutionConfig())
    assert hash(ExecutionConfig()) != hash(ExecutionConfig().set_parallelism(3))


def test_bytes_in_a_configuration() -> None:
    config = Configuration().set_bytearray("b", bytearray(b"\0\xff")).set_string("s", "text")
    assert config.get_bytearray("b", bytearray()) == bytearray(b"\0\xff")
    assert config.get_bytearray("missing", bytearray(b"d")) == bytearray(b"d")
    assert config.to_dict()["b"] == "AP8="
    with pytest.raises(ConfigurationError, match="not bytes"):
        config.get_bytearray("s", bytearray())
    with pytest.raises(ConfigurationError, match="needs bytes"):
        config.set_bytearray("b", "text")  # type: ignore[arg-type]


def test_lists_in_a_configuration() -> None:
    parse = Configuration.parse_list_value
    assert parse("") == parse(None) == []
    assert parse("- a\n- b") == parse("a;b") == parse("[a, b]") == parse("['a','b']") == ["a", "b"]


def test_a_field_of_a_row_as_bytes() -> None:
    schema = RowFieldExtractorSchema(1)
    assert schema.serialize(Row("k", b"v")) == b"v"
    assert schema.serialize(Row("k", bytearray(b"v"))) == b"v"
    assert schema.serialize(Row("k", None)) == b""
    with pytest.raises(FormatError, match="NOT_BYTES"):
        schema.serialize(Row("k", "v"))
    with pytest.raises(ValueError, match="non-negative"):
        RowFieldExtractorSchema(-1)


def test_small_names() -> None:
    future: Any = CompletableFuture()
    future.set_result(1)
    assert future.done() and future.result() == 1
    assert [kind.name for kind in InputDependencyConstraint] == ["ANY", "ALL"]
    assert constants.MAX_LONG_VALUE == 2**63 - 1 == -constants.MIN_LONG_VALUE - 1
    assert importlib.import_module("millstream.common.job_client").JobClient is JobClient
    assert VoidNamespaceSerializer() == VoidNamespaceSerializer() != TimeWindowSerializer()


@pytest.mark.parametrize(
    ("serializer", "window"),
    [
        (TimeWindowSerializer(), TimeWindow(-5, 2**40)),
        (CountWindowSerializer(), CountWindow(7)),
        (GlobalWindowSerializer(), GlobalWindow()),
    ],
)
def test_window_serializers(serializer: TypeSerializer[Any], window: Any) -> None:
    stream = BytesIO()
    serializer.serialize(window, stream)
    assert serializer.deserialize(BytesIO(stream.getvalue())) == window


def test_cleanup_strategies_are_remembered() -> None:
    found = StateTtlConfig.new_builder("1 s").build().get_cleanup_strategies()
    assert found.is_cleanup_in_background() and not found.in_full_snapshot()
    default = found.get_incremental_cleanup_strategy()
    assert default is not None and default.get_cleanup_size() == 5
    builder = StateTtlConfig.new_builder("1 s").cleanup_full_snapshot()
    builder.cleanup_incrementally(3, True).cleanup_in_rocksdb_compact_filter(9, "2 s")
    found = builder.disable_cleanup_in_background().build().get_cleanup_strategies()
    assert found.in_full_snapshot() and not found.is_cleanup_in_background()
    incremental = found.get_incremental_cleanup_strategy()
    rocksdb = found.get_rocksdb_compact_filter_cleanup_strategy()
    assert incremental is not None and incremental.run_cleanup_for_every_record()
    assert rocksdb is not None and rocksdb.get_query_time_after_num_entries() == 9
    assert rocksdb.get_periodic_compaction_time().to_millis() == 2_000


# -- streams ---------------------------------------------------------------------------------------


def test_sources_under_other_names() -> None:
    for make in (
        lambda env: env.from_data(1, 2, 3),
        lambda env: env.from_data([1, 2, 3]),
        lambda env: env.from_elements(1, 2, 3),
        lambda env: env.from_parallel_collection([1, 2, 3]),
        lambda env: env.from_sequence(1, 3),
        lambda env: env.generate_sequence(1, 3),
    ):
        assert run_local(make).values() == [1, 2, 3]


def test_java_types_are_remembered(env: Env) -> None:
    env.add_default_kryo_serializer("T", "S")
    env.register_type("P")
    assert env.get_config().get_default_kryo_serializer_classes() == {"T": "S"}
    assert env.get_config().get_registered_pojo_types() == ["P"]


def test_environments_under_other_names() -> None:
    env = StreamExecutionEnvironment.create_local_environment(3)
    assert env.get_parallelism() == 3 and env.get_job_listeners() == []
    settings = Configuration().set_integer("parallelism.default", 5)
    env = StreamExecutionEnvironment.create_local_environment(settings)
    assert env.get_parallelism() == 5
    assert env.get_configuration().to_dict() == {"parallelism.default": "5"}


def test_streams_tell_about_themselves(env: Env) -> None:
    stream = env.set_parallelism(3).from_collection([("a", 1)])
    assert (stream.get_parallelism(), stream.get_id()) == (3, stream._id)
    keyed = stream.key_by(lambda pair: pair[0])
    assert keyed.get_key_selector()(("k", 1)) == "k"
    both = stream.connect(env.from_collection([1]))
    assert (both.get_type1(), both.get_type2()) == (stream.get_type(), Types.LONG())
    assert both.get_execution_environment() is env
    with pytest.raises(PlanError, match="NOT_AN_OPERATOR"):
        keyed.cache()


def test_print_to_err(env: Env) -> None:
    env.from_collection([1]).print_to_err("numbers")
    (sink,) = [node for node in env._graph if isinstance(node, SinkNode)]
    assert sink.sink == PrintSink("numbers", stderr=True)


def test_a_sink_accepts_a_limit_of_the_parallelism(env: Env) -> None:
    sink = env.from_collection([1]).print()
    assert sink.set_max_parallelism(8) is sink
    with pytest.raises(PlanError, match="max_parallelism"):
        sink.set_max_parallelism(0)


def test_a_cached_stream_is_computed_by_each_job(env: Env) -> None:
    cached = env.from_collection([1, 2]).map(lambda n: n + 1).cache()
    assert isinstance(cached, CachedDataStream)
    assert run_local(cached.map(str)).values() == ["2", "3"]
    assert run_local(cached.map(float)).values() == [2.0, 3.0]
    cached.invalidate()
    with pytest.raises(PlanError, match="call name before cache"):
        cached.name("x")
    with pytest.raises(PlanError, match="NOT_AN_OPERATOR"):
        cached.get_name()


class FakeJob:
    """A job whose records have all come."""

    def __init__(self) -> None:
        self.ended: Any = CompletableFuture()
        self.ended.set_result(None)

    def get_job_execution_result(self) -> Any:
        return self.ended


def test_collect_async_brings_the_records_of_the_next_job(env: Env) -> None:
    stream: DataStream = env.from_collection([1, 2])
    records = stream.collect_async()
    with pytest.raises(PlanError, match="NOT_EXECUTED"):
        next(records)
    (sink,) = [node for node in env._graph if isinstance(node, SinkNode)]
    assert isinstance(sink.sink, CollectingSink)
    (listener,) = env.get_job_listeners()
    listener.on_job_submitted(FakeJob(), None)  # type: ignore[arg-type]
    sink.sink.callback(0, [(1, None), (2, None)])
    assert env.get_job_listeners() == []
    records.close()


# -- settings --------------------------------------------------------------------------------------


def test_storages_and_backends_remember_what_was_given() -> None:
    files = FileSystemCheckpointStorage("/c", 7, 8)
    assert (files.get_min_file_size_threshold(), files.get_write_buffer_size()) == (7, 8)
    files = FileSystemCheckpointStorage("file://var/c/")
    assert files.get_checkpoint_path() == "file://var/c"
    assert (files.get_min_file_size_threshold(), files.get_write_buffer_size()) == (20480, 4096)
    memory = JobManagerCheckpointStorage(max_state_size=9)
    assert memory.get_max_state_size() == 9 and memory.get_savepoint_path() is None
    default = JobManagerCheckpointStorage()
    assert default.get_max_state_size() == JobManagerCheckpointStorage.DEFAULT_MAX_STATE_SIZE
    rocksdb = EmbeddedRocksDBStateBackend()
    assert (rocksdb.get_options(), rocksdb.get_number_of_transfer_threads()) == (None, 4)
    rocksdb.set_options("org.example.Factory")
    rocksdb.set_number_of_transfer_threads(8)
    assert rocksdb.get_options() == "org.example.Factory"
    assert rocksdb.get_number_of_transfer_threads() == 8


KEYS: list[tuple[str, str, Any, Any]] = [
    ("pipeline.operator-chaining", "false", lambda e: e.is_chaining_enabled(), False),
    ("pipeline.operator-chaining.enabled", "false", lambda e: e.is_chaining_enabled(), False),
    ("execution.buffer-timeout", "1 min", lambda e: e.get_buffer_timeout(), 60_000),
    ("execution.buffer-timeout.interval", "5 ms", lambda e: e.get_buffer_timeout(), 5),
    ("execution.buffer-timeout.enabled", "false", lambda e: e.get_buffer_timeout(), -1),
    ("state.backend.type", "hashmap", lambda e: type(e.get_state_backend()), HashMapStateBackend),
    (
        "state.backend",
        "rocksdb",
        lambda e: type(e.get_state_backend()),
        EmbeddedRocksDBStateBackend,
    ),
    ("state.changelog.enabled", "true", lambda e: e.is_changelog_state_backend_enabled(), True),
    ("pipeline.auto-generate-uids", "false",
     lambda e: e.get_config().has_auto_generated_uids_enabled(), False),
    ("pipeline.object-reuse", "true", lambda e: e.get_config().is_object_reuse_enabled(), True),
    ("pipeline.generic-types", "false", lambda e: e.get_config().has_generic_types_disabled(), True),
    ("pipeline.force-avro", "true", lambda e: e.get_config().is_force_avro_enabled(), True),
    ("pipeline.force-kryo", "true", lambda e: e.get_config().is_force_kryo_enabled(), True),
    ("pipeline.closure-cleaner-level", "NONE",
     lambda e: e.get_config().is_closure_cleaner_enabled(), False),
    ("metrics.latency.interval", "3 s",
     lambda e: e.get_config().get_latency_tracking_interval(), 3_000),
    ("task.cancellation.interval", "3 s",
     lambda e: e.get_config().get_task_cancellation_interval(), 3_000),
    ("task.cancellation.timeout", "3 s",
     lambda e: e.get_config().get_task_cancellation_timeout(), 3_000),
    ("execution.checkpointing.snapshot-compression", "true",
     lambda e: e.get_config().is_use_snapshot_compression(), True),
    ("pipeline.jars", "a.jar;b.jar", lambda e: e._settings.passed_on["spark.jars"], "a.jar,b.jar"),
    ("python.files", "/a.py,/b", lambda e: e._settings.dependencies.files, ("/a.py", "/b")),
    ("python.archives", "/a.zip#x,/b.zip", lambda e: e._settings.dependencies.archives,
     (("/a.zip", "x"), ("/b.zip", None))),
    ("python.requirements", "/r.txt#/cache",
     lambda e: e._settings.dependencies.requirements, ("/r.txt", "/cache")),
    ("python.executable", "/p", lambda e: e._settings.passed_on["spark.pyspark.python"], "/p"),
]  # fmt: skip
CHECKPOINTS: list[tuple[str, str, Any, Any]] = [
    ("timeout", "12000", CheckpointConfig.get_checkpoint_timeout, 12_000),
    ("max-concurrent-checkpoints", "3", CheckpointConfig.get_max_concurrent_checkpoints, 3),
    ("unaligned", "true", CheckpointConfig.is_unaligned_checkpoints_enabled, True),
    ("unaligned.enabled", "true", CheckpointConfig.is_unaligned_checkpoints_enabled, True),
    ("unaligned.forced", "true", CheckpointConfig.is_force_unaligned_checkpoints, True),
    ("aligned-checkpoint-timeout", "7 s",
     lambda c: c.get_aligned_checkpoint_timeout().to_millis(), 7_000),
    ("externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION",
     CheckpointConfig.get_externalized_checkpoint_retention,
     ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value", "getter", "expected"), KEYS, ids=[k[0] for k in KEYS])
def test_configure(env: Env, key: str, value: str, getter: Any, expected: Any) -> None:
    assert env.configure(Configuration().set_string(key, value)) is env
    assert getter(env) == expected


@pytest.mark.parametrize(("key", "value", "getter", "expected"), CHECKPOINTS)
def test_configure_checkpoints(env: Env, key: str, value: str, getter: Any, expected: Any) -> None:
    env.configure(Configuration().set_string(f"execution.checkpointing.{key}", value))
    assert getter(env.get_checkpoint_config()) == expected
