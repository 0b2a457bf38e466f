"""Whether a job that has failed starts again, and how long it waits before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from millstream.common.errors import ConfigurationError, short_repr, user_location
from millstream.common.time import positive_millis, to_millis
from millstream.common.type_aliases import DurationLike

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]

NO_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class RestartStrategyConfiguration:
    """The rule by which a job starts again; made with `RestartStrategies`.

    Examples
    --------
    >>> RestartStrategies.no_restart().get_description()
    'no restart'
    """

    def get_description(self) -> str:
        """Say the rule in words."""
        return "the default: with a checkpoint directory a few restarts, else none"

    def delay_ms(self, failures_ms: Sequence[int], random: float) -> int | None:
        """How long to wait after the last of these failures; None to give up.

        Parameters
        ----------
        failures_ms
            When the job failed, each time until now.
        random
            A number from -1 to 1, for strategies that scatter their delays.
        """
        return None


@dataclass(frozen=True)
class _NoRestart(RestartStrategyConfiguration):
    """A job that fails has ended."""

    def get_description(self) -> str:
        """Say the rule in words."""
        return "no restart"


@dataclass(frozen=True)
class _FixedDelay(RestartStrategyConfiguration):
    """A fixed number of restarts, each after the same delay."""

    attempts: int
    delay: int

    def get_description(self) -> str:
        """Say the rule in words."""
        return f"at most {self.attempts} restarts, {_seconds(self.delay)} after the failure"

    def get_restart_attempts(self) -> int:
        """Return how many restarts there are at most."""
        return self.attempts

    def get_delay_between_attempts_interval(self) -> timedelta:
        """Return the time from a failure to the restart."""
        return timedelta(milliseconds=self.delay)

    def delay_ms(self, failures_ms: Sequence[int], random: float) -> int | None:
        """How long to wait after the last of these failures; None to give up."""
        return self.delay if len(failures_ms) <= self.attempts else None


@dataclass(frozen=True)
class _FailureRate(RestartStrategyConfiguration):
    """A limited number of restarts within an interval of time."""

    failures: int
    interval: int
    delay: int

    def get_description(self) -> str:
        """Say the rule in words."""
        return (
            f"at most {self.failures} restarts in {_seconds(self.interval)}, "
            f"{_seconds(self.delay)} after the failure"
        )

    def get_max_failure_rate(self) -> int:
        """Return how many failures an interval may have."""
        return self.failures

    def get_failure_interval(self) -> timedelta:
        """Return the interval in which failures are counted."""
        return timedelta(milliseconds=self.interval)

    def get_delay_between_attempts_interval(self) -> timedelta:
        """Return the time from a failure to the restart."""
        return timedelta(milliseconds=self.delay)

    def delay_ms(self, failures_ms: Sequence[int], random: float) -> int | None:
        """How long to wait after the last of these failures; None to give up."""
        now = failures_ms[-1]
        recent = sum(now - when <= self.interval for when in failures_ms[-self.failures - 1 :])
        return self.delay if recent <= self.failures else None


@dataclass(frozen=True)
class _ExponentialDelay(RestartStrategyConfiguration):
    """A delay that grows from failure to failure, until the job has run well for some time."""

    initial_backoff: int
    max_backoff: int
    backoff_multiplier: float
    reset_backoff_threshold: int
    jitter_factor: float
    attempts: int = NO_LIMIT

    def get_description(self) -> str:
        """Say the rule in words."""
        limit = "" if self.attempts == NO_LIMIT else f"at most {self.attempts} restarts, "
        return (
            f"{limit}{_seconds(self.initial_backoff)} after the failure, "
            f"{self.backoff_multiplier:g} times as long after each further one up to "
            f"{_seconds(self.max_backoff)}, "
            f"starting again after {_seconds(self.reset_backoff_threshold)} without one"
        )

    def delay_ms(self, failures_ms: Sequence[int], random: float) -> int | None:
        """How long to wait after the last of these failures; None to give up."""
        backoff, attempt, last = float(self.initial_backoff), 0, failures_ms[0]
        for when in failures_ms:
            attempt += 1
            if when - last >= self.reset_backoff_threshold + backoff:
                backoff, attempt = float(self.initial_backoff), 1
            elif attempt > 1:
                backoff = min(backoff * self.backoff_multiplier, self.max_backoff)
            last = when
        if attempt > self.attempts:
            return None
        return min(int(backoff * (1 + random * self.jitter_factor)), self.max_backoff)


class RestartStrategies:
    """Makes the rules by which a job that has failed starts again, for ``env.set_restart_strategy``.

    Without one, a job with a checkpoint directory is restarted a few times, others are not. A job
    goes on from its last checkpoint. An error that a restart cannot solve, such as a mistake in
    the program found while it starts, ends the job at once.

    Examples
    --------
    >>> strategy = RestartStrategies.fixed_delay_restart(3, "10 s")
    >>> strategy.get_description()
    'at most 3 restarts, 10 s after the failure'
    """

    NoRestartStrategyConfiguration = _NoRestart
    FixedDelayRestartStrategyConfiguration = _FixedDelay
    FailureRateRestartStrategyConfiguration = _FailureRate
    ExponentialDelayRestartStrategyConfiguration = _ExponentialDelay
    FallbackRestartStrategyConfiguration = RestartStrategyConfiguration

    @staticmethod
    def no_restart() -> _NoRestart:
        """A job that fails has ended."""
        return _NoRestart()

    @staticmethod
    def fall_back_restart() -> RestartStrategyConfiguration:
        """The default: with a checkpoint directory a few restarts, otherwise none."""
        return RestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: DurationLike
    ) -> _FixedDelay:
        """A fixed number of restarts, each after the same delay.

        Parameters
        ----------
        restart_attempts
            How often the job is started again; 0 for never.
        delay_between_attempts
            The time from a failure to the restart: milliseconds, ``"10 s"``, a `timedelta`.
        """
        attempts = _whole("restart_attempts", restart_attempts, 0)
        return _FixedDelay(attempts, to_millis(delay_between_attempts, "the delay of restarts"))

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: DurationLike, delay_interval: DurationLike
    ) -> _FailureRate:
        """Allow a number of restarts within an interval; one more failure ends the job.

        Parameters
        ----------
        failure_rate
            How many failures an interval may have.
        failure_interval
            The interval, which ends with the last failure.
        delay_interval
            The time from a failure to the restart.
        """
        return _FailureRate(
            _whole("failure_rate", failure_rate, 1),
            positive_millis(failure_interval, "failure_interval"),
            to_millis(delay_interval, "the delay of restarts"),
        )

    @staticmethod
    def exponential_delay_restart(
        initial_backoff: DurationLike,
        max_backoff: DurationLike,
        backoff_multiplier: float,
        reset_backoff_threshold: DurationLike,
        jitter_factor: float,
        attempts_before_reset_backoff: int = NO_LIMIT,
    ) -> _ExponentialDelay:
        """A delay that grows with each failure.

        Parameters
        ----------
        initial_backoff
            The first delay.
        max_backoff
            The longest delay.
        backoff_multiplier
            How much longer a delay is than the one before it; above 1.
        reset_backoff_threshold
            After this time without a failure the delay is the first one again, and the attempts
            are counted from 0 again.
        jitter_factor
            The part of the delay, from 0 to 1, by which it is made longer or shorter at random, so
            that many jobs do not start at once.
        attempts_before_reset_backoff
            How often the job is started again; without it, as often as it fails.
        """
        first = positive_millis(initial_backoff, "initial_backoff")
        longest = positive_millis(max_backoff, "max_backoff")
        if longest < first:
            raise _bad("max_backoff", max_backoff, "give at least the initial backoff")
        return _ExponentialDelay(
            first,
            longest,
            _number("backoff_multiplier", backoff_multiplier, 1.0, None),
            positive_millis(reset_backoff_threshold, "reset_backoff_threshold"),
            _number("jitter_factor", jitter_factor, 0.0, 1.0),
            _whole("attempts_before_reset_backoff", attempts_before_reset_backoff, 1),
        )


DEFAULT_WITH_CHECKPOINTS = _ExponentialDelay(1_000, 60_000, 1.5, 3_600_000, 0.1, attempts=3)
"""What is done if nothing was said: a mistake in the program shows soon, an outage may pass."""


class Restarts:
    """Applies a strategy to the failures of one job, as they come.

    Parameters
    ----------
    strategy : RestartStrategyConfiguration
        The rule.
    now_ms : callable
        A clock that does not go back.
    random : callable
        Gives a number from -1 to 1.

    Examples
    --------
    >>> restarts = Restarts(RestartStrategies.fixed_delay_restart(2, "5 s"), lambda: 0, lambda: 0.0)
    >>> [restarts.after_failure() for _ in range(3)]
    [5000, 5000, None]
    """

    def __init__(
        self,
        strategy: RestartStrategyConfiguration,
        now_ms: Callable[[], int],
        random: Callable[[], float],
    ) -> None:
        self.strategy = strategy
        self.count = 0
        self._now_ms = now_ms
        self._random = random
        self._failures_ms: list[int] = []

    def after_failure(self, strategy: RestartStrategyConfiguration | None = None) -> int | None:
        """How many milliseconds to wait before the next start; None if there is to be none.

        ``strategy``: the rule for this failure, if it is another one.
        """
        self._failures_ms.append(self._now_ms())
        delay = (strategy or self.strategy).delay_ms(self._failures_ms, self._random())
        self.count += delay is not None
        return delay


def strategy_from(keys: Mapping[str, Any]) -> RestartStrategyConfiguration | None:
    """The strategy that Flink's keys ask for, None if they do not say which.

    Parameters
    ----------
    keys
        Values by the rest of the key after ``restart-strategy.``; times in milliseconds.

    Examples
    --------
    >>> strategy_from({"type": "fixed-delay", "fixed-delay.attempts": 4}).get_description()
    'at most 4 restarts, 1 s after the failure'
    """
    name = keys.get("type")
    if name is None:
        return None
    kind = str(name).strip().lower()
    if kind not in _BY_NAME:
        raise _bad("restart-strategy.type", name, f"use one of {', '.join(_BY_NAME)}")
    return _BY_NAME[kind](lambda key, default: keys.get(f"{kind}.{key}", default))


_Getter = Callable[[str, Any], Any]


def _none_by_key(_: _Getter) -> RestartStrategyConfiguration:
    return RestartStrategies.no_restart()


def _fixed_by_key(get: _Getter) -> RestartStrategyConfiguration:
    return RestartStrategies.fixed_delay_restart(get("attempts", 1), get("delay", "1 s"))


def _rate_by_key(get: _Getter) -> RestartStrategyConfiguration:
    return RestartStrategies.failure_rate_restart(
        get("max-failures-per-interval", 1),
        get("failure-rate-interval", "1 min"),
        get("delay", "1 s"),
    )


def _exponential_by_key(get: _Getter) -> RestartStrategyConfiguration:
    return RestartStrategies.exponential_delay_restart(
        get("initial-backoff", "1 s"),
        get("max-backoff", "1 min"),
        get("backoff-multiplier", 1.5),
        get("reset-backoff-threshold", "1 h"),
        get("jitter-factor", 0.1),
        get("attempts-before-reset-backoff", NO_LIMIT),
    )


_BY_NAME: dict[str, Callable[[_Getter], RestartStrategyConfiguration]] = {
    "none": _none_by_key,
    "off": _none_by_key,
    "disable": _none_by_key,
    "fixed-delay": _fixed_by_key,
    "exponential-delay": _exponential_by_key,
    "failure-rate": _rate_by_key,
}


def _seconds(millis: int) -> str:
    return f"{millis / 1_000:g} s"


def _whole(what: str, number: object, least: int) -> int:
    if isinstance(number, int) and not isinstance(number, bool) and number >= least:
        return number
    raise _bad(what, number, f"give a whole number of at least {least}")


def _number(what: str, number: object, low: float, high: float | None) -> float:
    """A number above ``low``, or from ``low`` to ``high``."""
    if isinstance(number, int | float) and not isinstance(number, bool):
        if number > low if high is None else low <= number <= high:
            return float(number)
    wanted = f"above {low:g}" if high is None else f"from {low:g} to {high:g}"
    raise _bad(what, number, f"give a number {wanted}")


def _bad(what: str, value: object, hint: str) -> ConfigurationError:
    return ConfigurationError(
        "INVALID_OPTION_VALUE",
        f"{what} cannot be {short_repr(value)}",
        parameters={"key": what, "value": value},
        location=user_location(),
        hint=hint,
    )
