"""The settings of one job, as the environment hands them to planner and runtime."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from millstream.common.errors import ConfigurationError
from millstream.common.restart_strategy import RestartStrategyConfiguration
from millstream.common.secrets import Redactor

RunMode = Literal["streaming", "batch", "automatic"]
ChannelOrder = Literal["arrival", "watermark"]

CHAINING = "pipeline.operator-chaining.enabled"
"""The configuration key that turns the chaining of keyed operators off."""
RETAINED_MS = 15 * 60 * 1_000
LEAST_RETAINED_EPOCHS = 100


@dataclass(frozen=True, kw_only=True)
class Dependencies:
    """Files that a program needs for its functions; paths are on the driver's machine.

    ``archives``: with the name to unpack each under, None for the archive's own. ``requirements``:
    a file for pip, and the folder with packages if pip is not to ask elsewhere.
    """

    files: tuple[str, ...] = ()
    archives: tuple[tuple[str, str | None], ...] = ()
    requirements: tuple[str, str | None] | None = None

    def __bool__(self) -> bool:
        return bool(self.files or self.archives or self.requirements)

    def before(self, earlier: Dependencies) -> Dependencies:
        """These, and behind them those of an earlier job that are still there.

        Examples
        --------
        >>> import sys
        >>> Dependencies(files=("/b",)).before(Dependencies(files=("/gone", sys.prefix))).files == (
        ...     "/b",
        ...     sys.prefix,
        ... )
        True
        """
        names = {_name_of(archive) for archive in self.archives}
        files = [f for f in earlier.files if f not in self.files and os.path.exists(f)]
        archives = [
            archive
            for archive in earlier.archives
            if _name_of(archive) not in names and os.path.exists(archive[0])
        ]
        asked = earlier.requirements
        if asked is not None and not all(os.path.exists(p) for p in asked if p is not None):
            asked = None
        return Dependencies(
            files=(*self.files, *files),
            archives=(*self.archives, *archives),
            requirements=self.requirements or asked,
        )

    @property
    def all_paths(self) -> tuple[str, ...]:
        """All files and folders that are named."""
        asked = [path for path in self.requirements or () if path is not None]
        return (*self.files, *(archive for archive, _ in self.archives), *asked)


def _name_of(archive: tuple[str, str | None]) -> str:
    path, name = archive
    return name or os.path.basename(path)


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """Everything about a run that is not in the graph.

    ``slots`` is the number of parts the key space is cut into (default: the parallelism).
    ``checkpoint_interval_ms`` None: epochs follow each other without a pause. ``checkpoint_dir``
    None: a folder of this run alone, removed when the job ends; nothing to resume from.

    An epoch begins at the earliest ``min_pause_ms`` after the one before it began.
    ``retained_checkpoints`` is how many checkpoints to keep at least, see `retained_epochs`.
    ``savepoint_path`` is the savepoint a new run begins from, ``allow_non_restored_state`` lets it
    begin although no operator claims some of its state. ``savepoint_dir`` is the default directory
    of savepoints. ``restart`` None: the default, see `RestartStrategies`. ``command`` is
    the command line that has started the program. ``trust`` lets a job go on from folders that other
    users can write to.
    """

    name: str = "millstream job"
    mode: RunMode = "streaming"
    parallelism: int = 2
    slots: int | None = None
    channel_order: ChannelOrder = "arrival"
    auto_watermark_interval_ms: int = 0
    checkpoint_interval_ms: int | None = None
    min_pause_ms: int = 0
    retained_checkpoints: int | None = None
    checkpoint_dir: str | None = None
    savepoint_path: str | None = None
    allow_non_restored_state: bool = False
    trust: bool = False
    savepoint_dir: str | None = None
    restart: RestartStrategyConfiguration | None = None
    command: tuple[str, ...] | None = None
    show_progress: bool | None = None
    configuration: Mapping[str, str] = field(default_factory=dict)
    dependencies: Dependencies = Dependencies()

    @property
    def slot_count(self) -> int:
        return self.parallelism if self.slots is None else self.slots


def redactor_of(options: JobOptions) -> Redactor:
    """A redactor of the secrets of a job in texts about it."""
    return Redactor(options.configuration, options.command or ())


def retained_epochs(options: JobOptions) -> int:
    """How many epochs a checkpoint has to reach back, so that a savepoint of one can be finished.

    That is 15 minutes of epochs, counted as one per second if they follow without a pause.

    Examples
    --------
    >>> retained_epochs(JobOptions(checkpoint_interval_ms=500))
    1800
    """
    shortest_ms = max(options.checkpoint_interval_ms or 0, options.min_pause_ms) or 1_000
    by_time = -(-RETAINED_MS // shortest_ms)
    return max(by_time, LEAST_RETAINED_EPOCHS, options.retained_checkpoints or 0)


def chains_operators(configuration: Mapping[str, str]) -> bool:
    """Whether operators may share a stage with those before them.

    Examples
    --------
    >>> chains_operators({}), chains_operators({"pipeline.operator-chaining.enabled": "false"})
    (True, False)
    """
    value = configuration.get(CHAINING, "true").lower()
    if value not in ("true", "false"):
        raise ConfigurationError(
            "INVALID_OPTION_VALUE",
            f"{CHAINING} cannot be {value!r}",
            parameters={"key": CHAINING, "value": value},
            hint="use true or false",
        )
    return value == "true"
