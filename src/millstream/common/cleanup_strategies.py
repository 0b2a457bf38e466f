"""When Flink removes expired state; Millstream decides that by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from millstream.common.time import Duration

__all__ = ["CleanupStrategies"]


class CleanupStrategies:
    """The clean-up strategies that a program has set, for its getters.

    Examples
    --------
    >>> strategies = CleanupStrategies({}, True)
    >>> strategies.get_incremental_cleanup_strategy().get_cleanup_size()
    5
    """

    class Strategies(Enum):
        """The kinds of cleanup."""

        FULL_STATE_SCAN_SNAPSHOT = 0
        INCREMENTAL_CLEANUP = 1
        ROCKSDB_COMPACTION_FILTER = 2

    class CleanupStrategy:
        """How expired state is removed."""

    class EmptyCleanupStrategy(CleanupStrategy):
        """A way without settings."""

    @dataclass(frozen=True)
    class IncrementalCleanupStrategy(CleanupStrategy):
        """Looks at some entries at each access."""

        cleanup_size: int
        for_every_record: bool

        def get_cleanup_size(self) -> int:
            """How many entries."""
            return self.cleanup_size

        def run_cleanup_for_every_record(self) -> bool:
            """Whether it does so for each record."""
            return self.for_every_record

    @dataclass(frozen=True)
    class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
        """Removes entries when RocksDB rewrites its files."""

        query_time_after_num_entries: int
        periodic_compaction_time: Duration = Duration.of_days(30)  # noqa: RUF009

        def get_query_time_after_num_entries(self) -> int:
            """After how many entries the clock is asked for."""
            return self.query_time_after_num_entries

        def get_periodic_compaction_time(self) -> Duration:
            """How often files are rewritten."""
            return self.periodic_compaction_time

    EMPTY_STRATEGY = EmptyCleanupStrategy()

    def __init__(
        self, strategies: Mapping[Strategies, Any], is_cleanup_in_background: bool
    ) -> None:
        self._strategies = strategies
        self._in_background = is_cleanup_in_background

    def is_cleanup_in_background(self) -> bool:
        """Whether expired state is removed without being asked for."""
        return self._in_background

    def in_full_snapshot(self) -> bool:
        """Whether savepoints leave expired state out."""
        return self.Strategies.FULL_STATE_SCAN_SNAPSHOT in self._strategies

    def get_incremental_cleanup_strategy(self) -> IncrementalCleanupStrategy | None:
        """Return the strategy that was set, or Flink's default in the background."""
        default = self.IncrementalCleanupStrategy(5, False) if self._in_background else None
        found: Any = self._strategies.get(self.Strategies.INCREMENTAL_CLEANUP, default)
        return found  # type: ignore[no-any-return]

    def get_rocksdb_compact_filter_cleanup_strategy(
        self,
    ) -> RocksdbCompactFilterCleanupStrategy | None:
        """Return the strategy that was set, or Flink's default in the background."""
        default = self.RocksdbCompactFilterCleanupStrategy(1000) if self._in_background else None
        found: Any = self._strategies.get(self.Strategies.ROCKSDB_COMPACTION_FILTER, default)
        return found  # type: ignore[no-any-return]
