"""The brokers as the driver sees them: topics, offsets, and the offsets of the consumer group."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from millstream.connectors.kafka.partitions import TopicPartition
from millstream.connectors.kafka.settings import KafkaSettings, confluent, reason

__all__ = ["ASK_SECONDS", "Cluster"]

ASK_SECONDS = 10.0
"""How long a question waits for an answer."""
_BEGINNING, _END = -2, -1
_LOGGER = logging.getLogger("millstream")


class BrokersAwayError(Exception):
    """No answer in time."""


class Cluster:
    """A client that asks and never reads; ``group``: the consumer group, if there is one."""

    def __init__(self, settings: KafkaSettings, client_id: str, group: str | None) -> None:
        self._module = confluent()
        self._told: list[Any] = []
        self._consumer = self._module.Consumer(
            settings.configuration(
                {
                    **consumer_properties(group),
                    "client.id": f"{client_id}-offsets",
                    "error_cb": self._hear,
                    "on_commit": _log_failed_commit,
                }
            )
        )

    def _hear(self, error: Any) -> None:
        self._told = [*self._told[-9:], error]

    def close(self) -> None:
        self._consumer.close()

    # -- questions -------------------------------------------------------------------------------

    def topics(self, named: Iterable[str] | None = None) -> dict[str, int]:
        """The number of partitions of each topic that is there; ``named``: of these only."""
        # Lines of the log and errors wait until somebody polls.
        self._consumer.poll(0)
        if named is None:
            return self._partition_counts(None)
        found: dict[str, int] = {}
        for topic in named:
            found |= self._partition_counts(topic)
        return found

    def _partition_counts(self, topic: str | None) -> dict[str, int]:
        asked = {} if topic is None else {"topic": topic}
        topics = self._ask(self._consumer.list_topics, timeout=ASK_SECONDS, **asked).topics
        return {name: len(one.partitions) for name, one in topics.items() if one.error is None}

    def earliest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._at(partitions, _BEGINNING)

    def latest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset behind the last record; by default behind the last whole transaction."""
        return self._at(partitions, _END)

    def at_time(
        self, partitions: Iterable[TopicPartition], timestamp_ms: int
    ) -> dict[TopicPartition, int]:
        return self._at(partitions, timestamp_ms)

    def _at(
        self, partitions: Iterable[TopicPartition], time_or_end: int
    ) -> dict[TopicPartition, int]:
        """In the protocol a place is a time, -1 or -2: one question covers all partitions."""
        wanted = [self._module.TopicPartition(*one, time_or_end) for one in partitions]
        if not wanted:
            return {}
        answer = self._ask(self._consumer.offsets_for_times, wanted, timeout=ASK_SECONDS)
        return self._offsets(answer)

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        wanted = [self._module.TopicPartition(*one) for one in partitions]
        answer = self._ask(self._consumer.committed, wanted, timeout=ASK_SECONDS) if wanted else []
        return self._offsets(answer)

    def _offsets(self, answer: Iterable[Any]) -> dict[TopicPartition, int]:
        found = {}
        for one in answer:
            if one.error is not None:
                raise self._away(one.error)
            if one.offset >= 0:
                found[one.topic, one.partition] = one.offset
        return found

    def _ask(self, question: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return question(*arguments, **options)
        except self._module.KafkaException as error:
            raise self._away(error.args[0]) from None

    def _away(self, error: Any) -> BrokersAwayError:
        """The error for no answer; the client may know more about it than the question does."""
        self._consumer.poll(0)
        told, self._told = [*self._told, error], []
        return BrokersAwayError(told)

    # -- the consumer group ----------------------------------------------------------------------

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Write the offsets of the group, without waiting: they are for those who watch."""
        made = [self._module.TopicPartition(*one, offset) for one, offset in offsets.items()]
        try:
            self._consumer.commit(offsets=made, asynchronous=True)
        except self._module.KafkaException as error:
            _LOGGER.warning("group offsets are not written: %s", reason(error))


def consumer_properties(group: str | None) -> dict[str, Any]:
    """Properties that all consumers of a source have."""
    return {
        # librdkafka wants a group, also of a consumer that belongs to none.
        "group.id": group or "millstream",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "error",
    }


def _log_failed_commit(error: Any, partitions: Any) -> None:
    if error is not None:
        _LOGGER.warning("group offsets are not written: %s", error.str())
