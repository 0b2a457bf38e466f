"""Settings of restarts, savepoints and kept checkpoints, by method and by configuration key."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from millstream.common import RestartStrategies
from millstream.common.configuration import Configuration
from millstream.common.errors import ConfigurationError
from millstream.datastream import StreamExecutionEnvironment as Env
from millstream.plan.options import JobOptions, retained_epochs


def options_of(settings: dict[str, Any]) -> JobOptions:
    env = Env.get_execution_environment(Configuration.from_dict(settings))
    return env._settings.options(None)


# -- restarts -------------------------------------------------------------------------------------


def test_the_strategy_of_the_program_reaches_the_job(env: Env) -> None:
    assert env.get_restart_strategy() is None
    assert env._settings.options(None).restart is None
    strategy = RestartStrategies.fixed_delay_restart(2, "1 s")
    env.set_restart_strategy(strategy)
    assert env.get_restart_strategy() == strategy
    assert env._settings.options(None).restart == strategy


def test_falling_back_is_saying_nothing(env: Env) -> None:
    env.set_restart_strategy(RestartStrategies.no_restart())
    env.set_restart_strategy(RestartStrategies.fall_back_restart())
    assert env._settings.options(None).restart is None


def test_anything_else_is_refused(env: Env) -> None:
    with pytest.raises(ConfigurationError) as caught:
        env.set_restart_strategy("fixed-delay")  # type: ignore[arg-type]
    assert caught.value.location is not None and caught.value.location.file == __file__


@pytest.mark.parametrize("key", ["restart-strategy.type", "restart-strategy"])
def test_a_strategy_by_key(key: str) -> None:
    found = options_of(
        {
            "restart-strategy.fixed-delay.delay": "10 s",
            key: "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "3",
        }
    )
    assert found.restart == RestartStrategies.fixed_delay_restart(3, "10 s")


def test_all_keys_of_strategies_are_read_as_what_they_are() -> None:
    base = "restart-strategy.exponential-delay."
    found = options_of(
        {
            "restart-strategy.type": "exponential-delay",
            f"{base}initial-backoff": "2 s",
            f"{base}max-backoff": "30 s",
            f"{base}backoff-multiplier": "1.25",
            f"{base}reset-backoff-threshold": "10 min",
            f"{base}jitter-factor": "0.2",
            f"{base}attempts-before-reset-backoff": "9",
        }
    )
    assert found.restart == RestartStrategies.exponential_delay_restart(
        "2 s", "30 s", 1.25, "10 min", 0.2, 9
    )
    base = "restart-strategy.failure-rate."
    found = options_of(
        {
            "restart-strategy.type": "failure-rate",
            f"{base}max-failures-per-interval": "4",
            f"{base}failure-rate-interval": "5 min",
            f"{base}delay": "3 s",
        }
    )
    assert found.restart == RestartStrategies.failure_rate_restart(4, "5 min", "3 s")


def test_the_last_word_counts(env: Env) -> None:
    env.configure(Configuration.from_dict({"restart-strategy.type": "none"}))
    strategy = RestartStrategies.fixed_delay_restart(2, "1 s")
    env.set_restart_strategy(strategy)
    assert env._settings.options(None).restart == strategy
    env.configure(Configuration.from_dict({"restart-strategy.type": "off"}))
    assert env._settings.options(None).restart == RestartStrategies.no_restart()


@pytest.mark.parametrize(
    "settings",
    [
        {"restart-strategy.type": "sometimes"},
        {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": -1},
        {"restart-strategy.fixed-delay.attempts": "many"},
    ],
)
def test_keys_that_make_no_sense_are_refused_at_once(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        options_of(settings)
    assert caught.value.location is not None and caught.value.location.file == __file__


# -- savepoints -----------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["execution.checkpointing.savepoint-dir", "state.savepoints.dir"])
def test_the_directory_of_savepoints_by_key(env: Env, key: str) -> None:
    env.configure(Configuration.from_dict({key: "s3a://b/savepoints"}))
    assert env.get_default_savepoint_directory() == "s3a://b/savepoints"
    assert env._settings.options(None).savepoint_dir == "s3a://b/savepoints"


def test_the_directory_of_savepoints_by_method(env: Env) -> None:
    assert env._settings.options(None).savepoint_dir is None
    env.set_default_savepoint_directory("/s")
    assert env._settings.options(None).savepoint_dir == "/s"


@pytest.mark.parametrize("key", ["execution.state-recovery.path", "execution.savepoint.path"])
def test_the_savepoint_to_begin_from(key: str) -> None:
    assert options_of({key: "/s/1"}).savepoint_path == "/s/1"
    assert options_of({}).savepoint_path is None


@pytest.mark.parametrize(
    "key",
    [
        "execution.state-recovery.ignore-unclaimed-state",
        "execution.savepoint.ignore-unclaimed-state",
    ],
)
def test_state_that_nobody_claims(key: str) -> None:
    assert options_of({key: "true"}).allow_non_restored_state is True
    assert options_of({key: False}).allow_non_restored_state is False
    assert options_of({}).allow_non_restored_state is False


# -- checkpoints ----------------------------------------------------------------------------------


def test_the_pause_between_checkpoints_has_an_effect(env: Env, noted: list[str]) -> None:
    assert env._settings.options(None).min_pause_ms == 0
    env.get_checkpoint_config().set_min_pause_between_checkpoints("2 s")
    assert env._settings.options(None).min_pause_ms == 2_000
    assert options_of({"execution.checkpointing.min-pause": "3 s"}).min_pause_ms == 3_000
    assert noted == []


def test_how_many_checkpoints_are_kept() -> None:
    assert options_of({}).retained_checkpoints is None
    assert options_of({"execution.checkpointing.num-retained": 7}).retained_checkpoints == 7
    assert options_of({"state.checkpoints.num-retained": 7}).retained_checkpoints == 7
    with pytest.raises(ConfigurationError):
        options_of({"execution.checkpointing.num-retained": 0})


def test_failed_checkpoints_by_key_are_explained_with_restarts(
    noted: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="millstream"):
        options_of({"execution.checkpointing.tolerable-failed-checkpoints": 3})
    assert "restart strategy" in caplog.text


def test_nothing_said_nothing_changed() -> None:
    found = options_of({})
    assert found.checkpoint_interval_ms is None and found.checkpoint_dir is None
    assert found.command == tuple(sys.orig_argv)


@pytest.mark.parametrize(
    ("interval", "pause", "kept", "epochs"),
    [
        (None, 0, None, 900),
        (1_000, 0, None, 900),
        (100, 0, None, 9_000),
        (7, 0, None, 128_572),
        (100, 1_000, None, 900),
        (None, 3_000, None, 300),
        (60_000, 0, None, 100),
        (60_000, 0, 500, 500),
        (1_000, 0, 3, 900),
    ],
)
def test_a_quarter_of_an_hour_of_epochs_is_kept(
    interval: int | None, pause: int, kept: int | None, epochs: int
) -> None:
    chosen = JobOptions(
        checkpoint_interval_ms=interval, min_pause_ms=pause, retained_checkpoints=kept
    )
    assert retained_epochs(chosen) == epochs
