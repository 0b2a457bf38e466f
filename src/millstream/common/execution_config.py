"""Settings of the run that are set in the program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.common._logging import accepted_without_effect
from millstream.common.errors import ConfigurationError, short_repr, user_location
from millstream.common.time import to_millis
from millstream.common.type_aliases import DurationLike

__all__ = ["ExecutionConfig", "accepted_without_effect"]

_MAX_PARALLELISM = 2**15
_COPIES = "the type of a record decides whether it must be copied"
_NO_JVM_TYPES = "records are Python objects, no Java serializer sees them"


def _invalid(option: str, value: object, hint: str) -> ConfigurationError:
    return ConfigurationError(
        "INVALID_OPTION_VALUE",
        f"{option} cannot be {short_repr(value)}",
        parameters={"key": option, "value": value},
        location=user_location(),
        hint=hint,
    )


def _whole(option: str, value: object, low: int, high: int, also: tuple[int, ...] = ()) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        if low <= value <= high or value in also:
            return value
    raise _invalid(option, value, f"give an int from {low} to {high}")


class ExecutionConfig:
    """Settings of the run. Setters return the object itself.

    Some of Flink's options have nothing to act on here; they are checked, remembered, and
    explained once in the log.

    Examples
    --------
    >>> config = ExecutionConfig().set_parallelism(4).set_auto_watermark_interval(200)
    >>> config.get_parallelism(), config.get_auto_watermark_interval()
    (4, 200)
    """

    PARALLELISM_DEFAULT = -1
    PARALLELISM_UNKNOWN = -2

    def __init__(self) -> None:
        self._parallelism = self.PARALLELISM_DEFAULT
        self._max_parallelism = -1
        self._auto_watermark_interval = 0
        self._auto_generated_uids = True
        self._global_job_parameters: dict[str, str] = {}
        self._ignored: dict[str, Any] = {}
        self._kryo_serializers: dict[str, str] = {}
        self._types: list[str] = []

    def get_parallelism(self) -> int:
        """How many parallel instances operators have; -1 if the environment decides."""
        return self._parallelism

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set how many parallel instances operators have, from 1; -1 for the default."""
        also = (self.PARALLELISM_DEFAULT,)
        self._parallelism = _whole("parallelism", parallelism, 1, _MAX_PARALLELISM, also)
        return self

    def get_max_parallelism(self) -> int:
        """The highest parallelism the job can be restarted with; -1 if not set."""
        return self._max_parallelism

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Set the highest parallelism the job can be restarted with, from 1 to 32768."""
        self._max_parallelism = _whole("max_parallelism", max_parallelism, 1, _MAX_PARALLELISM)
        return self

    def get_auto_watermark_interval(self) -> int:
        """Milliseconds between watermarks; 0 (the default) means one after every record."""
        return self._auto_watermark_interval

    def set_auto_watermark_interval(self, interval: DurationLike) -> ExecutionConfig:
        """Set the time between watermarks; 0 for one after every record."""
        self._auto_watermark_interval = to_millis(interval, "auto_watermark_interval")
        return self

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Give operators without a uid one that follows from their place in the program."""
        self._auto_generated_uids = True
        return self

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Demand a uid of every operator."""
        self._auto_generated_uids = False
        return self

    def has_auto_generated_uids_enabled(self) -> bool:
        """Whether operators may go without a uid."""
        return self._auto_generated_uids

    def get_global_job_parameters(self) -> dict[str, str]:
        """The user's own settings."""
        return dict(self._global_job_parameters)

    def set_global_job_parameters(
        self, global_job_parameters_dict: Mapping[str, object]
    ) -> ExecutionConfig:
        """Set the user's own settings; values turn into text."""
        items = global_job_parameters_dict.items()
        self._global_job_parameters = {str(key): str(value) for key, value in items}
        return self

    def _ignore(self, option: str, value: Any, why: str) -> ExecutionConfig:
        self._ignored[option] = value
        accepted_without_effect(option, why)
        return self

    def _remember_bool(self, option: str, value: object, why: str) -> ExecutionConfig:
        if not isinstance(value, bool):
            raise _invalid(option, value, "give True or False")
        return self._ignore(option, value, why)

    def _remember_millis(self, option: str, value: object, why: str) -> ExecutionConfig:
        return self._ignore(option, to_millis(value, option, allow_negative=True), why)

    def enable_object_reuse(self) -> ExecutionConfig:
        """Accept a setting of Flink that has no effect here."""
        return self._ignore("object reuse", True, _COPIES)

    def disable_object_reuse(self) -> ExecutionConfig:
        """Accept a setting of Flink that has no effect here."""
        return self._ignore("object reuse", False, _COPIES)

    def is_object_reuse_enabled(self) -> bool:
        """Return the setting; False by default."""
        return bool(self._ignored.get("object reuse", False))

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Accept a setting of Flink that has no effect here."""
        return self._ignore("closure cleaner", True, "functions are pickled with what they use")

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Accept a setting of Flink that has no effect here."""
        return self._ignore("closure cleaner", False, "functions are pickled with what they use")

    def is_closure_cleaner_enabled(self) -> bool:
        """Return the setting; True by default."""
        return bool(self._ignored.get("closure cleaner", True))

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Accept a setting of Flink that has no effect here."""
        why = "no latency markers travel through a micro-batch"
        return self._remember_millis("latency tracking interval", interval, why)

    def get_latency_tracking_interval(self) -> int:
        """Return the setting; 0 by default."""
        return int(self._ignored.get("latency tracking interval", 0))

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Accept a setting of Flink that has no effect here."""
        why = "Spark cancels its own tasks"
        return self._remember_millis("task cancellation interval", interval, why)

    def get_task_cancellation_interval(self) -> int:
        """Return the setting; 30000 by default."""
        return int(self._ignored.get("task cancellation interval", 30_000))

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Accept a setting of Flink that has no effect here."""
        to_millis(timeout, "task cancellation timeout")
        why = "Spark cancels its own tasks"
        return self._remember_millis("task cancellation timeout", timeout, why)

    def get_task_cancellation_timeout(self) -> int:
        """Return the setting; 180000 by default."""
        return int(self._ignored.get("task cancellation timeout", 180_000))

    def set_buffer_timeout(self, timeout_millis: int) -> ExecutionConfig:
        """Accept a setting of Flink that has no effect here."""
        why = "records travel in micro-batches, not in network buffers"
        return self._remember_millis("buffer timeout", timeout_millis, why)

    def get_buffer_timeout(self) -> int:
        """Return the setting; 100 by default."""
        return int(self._ignored.get("buffer timeout", 100))

    def enable_force_kryo(self) -> ExecutionConfig:
        """Accept a setting of Flink that has no effect here."""
        return self._ignore("force kryo", True, _NO_JVM_TYPES)

    def disable_force_kryo(self) -> ExecutionConfig:
        """Accept a setting of Flink that has no effect here."""
        return self._ignore("force kryo", False, _NO_JVM_TYPES)

    def is_force_kryo_enabled(self) -> bool:
        """Return the setting; False by default."""
        return bool(self._ignored.get("force kryo", False))

    def enable_force_avro(self) -> ExecutionConfig:
        """Accept a setting of Flink that has no effect here."""
        return self._ignore("force avro", True, _NO_JVM_TYPES)

    def disable_force_avro(self) -> ExecutionConfig:
        """Accept a setting of Flink that has no effect here."""
        return self._ignore("force avro", False, _NO_JVM_TYPES)

    def is_force_avro_enabled(self) -> bool:
        """Return the setting; False by default."""
        return bool(self._ignored.get("force avro", False))

    def enable_generic_types(self) -> ExecutionConfig:
        """Accept a setting of Flink that has no effect here."""
        return self._ignore("generic types", True, _NO_JVM_TYPES)

    def disable_generic_types(self) -> ExecutionConfig:
        """Accept a setting of Flink that has no effect here."""
        return self._ignore("generic types", False, _NO_JVM_TYPES)

    def has_generic_types_disabled(self) -> bool:
        """Return the setting; False by default."""
        return not self._ignored.get("generic types", True)

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Accept a setting of Flink that has no effect here."""
        why = "Millstream decides by itself how checkpoints are stored"
        return self._remember_bool("snapshot compression", use_snapshot_compression, why)

    def is_use_snapshot_compression(self) -> bool:
        """Return the setting; False by default."""
        return bool(self._ignored.get("snapshot compression", False))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(repr(sorted(vars(self).items(), key=str)))

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """Return what was added; records are Python objects, and no Java serializer sees them."""
        return dict(self._kryo_serializers)

    def get_registered_kryo_types(self) -> list[str]:
        """Return nothing: records are Python objects."""
        return []

    def get_registered_pojo_types(self) -> list[str]:
        """Return what was registered; records are Python objects."""
        return list(self._types)
