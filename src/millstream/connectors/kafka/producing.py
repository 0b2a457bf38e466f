"""A producer of Kafka, and its failures in words: which topic, which partition, why, what to do."""

from __future__ import annotations

import logging
import threading
import time
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from millstream.common.errors import EnvironmentSetupError
from millstream.connectors.kafka.serialization import KafkaProducerRecord
from millstream.connectors.kafka.settings import KafkaSettings, confluent, reason

__all__ = ["DEFAULTS", "FencedError", "Sending", "StuckError", "unknown_topic"]

DEFAULTS: Mapping[str, Any] = {
    # As Kafka's Java client and with it Flink: keys keep their partitions when programs are moved.
    "partitioner": "murmur2_random",
    "enable.idempotence": True,
    "message.timeout.ms": 120_000,
    "linger.ms": 5,
    # The broker closes a transaction a few milliseconds after its commit, and refuses the next one
    # until then. librdkafka would wait 100 ms.
    "retry.backoff.ms": 10,
    # librdkafka connects to its first broker half as long after the client was made as this says, 11 ms
    # at least, and takes 100 ms by default. A new producer makes two clients.
    "reconnect.backoff.ms": 20,
}
"""Properties of producers that the program has not set."""

STUCK_SECONDS = 10.0
"""After how long a producer is given up that does not come back."""

CLOSED_SECONDS = 5.0
"""How much longer than its limit the end of a client may take; then it is left to itself."""

_NOT_ABORTED = "Producer abort_transaction failed during close"

_POLLED = 10_000
"""After how many records the producer is asked for failures."""


_LOGGER = logging.getLogger("millstream.kafka.producer")
# That another task has gone on with a part is no fault, and librdkafka calls it a fatal one.
_LOGGER.addFilter(lambda line: "fenced" not in line.getMessage())


class FencedError(Exception):
    """The transactional id does not belong to the producer any more: another one has taken it over."""


class StuckError(Exception):
    """The client does not come back from a call: a new one has to be made."""


class Sending:
    """A producer, and what its delivery reports have told.

    librdkafka sends in the background, so a failure may belong to an earlier record.
    """

    def __init__(self, settings: KafkaSettings, ours: Mapping[str, Any] | None = None) -> None:
        self.settings = settings
        self.failed: list[tuple[Any, Any, Any]] = []
        self.told: list[Any] = []
        self._is_stuck = False
        self._module = confluent("KafkaSink")
        self._errors = self._module.KafkaError
        reports = {
            "on_delivery": self._reported,
            # Millions of records are delivered, and one failure is enough.
            "delivery.report.only.error": True,
            "error_cb": self.told.append,
        }
        made = settings.configuration({**(ours or {}), **reports})
        self.client = self._module.Producer({**made, "logger": _LOGGER})

    def _reported(self, error: Any, message: Any) -> None:
        if error is not None:
            self.failed.append((error, message.topic(), message.partition()))

    def _poll(self, seconds: float = 0.0) -> None:
        """Let the client tell what has happened."""
        try:
            self.client.poll(seconds)
        except self._module.KafkaException as error:
            self.told.append(error.args[0])

    # -- records -----------------------------------------------------------------------------------

    def send(self, records: Iterable[tuple[KafkaProducerRecord, int]]) -> None:
        """Give records to the producer, each with its event time (0: the time of writing)."""
        produce = self.client.produce
        for count, (record, event_time) in enumerate(records, 1):
            topic, value, key, headers, own_time, partition = record
            place = -1 if partition is None else partition
            at = event_time if own_time is None else own_time
            try:
                if headers is None:
                    produce(topic, value, key, place, None, None, at)
                else:
                    produce(topic, value, key, place, None, None, at, _listed(headers))
            except BufferError:
                self._produce_later(topic, value, key, place, None, None, at, _listed(headers))
            except self._module.KafkaException as error:
                self._poll()
                raise self._failure(error.args[0], topic, place) from None
            if count % _POLLED == 0:
                self._poll()
                self.refuse_failures()
        self._poll()

    def _produce_later(self, *arguments: Any) -> None:
        """Wait until the queue of the producer has room again, and take up the record."""
        while True:
            self._poll(0.1)
            self.refuse_failures()
            with suppress(BufferError):
                self.client.produce(*arguments)
                return

    def flush(self) -> None:
        """Wait until each record is at the broker, or has failed."""
        # Each record ends by message.timeout.ms at the latest.
        while self.client.flush(1.0):
            self.refuse_failures()
        self.refuse_failures()

    def refuse_failures(self) -> None:
        """Raise the first failure that was reported."""
        if self.failed:
            raise self._failure(*self.failed[0])

    def has_lost_brokers(self) -> bool:
        """Whether connections were lost since the client was made."""
        self._poll()
        return bool(self.told)

    def close(self, seconds: float = 1.0) -> None:
        """Let the client go; records that are not written are forgotten."""
        if self._is_stuck:
            return  # it would not come back from this either

        def let_go() -> None:
            with suppress(Exception):
                self.client.purge()
                self.client.close(seconds)

        # The client of a part that another process has taken over says so in the user's terminal.
        warnings.filterwarnings("ignore", _NOT_ABORTED, RuntimeWarning)
        # While the broker is away, librdkafka 2.16 may never come back from this, whatever its time
        # limit: the task would stay here, and its failure would never be told.
        thread = threading.Thread(target=let_go, daemon=True, name="kafka close")
        thread.start()
        thread.join(seconds + CLOSED_SECONDS)
        self._is_stuck = thread.is_alive()

    def connect(self, seconds: float) -> None:
        """Wait until a broker has answered."""
        try:
            self.client.list_topics(timeout=seconds)
        except self._module.KafkaException as error:
            self._poll()
            raise self._failure(error.args[0]) from None

    # -- transactions --------------------------------------------------------------------------------

    def call(self, step: str, seconds: float, *arguments: Any, topic: str | None = None) -> None:
        """Call a method of the transactional producer until it is done, for so long at most."""
        until = time.monotonic() + seconds
        while True:
            left = max(until - time.monotonic(), 0.1)
            try:
                getattr(self.client, step)(*arguments, left)
                return
            except self._module.KafkaException as error:
                self._poll()
                found = error.args[0]
                if not found.retriable() or time.monotonic() >= until:
                    # If a record has failed, what the transaction says follows from that.
                    failed = self.failed[0] if self.failed else (found, topic)
                    raise self._failure(*failed) from None

    def send_offset(self, place: Any, group: Any, seconds: float) -> None:
        """Write an offset of a group in the transaction.

        librdkafka 2.16 may never come back from this call, whatever its time limit, if the broker of the
        group has been away (librdkafka issues 5456 and 5511). So another thread calls it. If that one
        stays away, it never commits: the next producer makes its transaction void.
        """
        raised: list[BaseException] = []

        def call() -> None:
            try:
                self.call("send_offsets_to_transaction", seconds, [place], group, topic=place.topic)
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=call, daemon=True, name="kafka offset")
        thread.start()
        thread.join(min(seconds, STUCK_SECONDS))
        if thread.is_alive():
            self._is_stuck = True
            raise StuckError(f"no answer within {STUCK_SECONDS} s")
        if raised:
            # Not held by a name here: error, traceback and frames would be a cycle, and the frames hold
            # all records of the part until the garbage collector comes, which is rare in a task.
            raise raised.pop()

    def _is_fenced(self, error: Any) -> bool:
        # Brokers forget an id that was not used for transactional.id.expiration.ms, 7 days by default.
        fenced = _of(
            self._errors,
            "_FENCED PRODUCER_FENCED INVALID_PRODUCER_EPOCH INVALID_PRODUCER_ID_MAPPING",
        )
        fatal = [error, *(told for told in self.told if told.fatal())]
        return any(one.code() in fenced for one in fatal)

    # -- words ---------------------------------------------------------------------------------------

    def _failure(self, error: Any, topic: str | None = None, partition: int = -1) -> Exception:
        """The error of a record, or of a transaction."""
        if self._is_fenced(error):
            return FencedError(str(error))
        codes = self._errors
        if error.code() in _of(codes, "_MSG_TIMED_OUT _TIMED_OUT _TRANSPORT _ALL_BROKERS_DOWN"):
            away = [told for told in self.told if told.code() != codes._FATAL]
            return self.settings.unreachable([*away[-1:], error])
        if error.code() in _of(codes, "UNKNOWN_TOPIC_OR_PART _UNKNOWN_TOPIC"):
            return unknown_topic(self.settings, topic)
        place = f" to topic {topic!r}" if topic is not None else " the transaction"
        place += f", partition {partition}" if partition >= 0 else ""
        return self.settings.error(
            "KAFKA_NOT_WRITTEN",
            f"Kafka does not take what is written{place}: {reason(_Said(error))} ({error.name()})",
            _hint(codes, error.code()),
        )


class _Said(Exception):
    """An error of librdkafka that was reported, not raised."""


def unknown_topic(settings: KafkaSettings, topic: str | None) -> EnvironmentSetupError:
    """Return the error for a topic that does not exist."""
    return settings.error(
        "KAFKA_NO_TOPIC",
        f"there is no topic {topic!r} at {settings.servers}",
        "create it, or correct the name; the broker makes topics by itself only with "
        "auto.create.topics.enable",
    )


def _of(codes: Any, names: str) -> set[int]:
    return {getattr(codes, name) for name in names.split()}


def _listed(headers: Any) -> Any:
    return list(headers.items()) if isinstance(headers, Mapping) else headers


_HINTS = {
    "MSG_SIZE_TOO_LARGE INVALID_MSG_SIZE RECORD_LIST_TOO_LARGE": "write smaller records; or raise "
    "message.max.bytes of the client (max.request.size in Java) and max.message.bytes of the topic",
    "_UNKNOWN_PARTITION": "the record names a partition that the topic does not have",
    "TOPIC_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED "
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "give the user of the sink the rights: WRITE to the topic; "
    "for exactly once also WRITE to the transactional ids, and READ to the groups, of its prefix",
    "NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND": "fewer replicas are alive than "
    "min.insync.replicas of the topic asks for: start the missing brokers",
    "KAFKA_STORAGE_ERROR": "the disk of a broker is full or broken: see the log of the broker",
    "INVALID_TRANSACTION_TIMEOUT": "set the property transaction.timeout.ms below "
    "transaction.max.timeout.ms of the broker",
    "TOPIC_EXCEPTION": "names of topics have letters, digits, '.', '_' and '-', 249 at most",
}


def _hint(codes: Any, code: int) -> str:
    for names, hint in _HINTS.items():
        if code in _of(codes, names):
            return hint
    return (
        "see the log of the broker; a job starts again after a failure if it has a restart strategy"
    )
