"""How many records per second inputs may take: fixed limits, and limits that follow the batches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from millstream.dstream.inputs.options import is_on, number_of
from millstream.dstream.listener import StreamingListener

__all__ = ["PIDRateEstimator", "RateController", "RateLimiter", "rate_controller"]


class RateLimiter:
    """Lets at most so many records per second through; the others wait.

    Parameters
    ----------
    highest : float
        The limit that nothing can raise; 0 is none.
    rate : float
        The limit to begin with; 0 is none.
    wait : callable
        Waits so many seconds. It returns True if nobody needs the limit any more.
    now : callable
        The time in seconds.
    """

    def __init__(
        self,
        highest: float,
        rate: float,
        wait: Callable[[float], bool],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._highest = highest
        self._rate = 0.0
        self._wait = wait
        self._now = now
        self._free = now()
        self._lock = threading.Lock()
        self.update(rate or highest)

    @property
    def rate(self) -> float:
        """The limit now; 0 if there is none."""
        return self._rate

    def update(self, rate: float) -> None:
        """Set the limit, at most to the highest one."""
        if rate > 0:
            self._rate = min(rate, self._highest) if self._highest > 0 else rate

    def acquire(self) -> None:
        """Wait until another record may come."""
        if self._rate <= 0:
            return
        with self._lock:
            now = self._now()
            begins = max(self._free, now)
            self._free = begins + 1 / self._rate
        if begins > now:
            self._wait(begins - now)


@dataclass
class PIDRateEstimator:
    """An estimate of how many records per second can be processed, as Spark makes it.

    It is a controller of proportional, integral and derivative terms over the error, the rate that was
    set minus the rate at which the last batch was processed.

    Examples
    --------
    >>> estimator = PIDRateEstimator(batch_ms=1000, lowest=10)
    >>> estimator.compute(1000, 500, 1000, 0)  # the first batch is measured only
    >>> estimator.compute(2000, 500, 2000, 0)
    250.0
    """

    batch_ms: int
    proportional: float = 1.0
    integral: float = 0.2
    derivative: float = 0.0
    lowest: float = 100.0
    _time_ms: int = -1
    _rate: float = -1.0
    _error: float = -1.0
    _first: bool = True

    def compute(
        self, time_ms: int, records: int, processing_ms: int, scheduling_ms: int
    ) -> float | None:
        """The rate after a batch; None if the batch says nothing.

        Parameters
        ----------
        time_ms
            When the batch was done.
        records
            How many records it had.
        processing_ms
            How long it was processed.
        scheduling_ms
            How long it had waited for other batches.
        """
        if time_ms <= self._time_ms or records <= 0 or processing_ms <= 0:
            return None
        since = (time_ms - self._time_ms) / 1000
        processed = records / processing_ms * 1000
        error = self._rate - processed
        waiting = scheduling_ms * processed / self.batch_ms
        rate = max(
            self._rate
            - self.proportional * error
            - self.integral * waiting
            - self.derivative * (error - self._error) / since,
            self.lowest,
        )
        self._time_ms = time_ms
        if self._first:
            self._first, self._rate, self._error = False, processed, 0.0
            return None
        self._rate, self._error = rate, error
        return rate


class RateController(StreamingListener):
    """Listens how long batches take, and sets the rate of an input.

    Parameters
    ----------
    stream_id : int
        The number of the input.
    estimator : PIDRateEstimator
        Computes the rates.
    publish : callable
        Hears each new rate.
    """

    def __init__(
        self,
        stream_id: int,
        estimator: PIDRateEstimator,
        publish: Callable[[float], None],
    ) -> None:
        self._stream_id = stream_id
        self._estimator = estimator
        self._publish = publish

    def onBatchCompleted(self, batchCompleted: Any) -> None:
        """Set the rate that the batch shows."""
        info = batchCompleted.batchInfo()
        taken = info.streamIdToInputInfo().get(self._stream_id)
        if taken is None:
            return
        rate = self._estimator.compute(
            info.processingEndTime(),
            int(taken.numRecords),
            info.processingDelay(),
            info.schedulingDelay(),
        )
        if rate is not None and rate > 0:
            self._publish(rate)


def rate_controller(
    conf: Mapping[str, str], stream_id: int, batch_ms: int, publish: Callable[[float], None]
) -> RateController | None:
    """The controller of an input; None if ``spark.streaming.backpressure.enabled`` is not true."""
    if not is_on(conf, "spark.streaming.backpressure.enabled"):
        return None
    pid = "spark.streaming.backpressure.pid"
    estimator = PIDRateEstimator(
        batch_ms,
        number_of(conf, f"{pid}.proportional", 1.0),
        number_of(conf, f"{pid}.integral", 0.2),
        number_of(conf, f"{pid}.derived", 0.0),
        number_of(conf, f"{pid}.minRate", 100.0),
    )
    return RateController(stream_id, estimator, publish)
