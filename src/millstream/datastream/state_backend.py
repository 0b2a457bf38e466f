"""Flink's choices of where state lives while a job runs. Here it is always Spark's state store."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING

from millstream.common.absent import missing_name
from millstream.common.execution_config import accepted_without_effect

__all__ = [
    "EmbeddedRocksDBStateBackend",
    "HashMapStateBackend",
    "PredefinedOptions",
    "StateBackend",
]


class PredefinedOptions(Enum):
    """Flink's sets of RocksDB options."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


class StateBackend:
    """A choice that ``env.set_state_backend`` accepts and explains."""


class HashMapStateBackend(StateBackend):
    """In Flink: state as objects in memory. Here batch jobs keep it so, streaming jobs do not."""


class EmbeddedRocksDBStateBackend(StateBackend):
    """In Flink: state in RocksDB, as Spark keeps it for a streaming job.

    Set RocksDB's options as ``spark.sql.streaming.stateStore.rocksdb.*`` in the configuration.
    """

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        self._incremental = bool(enable_incremental_checkpointing)
        self._paths: tuple[str, ...] = ()
        self._options = PredefinedOptions.DEFAULT
        self._factory: str | None = None
        self._transfer_threads = 4

    def is_incremental_checkpoints_enabled(self) -> bool:
        """Return what was asked for; Spark writes changes only, always."""
        return self._incremental

    def set_db_storage_paths(self, *paths: str) -> None:
        """Accept local directories; Spark uses its own (``spark.local.dir``)."""
        self._paths = paths

    def get_db_storage_paths(self) -> Sequence[str]:
        """Return the directories that were set."""
        return list(self._paths)

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Accept one of Flink's sets of options."""
        self._options = PredefinedOptions(options)

    def get_predefined_options(self) -> PredefinedOptions:
        """Return the set of options that was accepted."""
        return self._options

    def set_options(self, options_factory_class_name: str) -> None:
        """Accept the name of a Java class that makes options; none of its code runs."""
        reason = "give spark.sql.streaming.stateStore.rocksdb.* in the configuration instead"
        accepted_without_effect("set_options", reason)
        self._factory = options_factory_class_name

    def get_options(self) -> str | None:
        """Return the name that was set."""
        return self._factory

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Accept a number of threads; Spark has its own way to copy files."""
        accepted_without_effect("set_number_of_transfer_threads", "Spark copies files itself")
        self._transfer_threads = number_of_transfering_threads

    def get_number_of_transfer_threads(self) -> int:
        """Return what was set, 4 if nothing was."""
        return self._transfer_threads


if not TYPE_CHECKING:
    __getattr__ = missing_name(__name__)
