"""A sink that writes to Kafka exactly once: a transaction per part and epoch, with a marker inside.

The marker is an offset of a consumer group: the group has the name of the transactional id, the offset
is the number of the epoch, its metadata the fingerprint of the part, with the number of parts that the
epoch has. Kafka writes records and marker in one transaction, so a replayed epoch finds the marker of
each part that was written, and skips it.

A process keeps the producer of a part for the next epoch. If another process gets the part then, its
producer takes the transactional id over, and the first one is *fenced*: whatever it had begun is void.
"""

from __future__ import annotations

import string
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from millstream.connectors.kafka.producing import FencedError, Sending, StuckError
from millstream.connectors.kafka.serialization import KafkaProducerRecord
from millstream.connectors.kafka.settings import KafkaSettings, confluent
from millstream.connectors.kafka.sink import KafkaSink, Times, serialized
from millstream.connectors.kafka.sink_checks import check_topic, check_transactions
from millstream.connectors.sink import (
    IdempotentSink,
    IdempotentWriter,
    PartContext,
    PartMarker,
    SinkContext,
)
from millstream.connectors.sink_calls import same_part

__all__ = ["ExactlyOnceKafkaSink"]

TIMEOUT_MS = 120_000
"""How long a transaction may take, unless the program sets ``transaction.timeout.ms``."""

KEPT = 16
"""How many producers a process keeps: each has threads and connections."""

TAKE_OVERS = 3
"""How often a writer begins again whose producer was fenced."""

PATIENCE_SECONDS = 2.0
"""How long such a writer waits for the one that has fenced it."""

_PLAIN = string.punctuation.replace("%", " ")
_ASKED_SECONDS = 5.0
_ANSWERED_SECONDS = 60.0
_POLL_SECONDS = 0.05
_PASSING = frozenset(
    {
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR",
        "UNSTABLE_OFFSET_COMMIT",
        "_TIMED_OUT",
        "_TRANSPORT",
    }
)
"""Errors of a coordinator that pass by themselves."""


_NONE = PartMarker(-1, "")
"""The marker of a part of which nothing is written."""


@dataclass(frozen=True)
class ExactlyOnceKafkaSink(KafkaSink, IdempotentSink):
    """Writes each part of an epoch in a transaction of its own, with a marker.

    Attributes
    ----------
    prefix : str
        What the transactional ids begin with; they go on with job, sink and part.
    """

    prefix: str = "kafka-sink"

    @property
    def timeout_ms(self) -> int:
        """How long a transaction may take."""
        return int(self.settings.properties.get("transaction.timeout.ms", TIMEOUT_MS))

    @property
    def ours(self) -> dict[str, Any]:
        return {"transactional.id": self.prefix, "transaction.timeout.ms": self.timeout_ms}

    def transactional_id(self, context: SinkContext, part: int | str) -> str:
        """The transactional id of a part, which is also the group of its markers."""
        # librdkafka takes groups of ASCII letters and signs only.
        return quote(f"{self.prefix}-{context.job_id}-{context.sink}-{part}", safe=_PLAIN)

    def start(self, context: SinkContext) -> None:
        super().start(context)
        check_transactions(self.settings, self.timeout_ms)

    def last_markers(self, context: SinkContext) -> Mapping[int, PartMarker]:
        groups = _answered(
            self.settings,
            lambda admin: admin.list_consumer_groups(request_timeout=_ASKED_SECONDS).result().valid,
        )
        first = self.transactional_id(context, "")
        names = [group.group_id for group in groups if group.group_id.startswith(first)]
        parts = {name: name.removeprefix(first) for name in names}
        found = {
            int(part): _read_marker(self.settings, name)
            for name, part in parts.items()
            if part.isdecimal()
        }
        return {part: marker for part, marker in found.items() if marker != _NONE}

    def open_part(self, context: PartContext) -> IdempotentWriter:
        return _TransactionWriter(self, context)

    # -- kept producers ----------------------------------------------------------------------------

    @property
    def _kept(self) -> OrderedDict[str, _Transactions]:
        kept: OrderedDict[str, _Transactions] = vars(self).setdefault("_producers", OrderedDict())
        return kept

    def taken(self, name: str) -> _Transactions | None:
        """The producer that this process has kept for a transactional id; it is kept no longer.

        One that has lost a broker meanwhile may never find it again, and is given up.
        """
        kept = self._kept.pop(name, None)
        if kept is None or not kept.sending.has_lost_brokers():
            return kept
        kept.close()
        return None

    def begun(self, name: str) -> _Transactions:
        """Make a new producer, which fences all others with its transactional id."""
        for _ in range(TAKE_OVERS):
            with suppress(FencedError):  # while it took the id over, another one did
                ours = {**self.ours, "transactional.id": name}
                return _Transactions(self.producing, ours)
        raise self.fenced(name)

    def fenced(self, name: str) -> Exception:
        """The error for a transactional id that cannot be held."""
        return self.settings.error(
            "KAFKA_FENCED",
            f"others take the transactional id {name!r} over again and again",
            "give each job a transactional id prefix of its own; the same job must not run twice",
        )

    def keep(self, producer: _Transactions) -> None:
        """Keep a producer for the next epoch; drop the least recently used one if there are too many."""
        earlier = self._kept.pop(producer.name, None)
        if earlier is not None:
            earlier.close()
        self._kept[producer.name] = producer
        producer.is_kept = True
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)[1].close()

    def close(self) -> None:
        while self._kept:
            self._kept.popitem()[1].close()


class _Transactions:
    """The producer of one transactional id, and the last marker of that id.

    While nobody fences the producer, nobody else writes a marker: what it knows is what is there.
    """

    def __init__(self, settings: KafkaSettings, ours: dict[str, Any]) -> None:
        self.name: str = ours["transactional.id"]
        self.seconds = ours["transaction.timeout.ms"] / 1_000
        self.is_kept = False
        self._topics: set[str] = set()
        self.sending = Sending(settings, ours)
        try:
            # A client that is not connected yet looks for its coordinator again after 500 ms.
            self.sending.connect(self.seconds)
            # Aborts what another producer has begun, so the marker is read after it.
            self.sending.call("init_transactions", self.seconds)
            self.marker = self.read_marker()
        except BaseException:
            self.sending.close()
            raise
        self._group = _group(settings, self.name)

    def read_marker(self) -> PartMarker:
        """The last marker of the transactional id, from any producer."""
        return _read_marker(self.sending.settings, self.name)

    def write(self, records: Iterator[tuple[KafkaProducerRecord, int]], marker: PartMarker) -> None:
        """Write records and marker in one transaction; raises `FencedError`."""
        from confluent_kafka import TopicPartition

        first = next(records, None)
        if first is None:
            return
        topic = first[0].topic
        if topic not in self._topics:
            # The marker is written to a topic, and the client would wait long for one to be made.
            check_topic(self.sending.settings, topic, self.sending.client)
            self._topics.add(topic)
        self.sending.client.begin_transaction()
        # The marker goes first: a producer that was fenced while it waited learns it before it sends.
        place = TopicPartition(topic, 0, marker.epoch, metadata=marker.fingerprint)
        self.sending.send_offset(place, self._group, self.seconds)
        self.sending.send(_with_first(first, records))
        self.sending.call("commit_transaction", self.seconds)
        self.marker = marker

    def abort(self) -> None:
        """Abort what has begun, if that is possible; the next producer does it else."""
        with suppress(Exception):
            self.sending.client.abort_transaction(1.0)

    def close(self) -> None:
        self.sending.close()


# What is no producer warns of each property that only producers have.
_QUIET = {"log_level": 3}


def _group(settings: KafkaSettings, name: str) -> Any:
    """The group that transactions write their markers to; it has no members."""
    settings_of_group = settings.configuration({**_QUIET, "group.id": name})
    consumer = confluent("KafkaSink").Consumer(settings_of_group)
    try:
        return consumer.consumer_group_metadata()
    finally:
        consumer.close()


def _with_first(first: Any, others: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from others


def _read_marker(settings: KafkaSettings, group: str) -> PartMarker:
    """The last marker of a group. Records may have gone to several topics, with a marker in each."""
    from confluent_kafka import ConsumerGroupTopicPartitions

    def ask(admin: Any) -> Any:
        # An offset of a transaction that is about to end is waited for.
        asked = [ConsumerGroupTopicPartitions(group)]
        answers = admin.list_consumer_group_offsets(
            asked, require_stable=True, request_timeout=_ASKED_SECONDS
        )
        return answers[group].result().topic_partitions

    places = _answered(settings, ask)
    found = (
        PartMarker(place.offset, place.metadata or "") for place in places if place.offset >= 0
    )
    return max(found, default=_NONE)


def _answered(settings: KafkaSettings, ask: Callable[[Any], Any]) -> Any:
    """The answer of a broker; one that has started a moment ago is asked again.

    Each time by a new client: one that has lost its coordinator may never find it again, and aborts the
    process when it does (an assertion of librdkafka 2.16).
    """
    from confluent_kafka.admin import AdminClient

    module = confluent("KafkaSink")
    until = time.monotonic() + _ANSWERED_SECONDS
    moment = threading.Event()
    while True:
        admin = AdminClient(settings.configuration(_QUIET))
        try:
            return ask(admin)
        except module.KafkaException as error:
            found = error.args[0]
            passing = found.retriable() or found.name() in _PASSING
            if not passing or time.monotonic() >= until:
                raise settings.unreachable([found]) from None
        moment.wait(_POLL_SECONDS)


class _TransactionWriter(IdempotentWriter):
    """Writes one part of one epoch. Records wait until `finish`: a transaction is open only there."""

    def __init__(self, sink: ExactlyOnceKafkaSink, context: PartContext) -> None:
        self._sink = sink
        self._context = context
        self._name = sink.transactional_id(context, context.part)
        self._producer = sink.taken(self._name)
        self._batches: list[tuple[list[Any], Times | None]] = []
        self._failed = False

    def begin(self) -> str | None:
        if self._producer is None:
            self._producer = self._sink.begun(self._name)
        return self._found(self._producer.marker)

    def _found(self, marker: PartMarker) -> str | None:
        """The fingerprint with which the part is there already, None if it is not."""
        if marker.epoch < self._context.epoch:
            return None
        # A later epoch is there: this writer is a zombie, and its part was written long ago.
        is_later = marker.epoch > self._context.epoch
        return self._context.fingerprint if is_later else marker.fingerprint

    def write(self, batch: list[Any]) -> None:
        self.write_timed(batch, None)

    def write_timed(self, batch: list[Any], times: Times | None) -> None:
        self._batches.append((batch, times))

    def finish(self) -> None:
        self._failed = True
        self._write()
        self._failed = False

    def _write(self) -> None:
        marker = PartMarker(self._context.epoch, self._context.fingerprint)
        for _ in range(TAKE_OVERS):
            if self._producer is None:
                self._producer = self._sink.begun(self._name)
                if self._is_there(self._producer.marker):
                    return
            try:
                self._producer.write(self._records(), marker)
            except FencedError:
                if self._is_written_by_another():
                    return
            except StuckError:
                self._producer = None
            else:
                return
        raise self._sink.fenced(self._name)

    def _records(self) -> Iterator[tuple[KafkaProducerRecord, int]]:
        for batch, times in self._batches:
            yield from serialized(self._sink.serializer, batch, times, self._context)

    def _is_there(self, marker: PartMarker) -> bool:
        found = self._found(marker)
        if found is not None:
            same_part(found, self._context)
        return found is not None

    def _is_written_by_another(self) -> bool:
        """Whether the attempt that has fenced this one writes the part; waits for it a moment.

        A producer that was kept was most likely fenced long ago, by the process that wrote the part of
        an earlier epoch: nobody is to be waited for, and the next producer reads the marker anyway.
        """
        fenced, self._producer = self._producer, None
        assert fenced is not None
        try:
            if fenced.is_kept:
                return False
            until = time.monotonic() + PATIENCE_SECONDS
            moment = threading.Event()
            while not self._is_there(fenced.read_marker()):
                if time.monotonic() >= until:
                    return False
                moment.wait(_POLL_SECONDS)
            return True
        finally:
            fenced.close()

    def close(self) -> None:
        producer, self._producer = self._producer, None
        if producer is None:
            return
        if self._failed:
            producer.abort()
            producer.close()
        else:
            self._sink.keep(producer)
