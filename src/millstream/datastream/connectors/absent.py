"""PyFlink's connectors that are not here: their names can be imported, and their use is explained.

A program that imports more than it uses runs; one that uses a name fails at that line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from millstream.common.errors import PlanError, user_location
from millstream.datastream.connectors import base

__all__ = ["ABSENT", "AbsentClass", "AbsentConnector", "absent_name"]


@dataclass(frozen=True)
class AbsentConnector:
    """The names of a module of PyFlink, and what a program uses in their place."""

    names: tuple[str, ...]
    instead: str

    @staticmethod
    def of(instead: str, names: str) -> AbsentConnector:
        return AbsentConnector(tuple(names.split()), instead)


ABSENT: Mapping[str, AbsentConnector] = {
    "cassandra": AbsentConnector.of(
        "write to Cassandra with add_sink(...) and its Python driver: an upsert by key can come twice",
        "CassandraCommitter CassandraFailureHandler CassandraSink ClusterBuilder ConsistencyLevel "
        "MapperOptions",
    ),
    "dynamic_kafka": AbsentConnector.of(
        "read one cluster with KafkaSource, which finds new topics by a pattern; union several",
        "DynamicKafkaSource DynamicKafkaSourceBuilder KafkaMetadataService "
        "KafkaStreamSetSubscriber KafkaStreamSubscriber "
        "SingleClusterTopicMetadataService StreamPatternSubscriber",
    ),
    "elasticsearch": AbsentConnector.of(
        "write to Elasticsearch with add_sink(...) and its Python client: a document with an id can "
        "come twice",
        "Elasticsearch6SinkBuilder Elasticsearch7SinkBuilder ElasticsearchEmitter ElasticsearchSink "
        "FlushBackoffType",
    ),
    "kinesis": AbsentConnector.of(
        "read shards with a ChannelSource of your own, as the NATS connector does; write with a "
        "FunctionSink",
        "FlinkKinesisConsumer KinesisDeserializationSchema KinesisFirehoseSink "
        "KinesisFirehoseSinkBuilder KinesisShardAssigner KinesisStreamsSink KinesisStreamsSinkBuilder "
        "PartitionKeyGenerator WatermarkTracker",
    ),
    "pulsar": AbsentConnector.of(
        "read Pulsar with KafkaSource, if its brokers speak Kafka's protocol, or with a ChannelSource "
        "of your own, as the NATS connector does",
        "MessageDelayer PulsarSink PulsarSinkBuilder PulsarSource PulsarSourceBuilder RangeGenerator "
        "StartCursor StopCursor TopicRoutingMode",
    ),
    "rabbitmq": AbsentConnector.of(
        "its queues cannot be read again after a crash: put a log such as NATS or Kafka between; write "
        "with a FunctionSink",
        "RMQConnectionConfig RMQSink RMQSource",
    ),
}
"""PyFlink's modules in `pyflink.datastream.connectors`, by name."""


class AbsentClass(type):
    """The class of names that are not here: calls, subclasses and attributes are refused.

    Its attribute ``_absence`` makes the error of a message, ``_instead`` is what a program uses.

    Examples
    --------
    >>> from millstream.datastream.connectors.pulsar import PulsarSource
    >>> try:
    ...     PulsarSource.builder()
    ... except PlanError as error:
    ...     print(error.code, error.message[:42])
    CONNECTOR_ABSENT there is no PulsarSource: read Pulsar with
    """

    _absence: Callable[[str], PlanError]
    _instead: str

    def __new__(mcs, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> AbsentClass:
        for parent in bases:
            if isinstance(parent, AbsentClass):
                raise parent._refusal()
        return super().__new__(mcs, name, bases, space)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise cls._refusal()

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            # Asked by Python itself, and by tools that look at modules.
            raise AttributeError(name)
        raise cls._refusal()

    def _refusal(cls) -> PlanError:
        return cls._absence(f"there is no {cls.__name__}: {cls._instead}")


def _no_connector(message: str) -> PlanError:
    return PlanError("CONNECTOR_ABSENT", message, location=user_location())


def absent_name(module: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module of the table, which makes its names."""
    absent = ABSENT[module.rpartition(".")[2]]
    known, space = absent.names, {"_absence": _no_connector, "_instead": absent.instead}
    made: dict[str, AbsentClass] = {}

    def found(name: str) -> Any:
        if name in base.__all__:
            # PyFlink's modules import these, and its programs take them from there.
            return getattr(base, name)
        if name not in known:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        if name not in made:
            made[name] = AbsentClass(name, (), {"__module__": module, **space})
        return made[name]

    return found
