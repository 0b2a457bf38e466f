"""How long state lives after it was last used."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from millstream.common._logging import accepted_without_effect
from millstream.common.cleanup_strategies import CleanupStrategies as _CleanupStrategies
from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.time import Duration, positive_millis, to_millis
from millstream.common.type_aliases import DurationLike

__all__ = ["StateTtlConfig"]

E = TypeVar("E", bound=Enum)


class _UpdateType(Enum):
    """Which accesses extend the life of state."""

    Disabled = 0
    OnCreateAndWrite = 1
    OnReadAndWrite = 2


class _StateVisibility(Enum):
    """Whether state that has expired but is still there can be read."""

    ReturnExpiredIfNotCleanedUp = 0
    NeverReturnExpired = 1


class _TtlTimeCharacteristic(Enum):
    """The clock that counts: processing time is the only one."""

    ProcessingTime = 0


@dataclass(frozen=True)
class StateTtlConfig:
    """How long state lives after it was last used. Made with `new_builder`.

    Attributes
    ----------
    ttl_ms : int
        The time to live in milliseconds.
    update_type : StateTtlConfig.UpdateType
        Which accesses extend the life of state.
    visibility : StateTtlConfig.StateVisibility
        Whether expired state that is still there can be read.
    cleanup_in_background : bool
        Whether expired state goes away without being read.
    ttl_time_characteristic : StateTtlConfig.TtlTimeCharacteristic
        The clock that counts.

    Examples
    --------
    >>> from millstream.common.time import Time
    >>> ttl = StateTtlConfig.new_builder(Time.hours(1)).update_ttl_on_read_and_write().build()
    >>> ttl.ttl_ms, ttl.update_type.name, ttl.visibility.name
    (3600000, 'OnReadAndWrite', 'NeverReturnExpired')
    """

    UpdateType = _UpdateType
    StateVisibility = _StateVisibility
    CleanupStrategies = _CleanupStrategies
    TtlTimeCharacteristic = _TtlTimeCharacteristic

    ttl_ms: int
    update_type: _UpdateType = _UpdateType.OnCreateAndWrite
    visibility: _StateVisibility = _StateVisibility.NeverReturnExpired
    cleanup_in_background: bool = True
    ttl_time_characteristic: _TtlTimeCharacteristic = _TtlTimeCharacteristic.ProcessingTime
    strategies: tuple[tuple[_CleanupStrategies.Strategies, object], ...] = field(
        default=(), compare=False
    )

    @staticmethod
    def new_builder(ttl: DurationLike) -> StateTtlConfig.Builder:
        """Begin a configuration with this time to live."""
        return StateTtlConfig.Builder(ttl)

    def get_update_type(self) -> _UpdateType:
        """Which accesses extend the life of state."""
        return self.update_type

    def get_state_visibility(self) -> _StateVisibility:
        """Whether expired state that is still there can be read."""
        return self.visibility

    def get_ttl(self) -> Duration:
        """The time to live."""
        return Duration.of_millis(self.ttl_ms)

    def get_ttl_time_characteristic(self) -> _TtlTimeCharacteristic:
        """The clock that counts."""
        return self.ttl_time_characteristic

    def is_enabled(self) -> bool:
        """False if state lives forever."""
        return self.update_type is not _UpdateType.Disabled

    def get_cleanup_strategies(self) -> _CleanupStrategies:
        """When expired state is removed, as the program asked for it."""
        return _CleanupStrategies(dict(self.strategies), self.cleanup_in_background)

    class Builder:
        """Builds a `StateTtlConfig` step by step; each method returns the builder."""

        def __init__(self, ttl: DurationLike) -> None:
            self._update_type = _UpdateType.OnCreateAndWrite
            self._visibility = _StateVisibility.NeverReturnExpired
            self._characteristic = _TtlTimeCharacteristic.ProcessingTime
            self._cleanup_in_background = True
            self._strategies: dict[_CleanupStrategies.Strategies, object] = {}
            self.set_ttl(ttl)

        def set_ttl(self, ttl: DurationLike) -> StateTtlConfig.Builder:
            """Set the time to live; longer than zero."""
            hint = "leave enable_time_to_live out for state that lives forever"
            self._ttl_ms = positive_millis(ttl, "the time to live of state", hint)
            return self

        def set_update_type(self, update_type: _UpdateType) -> StateTtlConfig.Builder:
            """Set what makes state live on."""
            self._update_type = _member(update_type, _UpdateType)
            return self

        def update_ttl_on_create_and_write(self) -> StateTtlConfig.Builder:
            """State lives on when it is written."""
            return self.set_update_type(_UpdateType.OnCreateAndWrite)

        def update_ttl_on_read_and_write(self) -> StateTtlConfig.Builder:
            """State lives on when it is written or read."""
            return self.set_update_type(_UpdateType.OnReadAndWrite)

        def set_state_visibility(
            self, state_visibility: _StateVisibility
        ) -> StateTtlConfig.Builder:
            """Set whether expired state that is still there can be read."""
            self._visibility = _member(state_visibility, _StateVisibility)
            return self

        def return_expired_if_not_cleaned_up(self) -> StateTtlConfig.Builder:
            """Expired state can be read as long as it is there."""
            return self.set_state_visibility(_StateVisibility.ReturnExpiredIfNotCleanedUp)

        def never_return_expired(self) -> StateTtlConfig.Builder:
            """Expired state is as good as gone."""
            return self.set_state_visibility(_StateVisibility.NeverReturnExpired)

        def set_ttl_time_characteristic(
            self, ttl_time_characteristic: _TtlTimeCharacteristic
        ) -> StateTtlConfig.Builder:
            """Set the clock that counts."""
            self._characteristic = _member(ttl_time_characteristic, _TtlTimeCharacteristic)
            return self

        def use_processing_time(self) -> StateTtlConfig.Builder:
            """Count processing time."""
            return self.set_ttl_time_characteristic(_TtlTimeCharacteristic.ProcessingTime)

        def cleanup_full_snapshot(self) -> StateTtlConfig.Builder:
            """Accepted for Flink's sake."""
            kinds = _CleanupStrategies.Strategies
            self._strategies[kinds.FULL_STATE_SCAN_SNAPSHOT] = _CleanupStrategies.EMPTY_STRATEGY
            return _no_effect(self, "cleanup_full_snapshot")

        def cleanup_incrementally(
            self, cleanup_size: int, run_cleanup_for_every_record: bool
        ) -> StateTtlConfig.Builder:
            """Accepted for Flink's sake."""
            _at_least(cleanup_size, 1, "cleanup_size")
            found = _CleanupStrategies.IncrementalCleanupStrategy(
                cleanup_size, run_cleanup_for_every_record
            )
            self._strategies[_CleanupStrategies.Strategies.INCREMENTAL_CLEANUP] = found
            return _no_effect(self, "cleanup_incrementally")

        def cleanup_in_rocksdb_compact_filter(
            self,
            query_time_after_num_entries: int,
            periodic_compaction_time: DurationLike = Duration.of_days(30),  # noqa: B008
        ) -> StateTtlConfig.Builder:
            """Accepted for Flink's sake."""
            _at_least(query_time_after_num_entries, 0, "query_time_after_num_entries")
            millis = to_millis(periodic_compaction_time, "periodic_compaction_time")
            found = _CleanupStrategies.RocksdbCompactFilterCleanupStrategy(
                query_time_after_num_entries, Duration.of_millis(millis)
            )
            self._strategies[_CleanupStrategies.Strategies.ROCKSDB_COMPACTION_FILTER] = found
            return _no_effect(self, "cleanup_in_rocksdb_compact_filter")

        def disable_cleanup_in_background(self) -> StateTtlConfig.Builder:
            """Keep expired state until it is read or written."""
            self._cleanup_in_background = False
            return self

        def build(self) -> StateTtlConfig:
            """The configuration."""
            return StateTtlConfig(
                self._ttl_ms,
                self._update_type,
                self._visibility,
                self._cleanup_in_background,
                self._characteristic,
                tuple(self._strategies.items()),
            )


# Users know these classes, and pickle finds them, as parts of StateTtlConfig.
for _enum in (_UpdateType, _StateVisibility, _TtlTimeCharacteristic):
    _enum.__name__ = _enum.__name__.lstrip("_")
    _enum.__qualname__ = f"StateTtlConfig.{_enum.__name__}"


def _no_effect(builder: StateTtlConfig.Builder, option: str) -> StateTtlConfig.Builder:
    accepted_without_effect(option, "Millstream decides by itself when expired state is removed")
    return builder


def _invalid(message: str, hint: str) -> PlanError:
    return PlanError("INVALID_STATE_TTL", message, location=user_location(), hint=hint)


def _member(value: object, kind: type[E]) -> E:
    if isinstance(value, kind):
        return value
    names = ", ".join(member.name for member in kind)
    hint = f"use one of {kind.__qualname__}: {names}"
    raise _invalid(f"{short_repr(value)} is no {kind.__name__}", hint)


def _at_least(value: object, least: int, what: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise _invalid(f"{what} cannot be {short_repr(value)}", f"give an int of {least} or more")
