"""Flink's choices of where state lives while a job runs. Here it is always Spark's state store."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

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
