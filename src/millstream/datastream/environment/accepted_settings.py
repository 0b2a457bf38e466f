"""Settings of an environment, most of which have little or no effect on Spark.

Each is checked and remembered for its getter; one without an effect is explained once in the log.
Settings that Spark has too (jars, the Python interpreter) are passed on to it.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from millstream.common.absent import missing_method
from millstream.common.arguments import positive_int
from millstream.common.errors import ConfigurationError, short_repr, user_location
from millstream.common.execution_config import accepted_without_effect
from millstream.common.paths import absolute_path, local_path
from millstream.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from millstream.datastream.checkpoint_storage import checked_path
from millstream.datastream.checkpointing_mode import CheckpointingMode
from millstream.datastream.environment.settings import EnvironmentSettings, local_cores
from millstream.datastream.slot_sharing_group import SlotSharingGroup
from millstream.datastream.state_backend import StateBackend
from millstream.datastream.time_characteristic import TimeCharacteristic

__all__ = ["AcceptedSettings"]

_NO_JVM_TYPES = "records are Python objects, no Java serializer sees them"


class AcceptedSettings:
    """The part of `StreamExecutionEnvironment` for ported programs."""

    def __init__(self, settings: EnvironmentSettings) -> None:
        self._settings = settings
        self._characteristic = TimeCharacteristic.EventTime

    if not TYPE_CHECKING:  # A type checker would take every name for a method.

        def __getattr__(self, name: str) -> Any:
            raise missing_method(self, name)

    def _note(self, option: str, why: str) -> Self:
        accepted_without_effect(option, why)
        return self

    # -- files, packages, the interpreter ------------------------------------------------------------

    def add_python_file(self, file_path: str) -> None:
        """Make a Python file, or what is in a folder or a zip, importable for functions.

        It holds for the jobs that start later, also on a session that exists already, and also for
        those of other environments; what a job's own environment adds comes first. A path on
        another machine, such as ``hdfs://...``, is for Spark's own ``pyFiles``: it has to be there
        before the session.
        """
        file, known = local_path(checked_path(file_path)), self._settings.dependencies
        if file is None:
            self._settings.append("spark.submit.pyFiles", file_path)
        else:
            self._settings.dependencies = replace(known, files=(*known.files, file))

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Unpack an archive in the working directory of the tasks.

        Parameters
        ----------
        archive_path
            A zip, a tar, or a folder that is taken as it is.
        target_dir
            The name that functions find it under; by default that of the archive, with its ending.
        """
        archive, known = local_path(checked_path(archive_path)), self._settings.dependencies
        name = None if target_dir is None else _checked_name(target_dir)
        if archive is None:
            self._settings.append(
                "spark.archives", f"{archive_path}#{name}" if name else archive_path
            )
        else:
            archives = (*known.archives, (archive, name))
            self._settings.dependencies = replace(known, archives=archives)

    def set_python_executable(self, python_exec: str) -> None:
        """Set the Python interpreter of the tasks; by default the one of this program."""
        self._settings.passed_on["spark.pyspark.python"] = checked_path(python_exec)

    def add_jars(self, *jars_path: str) -> None:
        """Add jars, as connectors of Spark need them: Spark's ``jars``.

        Jars of Flink, whose names begin with ``flink-``, are accepted without effect.
        """
        for path in map(checked_path, jars_path):
            if path.rpartition("/")[2].startswith("flink-"):
                self._note("add_jars", "connectors and formats need no jars of Flink")
            else:
                self._settings.append("spark.jars", path)

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Install packages for the functions, with pip, when a job starts.

        Parameters
        ----------
        requirements_file_path
            A requirements file of pip.
        requirements_cache_dir
            A folder with the packages, as ``pip download`` makes it; pip then asks nowhere else.
        """
        file = absolute_path(checked_path(requirements_file_path))
        folder = requirements_cache_dir
        cache = None if folder is None else absolute_path(checked_path(folder))
        self._settings.dependencies = replace(
            self._settings.dependencies, requirements=(file, cache)
        )

    def add_classpaths(self, *classpaths: str) -> None:
        """Accept class paths; give Spark jars with `add_jars`."""
        for path in classpaths:
            checked_path(path)
        self._note("add_classpaths", "give jars to Spark with add_jars")

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:
        """Accept a file for all tasks; ship it with `add_python_archive`."""
        checked_path(file_path)
        self._note("register_cached_file", "ship files with add_python_archive")

    # -- parallelism -----------------------------------------------------------------------------

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Accept Flink's upper limit of the parallelism; see ``set_slots``."""
        self._settings.config.set_max_parallelism(max_parallelism)
        return self._note("set_max_parallelism", "a savepoint fits any number of slots")

    def get_max_parallelism(self) -> int:
        """Return what was set, -1 if nothing was."""
        return self._settings.config.get_max_parallelism()

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """Set the parallelism for when ``set_parallelism`` is not called."""
        self._settings.default_parallelism = positive_int("parallelism", parallelism)

    def get_default_local_parallelism(self) -> int:
        """Return the parallelism for when ``set_parallelism`` is not called."""
        return self._settings.default_parallelism or local_cores()

    def register_slot_sharing_group(self, slot_sharing_group: SlotSharingGroup) -> Self:
        """Accept Flink's description of a task slot."""
        if not isinstance(slot_sharing_group, SlotSharingGroup):
            raise _bad("register_slot_sharing_group", "a SlotSharingGroup", slot_sharing_group)
        return self._note("register_slot_sharing_group", "Spark places tasks itself")

    # -- chaining and buffers --------------------------------------------------------------------

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Accept Flink's time limit for network buffers."""
        self._settings.config.set_buffer_timeout(timeout_millis)
        return self

    def get_buffer_timeout(self) -> int:
        """Return what was set, 100 if nothing was."""
        return self._settings.config.get_buffer_timeout()

    def disable_operator_chaining(self) -> Self:
        """Run each keyed operator in a stage of its own, with an exchange before it.

        Functions without a key run in the stage before them all the same.

        Examples
        --------
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> env.disable_operator_chaining().is_chaining_enabled()
        False
        """
        self._settings.chaining = False
        return self

    def is_chaining_enabled(self) -> bool:
        """Return whether keyed operators may run in the stage of those before them."""
        return self._settings.chaining

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """Return True: nothing here depends on a maximal parallelism."""
        return True

    # -- state and checkpoints -------------------------------------------------------------------

    def get_checkpoint_interval(self) -> int:
        """Return the milliseconds between checkpoints, -1 if none were asked for."""
        return self._settings.checkpoints.get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return what was set."""
        return self._settings.checkpoints.get_checkpointing_mode()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        """Return what was set."""
        return self.get_checkpointing_mode()

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Return what was set in the checkpoint config."""
        return self._settings.checkpoints.is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        """Return what was set in the checkpoint config."""
        return self._settings.checkpoints.is_force_unaligned_checkpoints()

    def set_state_backend(self, state_backend: StateBackend) -> Self:
        """Accept Flink's choice of a state backend."""
        if not isinstance(state_backend, StateBackend):
            raise _bad("set_state_backend", "a StateBackend", state_backend)
        self._settings.backend = state_backend
        return self._note("set_state_backend", "state lives in Spark's state store, on RocksDB")

    def get_state_backend(self) -> StateBackend | None:
        """Return what was set."""
        return self._settings.backend

    def enable_changelog_state_backend(self, enabled: bool) -> Self:
        """Accept Flink's switch for writing changes of state; they are always written as such."""
        self._settings.changelog = bool(enabled)
        return self._note("enable_changelog_state_backend", "Spark writes changes of state, always")

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """Return what was set."""
        return self._settings.changelog

    def set_default_savepoint_directory(self, directory: str) -> Self:
        """Set the default directory of savepoints."""
        self._settings.set_savepoint_directory(directory)
        return self

    def get_default_savepoint_directory(self) -> str | None:
        """Return what was set."""
        return self._settings.savepoint_dir

    def set_restart_strategy(
        self, restart_strategy_configuration: RestartStrategyConfiguration
    ) -> None:
        """Set whether a job that fails starts again from its checkpoint, and when.

        Parameters
        ----------
        restart_strategy_configuration
            One of `RestartStrategies`. Without one, a job with a checkpoint directory is restarted
            three times, others are not. A batch job is never restarted.
        """
        strategy = restart_strategy_configuration
        if not isinstance(strategy, RestartStrategyConfiguration):
            raise _bad("set_restart_strategy", "one of RestartStrategies", strategy)
        falls_back = strategy == RestartStrategies.fall_back_restart()
        self._settings.set_restart_strategy(None if falls_back else strategy)

    def get_restart_strategy(self) -> RestartStrategyConfiguration | None:
        """Return what was set, None if nothing was."""
        return self._settings.restart

    # -- of Flink 1.x ----------------------------------------------------------------------------

    def set_stream_time_characteristic(self, characteristic: TimeCharacteristic) -> None:
        """Accept Flink's old switch; the watermark strategy decides."""
        if not isinstance(characteristic, TimeCharacteristic):
            raise _bad("set_stream_time_characteristic", "a TimeCharacteristic", characteristic)
        self._characteristic = characteristic
        self._note("set_stream_time_characteristic", "watermark strategies say what time is")

    def get_stream_time_characteristic(self) -> TimeCharacteristic:
        """Return what was set."""
        return self._characteristic

    def add_default_kryo_serializer(self, type_class_name: str, serializer_class_name: str) -> None:
        """Accept a Java serializer."""
        self._settings.config._kryo_serializers[type_class_name] = serializer_class_name
        self._note("add_default_kryo_serializer", _NO_JVM_TYPES)

    def register_type_with_kryo_serializer(
        self, type_class_name: str, serializer_class_name: str
    ) -> None:
        """Accept a Java serializer."""
        self._note("register_type_with_kryo_serializer", _NO_JVM_TYPES)

    def register_type(self, type_class_name: str) -> None:
        """Accept a Java class."""
        self._settings.config._types.append(type_class_name)
        self._note("register_type", _NO_JVM_TYPES)


def _checked_name(target_dir: str) -> str:
    parts = checked_path(target_dir).replace("\\", "/").split("/")
    if ".." in parts or os.path.isabs(target_dir):
        raise _bad("add_python_archive", "a name below the working directory", target_dir)
    return target_dir


def _bad(method: str, wanted: str, value: object) -> ConfigurationError:
    return ConfigurationError(
        "INVALID_OPTION_VALUE",
        f"{method} needs {wanted}, got {short_repr(value)}",
        location=user_location(),
    )
