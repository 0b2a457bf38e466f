"""Ranges of offsets as batches: each takes what the partitions of Kafka's topics have at its end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from millstream.common.time import MIN_TIMESTAMP
from millstream.connectors.kafka.partitions import channel_of, partition_of
from millstream.connectors.kafka.source import KafkaChannels
from millstream.dstream.inputs.base import Input, InputSite
from millstream.dstream.inputs.kafka_ranges import KafkaMessageAndMetadata, OffsetRange
from millstream.dstream.inputs.options import number_of
from millstream.dstream.inputs.rates import RateController, rate_controller
from millstream.dstream.listener import StreamingListener
from millstream.dstream.rdd import RDD, SparkContext
from millstream.dstream.rdd.sources import Each

__all__ = ["KafkaInput", "KafkaRDD", "KafkaRecords"]

T = TypeVar("T")
_KAFKA = "spark.streaming.kafka."


class KafkaRDD(RDD[T]):
    """A batch of Kafka's records, which knows its offsets. One partition for each range."""

    _ranges: tuple[OffsetRange, ...] = ()

    def offsetRanges(self) -> list[OffsetRange]:
        """The range of each partition, also those without records."""
        return list(self._ranges)

    def _derive(self, *arguments: Any) -> RDD[Any]:
        # What is made of it has other records, so it has no ranges.
        return RDD(self.ctx, *arguments)


class KafkaRecords:
    """Reads ranges of partitions, and makes records of them.

    Parameters
    ----------
    channels : KafkaChannels
        The partitions.
    make : callable
        Makes a record of a message.
    """

    def __init__(
        self, channels: KafkaChannels, make: Callable[[KafkaMessageAndMetadata], Any]
    ) -> None:
        self.channels = channels
        self._make = make
        # A reader stands at one place of its partition.
        self._lock = threading.Lock()

    def rdd(self, context: SparkContext, ranges: Sequence[OffsetRange]) -> KafkaRDD[Any]:
        """The records of ranges; they are read when they are needed, and each time."""
        given = context.from_partitions([[each] for each in ranges], "createDirectStream")
        found: KafkaRDD[Any] = KafkaRDD(
            context, len(ranges), Each(_Reader(self)), (given,), "createDirectStream"
        )
        found._ranges = tuple(ranges)
        return found

    def read(self, given: OffsetRange) -> Iterator[Any]:
        """The records of a range."""
        with self._lock:
            messages = list(self._messages(given))
        return map(self._make, messages)

    def _messages(self, given: OffsetRange) -> Iterator[KafkaMessageAndMetadata]:
        if given.count() == 0:
            return
        channel = channel_of((given.topic, given.partition))
        for chunk in self.channels.read(channel, given.fromOffset, given.untilOffset):
            batch: Any = chunk.values
            columns = (batch.column(name).to_pylist() for name in ("offset", "key", "value"))
            times = chunk.timestamps.tolist()  # type: ignore[union-attr]
            for offset, key, value, time in zip(*columns, times, strict=True):
                yield KafkaMessageAndMetadata(
                    given.topic,
                    given.partition,
                    offset,
                    key,
                    value,
                    timestamp=None if time == MIN_TIMESTAMP else time,
                )

    def close(self) -> None:
        """Close the clients."""
        with self._lock:
            self.channels.close()

    def __getstate__(self) -> dict[str, Any]:
        return {"channels": self.channels, "_make": self._make}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.Lock()


class _Reader:
    """Reads the range in each partition. In a task of Spark it has a client of its own."""

    def __init__(self, records: KafkaRecords, in_task: bool = False) -> None:
        self._records = records
        self._in_task = in_task

    def __call__(self, _: int, ranges: Iterable[OffsetRange]) -> Iterator[Any]:
        try:
            for each in ranges:
                yield from self._records.read(each)
        finally:
            if self._in_task:
                self._records.close()

    def __reduce__(self) -> Any:
        return _Reader, (self._records, True)


class KafkaInput(Input[T]):
    """The records of partitions, without a receiver: the batch log has the offsets of each batch.

    Parameters
    ----------
    records : KafkaRecords
        Reads the partitions.
    conf : mapping
        Spark's configuration: ``spark.streaming.kafka.maxRatePerPartition``, ``minRatePerPartition``
        and ``spark.streaming.backpressure``.
    """

    def __init__(self, records: KafkaRecords, conf: Mapping[str, str]) -> None:
        self._records = records
        self._most = number_of(conf, f"{_KAFKA}maxRatePerPartition", 0.0)
        self._fewest = number_of(conf, f"{_KAFKA}minRatePerPartition", 1.0)
        self._first_rate = number_of(conf, "spark.streaming.backpressure.initialRate", 0.0)
        self._conf = dict(conf)
        self._at: dict[str, int] = {}
        self._rate = 0.0
        self._batch_seconds = 0.0
        self._controller: RateController | None = None

    def open(self, site: InputSite) -> None:
        """Find where partitions begin: what comes from now on belongs to the first batch."""
        self._batch_seconds = site.batch_ms / 1000
        self._controller = rate_controller(self._conf, site.number, site.batch_ms, self._set_rate)
        self._rate = self._first_rate if self._controller else 0.0
        self._ends()

    def _set_rate(self, rate: float) -> None:
        self._rate = rate

    def listener(self) -> StreamingListener | None:
        """The listener that sets the rate after each batch, if back-pressure is on."""
        return self._controller

    def end(self) -> None:
        """Close the clients, which read ahead."""
        self._records.close()

    def _ends(self) -> dict[str, int]:
        """The ends of all partitions; new ones begin where the stream shall begin."""
        channels = self._records.channels
        found = channels.latest_after(self._at)
        ends = {str(channel): int(end or 0) for channel, end in found.items()}
        for channel in ends:
            if channel not in self._at:
                self._at[channel] = int(channels.first(channel))
        return ends

    def take(self, time_ms: int) -> list[OffsetRange]:
        """The ranges up to the ends of the partitions, or up to the highest rate."""
        ends = self._ends()
        lags = {channel: max(end - self._at[channel], 0) for channel, end in ends.items()}
        limits = self._limits(lags)
        ranges = []
        for channel, lag in lags.items():
            start = self._at[channel]
            stop = start + min(lag, limits.get(channel, lag))
            ranges.append(OffsetRange(*partition_of(channel), start, stop))
            self._at[channel] = stop
        return ranges

    def _limits(self, lags: Mapping[str, int]) -> dict[str, int]:
        """The most records of each partition: a shared rate is divided by how far each lags."""
        total = sum(lags.values())
        if self._rate > 0 and total:
            rates = {channel: self._rate * lag / total for channel, lag in lags.items()}
            if self._most > 0:
                rates = {channel: min(rate, self._most) for channel, rate in rates.items()}
        else:
            rates = dict.fromkeys(lags, self._most)
        if not sum(rates.values()):
            return {}
        return {
            channel: max(int(rate * self._batch_seconds), int(self._fewest))
            for channel, rate in rates.items()
        }

    def rdd(self, context: SparkContext, taken: list[OffsetRange], time_ms: int) -> KafkaRDD[T]:
        """One partition for each range."""
        return self._records.rdd(context, taken or [])

    def restore(self, taken: list[OffsetRange], time_ms: int) -> None:
        """Go on behind what batches in the log have."""
        for each in taken or ():
            self._at[channel_of((each.topic, each.partition))] = each.untilOffset

    def records(self, taken: list[OffsetRange]) -> int:
        """How many offsets the ranges have."""
        return sum(each.count() for each in taken or ())

    def description(self, taken: list[OffsetRange]) -> str:
        """The ranges that have records."""
        return "\n".join(
            f"topic: {each.topic}\tpartition: {each.partition}\t"
            f"offsets: {each.fromOffset} to {each.untilOffset}"
            for each in taken or ()
            if each.count()
        )
