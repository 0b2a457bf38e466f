"""Helper for DStreams and RDDs of Kafka's topics, by the names that Spark Streaming had."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millstream.common.errors import PlanError, user_location
from millstream.connectors.kafka.cluster import consumer_properties
from millstream.connectors.kafka.offsets import EARLIEST, LATEST, Offsets
from millstream.connectors.kafka.partitions import Subscription
from millstream.connectors.kafka.settings import KafkaSettings
from millstream.connectors.kafka.source import KafkaChannels
from millstream.dstream.inputs.kafka import KafkaInput, KafkaRDD, KafkaRecords
from millstream.dstream.inputs.kafka_ranges import (
    KafkaMessageAndMetadata,
    OffsetRange,
    TopicAndPartition,
    utf8_decoder,
)
from millstream.dstream.rdd import SparkContext

if TYPE_CHECKING:
    from millstream.dstream.context import StreamingContext
    from millstream.dstream.streams import DStream

__all__ = [
    "KafkaMessageAndMetadata",
    "KafkaRDD",
    "KafkaUtils",
    "OffsetRange",
    "TopicAndPartition",
    "utf8_decoder",
]

_RESETS = {"smallest": EARLIEST, "earliest": EARLIEST, "largest": LATEST, "latest": LATEST}
_SERVERS = ("bootstrap.servers", "metadata.broker.list")
Decoder = Callable[[bytes | None], Any]
Handler = Callable[[KafkaMessageAndMetadata], Any]


class KafkaUtils:
    """Makes DStreams and RDDs of topics.

    Examples
    --------
    >>> from millstream.dstream.rdd import SparkContext
    >>> servers = {"bootstrap.servers": "localhost:9092"}
    >>> words = KafkaUtils.createRDD(SparkContext(), servers, [OffsetRange("words", 0, 5, 20)])
    >>> words.getNumPartitions(), words.offsetRanges()[0].count()
    (1, 15)
    """

    @staticmethod
    def createDirectStream(
        ssc: StreamingContext,
        topics: Iterable[str],
        kafkaParams: Mapping[str, Any],
        fromOffsets: Mapping[TopicAndPartition, int] | None = None,
        keyDecoder: Decoder = utf8_decoder,
        valueDecoder: Decoder = utf8_decoder,
        messageHandler: Handler | None = None,
    ) -> DStream[Any]:
        """A DStream of pairs of key and value.

        Batches are ranges of offsets. They are in the batch log of a context with a checkpoint, so each
        message is in one batch, and the same batch after a crash. In a function of `foreachRDD` or
        `transform`, ``rdd.offsetRanges()`` has the ranges.

        Parameters
        ----------
        ssc
            The context.
        topics
            The names of topics. Partitions that are added later are found within half a minute.
        kafkaParams
            Properties of the consumer: ``bootstrap.servers`` (or ``metadata.broker.list``), and any
            other. A stream without ``fromOffsets`` begins where ``auto.offset.reset`` says: ``earliest``
            or ``latest``, which is the default.
        fromOffsets
            Partitions, and the offsets of their first messages.
        keyDecoder, valueDecoder
            Make a key and a value of bytes or None.
        messageHandler
            Makes a record of a `KafkaMessageAndMetadata`, in place of a pair.
        """
        channels = _channels(kafkaParams, topics, fromOffsets)
        records = KafkaRecords(channels, _maker(keyDecoder, valueDecoder, messageHandler))
        conf = ssc._rdds.getConf()
        return ssc._add_input(KafkaInput(records, conf))

    @staticmethod
    def createRDD(
        sc: Any,
        kafkaParams: Mapping[str, Any],
        offsetRanges: Sequence[OffsetRange],
        leaders: Any = None,
        keyDecoder: Decoder = utf8_decoder,
        valueDecoder: Decoder = utf8_decoder,
        messageHandler: Handler | None = None,
    ) -> KafkaRDD[Any]:
        """An RDD of ranges of offsets, one partition for each.

        Parameters
        ----------
        sc
            The ``SparkContext``.
        kafkaParams, keyDecoder, valueDecoder, messageHandler
            As for `createDirectStream`.
        offsetRanges
            The ranges.
        leaders
            Accepted as in Spark; the client finds them.
        """
        topics = dict.fromkeys(each.topic for each in offsetRanges)
        channels = _channels(kafkaParams, topics, None)
        records = KafkaRecords(channels, _maker(keyDecoder, valueDecoder, messageHandler))
        return records.rdd(SparkContext.of(sc), offsetRanges)


def _channels(
    given: Mapping[str, Any],
    topics: Iterable[str],
    from_offsets: Mapping[TopicAndPartition, int] | None,
) -> KafkaChannels:
    names = tuple(dict.fromkeys([topics] if isinstance(topics, str) else topics))
    if not names:
        raise PlanError(
            "KAFKA_TOPICS",
            "a stream of Kafka needs a topic",
            location=user_location(),
            hint='give topics=["name"]',
        )
    properties = dict(given)
    found = [properties.pop(name) for name in _SERVERS if name in properties]
    if not found:
        raise PlanError(
            "KAFKA_SERVERS",
            "kafkaParams has no servers",
            location=user_location(),
            hint='give kafkaParams={"bootstrap.servers": "host:9092"}',
        )
    reset = str(properties.pop("auto.offset.reset", "latest")).lower()
    if reset not in _RESETS:
        raise PlanError(
            "KAFKA_PROPERTY",
            f"auto.offset.reset cannot be {reset!r}",
            location=user_location(),
            hint="give earliest or latest",
        )
    group = properties.pop("group.id", None)
    settings = KafkaSettings(str(found[0]), properties, user_location())
    settings.check("Consumer", consumer_properties(group))
    subscription, start = Subscription(topics=names), _RESETS[reset]
    if from_offsets:
        offsets = {(each.topic, each.partition): at for each, at in from_offsets.items()}
        others = {topic for topic, _ in offsets} ^ {*names}
        if others:
            raise PlanError(
                "KAFKA_OFFSETS",
                f"topics and fromOffsets differ: {', '.join(sorted(others))}",
                location=user_location(),
                hint="give offsets for partitions of all topics, and of no others",
            )
        subscription = Subscription(chosen=tuple(offsets))
        start = Offsets("offsets", given=tuple(offsets.items()))
    return KafkaChannels(settings, subscription, start, group=group, commits=False)


def _maker(key: Decoder, value: Decoder, handler: Handler | None) -> Handler:
    def pair(message: KafkaMessageAndMetadata) -> Any:
        return key(message.rawKey), value(message.rawMessage)

    def handled(message: KafkaMessageAndMetadata) -> Any:
        assert handler is not None
        return handler(replace(message, keyDecoder=key, messageDecoder=value))

    return pair if handler is None else handled
