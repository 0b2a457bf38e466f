"""Partitions of topics as channels."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal

from millstream.common.errors import CheckpointError, EnvironmentSetupError, PlanError
from millstream.connectors.kafka.cluster import BrokersAwayError, Cluster
from millstream.connectors.kafka.offsets import EARLIEST, Offsets, OffsetsMissingError
from millstream.connectors.kafka.partitions import (
    Subscription,
    TopicPartition,
    channel_of,
    partition_of,
)
from millstream.connectors.kafka.reader import BrokerLostError, OffsetGoneError, Readers
from millstream.connectors.kafka.records import columns_of, offsets_of, times_of
from millstream.connectors.kafka.settings import KafkaSettings
from millstream.connectors.source import ChannelName, ChannelSource, Chunk, Limits, Position

__all__ = ["DataLoss", "KafkaChannels"]

DataLoss = Literal["fail", "continue"]
"""What happens when retention has deleted records that were not read."""
_LOGGER = logging.getLogger("millstream")


@dataclass
class KafkaChannels(ChannelSource):
    """A channel for each partition; positions are offsets.

    Parameters
    ----------
    settings
        Servers and properties.
    subscription
        The partitions.
    start
        Where partitions begin that are there when the job starts for the first time. Those that are
        found later begin at their earliest offset.
    stop
        Where they end; None: nowhere.
    group
        The consumer group that shows how far the job is; None: nobody sees it.
    commits
        Whether its offsets are written after each epoch.
    client_id
        The beginning of the names of clients, which brokers log.
    headers
        Whether headers are read.
    data_loss
        Whether to go on where records were deleted before they were read.
    limited
        How much of a partition an epoch reads.
    discovery_seconds
        How often to look for new topics and partitions; None: never.
    patience_seconds
        How long a task waits for a broker that does not answer.
    """

    positions_in: ClassVar[str | None] = "Kafka"
    settings: KafkaSettings
    subscription: Subscription
    start: Offsets = EARLIEST
    stop: Offsets | None = None
    group: str | None = None
    commits: bool = True
    client_id: str = "millstream"
    headers: bool = False
    data_loss: DataLoss = "fail"
    limited: Limits = field(default_factory=Limits)
    discovery_seconds: float | None = 30.0
    patience_seconds: float = 60.0
    make_cluster: Callable[[KafkaSettings, str, str | None], Any] = field(
        default=Cluster, repr=False
    )
    make_readers: Callable[[KafkaSettings, str, float], Any] = field(default=Readers, repr=False)

    def __post_init__(self) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        # Clients, and what brokers have told, belong to their process.
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.close()

    # -- life ------------------------------------------------------------------------------------

    def close(self) -> None:
        for client in (vars(self).get("_cluster"), vars(self).get("_readers")):
            if client is not None:
                client.close()
        self._cluster: Any = None
        self._readers: Any = None
        self._partitions: list[TopicPartition] | None = None
        self._looked_at = 0.0
        self._last: dict[ChannelName, Position | None] | None = None
        self._is_new_job = True
        self._starts: dict[TopicPartition, int] = {}
        self._lost: dict[TopicPartition, int] = {}
        self._is_away = False
        self._committed: dict[TopicPartition, int] = {}

    @property
    def _brokers(self) -> Any:
        """The client of the driver; fails if there is no broker at the start."""
        if self._cluster is None:
            self.settings.check_reachable()
            self._cluster = self.make_cluster(self.settings, self.client_id, self.group)
        return self._cluster

    # -- channels --------------------------------------------------------------------------------

    @property
    def bounded(self) -> bool:
        return self.stop is not None

    def latest(self) -> Mapping[ChannelName, Position | None]:
        return self.latest_after({})

    def latest_after(
        self, positions: Mapping[str, Position]
    ) -> Mapping[ChannelName, Position | None]:
        """Return the ends of all partitions; while no broker answers, those that it gave before."""
        # A topic that a pattern finds later is new, too, if there was none before.
        self._is_new_job = not positions and self._last is None
        brokers = self._brokers
        try:
            partitions = self._find_partitions(brokers)
            ends = brokers.latest(partitions)
            self._check_loss(brokers, positions, partitions)
            self._find_starts(brokers, positions, ends)
            if self.stop is not None:
                ends = self._stops(brokers, positions, partitions)
        except BrokersAwayError as error:
            return self._last_answer(error)
        if self._is_away:
            self._is_away = False
            _LOGGER.warning("the brokers at %s answer again", self.settings.servers)
        # All before these positions is done; Spark itself says so only when more has come.
        self._tell_group(positions)
        self._last = {channel_of(one): ends[one] for one in partitions}
        return self._last

    def _last_answer(self, error: BrokersAwayError) -> dict[ChannelName, Position | None]:
        if self._last is None:
            raise self.settings.unreachable(error.args[0]) from None
        if not self._is_away:
            self._is_away = True
            _LOGGER.warning(
                "no broker answers at %s; the job waits for them", self.settings.servers
            )
        return self._last

    def _find_partitions(self, brokers: Any) -> list[TopicPartition]:
        """All partitions, those that are known and new ones."""
        now = time.monotonic()
        known = self._partitions
        if known is not None and not self._is_due(now):
            return known
        topics = brokers.topics(self.subscription.named_topics)
        missing = self.subscription.missing(topics)
        if known is None and missing:
            raise self.settings.error(
                "KAFKA_NO_TOPIC",
                f"there is no {', '.join(missing)} at {self.settings.servers}",
                "create the topic, or correct its name; topics that come later are found by "
                "set_topic_pattern(...)",
            )
        self._partitions = self.subscription.partitions(topics)
        self._looked_at = now
        return self._partitions

    def _is_due(self, now: float) -> bool:
        if self.discovery_seconds is None:
            return False
        return now - self._looked_at >= self.discovery_seconds

    # -- where they begin and end ----------------------------------------------------------------

    def _find_starts(
        self, brokers: Any, positions: Mapping[str, Position], ends: Mapping[TopicPartition, int]
    ) -> None:
        new = [one for one in ends if channel_of(one) not in positions and one not in self._starts]
        if new:
            # What comes later would otherwise be read from its end: records before it would be lost.
            way = self.start if self._is_new_job else EARLIEST
            found = self._resolved(brokers, way, new)
            # More may have come since the ends were asked for.
            self._starts |= {one: min(offset, ends[one]) for one, offset in found.items()}

    def _resolved(
        self, brokers: Any, way: Offsets, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, int]:
        try:
            found = way.found(brokers, partitions)
        except OffsetsMissingError as error:
            raise self._bad_offsets(
                f"the group {self.group!r} has committed no offset of {error}"
                if way.kind == "committed"
                else f"there is no offset for {error}",
                "give KafkaOffsetResetStrategy.EARLIEST or LATEST, which hold for such partitions",
            ) from None
        first, end = brokers.earliest(partitions), brokers.latest(partitions)
        for one, offset in found.items():
            if offset > end[one] and way.kind != "latest":
                raise self._bad_offsets(
                    f"{channel_of(one)} ends at offset {end[one]}, and {offset} is asked for",
                    "give an offset that is there; offsets of another cluster do not fit",
                )
        # What retention has deleted before the job began was never there for it.
        return {one: max(offset, first[one]) for one, offset in found.items()}

    def _stops(
        self, brokers: Any, positions: Mapping[str, Position], partitions: list[TopicPartition]
    ) -> dict[TopicPartition, int]:
        assert self.stop is not None
        stops = self._resolved(brokers, self.stop, partitions)
        at = {one: positions.get(channel_of(one), self._starts.get(one, 0)) for one in stops}
        # A range cannot end before it begins.
        return {one: max(stop, at[one]) for one, stop in stops.items()}

    def _bad_offsets(self, message: str, hint: str) -> PlanError:
        return PlanError("KAFKA_OFFSETS", message, location=self.settings.location, hint=hint)

    def first(self, channel: ChannelName) -> Position:
        partition = partition_of(str(channel))
        if partition not in self._starts:
            self._find_starts(self._brokers, {}, self._brokers.latest([partition]))
        return self._starts[partition]

    # -- records that are gone -------------------------------------------------------------------

    def _check_loss(
        self, brokers: Any, positions: Mapping[str, Position], partitions: list[TopicPartition]
    ) -> None:
        held = [one for one in partitions if channel_of(one) in positions]
        first = brokers.earliest(held)
        for one in held:
            at = positions[channel_of(one)]
            if at < first[one]:
                self._lose(one, at, first[one])

    def _lose(self, partition: TopicPartition, position: int, first: int) -> None:
        """Refuse to go on behind a gap, or log it once."""
        channel = channel_of(partition)
        if self.data_loss == "fail":
            raise CheckpointError(
                "KAFKA_DATA_LOSS",
                f"{channel} begins at offset {first} now, and the job stands at {position}: "
                f"{first - position:,} offsets were deleted before they were read",
                parameters={"channel": channel, "position": position, "first": first},
                location=self.settings.location,
                hint="retention was shorter than the job's lag; set_on_data_loss('continue') goes on "
                "at the first record that is there",
            )
        if self._lost.get(partition) != first:
            self._lost[partition] = first
            _LOGGER.warning(
                "%s begins at offset %s now, and the job stood at %s: %s offsets are lost",
                channel,
                first,
                position,
                first - position,
            )

    def _shorter(self, partition: TopicPartition, position: int) -> CheckpointError:
        """The error for a partition that has lost its end, as after an unclean election of a leader."""
        channel, end = channel_of(partition), self._brokers.latest([partition])[partition]
        return CheckpointError(
            "SOURCE_SHORTER",
            f"{channel} ends at offset {end} now, and the job stands at {position}",
            parameters={"channel": channel, "end": end, "position": position},
            location=self.settings.location,
            hint="the brokers have lost records that the job has read, or the topic was made again: "
            "start the job with another checkpoint directory",
        )

    # -- reading ---------------------------------------------------------------------------------

    def read(self, channel: ChannelName, start: Position, stop: Position) -> Iterator[Chunk]:
        """Yield columns; runs of lists that a partition gives."""
        partition = partition_of(str(channel))
        if self._readers is None:
            self._readers = self.make_readers(self.settings, self.client_id, self.patience_seconds)
        try:
            yield from self._chunks(partition, start, stop)
        except OffsetGoneError:
            first = self._brokers.earliest([partition])[partition]
            if first <= start:
                raise self._shorter(partition, start) from None
            self._lose(partition, start, first)
            yield from self._chunks(partition, min(first, stop), stop)

    def _chunks(self, partition: TopicPartition, start: int, stop: int) -> Iterator[Chunk]:
        try:
            for messages in self._readers.of(partition).read(start, stop):
                batch = columns_of(messages, partition[0], headers=self.headers)
                yield Chunk(batch, times_of(messages), offsets_of(batch))
        except BrokerLostError as error:
            raise self._lost_broker(partition, error) from None

    def _lost_broker(
        self, partition: TopicPartition, error: BrokerLostError
    ) -> EnvironmentSetupError:
        found = self.settings.unreachable(error.args[0])
        found.message = f"{channel_of(partition)} cannot be read: {found.message}"
        return found

    # -- limits, group offsets, texts ------------------------------------------------------------

    def limits(self) -> Limits:
        return self.limited

    def commit(self, positions: Mapping[ChannelName, Position]) -> None:
        self._tell_group(positions)

    def _tell_group(self, positions: Mapping[Any, Position]) -> None:
        found = {partition_of(str(channel)): at for channel, at in positions.items()}
        if self.group is None or not self.commits or self._cluster is None:
            return
        if found and found != self._committed:
            self._cluster.commit(found)
            self._committed = found

    def describe(self) -> str:
        """A text: what is read, from where to where."""
        end = "" if self.stop is None else f" to {self.stop}"
        return f"{self.subscription}, from {self.start}{end}, at {self.settings.servers}"

    def describe_channels(self) -> str:
        return f"one for each partition: {self.describe()}"

    def signature(self) -> str:
        return f"source Kafka {self.subscription}"
