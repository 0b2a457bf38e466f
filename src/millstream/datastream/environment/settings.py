"""The settings of an environment, by method and by configuration key."""

from __future__ import annotations

import copy
import os
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_args

from millstream.common.config_options import ConfigOption, ConfigOptions
from millstream.common.configuration import Configuration
from millstream.common.errors import ConfigurationError, user_location
from millstream.common.execution_config import ExecutionConfig, accepted_without_effect
from millstream.common.restart_strategy import RestartStrategyConfiguration, strategy_from
from millstream.common.sizes import bytes_of
from millstream.datastream.checkpoint_config import CheckpointConfig
from millstream.datastream.checkpoint_storage import checked_path
from millstream.datastream.checkpointing_mode import CheckpointingMode
from millstream.datastream.environment.launch import Launch
from millstream.datastream.execution_mode import RuntimeExecutionMode
from millstream.datastream.state_backend import StateBackend
from millstream.plan.options import (
    CHAINING,
    ChannelOrder,
    Dependencies,
    JobOptions,
    chains_operators,
)

if TYPE_CHECKING:
    from enum import Enum

__all__ = ["EnvironmentSettings", "local_cores"]

_PROGRESS = {"true": True, "false": False, "auto": None}
_PREFIX = "millstream."
_RESTART = "restart-strategy"

Setter = Callable[["EnvironmentSettings", Any], object]


class EnvironmentSettings:
    """All settings that become `JobOptions`."""

    def __init__(self) -> None:
        self.config = ExecutionConfig()
        self.checkpoints = CheckpointConfig()
        self.mode = RuntimeExecutionMode.STREAMING
        self.slots: int | None = None
        self.channel_order: ChannelOrder | None = None
        self.default_parallelism: int | None = None
        self.name: str | None = None
        self.progress: bool | None = None
        self.command: tuple[str, ...] | None = None
        self.restart: RestartStrategyConfiguration | None = None
        self.restart_keys: dict[str, Any] = {}
        self.savepoint_dir: str | None = None
        self.savepoint_path: str | None = None
        self.allow_non_restored_state = False
        self.trust = False
        self.passed_on: dict[str, str] = {}
        self.dependencies = Dependencies()
        self.changelog: bool | None = None
        self.backend: StateBackend | None = None
        self.given = Configuration()

    @property
    def parallelism(self) -> int:
        """The parallelism that was set, or else the number of cores."""
        chosen = self.config.get_parallelism()
        return chosen if chosen > 0 else self.default_parallelism or local_cores()

    @property
    def chaining(self) -> bool:
        """Whether keyed operators may run in the stage of those before them."""
        return chains_operators(self.passed_on)

    @chaining.setter
    def chaining(self, on: bool) -> None:
        self.passed_on[CHAINING] = str(on).lower()

    def configure(self, configuration: Configuration) -> None:
        """Apply a configuration: Flink's keys, Spark's, and ours under ``millstream.``."""
        from millstream.datastream.environment.flink_options import ACCEPTED, why_unused

        options = _OPTIONS | ACCEPTED
        configuration.validate([option for option, _ in options.values()])
        self.given.add_all(configuration)
        for key, value in configuration.to_dict().items():
            if key in options:
                option, setter = options[key]
                setter(self, option.convert(value))
            elif key.startswith("spark."):
                self.passed_on[key] = value
            else:
                accepted_without_effect(key, why_unused(key, list(options)))
        if any(key.startswith(_RESTART) for key in configuration.key_set()):
            self.restart = strategy_from(self.restart_keys) or self.restart

    def append(self, key: str, value: str) -> None:
        """Add to one of Spark's lists with commas."""
        known = self.passed_on.get(key)
        self.passed_on[key] = value if not known else f"{known},{value}"

    def options(self, job_name: str | None, channel_order: ChannelOrder = "arrival") -> JobOptions:
        """Return the options of a job that starts now; those of the command line come first.

        ``channel_order``: that of the job if no setting says another one.
        """
        launched = Launch.read()
        if launched is None:
            return self._options(job_name, channel_order)
        chosen = copy.deepcopy(self)
        chosen.configure(Configuration.from_dict(launched.configuration))
        chosen.command = launched.command
        renamed = "pipeline.name" in launched.configuration
        return chosen._options(None if renamed else job_name, channel_order)

    def _options(self, job_name: str | None, channel_order: ChannelOrder) -> JobOptions:
        named = {} if (name := job_name or self.name) is None else {"name": name}
        return JobOptions(
            mode=self.mode.name.lower(),  # type: ignore[arg-type]
            parallelism=self.parallelism,
            slots=self.slots,
            channel_order=self.channel_order or channel_order,
            auto_watermark_interval_ms=self.config.get_auto_watermark_interval(),
            checkpoint_interval_ms=self.checkpoints._interval_ms,
            min_pause_ms=self.checkpoints._min_pause_ms,
            retained_checkpoints=self.checkpoints._retained,
            checkpoint_dir=self._checkpoint_directory(job_name or self.name),
            savepoint_path=self.savepoint_path,
            allow_non_restored_state=self.allow_non_restored_state,
            trust=self.trust,
            savepoint_dir=self.savepoint_dir,
            restart=self.restart,
            command=self.command or tuple(sys.orig_argv),
            show_progress=self.progress,
            configuration={**self.config.get_global_job_parameters(), **self.passed_on},
            dependencies=self.dependencies,
            **named,
        )

    def _checkpoint_directory(self, job_name: str | None) -> str | None:
        """Where checkpoints go: as said, or to a folder of the job's below the working directory.

        A job that has not enabled checkpointing keeps nothing to resume from, as in Flink.
        """
        checkpoints = self.checkpoints
        if checkpoints._directory_chosen or checkpoints._interval_ms is None:
            return checkpoints.get_checkpoint_directory()
        folder = re.sub(r"[^A-Za-z0-9._-]+", "-", job_name or JobOptions().name).strip("-.")
        return f".millstream/{folder or 'job'}"

    def set_restart_strategy(self, strategy: RestartStrategyConfiguration | None) -> None:
        """Set whether a job that fails starts again; None for the default."""
        self.restart, self.restart_keys = strategy, {}

    def set_savepoint_directory(self, directory: str) -> None:
        """Set the default directory of savepoints."""
        self.savepoint_dir = checked_path(directory)

    def set_channel_order(self, order: str) -> None:
        """Set the order of records of several channels."""
        self.channel_order = _one_of("channel order", order, get_args(ChannelOrder))

    def set_slots(self, slots: int) -> None:
        """Set into how many parts the keys are cut."""
        self.slots = _at_least_one("slots", slots)

    def set_mode(self, mode: RuntimeExecutionMode | str) -> None:
        """Set the way to run."""
        self.mode = _member(RuntimeExecutionMode, "execution.runtime-mode", mode)

    def _set_mode_of_checkpoints(self, mode: str) -> None:
        key = "execution.checkpointing.mode"
        self.checkpoints.set_checkpointing_mode(_member(CheckpointingMode, key, mode))

    def _set_progress(self, text: str) -> None:
        self.progress = _PROGRESS[_one_of("millstream.progress", text.lower(), tuple(_PROGRESS))]

    def _set_parameters(self, text: str) -> None:
        pairs = (pair.partition(":") for pair in text.split(",") if pair.strip())
        parameters = {key.strip(): value.strip() for key, _, value in pairs}
        self.config.set_global_job_parameters(parameters)


def local_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _member(enum: Any, what: str, value: Enum | str) -> Any:
    if isinstance(value, enum):
        return value
    names = tuple(member.name for member in enum)
    text = value.replace("-", "_").upper() if isinstance(value, str) else value
    return enum[_one_of(what, text, names)]


def _one_of(what: str, value: Any, choices: tuple[str, ...]) -> Any:
    if value in choices:
        return value
    raise _bad(what, value, f"use one of {', '.join(choices)}")


def _at_least_one(what: str, number: object) -> int:
    if isinstance(number, int) and not isinstance(number, bool) and number >= 1:
        return number
    raise _bad(what, number, "give a whole number of at least 1")


def _bytes(key: str, text: str) -> str:
    found = bytes_of(text)
    if found is None:
        raise _bad(key, text, 'give a number of bytes, or a size such as "64 mb"')
    return str(found)


def _bytes_or_none(key: str, text: str) -> str:
    return "0" if text.strip().lower() == "none" else _bytes(key, text)


def _bad(what: str, value: object, hint: str) -> ConfigurationError:
    return ConfigurationError(
        "INVALID_OPTION_VALUE",
        f"{what} cannot be {value!r}",
        parameters={"key": what, "value": value},
        location=user_location(),
        hint=hint,
    )


def _option(key: str, kind: str, setter: Setter) -> tuple[str, tuple[ConfigOption[Any], Setter]]:
    builder = getattr(ConfigOptions.key(key), f"{kind}_type")()
    return key, (builder.no_default_value(), setter)


def _pass_on(key: str, checked: Callable[[str, Any], object]) -> Setter:
    def setter(settings: EnvironmentSettings, value: Any) -> None:
        settings.passed_on[key] = str(checked(key, value))

    return setter


def _store(attribute: str) -> Setter:
    return lambda settings, value: setattr(settings, attribute, value)


def _restart_option(key: str, kind: str) -> tuple[str, tuple[ConfigOption[Any], Setter]]:
    def setter(settings: EnvironmentSettings, value: Any) -> None:
        settings.restart_keys[key] = value

    return _option(f"{_RESTART}.{key}", kind, setter)


_OPTIONS: dict[str, tuple[ConfigOption[Any], Setter]] = dict(
    [
        _option("parallelism.default", "int", lambda s, v: s.config.set_parallelism(v)),
        _option("pipeline.max-parallelism", "int", lambda s, v: s.config.set_max_parallelism(v)),
        _option("pipeline.name", "string", _store("name")),
        _option("pipeline.auto-watermark-interval", "duration",
                lambda s, v: s.config.set_auto_watermark_interval(v)),
        _option("pipeline.global-job-parameters", "string",
                EnvironmentSettings._set_parameters),
        _option("pipeline.operator-chaining.enabled", "boolean", _store("chaining")),
        _option("pipeline.operator-chaining", "boolean", _store("chaining")),
        _option("execution.runtime-mode", "string", EnvironmentSettings.set_mode),
        _option("execution.checkpointing.interval", "duration",
                lambda s, v: s.checkpoints.set_checkpoint_interval(v)),
        _option("execution.checkpointing.mode", "string",
                EnvironmentSettings._set_mode_of_checkpoints),
        _option("execution.checkpointing.dir", "string",
                lambda s, v: s.checkpoints.set_checkpoint_storage_dir(v)),
        _option("state.checkpoints.dir", "string",
                lambda s, v: s.checkpoints.set_checkpoint_storage_dir(v)),
        _option("execution.checkpointing.min-pause", "duration",
                lambda s, v: s.checkpoints.set_min_pause_between_checkpoints(v)),
        _option("execution.checkpointing.num-retained", "int",
                lambda s, v: s.checkpoints._set_retained(v)),
        _option("state.checkpoints.num-retained", "int",
                lambda s, v: s.checkpoints._set_retained(v)),
        _option("execution.checkpointing.tolerable-failed-checkpoints", "int",
                lambda s, v: s.checkpoints.set_tolerable_checkpoint_failure_number(v)),
        _option("execution.checkpointing.savepoint-dir", "string",
                EnvironmentSettings.set_savepoint_directory),
        _option("state.savepoints.dir", "string", EnvironmentSettings.set_savepoint_directory),
        _option("execution.state-recovery.path", "string", _store("savepoint_path")),
        _option("execution.savepoint.path", "string", _store("savepoint_path")),
        _option("execution.state-recovery.ignore-unclaimed-state", "boolean",
                _store("allow_non_restored_state")),
        _option("execution.savepoint.ignore-unclaimed-state", "boolean",
                _store("allow_non_restored_state")),
        _option(_RESTART, "string", lambda s, v: s.restart_keys.update(type=v)),
        _restart_option("type", "string"),
        _restart_option("fixed-delay.attempts", "int"),
        _restart_option("fixed-delay.delay", "duration"),
        _restart_option("exponential-delay.initial-backoff", "duration"),
        _restart_option("exponential-delay.max-backoff", "duration"),
        _restart_option("exponential-delay.backoff-multiplier", "double"),
        _restart_option("exponential-delay.reset-backoff-threshold", "duration"),
        _restart_option("exponential-delay.jitter-factor", "double"),
        _restart_option("exponential-delay.attempts-before-reset-backoff", "int"),
        _restart_option("failure-rate.max-failures-per-interval", "int"),
        _restart_option("failure-rate.failure-rate-interval", "duration"),
        _restart_option("failure-rate.delay", "duration"),
        _option("millstream.slots", "int", EnvironmentSettings.set_slots),
        _option("millstream.channel-order", "string", EnvironmentSettings.set_channel_order),
        _option("millstream.progress", "string", EnvironmentSettings._set_progress),
        _option("millstream.trust", "boolean", _store("trust")),
        _option("millstream.on-error", "string",
                _pass_on("millstream.on-error", lambda k, v: _one_of(k, v, ("fail", "skip")))),
        _option("millstream.epoch.max-bytes", "string",
                _pass_on("millstream.epoch.max-bytes", _bytes)),
        _option("millstream.epoch.max-files", "long",
                _pass_on("millstream.epoch.max-files", _at_least_one)),
        _option("millstream.epoch.max-records", "long",
                _pass_on("millstream.epoch.max-records", _at_least_one)),
        _option("millstream.files.reader", "string",
                _pass_on("millstream.files.reader", lambda k, v: _one_of(k, v, ("auto", "spark")))),
        _option("millstream.worker.memory", "string",
                _pass_on("millstream.worker.memory", _bytes_or_none)),
    ]
)  # fmt: skip
