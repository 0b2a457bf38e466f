"""Settings by configuration key, and those that Spark has no use for."""

from __future__ import annotations

import os
from typing import Any

import pytest

from millstream.common import Configuration
from millstream.common.errors import ConfigurationError, PlanError
from millstream.datastream import (
    CheckpointingMode,
    EmbeddedRocksDBStateBackend,
    ExternalizedCheckpointRetention,
    FileSystemCheckpointStorage,
    HashMapStateBackend,
    JobManagerCheckpointStorage,
    MemorySize,
    PredefinedOptions,
    SlotSharingGroup,
    StreamExecutionEnvironment,
    TimeCharacteristic,
)
from millstream.plan.options import Dependencies, JobOptions

Env = StreamExecutionEnvironment


def configured(key: str, value: object) -> JobOptions:
    return Env.get_execution_environment(Configuration.from_dict({key: value}))._settings.options(
        None
    )


@pytest.mark.parametrize(
    ("key", "value", "field", "expected"),
    [
        ("parallelism.default", "3", "parallelism", 3),
        ("execution.runtime-mode", "BATCH", "mode", "batch"),
        ("execution.runtime-mode", "streaming", "mode", "streaming"),
        ("execution.checkpointing.interval", "10 s", "checkpoint_interval_ms", 10_000),
        ("execution.checkpointing.dir", "/c", "checkpoint_dir", "/c"),
        ("state.checkpoints.dir", "s3a://c", "checkpoint_dir", "s3a://c"),
        ("pipeline.name", "words", "name", "words"),
        ("pipeline.auto-watermark-interval", "200 ms", "auto_watermark_interval_ms", 200),
        ("pipeline.global-job-parameters", "a:1,b:2", "configuration", {"a": "1", "b": "2"}),
        ("millstream.slots", 8, "slots", 8),
        ("millstream.channel-order", "watermark", "channel_order", "watermark"),
        ("millstream.progress", "true", "show_progress", True),
        ("millstream.trust", "true", "trust", True),
        ("millstream.progress", False, "show_progress", False),
        ("millstream.progress", "auto", "show_progress", None),
        ("spark.master", "local[2]", "configuration", {"spark.master": "local[2]"}),
        ("millstream.epoch.max-files", 5, "configuration", {"millstream.epoch.max-files": "5"}),
        ("millstream.epoch.max-records", 5, "configuration", {"millstream.epoch.max-records": "5"}),
        (
            "millstream.worker.memory",
            "2 gb",
            "configuration",
            {"millstream.worker.memory": "2147483648"},
        ),
        ("millstream.worker.memory", "none", "configuration", {"millstream.worker.memory": "0"}),
        (
            "millstream.epoch.max-bytes",
            "64 mb",
            "configuration",
            {"millstream.epoch.max-bytes": "67108864"},
        ),
        ("millstream.epoch.max-bytes", 10, "configuration", {"millstream.epoch.max-bytes": "10"}),
    ],
)
def test_key(key: str, value: object, field: str, expected: object) -> None:
    assert getattr(configured(key, value), field) == expected


def test_defaults() -> None:
    chosen = Env.get_execution_environment()._settings.options(None)
    assert chosen.name == JobOptions().name
    assert (chosen.mode, chosen.slots, chosen.channel_order) == ("streaming", None, "arrival")
    assert chosen.parallelism >= 1 and chosen.slot_count == chosen.parallelism
    assert chosen.checkpoint_interval_ms is None and chosen.checkpoint_dir is None


def test_the_name_of_the_call_wins() -> None:
    env = Env.get_execution_environment(Configuration().set_string("pipeline.name", "a"))
    assert env._settings.options("b").name == "b"


def test_configure_takes_a_dict_as_well() -> None:
    env = Env.get_execution_environment()
    assert env.configure({"millstream.slots": 3}) is env  # type: ignore[arg-type]
    assert env._settings.slots == 3


@pytest.mark.parametrize(
    ("key", "value", "code", "hint"),
    [
        ("millstream.slotz", 3, "UNKNOWN_OPTION", "millstream.slots"),
        ("millstream.slots", "many", "INVALID_OPTION_VALUE", "integer"),
        ("millstream.slots", 0, "INVALID_OPTION_VALUE", "at least 1"),
        ("millstream.channel-order", "time", "INVALID_OPTION_VALUE", "arrival, watermark"),
        ("millstream.progress", "loud", "INVALID_OPTION_VALUE", "true, false, auto"),
        ("millstream.epoch.max-bytes", "much", "INVALID_OPTION_VALUE", "64 mb"),
        ("millstream.epoch.max-files", 0, "INVALID_OPTION_VALUE", "at least 1"),
        ("execution.runtime-mode", "fast", "INVALID_OPTION_VALUE", "STREAMING, BATCH"),
        ("execution.checkpointing.mode", "never", "INVALID_OPTION_VALUE", "EXACTLY_ONCE"),
        ("execution.checkpointing.interval", "soon", "INVALID_OPTION_VALUE", "5 s"),
    ],
)
def test_key_refused(key: str, value: object, code: str, hint: str) -> None:
    with pytest.raises(ConfigurationError) as info:
        configured(key, value)
    assert info.value.code == code
    assert hint in (info.value.hint or "")
    assert info.value.location is not None and info.value.location.file == __file__


def test_other_keys_are_explained(noted: list[str], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="millstream"):
        configured("paralelism.default", 3)
    assert noted == ["paralelism.default"]
    assert "did you mean 'parallelism.default'?" in caplog.text


# -- accepted for Flink's sake ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("set_max_parallelism", (8,)),
        ("register_slot_sharing_group", (SlotSharingGroup.builder("g").build(),)),
        ("set_state_backend", (HashMapStateBackend(),)),
        ("enable_changelog_state_backend", (True,)),
        ("set_stream_time_characteristic", (TimeCharacteristic.EventTime,)),
        ("add_default_kryo_serializer", ("a", "b")),
        ("register_type_with_kryo_serializer", ("a", "b")),
        ("register_type", ("a",)),
        ("add_classpaths", ("file:///a.jar",)),
        ("register_cached_file", ("/a", "a")),
    ],
)
def test_accepted_and_explained(env: Env, noted: list[str], call: str, arguments: Any) -> None:
    getattr(env, call)(*arguments)
    assert noted == [call]


def test_buffer_timeout_is_remembered(env: Env, noted: list[str]) -> None:
    assert env.set_buffer_timeout(5).get_buffer_timeout() == 5
    assert noted == ["buffer timeout"]


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("set_state_backend", "rocksdb"),
        ("register_slot_sharing_group", "g"),
        ("set_stream_time_characteristic", "EventTime"),
        ("set_max_parallelism", 0),
        ("set_default_local_parallelism", 0),
        ("add_jars", 3),
        ("add_python_file", ""),
        ("set_checkpoint_directory", None),
    ],
)
def test_refused(env: Env, call: str, value: Any) -> None:
    with pytest.raises((ConfigurationError, PlanError)) as info:
        getattr(env, call)(value)
    assert info.value.location is not None and info.value.location.file == __file__


def test_jars_of_flink_are_accepted_without_effect(
    env: Env, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millstream.common._logging._told", set())
    env.add_jars("file:///lib/flink-sql-connector-kafka-1.15.0.jar", "/a.jar")
    assert env._settings.options(None).configuration == {"spark.jars": "/a.jar"}
    assert "add_jars is accepted without effect: connectors and formats need no jars" in caplog.text


def test_files_and_jars_go_to_spark(env: Env) -> None:
    env.add_jars("/a.jar", "/b.jar")
    env.add_jars("/c.jar")
    env.add_python_file("hdfs://host/lib.py")
    env.add_python_archive("hdfs://host/venv.zip", "venv")
    env.set_python_executable("venv/bin/python")
    assert env._settings.options(None).configuration == {
        "spark.jars": "/a.jar,/b.jar,/c.jar",
        "spark.submit.pyFiles": "hdfs://host/lib.py",
        "spark.archives": "hdfs://host/venv.zip#venv",
        "spark.pyspark.python": "venv/bin/python",
    }


def test_python_files_go_along_with_the_jobs_that_start_later(env: Env) -> None:
    assert not env._settings.options(None).dependencies
    env.add_python_file("lib.py")
    env.add_python_file("file:///folder")
    env.add_python_archive("/a.zip")
    env.add_python_archive("/b.tar.gz", "data")
    env.set_python_requirements("requirements.txt", "wheels")
    assert env._settings.options(None).dependencies == Dependencies(
        files=(os.path.abspath("lib.py"), "/folder"),
        archives=(("/a.zip", None), ("/b.tar.gz", "data")),
        requirements=(os.path.abspath("requirements.txt"), os.path.abspath("wheels")),
    )


@pytest.mark.parametrize("name", ["../up", "/root", "a/../../b"])
def test_archives_stay_in_the_working_directory(env: Env, name: str) -> None:
    with pytest.raises(ConfigurationError, match="a name below the working directory"):
        env.add_python_archive("/a.zip", name)


def test_getters_return_what_was_set(env: Env) -> None:
    backend = EmbeddedRocksDBStateBackend(True)
    backend.set_db_storage_paths("/a", "/b")
    backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
    env.set_state_backend(backend)
    assert env.get_state_backend() is backend
    assert backend.is_incremental_checkpoints_enabled()
    assert backend.get_db_storage_paths() == ["/a", "/b"]
    assert backend.get_predefined_options() is PredefinedOptions.FLASH_SSD_OPTIMIZED
    assert not env.disable_operator_chaining().is_chaining_enabled()
    assert env.is_chaining_of_operators_with_different_max_parallelism_enabled()
    assert env.is_changelog_state_backend_enabled() is None
    assert env.enable_changelog_state_backend(True).is_changelog_state_backend_enabled()
    assert env.set_default_savepoint_directory("/s").get_default_savepoint_directory() == "/s"
    assert env.get_stream_time_characteristic() is TimeCharacteristic.EventTime
    assert env.get_default_local_parallelism() >= 1
    assert not env.is_unaligned_checkpoints_enabled()
    assert not env.is_force_unaligned_checkpoints()


# -- checkpoints -----------------------------------------------------------------------------------


def test_checkpoint_config_of_the_environment(env: Env) -> None:
    config = env.get_checkpoint_config()
    assert not config.is_checkpointing_enabled() and config.get_checkpoint_interval() == -1
    env.enable_checkpointing(5_000)
    assert config.is_checkpointing_enabled() and env.get_checkpoint_interval() == 5_000
    assert env.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE
    config.set_checkpoint_storage(FileSystemCheckpointStorage("/a"))
    assert env._settings.options(None).checkpoint_dir == "/a"
    config.set_checkpoint_storage(JobManagerCheckpointStorage())
    assert env._settings.options(None).checkpoint_dir is None
    config.set_checkpoint_storage_dir("/b")
    assert config.get_checkpoint_directory() == "/b"


@pytest.mark.parametrize(
    ("setter", "value", "getter"),
    [
        ("set_checkpointing_mode", CheckpointingMode.AT_LEAST_ONCE, "get_checkpointing_mode"),
        ("set_checkpoint_timeout", 100, "get_checkpoint_timeout"),
        ("set_max_concurrent_checkpoints", 2, "get_max_concurrent_checkpoints"),
        ("set_tolerable_checkpoint_failure_number", 3, "get_tolerable_checkpoint_failure_number"),
        ("set_fail_on_checkpointing_errors", False, "is_fail_on_checkpointing_errors"),
        (
            "set_externalized_checkpoint_retention",
            ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION,
            "get_externalized_checkpoint_retention",
        ),
        ("enable_unaligned_checkpoints", True, "is_unaligned_checkpoints_enabled"),
        ("set_force_unaligned_checkpoints", True, "is_force_unaligned_checkpoints"),
    ],
)
def test_checkpoint_option_is_explained_and_remembered(
    env: Env, noted: list[str], setter: str, value: Any, getter: str
) -> None:
    config = env.get_checkpoint_config()
    assert getattr(config, setter)(value) is config
    assert getattr(config, getter)() == value
    assert len(noted) == 1


def test_alignment_timeout(env: Env) -> None:
    config = env.get_checkpoint_config().set_alignment_timeout("2 s")
    assert config.get_alignment_timeout() == config.get_aligned_checkpoint_timeout()
    assert config.get_alignment_timeout().to_millis() == 2_000
    config.enable_unaligned_checkpoints().disable_unaligned_checkpoints()
    assert not config.is_unaligned_checkpoints_enabled()


@pytest.mark.parametrize(
    ("setter", "value"),
    [
        ("set_checkpoint_interval", 0),
        ("set_checkpointing_mode", "EXACTLY_ONCE"),
        ("set_max_concurrent_checkpoints", 0),
        ("set_tolerable_checkpoint_failure_number", -1),
        ("set_externalized_checkpoint_retention", True),
        ("set_checkpoint_storage", "/a"),
    ],
)
def test_checkpoint_option_refused(env: Env, setter: str, value: Any) -> None:
    with pytest.raises(ConfigurationError) as info:
        getattr(env.get_checkpoint_config(), setter)(value)
    assert info.value.location is not None and info.value.location.file == __file__


def test_slot_sharing_group_says_what_it_needs() -> None:
    group = (
        SlotSharingGroup.builder("g")
        .set_cpu_cores(1)
        .set_task_heap_memory_mb(10)
        .set_task_off_heap_memory_mb(20)
        .set_managed_memory_mb(30)
        .set_external_resource("gpu", 1.0)
        .build()
    )
    assert group.get_task_heap_memory() == MemorySize.of_mebi_bytes(10)
    assert group.get_task_off_heap_memory() == MemorySize.of_mebi_bytes(20)
    assert group.get_managed_memory() == MemorySize.of_mebi_bytes(30)
    assert group.get_external_resources() == {"gpu": 1.0}
    assert MemorySize(1 << 40).get_tebi_bytes() == 1 and MemorySize(1 << 30).get_gibi_bytes() == 1
    with pytest.raises(ValueError, match="cores"):
        SlotSharingGroup.builder("g").set_cpu_cores(0)
    with pytest.raises(ValueError, match="bytes"):
        MemorySize(-1)


def test_enabled_checkpointing_without_a_directory_has_a_folder_of_the_job() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.enable_checkpointing(1000)
    assert env._settings.options("Word count / 2").checkpoint_dir == ".millstream/Word-count-2"
    assert env._settings.options(None).checkpoint_dir == ".millstream/millstream-job"
