"""Kafka as a source: PyFlink's builder, and what it lacks for keys, headers and tombstones."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, TypeVar

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.serialization import DeserializationSchema
from millstream.common.typeinfo import TypeInformation, Types
from millstream.connectors.kafka.cluster import consumer_properties
from millstream.connectors.kafka.decoding import RecordDecoder, ValueDecoder
from millstream.connectors.kafka.offsets import EARLIEST, LATEST, Offsets, Reset
from millstream.connectors.kafka.partitions import Subscription
from millstream.connectors.kafka.records import ConsumerRecord
from millstream.connectors.kafka.settings import KafkaSettings
from millstream.connectors.kafka.source import KafkaChannels
from millstream.connectors.source import Limits, Source
from millstream.datastream.building.stream_types import declared_type
from millstream.kernel.steps.decode import Decoder

__all__ = [
    "ConsumerRecord",
    "FlinkKafkaConsumer",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaRecordDeserializationSchema",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
]

T = TypeVar("T")

_DISCOVERY = "partition.discovery.interval.ms"
_COMMITS = "commit.offsets.on.checkpoint"
_PATIENCE = "default.api.timeout.ms"
_LEGAL_TOPIC = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")


class KafkaOffsetResetStrategy(Enum):
    """Where a partition begins that has no offset of its own.

    ``NONE``: the job fails.
    """

    LATEST = 0
    EARLIEST = 1
    NONE = 2


@dataclass(frozen=True)
class KafkaTopicPartition:
    """A partition of a topic, by its number.

    Examples
    --------
    >>> KafkaTopicPartition("orders", 3)
    KafkaTopicPartition(topic='orders', partition=3)
    """

    topic: str
    partition: int


class KafkaOffsetsInitializer:
    """Where partitions begin, or where a bounded source ends.

    Examples
    --------
    >>> KafkaOffsetsInitializer.timestamp(1_700_000_000_000)
    KafkaOffsetsInitializer(timestamp 1700000000000)
    """

    def __init__(self, offsets: Offsets) -> None:
        self._offsets = offsets

    def __repr__(self) -> str:
        return f"KafkaOffsetsInitializer({self._offsets})"

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """Return the first records that are still there."""
        return KafkaOffsetsInitializer(EARLIEST)

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """Return the end: behind the last record, and before a transaction that is still open."""
        return KafkaOffsetsInitializer(LATEST)

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """Return the first records at or after a time in milliseconds; the end if there are none."""
        _whole("timestamp", timestamp)
        return KafkaOffsetsInitializer(Offsets("timestamp", timestamp_ms=timestamp, reset="latest"))

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """Return what the consumer group has committed; the strategy holds for other partitions."""
        return KafkaOffsetsInitializer(Offsets("committed", reset=_reset(offset_reset_strategy)))

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """Return these offsets; the strategy holds for partitions that are not among them."""
        for partition, offset in offsets.items():
            if not isinstance(partition, KafkaTopicPartition):
                raise _bad(
                    f"offsets are given by partition, got {short_repr(partition)}",
                    'write {KafkaTopicPartition("orders", 0): 17}',
                )
            _whole(f"the offset of {partition}", offset)
        given = tuple(((p.topic, p.partition), offset) for p, offset in offsets.items())
        return KafkaOffsetsInitializer(
            Offsets("offsets", given=given, reset=_reset(offset_reset_strategy))
        )


class KafkaRecordDeserializationSchema(ABC, Generic[T]):
    """Makes records of whole records of Kafka: with key, headers, timestamp, topic and offset.

    Give it to `KafkaSourceBuilder.set_deserializer`, which takes a plain function too. It is asked about
    tombstones as well: their value is None.

    Examples
    --------
    >>> class KeyAndSize(KafkaRecordDeserializationSchema):
    ...     def deserialize(self, record):
    ...         return record.key, len(record.value or b"")
    >>> KeyAndSize().deserialize(ConsumerRecord("orders", 0, 17, 1_000, b"k", b"four"))
    (b'k', 4)
    """

    def open(self) -> None:
        """Called in each process before the first record."""

    @abstractmethod
    def deserialize(self, record: ConsumerRecord) -> T | None:
        """Return the record of the program; None: there is none."""

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the records."""
        return Types.PICKLED_BYTE_ARRAY()


class KafkaSource(Source):
    """Topics of Kafka, read by ``env.from_source``; made by `KafkaSource.builder`.

    Each partition is a channel of its own. Event times are the timestamps of Kafka, unless the watermark
    strategy has an assigner.

    Examples
    --------
    >>> from millstream.common import SimpleStringSchema
    >>> source = (
    ...     KafkaSource.builder()
    ...     .set_bootstrap_servers("localhost:9092")
    ...     .set_topics("orders")
    ...     .set_value_only_deserializer(SimpleStringSchema())
    ...     .build()
    ... )
    >>> source
    KafkaSource(topic orders, from earliest, at localhost:9092)
    """

    def __init__(
        self, channels: KafkaChannels, decoder: Decoder, type_info: TypeInformation | None
    ) -> None:
        self._channels = channels
        self._decoder = decoder
        self._type = type_info

    def __repr__(self) -> str:
        return f"KafkaSource({self._channels.describe()})"

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """Begin to build a source."""
        return KafkaSourceBuilder()

    def parts(self) -> tuple[KafkaChannels]:
        return (self._channels,)

    def get_produced_type(self) -> TypeInformation | None:
        return self._type

    def decoder(self) -> Decoder:
        return self._decoder


@dataclass
class KafkaSourceBuilder:
    """Builds a `KafkaSource`. Servers, topics and a deserializer are needed.

    Examples
    --------
    >>> KafkaSource.builder().set_topics("orders").build()
    Traceback (most recent call last):
    ...
    millstream.common.errors.PlanError: [KAFKA_SOURCE] the Kafka source has no bootstrap servers
    ...
    """

    _servers: str | None = None
    _subscription: Subscription | None = None
    _start: Offsets = EARLIEST
    _stop: Offsets | None = None
    _decoder: Decoder | None = None
    _type: TypeInformation | None = None
    _client_id: str = "millstream"
    _properties: dict[str, Any] = field(default_factory=dict, repr=False)
    _data_loss: Any = "fail"
    _limits: Limits = field(default_factory=Limits)

    # -- what is read ----------------------------------------------------------------------------

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """Set brokers to begin with: ``"host:port"``, several with commas."""
        self._servers = _text("bootstrap servers", bootstrap_servers)
        return self

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Read all partitions of these topics."""
        for name in topics:
            _topic(name)
        return self._subscribe(Subscription(topics=tuple(dict.fromkeys(topics))))

    def set_topic_pattern(self, topic_pattern: str | re.Pattern[str]) -> KafkaSourceBuilder:
        """Read all topics whose whole name a regular expression matches, also those that come later."""
        pattern: Any = getattr(topic_pattern, "pattern", topic_pattern)
        try:
            re.compile(_text("topic pattern", pattern))
        except re.error as error:
            raise _bad(
                f"the topic pattern {pattern!r} is no regular expression: {error}", ""
            ) from None
        return self._subscribe(Subscription(pattern=pattern))

    def set_partitions(self, partitions: Iterable[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Read these partitions only."""
        chosen = list(partitions)
        for one in chosen:
            if not isinstance(one, KafkaTopicPartition):
                raise _bad(
                    f"a partition is a KafkaTopicPartition, got {short_repr(one)}",
                    'write {KafkaTopicPartition("orders", 0)}',
                )
            _topic(one.topic)
        pairs = sorted({(one.topic, one.partition) for one in chosen})
        return self._subscribe(Subscription(chosen=tuple(pairs)))

    def _subscribe(self, subscription: Subscription) -> KafkaSourceBuilder:
        if self._subscription is not None:
            raise _bad(
                f"the source reads {self._subscription} already",
                "call one of set_topics, set_topic_pattern and set_partitions, once",
            )
        if not (subscription.topics or subscription.pattern or subscription.chosen):
            raise _bad("the Kafka source is given no topic", 'write set_topics("orders")')
        self._subscription = subscription
        return self

    # -- from where to where ---------------------------------------------------------------------

    def set_starting_offsets(
        self, starting_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Set where partitions begin; by default at their earliest offsets.

        It holds when the job starts for the first time. After that it goes on where it was, and
        partitions that are found later begin at their earliest offsets.
        """
        self._start = _initializer(starting_offsets_initializer)
        return self

    def set_bounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Let the source end at these offsets, which are found when the job starts."""
        self._stop = _initializer(stopping_offsets_initializer)
        return self

    def set_unbounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer | None = None
    ) -> KafkaSourceBuilder:
        """Let the source have no end, as it has by default.

        With stopping offsets it ends there, as with `set_bounded`; the environment says whether a job
        runs as a stream or as a batch.
        """
        given = stopping_offsets_initializer
        self._stop = None if given is None else _initializer(given)
        return self

    # -- records ---------------------------------------------------------------------------------

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema[Any]
    ) -> KafkaSourceBuilder:
        """Make records of the values alone.

        A message of which the schema makes None gives no record; nor does a tombstone, which has no
        value.
        """
        if not isinstance(deserialization_schema, DeserializationSchema):
            raise _bad(
                f"a deserializer is a DeserializationSchema, got {short_repr(deserialization_schema)}",
                "for example SimpleStringSchema(); set_deserializer(...) takes a function",
            )
        self._decoder = ValueDecoder(deserialization_schema)
        self._type = deserialization_schema.get_produced_type()
        return self

    def set_deserializer(
        self,
        deserializer: KafkaRecordDeserializationSchema[Any] | Callable[[ConsumerRecord], Any],
        output_type: Any = None,
    ) -> KafkaSourceBuilder:
        """Make records of whole records of Kafka: a schema, or a function of a `ConsumerRecord`.

        If it returns None there is no record. PyFlink has nothing like it.
        """
        if isinstance(deserializer, KafkaRecordDeserializationSchema):
            self._decoder = RecordDecoder(deserializer.deserialize, deserializer)
            self._type = declared_type(output_type) or deserializer.get_produced_type()
        elif callable(deserializer) and not isinstance(deserializer, type):
            self._decoder = RecordDecoder(deserializer)
            self._type = declared_type(output_type)
        else:
            raise _bad(
                f"a deserializer is a function of a ConsumerRecord, got {short_repr(deserializer)}",
                "give a function or a KafkaRecordDeserializationSchema",
            )
        return self

    # -- the client ------------------------------------------------------------------------------

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """Set the consumer group whose offsets show how far the job is.

        They are written after each epoch, for tools that watch; the job goes on from its checkpoint.
        """
        return self.set_property("group.id", _text("group id", group_id))

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """Set the beginning of the names under which brokers know the clients."""
        self._client_id = _text("client id prefix", prefix)
        return self

    def set_property(self, key: str, value: Any) -> KafkaSourceBuilder:
        """Set a property of the client; names are those of Kafka's Java client or of librdkafka."""
        name = _text("the name of a property", key)
        if name == "bootstrap.servers":
            return self.set_bootstrap_servers(value)
        self._properties[name] = value
        return self

    def set_properties(self, props: Mapping[str, Any]) -> KafkaSourceBuilder:
        """Set several properties."""
        for key, value in props.items():
            self.set_property(key, value)
        return self

    # -- beyond PyFlink --------------------------------------------------------------------------

    def set_on_data_loss(self, action: str) -> KafkaSourceBuilder:
        """Set what happens when retention has deleted records before they were read.

        ``"fail"``, the default: the job fails, and says what is lost. ``"continue"``: it goes on with
        the first record that is there, and logs how much was lost.
        """
        if action not in ("fail", "continue"):
            raise _bad(f"on data loss a source cannot {action!r}", 'write "fail" or "continue"')
        self._data_loss = action
        return self

    def set_max_records_per_epoch(self, records: int) -> KafkaSourceBuilder:
        """Set how many offsets of each partition an epoch reads at most."""
        _whole("records per epoch", records)
        if records <= 0:
            raise _bad(f"an epoch cannot read {records} records", "give at least 1")
        self._limits = Limits(per_epoch=records)
        return self

    def build(self) -> KafkaSource:
        """Return the source; nothing is connected yet."""
        for what, found, call in (
            ("bootstrap servers", self._servers, 'set_bootstrap_servers("localhost:9092")'),
            ("topics", self._subscription, 'set_topics("orders")'),
            ("deserializer", self._decoder, "set_value_only_deserializer(SimpleStringSchema())"),
        ):
            if found is None:
                raise _bad(f"the Kafka source has no {what}", f"call {call}")
        assert self._servers is not None
        assert self._subscription is not None
        assert self._decoder is not None
        properties = dict(self._properties)
        discovery = _millis(_DISCOVERY, properties.pop(_DISCOVERY, 30_000))
        commits = str(properties.pop(_COMMITS, "true")).lower() != "false"
        patience = _millis(_PATIENCE, properties.pop(_PATIENCE, 60_000))
        group = properties.pop("group.id", None)
        self._refuse_without_group(group)
        settings = KafkaSettings(self._servers, properties, user_location())
        settings.check("Consumer", consumer_properties(group))
        channels = KafkaChannels(
            settings,
            self._subscription,
            self._start,
            self._stop,
            group,
            commits=commits,
            client_id=self._client_id,
            headers=isinstance(self._decoder, RecordDecoder),
            data_loss=self._data_loss,
            limited=self._limits,
            discovery_seconds=discovery / 1000 if discovery > 0 else None,
            patience_seconds=patience / 1000,
        )
        return KafkaSource(channels, self._decoder, self._type)

    def _refuse_without_group(self, group: Any) -> None:
        stops = [] if self._stop is None else [self._stop]
        if group is None and any(offsets.kind == "committed" for offsets in [self._start, *stops]):
            raise _bad("committed offsets belong to a consumer group", 'call set_group_id("name")')


class FlinkKafkaConsumer(Source):
    """PyFlink's older source, for ``env.add_source``; new programs use `KafkaSource`.

    It begins at the offsets of the group, or where ``auto.offset.reset`` says.

    Examples
    --------
    >>> from millstream.common import SimpleStringSchema
    >>> properties = {"bootstrap.servers": "localhost:9092", "group.id": "g"}
    >>> consumer = FlinkKafkaConsumer("orders", SimpleStringSchema(), properties)
    >>> consumer.set_start_from_earliest()
    FlinkKafkaConsumer(topic orders, from earliest, at localhost:9092)
    """

    def __init__(
        self,
        topics: str | list[str],
        deserialization_schema: DeserializationSchema[Any],
        properties: Mapping[str, Any],
    ) -> None:
        self._properties = dict(properties)
        names = [topics] if isinstance(topics, str) else topics
        self._builder = KafkaSource.builder().set_topics(*names).set_properties(properties)
        self._builder.set_value_only_deserializer(deserialization_schema)
        if self._builder._servers is None:
            raise _bad(
                "FlinkKafkaConsumer needs the property 'bootstrap.servers'",
                'write {"bootstrap.servers": "localhost:9092"}',
            )
        self._start_offsets: KafkaOffsetsInitializer | None = None

    def __repr__(self) -> str:
        return f"FlinkKafkaConsumer({self._source.parts()[0].describe()})"

    @property
    def _source(self) -> KafkaSource:
        return self._builder.set_starting_offsets(self._first()).build()

    def _first(self) -> KafkaOffsetsInitializer:
        if self._start_offsets is not None:
            return self._start_offsets
        reset = str(self._properties.get("auto.offset.reset", "latest")).upper()
        strategy = KafkaOffsetResetStrategy.__members__.get(reset, KafkaOffsetResetStrategy.NONE)
        if "group.id" in self._properties:
            return KafkaOffsetsInitializer.committed_offsets(strategy)
        if strategy is KafkaOffsetResetStrategy.EARLIEST:
            return KafkaOffsetsInitializer.earliest()
        return KafkaOffsetsInitializer.latest()

    def set_start_from_earliest(self) -> FlinkKafkaConsumer:
        """Begin at the earliest offsets."""
        return self._begin(KafkaOffsetsInitializer.earliest())

    def set_start_from_latest(self) -> FlinkKafkaConsumer:
        """Begin at the end."""
        return self._begin(KafkaOffsetsInitializer.latest())

    def set_start_from_timestamp(self, startup_offsets_timestamp: int) -> FlinkKafkaConsumer:
        """Begin with records at or after a time in milliseconds."""
        return self._begin(KafkaOffsetsInitializer.timestamp(startup_offsets_timestamp))

    def set_start_from_group_offsets(self) -> FlinkKafkaConsumer:
        """Begin at the offsets of the group, as by default."""
        self._start_offsets = None
        return self

    def set_commit_offsets_on_checkpoints(self, commit_on_checkpoints: bool) -> FlinkKafkaConsumer:
        """Set whether the offsets of the group are written after each epoch."""
        self._builder.set_property(_COMMITS, bool(commit_on_checkpoints))
        return self

    def disable_filter_restored_partitions_with_subscribed_topics(self) -> FlinkKafkaConsumer:
        """Accept Flink's setting: a job reads the topics that it names."""
        return self

    def _begin(self, offsets: KafkaOffsetsInitializer) -> FlinkKafkaConsumer:
        self._start_offsets = offsets
        return self

    def parts(self) -> tuple[KafkaChannels]:
        return self._source.parts()

    def get_produced_type(self) -> TypeInformation | None:
        return self._source.get_produced_type()

    def decoder(self) -> Decoder:
        return self._source.decoder()


# -- checks ----------------------------------------------------------------------------------------


def _bad(message: str, hint: str) -> PlanError:
    return PlanError("KAFKA_SOURCE", message, location=user_location(), hint=hint or None)


def _text(what: str, given: Any) -> str:
    if not isinstance(given, str) or not given:
        raise _bad(f"{what} must be a text, got {short_repr(given)}", "")
    return given


def _topic(name: Any) -> None:
    if not _LEGAL_TOPIC.fullmatch(_text("a topic", name)):
        raise _bad(
            f"no topic can be named {short_repr(name)}",
            "names have letters, digits, dots, dashes and underscores; a regular expression goes to "
            "set_topic_pattern(...)",
        )


def _whole(what: str, given: Any) -> None:
    if not isinstance(given, int) or isinstance(given, bool):
        raise _bad(f"{what} must be a whole number, got {short_repr(given)}", "")


def _millis(name: str, given: Any) -> int:
    try:
        return int(given)
    except (TypeError, ValueError):
        raise _bad(f"the property {name} is milliseconds, got {short_repr(given)}", "") from None


def _reset(strategy: Any) -> Reset:
    if not isinstance(strategy, KafkaOffsetResetStrategy):
        raise _bad(
            f"a reset strategy is a KafkaOffsetResetStrategy, got {short_repr(strategy)}",
            "write KafkaOffsetResetStrategy.EARLIEST",
        )
    return strategy.name.lower()  # type: ignore[return-value]


def _initializer(given: Any) -> Offsets:
    if not isinstance(given, KafkaOffsetsInitializer):
        raise _bad(
            f"offsets are given by a KafkaOffsetsInitializer, got {short_repr(given)}",
            "write KafkaOffsetsInitializer.earliest()",
        )
    return given._offsets
