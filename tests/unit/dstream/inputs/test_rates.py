"""Limits of rates, and the estimate that follows the batches: Spark's own expectations."""

from __future__ import annotations

import random
from typing import Any

import pytest

from millstream.dstream.inputs.rates import PIDRateEstimator, RateLimiter, rate_controller
from millstream.dstream.listener import BatchInfo, BatchTime, StreamInputInfo, notify


class Clock:
    """A clock that waiting moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        return False


def test_a_limit_spreads_records_over_time() -> None:
    clock = Clock()
    limiter = RateLimiter(10.0, 0.0, clock.wait, clock)
    for _ in range(21):
        limiter.acquire()
    assert clock.now == pytest.approx(2.0)


def test_without_a_limit_nobody_waits() -> None:
    clock = Clock()
    limiter = RateLimiter(0.0, 0.0, clock.wait, clock)
    for _ in range(1000):
        limiter.acquire()
    assert (clock.now, limiter.rate) == (0.0, 0.0)


def test_nothing_raises_the_highest_limit() -> None:
    limiter = RateLimiter(10.0, 5.0, lambda seconds: False, Clock())
    rates = [limiter.rate]
    for rate in (8.0, 100.0, -1.0):
        limiter.update(rate)
        rates.append(limiter.rate)
    assert rates == [5.0, 8.0, 10.0, 10.0]


# What follows are the cases of Spark's PIDRateEstimatorSuite.


def estimator(p: float = 1.0, i: float = 0.0, d: float = 0.0, lowest: float = 10.0) -> Any:
    return PIDRateEstimator(20, p, i, d, lowest)


def test_the_first_batch_is_measured_only() -> None:
    assert estimator().compute(0, 10, 10, 0) is None


def test_the_second_estimate_is_a_rate() -> None:
    found = estimator()
    found.compute(0, 10, 10, 0)
    assert found.compute(10, 10, 10, 0) == 1000.0


@pytest.mark.parametrize(("time", "records", "took"), [(0, 10, 10), (10, 0, 10), (10, 10, 0)])
def test_batches_that_say_nothing(time: int, records: int, took: int) -> None:
    found = estimator()
    found.compute(0, 10, 10, 0)
    assert found.compute(time, records, took, 0) is None


def test_no_rate_is_below_the_lowest() -> None:
    for lowest in (5.0, 10.0, 100.0):
        found = estimator(1, 1, 0, lowest)
        found.compute(0, 10, 10, 0)
        for place in range(1, 50):
            rate = found.compute(place * 10, 1, 20, place * 10)
            assert rate is not None
            assert rate >= lowest


def test_steady_batches_without_delay_give_a_steady_rate() -> None:
    found = estimator(1.0, 1.0, 0.0)
    rates = [found.compute((n + 1) * 20, n + 1, n + 1, 0) for n in range(50)]
    assert rates == [None, *[1000.0] * 49]


def test_the_proportional_term_follows_the_speed() -> None:
    draw = random.Random(1)
    found = estimator(1.0, 0.0, 0.0)
    records = [draw.randint(1, 50) for _ in range(50)]
    rates = [found.compute((n + 1) * 20, x, 20, 0) for n, x in enumerate(records)]
    assert rates[1:] == [pytest.approx(max(x / 20 * 1000, 10.0)) for x in records[1:]]


def test_back_pressure_hears_of_its_own_input() -> None:
    published: list[float] = []
    on = {"spark.streaming.backpressure.enabled": "true"}
    assert rate_controller({}, 3, 1000, published.append) is None
    controller = rate_controller(on, 3, 1000, published.append)
    assert controller is not None
    for end, stream in ((1100, 3), (2100, 4), (3100, 3)):
        done = BatchInfo(
            BatchTime(end - 100),
            end - 100,
            end - 100,
            end,
            inputs={stream: StreamInputInfo(stream, 50)},
        )
        notify([controller], "onBatchCompleted", batchInfo=done)
    assert published == [500.0]
