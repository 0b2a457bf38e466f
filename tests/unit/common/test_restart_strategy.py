"""Restart strategies: when a failed job starts again, and when it does not."""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any

import pytest

from millstream.common import RestartStrategies
from millstream.common.errors import ConfigurationError, MillstreamError
from millstream.common.restart_strategy import (
    DEFAULT_WITH_CHECKPOINTS,
    Restarts,
    RestartStrategyConfiguration,
    strategy_from,
)

NEVER = 10**12


def delays(
    strategy: RestartStrategyConfiguration, times: list[int], random: float = 0.0
) -> list[int | None]:
    """What the strategy says after each of the failures at these times."""
    clock = iter(times)
    restarts = Restarts(strategy, lambda: next(clock), lambda: random)
    return [restarts.after_failure() for _ in times]


def exponential(**changes: Any) -> RestartStrategyConfiguration:
    arguments = {
        "initial_backoff": "1 s",
        "max_backoff": "10 s",
        "backoff_multiplier": 2.0,
        "reset_backoff_threshold": "1 min",
        "jitter_factor": 0.0,
    }
    return RestartStrategies.exponential_delay_restart(**{**arguments, **changes})


def test_no_restart_never_restarts() -> None:
    assert delays(RestartStrategies.no_restart(), [0, NEVER]) == [None, None]


def test_a_fixed_delay_allows_so_many_restarts_however_far_apart() -> None:
    strategy = RestartStrategies.fixed_delay_restart(2, timedelta(seconds=5))
    assert delays(strategy, [0, NEVER, 2 * NEVER]) == [5_000, 5_000, None]
    assert delays(RestartStrategies.fixed_delay_restart(0, 5), [0]) == [None]


def test_a_failure_rate_allows_so_many_failures_in_an_interval() -> None:
    strategy = RestartStrategies.failure_rate_restart(2, "10 s", "1 s")
    assert delays(strategy, [0, 4_000, 10_000]) == [1_000, 1_000, None]
    assert delays(strategy, [0, 4_000, 10_001, 14_001]) == [1_000, 1_000, 1_000, 1_000]
    assert delays(strategy, [0, 4_000, 10_001, 13_999]) == [1_000, 1_000, 1_000, None]


def test_an_exponential_delay_grows_up_to_its_limit() -> None:
    times = [n * 20_000 for n in range(6)]
    assert delays(exponential(), times) == [1_000, 2_000, 4_000, 8_000, 10_000, 10_000]


def test_an_exponential_delay_begins_anew_after_a_time_without_failures() -> None:
    # The job ran for a minute after a delay of 2 s, so the third failure counts as a first.
    assert delays(exponential(), [0, 5_000, 67_000]) == [1_000, 2_000, 1_000]
    assert delays(exponential(), [0, 5_000, 66_999]) == [1_000, 2_000, 4_000]


def test_attempts_of_an_exponential_delay_are_counted_anew_with_the_delay() -> None:
    strategy = exponential(attempts_before_reset_backoff=2)
    assert delays(strategy, [0, 1, 2]) == [1_000, 2_000, None]
    assert delays(strategy, [0, 1, 62_001, 62_002, 62_003]) == [1_000, 2_000, 1_000, 2_000, None]


def test_jitter_moves_the_delay_both_ways_but_not_beyond_the_limit() -> None:
    jittered = exponential(jitter_factor=0.5)
    times = [0, 1, 2, 3, 4]
    assert delays(jittered, times, 1.0) == [1_500, 3_000, 6_000, 10_000, 10_000]
    assert delays(jittered, times, -1.0) == [500, 1_000, 2_000, 4_000, 5_000]


def test_the_default_with_checkpoints_is_three_attempts_from_a_second() -> None:
    assert delays(DEFAULT_WITH_CHECKPOINTS, [0, 1, 2, 3]) == [1_000, 1_500, 2_250, None]


def test_restarts_are_counted() -> None:
    restarts = Restarts(RestartStrategies.fixed_delay_restart(2, 0), lambda: 0, lambda: 0.0)
    for _ in range(4):
        restarts.after_failure()
    assert restarts.count == 2


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: RestartStrategies.fixed_delay_restart(-1, 5), "restart_attempts"),
        (lambda: RestartStrategies.fixed_delay_restart(True, 5), "restart_attempts"),
        (lambda: RestartStrategies.fixed_delay_restart(1, "soon"), "delay"),
        (lambda: RestartStrategies.failure_rate_restart(0, 5, 5), "failure_rate"),
        (lambda: RestartStrategies.failure_rate_restart(1, 0, 5), "failure_interval"),
        (lambda: exponential(initial_backoff=0), "initial_backoff"),
        (lambda: exponential(max_backoff=1), "max_backoff"),
        (lambda: exponential(backoff_multiplier=1.0), "backoff_multiplier"),
        (lambda: exponential(backoff_multiplier="2"), "backoff_multiplier"),
        (lambda: exponential(jitter_factor=1.5), "jitter_factor"),
        (lambda: exponential(attempts_before_reset_backoff=0), "attempts_before_reset_backoff"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(make: Any, problem: str) -> None:
    with pytest.raises(MillstreamError) as caught:
        make()
    assert problem in caught.value.message
    assert caught.value.location is not None and caught.value.location.file == __file__


def test_strategies_are_values_with_flinks_getters() -> None:
    fixed = RestartStrategies.fixed_delay_restart(3, "10 s")
    assert fixed == RestartStrategies.fixed_delay_restart(3, 10_000)
    assert fixed != RestartStrategies.fixed_delay_restart(4, 10_000)
    assert hash(fixed) == hash(pickle.loads(pickle.dumps(fixed)))
    assert fixed.get_restart_attempts() == 3
    assert fixed.get_delay_between_attempts_interval() == timedelta(seconds=10)
    rate = RestartStrategies.failure_rate_restart(2, "1 min", "3 s")
    assert isinstance(rate, RestartStrategies.FailureRateRestartStrategyConfiguration)
    assert rate.get_max_failure_rate() == 2
    assert rate.get_failure_interval() == timedelta(minutes=1)
    assert rate.get_delay_between_attempts_interval() == timedelta(seconds=3)
    described = {
        strategy.get_description()
        for strategy in (
            fixed,
            rate,
            exponential(),
            RestartStrategies.no_restart(),
            RestartStrategies.fall_back_restart(),
        )
    }
    assert len(described) == 5
    assert "3" in fixed.get_description() and "10 s" in fixed.get_description()


# -- by configuration keys ------------------------------------------------------------------------


def test_without_a_type_there_is_no_strategy() -> None:
    assert strategy_from({}) is None
    assert strategy_from({"fixed-delay.attempts": 3}) is None


@pytest.mark.parametrize("name", ["none", "off", "disable", "NONE"])
def test_no_restart_by_key(name: str) -> None:
    assert strategy_from({"type": name}) == RestartStrategies.no_restart()


def test_strategies_by_key_have_flinks_defaults() -> None:
    assert strategy_from({"type": "fixed-delay"}) == RestartStrategies.fixed_delay_restart(1, "1 s")
    assert strategy_from({"type": "failure-rate"}) == RestartStrategies.failure_rate_restart(
        1, "1 min", "1 s"
    )
    assert strategy_from(
        {"type": "exponential-delay"}
    ) == RestartStrategies.exponential_delay_restart("1 s", "1 min", 1.5, "1 h", 0.1)


def test_strategies_by_key_take_their_own_keys() -> None:
    keys = {
        "fixed-delay.attempts": 7,
        "fixed-delay.delay": 70,
        "failure-rate.max-failures-per-interval": 4,
        "failure-rate.failure-rate-interval": 40,
        "failure-rate.delay": 41,
        "exponential-delay.initial-backoff": 10,
        "exponential-delay.max-backoff": 20,
        "exponential-delay.backoff-multiplier": 3.0,
        "exponential-delay.reset-backoff-threshold": 30,
        "exponential-delay.jitter-factor": 0.2,
        "exponential-delay.attempts-before-reset-backoff": 5,
    }
    assert strategy_from({"type": "fixed-delay", **keys}) == RestartStrategies.fixed_delay_restart(
        7, 70
    )
    assert strategy_from(
        {"type": "failure-rate", **keys}
    ) == RestartStrategies.failure_rate_restart(4, 40, 41)
    assert strategy_from(
        {"type": "exponential-delay", **keys}
    ) == RestartStrategies.exponential_delay_restart(10, 20, 3.0, 30, 0.2, 5)


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ConfigurationError) as caught:
        strategy_from({"type": "sometimes"})
    assert caught.value.code == "INVALID_OPTION_VALUE"
    assert "fixed-delay" in (caught.value.hint or "")
