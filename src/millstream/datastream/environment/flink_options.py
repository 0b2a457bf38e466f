"""Keys of Flink that have a getter here but little or no effect, and why others have none."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any

from millstream.common.config_options import ConfigOption
from millstream.common.configuration import Configuration
from millstream.datastream.environment.accepted_settings import AcceptedSettings
from millstream.datastream.environment.settings import EnvironmentSettings, Setter
from millstream.datastream.environment.settings import _member as member
from millstream.datastream.environment.settings import _option as option
from millstream.datastream.externalized_checkpoint_retention import (
    ExternalizedCheckpointRetention,
)
from millstream.datastream.state_backend import (
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    StateBackend,
)

__all__ = ["ACCEPTED", "why_unused"]

_OF_THE_CLUSTER = "a setting of Flink's cluster; Spark has its own"
_REASONS = {
    "python.fn-execution.": "Spark's Python workers get whole batches of records",
    "python.": "functions run in Spark's Python workers",
    "state.backend.rocksdb.": "give spark.sql.streaming.stateStore.rocksdb.* instead",
    "execution.checkpointing.": "an epoch of Spark is a checkpoint, and Spark writes it",
    "state.": "state is in Spark's state store",
    "table.": "there is no Table API here; Spark's keys begin with spark.sql",
    "metrics.": "metrics are in client.metrics() and `millstream info`",
    **dict.fromkeys(
        (
            "akka.", "blob.", "classloader.", "client.", "cluster.", "env.", "fs.", "heartbeat.",
            "high-availability", "historyserver.", "io.", "jobmanager.", "jobstore.", "kubernetes.",
            "parallelism.", "pekko.", "rest.", "resourcemanager.", "s3.", "scheduler", "security.",
            "slot", "slotmanager.", "taskmanager.", "task.", "web.", "yarn.",
        ),
        _OF_THE_CLUSTER,
    ),
}  # fmt: skip
_BACKENDS: dict[str, type[StateBackend]] = {
    "hashmap": HashMapStateBackend,
    "filesystem": HashMapStateBackend,
    "rocksdb": EmbeddedRocksDBStateBackend,
    "forst": EmbeddedRocksDBStateBackend,
}


def why_unused(key: str, known: Iterable[str]) -> str:
    """Return why a key that is accepted has no effect.

    Examples
    --------
    >>> why_unused("taskmanager.memory.process.size", [])
    "a setting of Flink's cluster; Spark has its own"
    >>> why_unused("execution.runtime-mod", ["execution.runtime-mode"])
    "neither Millstream nor Spark has a use for this key; did you mean 'execution.runtime-mode'?"
    """
    close = difflib.get_close_matches(key, known, 1, cutoff=0.85)
    if close:
        return f"neither Millstream nor Spark has a use for this key; did you mean {close[0]!r}?"
    for prefix, reason in _REASONS.items():
        if key.startswith(prefix):
            return reason
    return "neither Millstream nor Spark has a use for this key"


def _set_backend(settings: EnvironmentSettings, name: str) -> None:
    kind = _BACKENDS.get(name.lower(), StateBackend)
    AcceptedSettings(settings).set_state_backend(kind())


def _set_retention(settings: EnvironmentSettings, name: str) -> None:
    key = "execution.checkpointing.externalized-checkpoint-retention"
    found = member(ExternalizedCheckpointRetention, key, name)
    settings.checkpoints.set_externalized_checkpoint_retention(found)


def _set_python_requirements(settings: EnvironmentSettings, text: str) -> None:
    file, _, cache = text.partition("#")
    AcceptedSettings(settings).set_python_requirements(file, cache or None)


def _add_archives(settings: EnvironmentSettings, text: str) -> None:
    for entry in text.split(","):
        path, _, target = entry.partition("#")
        AcceptedSettings(settings).add_python_archive(path, target or None)


def _for_each(method: str, separator: str) -> Setter:
    def setter(settings: EnvironmentSettings, text: str) -> None:
        items = text.split(separator) if separator == "," else Configuration.parse_list_value(text)
        for item in items:
            getattr(AcceptedSettings(settings), method)(item)

    return setter


def _switch(on: str, off: str) -> Setter:
    """Calls one of two methods of the execution configuration."""
    return lambda settings, value: getattr(settings.config, on if value else off)()


def _config(method: str) -> Setter:
    return lambda settings, value: getattr(settings.config, method)(value)


def _checkpoints(method: str) -> Setter:
    return lambda settings, value: getattr(settings.checkpoints, method)(value)


def _buffers(settings: EnvironmentSettings, on: bool) -> None:
    if not on:
        settings.config.set_buffer_timeout(-1)


def _changelog(settings: EnvironmentSettings, on: bool) -> None:
    AcceptedSettings(settings).enable_changelog_state_backend(on)


def _both(first: str, second: str, kind: str, setter: Callable[..., Any]) -> list[Any]:
    """A key of Flink and the older one for the same."""
    return [option(first, kind, setter), option(second, kind, setter)]


ACCEPTED: dict[str, tuple[ConfigOption[Any], Setter]] = dict(
    [
        *_both("execution.buffer-timeout.interval", "execution.buffer-timeout", "duration",
               _config("set_buffer_timeout")),
        option("execution.buffer-timeout.enabled", "boolean", _buffers),
        option("execution.checkpointing.timeout", "duration",
               _checkpoints("set_checkpoint_timeout")),
        option("execution.checkpointing.max-concurrent-checkpoints", "int",
               _checkpoints("set_max_concurrent_checkpoints")),
        *_both("execution.checkpointing.unaligned.enabled", "execution.checkpointing.unaligned",
               "boolean", _checkpoints("enable_unaligned_checkpoints")),
        option("execution.checkpointing.unaligned.forced", "boolean",
               _checkpoints("set_force_unaligned_checkpoints")),
        option("execution.checkpointing.aligned-checkpoint-timeout", "duration",
               _checkpoints("set_aligned_checkpoint_timeout")),
        option("execution.checkpointing.externalized-checkpoint-retention", "string",
               _set_retention),
        option("execution.checkpointing.snapshot-compression", "boolean",
               _config("set_use_snapshot_compression")),
        *_both("state.backend.type", "state.backend", "string", _set_backend),
        *_both("state.changelog.enabled", "state.backend.changelog.enabled", "boolean", _changelog),
        option("pipeline.object-reuse", "boolean",
               _switch("enable_object_reuse", "disable_object_reuse")),
        option("pipeline.auto-generate-uids", "boolean",
               _switch("enable_auto_generated_uids", "disable_auto_generated_uids")),
        option("pipeline.generic-types", "boolean",
               _switch("enable_generic_types", "disable_generic_types")),
        option("pipeline.force-avro", "boolean",
               _switch("enable_force_avro", "disable_force_avro")),
        option("pipeline.force-kryo", "boolean",
               _switch("enable_force_kryo", "disable_force_kryo")),
        option("pipeline.closure-cleaner-level", "string",
               lambda s, v: _switch("enable_closure_cleaner", "disable_closure_cleaner")(
                   s, v.upper() != "NONE")),
        option("metrics.latency.interval", "duration", _config("set_latency_tracking_interval")),
        option("task.cancellation.interval", "duration", _config("set_task_cancellation_interval")),
        option("task.cancellation.timeout", "duration", _config("set_task_cancellation_timeout")),
        option("pipeline.jars", "string", _for_each("add_jars", ";")),
        option("pipeline.classpaths", "string", _for_each("add_classpaths", ";")),
        option("python.files", "string", _for_each("add_python_file", ",")),
        option("python.archives", "string", _add_archives),
        option("python.requirements", "string", _set_python_requirements),
        option("python.executable", "string",
               lambda s, v: AcceptedSettings(s).set_python_executable(v)),
    ]
)  # fmt: skip
