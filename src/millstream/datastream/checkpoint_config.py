"""When and where a job is checkpointed."""

from __future__ import annotations

from millstream.common.errors import ConfigurationError, user_location
from millstream.common.execution_config import accepted_without_effect
from millstream.common.time import Duration, to_millis
from millstream.common.type_aliases import DurationLike
from millstream.datastream.checkpoint_storage import CheckpointStorage, checked_path
from millstream.datastream.checkpointing_mode import CheckpointingMode
from millstream.datastream.externalized_checkpoint_retention import (
    ExternalizedCheckpointRetention,
)

__all__ = ["CheckpointConfig"]

_EPOCHS = "every epoch is a checkpoint, one after the other"
_UNALIGNED = "checkpoints fall between epochs, where nothing is in flight"


class CheckpointConfig:
    """The checkpoint settings of an environment; get it from ``env.get_checkpoint_config()``.

    A checkpoint is taken with every epoch, so the interval is the time from one epoch to the
    next. What Flink offers beyond that is accepted and explained once.

    Examples
    --------
    >>> from millstream.datastream import StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> config = env.get_checkpoint_config()
    >>> config.set_checkpoint_interval("10 s").get_checkpoint_interval()
    10000
    """

    def __init__(self) -> None:
        self._interval_ms: int | None = None
        self._mode = CheckpointingMode.EXACTLY_ONCE
        self._directory: str | None = None
        self._directory_chosen = False
        self._retention = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        self._timeout_ms = 600_000
        self._min_pause_ms = 0
        self._retained: int | None = None
        self._max_concurrent = 1
        self._tolerable_failures = 0
        self._unaligned = False
        self._force_unaligned = False
        self._alignment_timeout_ms = 0

    # -- with an effect --------------------------------------------------------------------------

    def is_checkpointing_enabled(self) -> bool:
        """Return whether an interval is set."""
        return self._interval_ms is not None

    def get_checkpoint_interval(self) -> int:
        """Return the milliseconds from one epoch to the next, -1 if they follow without a pause."""
        return -1 if self._interval_ms is None else self._interval_ms

    def set_checkpoint_interval(self, checkpoint_interval: DurationLike) -> CheckpointConfig:
        """Set the time from one epoch to the next: milliseconds, ``"10 s"``, a `timedelta`."""
        interval = to_millis(checkpoint_interval, "checkpoint interval")
        if interval == 0:
            raise _bad("the checkpoint interval must be at least 1 ms, got 0")
        self._interval_ms = interval
        return self

    def get_checkpoint_directory(self) -> str | None:
        """Return where checkpoints are kept, None for a temporary directory."""
        return self._directory

    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> CheckpointConfig:
        """Set where checkpoints are kept: a job that finds its own there goes on from it."""
        self._directory = checked_path(checkpoint_path)
        self._directory_chosen = True
        return self

    def set_checkpoint_storage(self, storage: CheckpointStorage) -> CheckpointConfig:
        """Set where checkpoints are kept, as one of Flink's storage classes."""
        if not isinstance(storage, CheckpointStorage):
            raise _bad(f"a CheckpointStorage is needed, got {storage!r}")
        self._directory = storage.get_checkpoint_path()
        self._directory_chosen = True
        return self

    def get_min_pause_between_checkpoints(self) -> int:
        """Return the pause in milliseconds."""
        return self._min_pause_ms

    def set_min_pause_between_checkpoints(
        self, min_pause_between_checkpoints: DurationLike
    ) -> CheckpointConfig:
        """Set the shortest time from one epoch to the next; of it and the interval the longer counts."""
        self._min_pause_ms = to_millis(min_pause_between_checkpoints, "pause between checkpoints")
        return self

    def _set_retained(self, number: int) -> CheckpointConfig:
        """Set how many checkpoints are kept at least; more are, so that savepoints can be taken."""
        self._retained = _whole("the number of retained checkpoints", number, 1)
        return self

    # -- without -------------------------------------------------------------------------------

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return the mode that was set."""
        return self._mode

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Accept a mode; state is exactly-once in both."""
        if not isinstance(checkpointing_mode, CheckpointingMode):
            raise _bad(f"a CheckpointingMode is needed, got {checkpointing_mode!r}")
        if checkpointing_mode is CheckpointingMode.AT_LEAST_ONCE:
            accepted_without_effect("AT_LEAST_ONCE", "state is always exactly-once, at no cost")
        self._mode = checkpointing_mode
        return self

    def get_checkpoint_timeout(self) -> int:
        """Return the time limit in milliseconds."""
        return self._timeout_ms

    def set_checkpoint_timeout(self, checkpoint_timeout: DurationLike) -> CheckpointConfig:
        """Accept a time limit for checkpoints."""
        self._timeout_ms = to_millis(checkpoint_timeout, "checkpoint timeout")
        return self._note("set_checkpoint_timeout", "an epoch takes the time that its data needs")

    def get_max_concurrent_checkpoints(self) -> int:
        """Return how many checkpoints may run at once."""
        return self._max_concurrent

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Accept how many checkpoints may run at once."""
        self._max_concurrent = _whole("max_concurrent_checkpoints", max_concurrent_checkpoints, 1)
        return self._note("set_max_concurrent_checkpoints", _EPOCHS)

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Return whether a failed checkpoint fails the job."""
        return self._tolerable_failures == 0

    def set_fail_on_checkpointing_errors(
        self, fail_on_checkpointing_errors: bool
    ) -> CheckpointConfig:
        """Accept whether a failed checkpoint fails the job; the restart strategy repeats it."""
        return self.set_tolerable_checkpoint_failure_number(
            0 if fail_on_checkpointing_errors else 2**31 - 1
        )

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """Return how many checkpoints may fail."""
        return self._tolerable_failures

    def set_tolerable_checkpoint_failure_number(
        self, tolerable_checkpoint_failure_number: int
    ) -> CheckpointConfig:
        """Accept how many checkpoints may fail; the restart strategy says how often one is tried."""
        number = tolerable_checkpoint_failure_number
        self._tolerable_failures = _whole("tolerable_checkpoint_failure_number", number, 0)
        if number == 0:
            return self
        return self._note(
            "set_tolerable_checkpoint_failure_number",
            "an epoch that fails is repeated as the restart strategy says, "
            "and none may be left out, else its output would be lost",
        )

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """Return what was set."""
        return self._retention

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Accept what happens to checkpoints of a cancelled job."""
        if not isinstance(retention_mode, ExternalizedCheckpointRetention):
            raise _bad(f"an ExternalizedCheckpointRetention is needed, got {retention_mode!r}")
        self._retention = retention_mode
        return self._note(
            "set_externalized_checkpoint_retention",
            "a checkpoint directory that the program names is kept, a temporary one is not",
        )

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Return whether checkpoints are to outlive the job."""
        return self._retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Return what was set."""
        return self._unaligned

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Accept Flink's way around slow barriers; there are no barriers here."""
        self._unaligned = bool(enabled)
        return self._note("enable_unaligned_checkpoints", _UNALIGNED)

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Accept that unaligned checkpoints are off, as they are."""
        self._unaligned = False
        return self

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """Return what was set."""
        return Duration.of_millis(self._alignment_timeout_ms)

    def set_aligned_checkpoint_timeout(self, alignment_timeout: DurationLike) -> CheckpointConfig:
        """Accept when aligned checkpoints turn into unaligned ones."""
        self._alignment_timeout_ms = to_millis(alignment_timeout, "alignment timeout")
        return self._note("set_aligned_checkpoint_timeout", _UNALIGNED)

    def get_alignment_timeout(self) -> Duration:
        """Return what was set."""
        return self.get_aligned_checkpoint_timeout()

    def set_alignment_timeout(self, alignment_timeout: DurationLike) -> CheckpointConfig:
        """Accept the older name of `set_aligned_checkpoint_timeout`."""
        return self.set_aligned_checkpoint_timeout(alignment_timeout)

    def is_force_unaligned_checkpoints(self) -> bool:
        """Return what was set."""
        return self._force_unaligned

    def set_force_unaligned_checkpoints(
        self, force_unaligned_checkpoints: bool = True
    ) -> CheckpointConfig:
        """Accept Flink's switch for unaligned checkpoints with custom partitioning."""
        self._force_unaligned = bool(force_unaligned_checkpoints)
        return self._note("set_force_unaligned_checkpoints", _UNALIGNED)

    def _note(self, option: str, why: str) -> CheckpointConfig:
        accepted_without_effect(option, why)
        return self


def _whole(what: str, number: object, least: int) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or number < least:
        raise _bad(f"{what} must be a whole number of at least {least}, got {number!r}")
    return number


def _bad(message: str) -> ConfigurationError:
    return ConfigurationError("BAD_CHECKPOINT_OPTION", message, location=user_location())
