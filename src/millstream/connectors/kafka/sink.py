"""A sink that writes to Kafka at least once; what both Kafka sinks share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from millstream.common.errors import MillstreamError, user_code_error
from millstream.connectors.kafka.producing import DEFAULTS, Sending
from millstream.connectors.kafka.serialization import (
    FieldSerializer,
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
    checked_record,
)
from millstream.connectors.kafka.settings import KafkaSettings
from millstream.connectors.kafka.sink_checks import check_topic
from millstream.connectors.sink import (
    Changelog,
    FunctionSink,
    PartContext,
    PartSink,
    PartWriter,
    SinkContext,
)

if TYPE_CHECKING:
    from millstream.connectors.kafka.sink_builder import KafkaSinkBuilder

__all__ = ["AtLeastOnceKafkaSink", "KafkaSink", "Times", "serialized"]

Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class KafkaSink(PartSink):
    """Writes records to topics of Kafka. `KafkaSink.builder` makes one.

    Attributes
    ----------
    settings : KafkaSettings
        The servers and the properties of the producer.
    serializer : KafkaRecordSerializationSchema
        Makes records of Kafka out of those of the stream.
    """

    settings: KafkaSettings
    serializer: KafkaRecordSerializationSchema

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """Begin a sink: give it servers and a record serializer, then ``build()``."""
        from millstream.connectors.kafka.sink_builder import KafkaSinkBuilder

        return KafkaSinkBuilder()

    @property
    def changelog(self) -> Changelog:  # type: ignore[override]
        return self.serializer.changelog

    @property
    def producing(self) -> KafkaSettings:
        """The settings of a producer: those of the program, and defaults for the others."""
        return replace(self.settings, properties={**DEFAULTS, **self.settings.properties})

    def validate(self) -> None:
        self.producing.check("Producer", self.ours)

    @property
    def ours(self) -> dict[str, Any]:
        """Properties of the producer that the program cannot change."""
        return {}

    def start(self, context: SinkContext) -> None:
        self.settings.check_reachable()
        check_topic(self.settings, self.serializer.topic)

    def __getstate__(self) -> dict[str, Any]:
        # What a task keeps belongs to its process.
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}


def serialized(
    serializer: KafkaRecordSerializationSchema,
    batch: list[Any],
    times: Times | None,
    context: PartContext,
) -> Iterator[tuple[KafkaProducerRecord, int]]:
    """The records of a batch for Kafka, each with its event time (0: it has none that Kafka takes)."""
    # Kafka takes no times before 1970; Flink leaves them out, too.
    stamps = [0] * len(batch) if times is None else np.maximum(times, 0).tolist()
    serialize = serializer.serialize
    trusted = type(serializer) is FieldSerializer and serializer.selector is None
    element: Any = None
    try:
        for element, stamp in zip(batch, stamps, strict=True):
            record = serialize(element, stamp or None)
            if record is not None:
                yield record if trusted and _fits(record) else checked_record(record), stamp
    except (MillstreamError, GeneratorExit) as error:
        if isinstance(error, MillstreamError) and error.location is None:
            error.location = context.location
        raise
    except Exception as error:
        raise user_code_error(
            error, context.name, context.sink, element, location=context.location
        ) from error


def _fits(record: KafkaProducerRecord) -> bool:
    """Whether a record is surely right, quickly: its topic was checked before."""
    return type(record.value) is bytes and (record.key is None or type(record.key) is bytes)


@dataclass(frozen=True)
class AtLeastOnceKafkaSink(KafkaSink, FunctionSink):
    """Writes to Kafka at least once: `finish` waits until the broker has each record."""

    def open_part(self, context: PartContext) -> PartWriter:
        sending = vars(self).get("_sending")
        if sending is not None and sending.failed:
            # Nobody else would end it: the garbage collector does not, while records are under way.
            self.close()
            sending = None
        if sending is None:
            sending = Sending(self.producing)
            object.__setattr__(self, "_sending", sending)
        return _AtLeastOnceWriter(self.serializer, sending, context)

    def close(self) -> None:
        sending = vars(self).pop("_sending", None)
        if sending is not None:
            sending.close()


class _AtLeastOnceWriter(PartWriter):
    """Writes a part; the producer stays in the process."""

    def __init__(
        self, serializer: KafkaRecordSerializationSchema, sending: Sending, context: PartContext
    ) -> None:
        self._serializer = serializer
        self._sending = sending
        self._context = context

    def write(self, batch: list[Any]) -> None:
        self.write_timed(batch, None)

    def write_timed(self, batch: list[Any], times: Times | None) -> None:
        self._sending.send(serialized(self._serializer, batch, times, self._context))

    def finish(self) -> None:
        self._sending.flush()
