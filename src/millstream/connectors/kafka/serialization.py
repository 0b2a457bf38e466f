"""Records of a stream as records of Kafka: topic, key, value, headers, time, partition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from millstream.common.errors import TypeMismatchError, short_repr
from millstream.common.serialization import SerializationSchema
from millstream.common.types import Row, RowKind
from millstream.connectors.sink import Changelog

if TYPE_CHECKING:
    from millstream.connectors.kafka.sink_builder import KafkaRecordSerializationSchemaBuilder

__all__ = [
    "CalledSerializer",
    "FieldSerializer",
    "Headers",
    "KafkaProducerRecord",
    "KafkaRecordSerializationSchema",
    "checked_record",
]

Headers = Mapping[str, bytes | None] | Sequence[tuple[str, bytes | None]]
"""Headers of a record. A sequence may have a name several times."""


class KafkaProducerRecord(NamedTuple):
    """A record for Kafka, as a function makes it for a `KafkaSink`.

    Attributes
    ----------
    topic : str
        The topic.
    value : bytes or None
        The value; None is a tombstone: a compacted topic forgets the key.
    key : bytes or None
        The key; records of a key go to one partition.
    headers : mapping, or sequence of pairs
        Names and values, which are bytes or None.
    timestamp : int or None
        Milliseconds since 1970; by default the event time of the record, and the time of writing if it
        has none.
    partition : int or None
        The partition; by default it follows from the key.

    Examples
    --------
    >>> KafkaProducerRecord("clicks", b"42", key=b"ada").key
    b'ada'
    """

    topic: str
    value: bytes | None
    key: bytes | None = None
    headers: Headers | None = None
    timestamp: int | None = None
    partition: int | None = None


class KafkaRecordSerializationSchema(ABC):
    """Turns records of a stream into records of Kafka.

    Examples
    --------
    >>> class Tagged(KafkaRecordSerializationSchema):
    ...     def serialize(self, element, timestamp):
    ...         return KafkaProducerRecord("words", element.encode(), headers={"lang": b"en"})
    >>> Tagged().serialize("be", None).headers
    {'lang': b'en'}
    """

    upsert: bool = False
    """Whether rows that are taken back, of kind DELETE, become tombstones."""

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """Begin a schema out of a topic, a schema for values and perhaps one for keys."""
        from millstream.connectors.kafka.sink_builder import KafkaRecordSerializationSchemaBuilder

        return KafkaRecordSerializationSchemaBuilder()

    @property
    def changelog(self) -> Changelog:
        """The changes that the records can say."""
        return "upsert" if self.upsert else "append"

    @property
    def topic(self) -> str | None:
        """The topic of all records; None if it depends on the record."""
        return None

    @abstractmethod
    def serialize(self, element: Any, timestamp: int | None) -> KafkaProducerRecord | None:
        """The record for Kafka; None: nothing is written.

        ``timestamp``: the event time of the element in milliseconds, None if it has none.
        """


@dataclass(frozen=True)
class CalledSerializer(KafkaRecordSerializationSchema):
    """A plain function that makes the record for Kafka."""

    function: Callable[[Any], KafkaProducerRecord | None]

    def serialize(self, element: Any, timestamp: int | None) -> KafkaProducerRecord | None:
        return self.function(element)


_TAKEN_BACK = frozenset({RowKind.DELETE, RowKind.UPDATE_BEFORE})


@dataclass(frozen=True)
class FieldSerializer(KafkaRecordSerializationSchema):
    """A topic, a schema for the value and perhaps one for the key: what PyFlink's builder makes."""

    fixed_topic: str | None
    selector: Callable[[Any], str] | None
    value_schema: SerializationSchema[Any]
    key_schema: SerializationSchema[Any] | None = None
    upsert: bool = False

    @property
    def topic(self) -> str | None:
        return self.fixed_topic

    def serialize(self, element: Any, timestamp: int | None) -> KafkaProducerRecord:
        topic = self.fixed_topic
        if topic is None:
            assert self.selector is not None
            topic = self.selector(element)
        key = None if self.key_schema is None else self.key_schema.serialize(element)
        if self.upsert and isinstance(element, Row) and element.get_row_kind() in _TAKEN_BACK:
            return KafkaProducerRecord(topic, None, key)
        return KafkaProducerRecord(topic, self.value_schema.serialize(element), key)


def checked_record(found: object) -> KafkaProducerRecord:
    """Return what a serializer has made, if Kafka can take it."""
    if not isinstance(found, KafkaProducerRecord):
        raise _misfit(f"a serializer gives {short_repr(found)}", "return a KafkaProducerRecord")
    if not isinstance(found.topic, str) or not found.topic:
        raise _misfit(f"{short_repr(found.topic)} is no topic", "name a topic: a text, not empty")
    for what in ("value", "key"):
        part = getattr(found, what)
        if not (part is None or isinstance(part, bytes | bytearray | memoryview)):
            hint = "let the serializer return bytes, or None"
            raise _misfit(f"the {what} of a record is {short_repr(part)}", hint)
    for what in ("timestamp", "partition"):
        number = getattr(found, what)
        if number is not None and (not isinstance(number, int) or number < 0):
            hint = "let it be a whole number from 0 on, or None"
            raise _misfit(f"the {what} of a record is {short_repr(number)}", hint)
    return found


def _misfit(message: str, hint: str) -> TypeMismatchError:
    return TypeMismatchError("KAFKA_RECORD", f"{message}, which Kafka cannot take", hint=hint)
