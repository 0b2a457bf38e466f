"""Questions of a Kafka sink to the brokers when a job starts: is all there that it needs?"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any

from millstream.connectors.kafka.producing import unknown_topic
from millstream.connectors.kafka.settings import KafkaSettings, confluent, reason

__all__ = ["LEAST_RETENTION_MINUTES", "check_topic", "check_transactions"]

_LOGGER = logging.getLogger("millstream.kafka")
_SECONDS = 5.0
LEAST_RETENTION_MINUTES = 24 * 60
"""A job whose markers live shorter is warned."""

_DEFAULT_RETENTION_MINUTES = 7 * 24 * 60


def check_topic(settings: KafkaSettings, topic: str | None, client: Any = None) -> None:
    """Refuse a topic that the brokers do not know and do not make."""
    if topic is None:
        return
    module = confluent("KafkaSink")
    client = client or module.Producer(settings.configuration())
    until = time.monotonic() + _SECONDS
    while True:
        # To ask for a topic by its name makes it, where brokers do that by themselves.
        found = client.list_topics(topic, timeout=_SECONDS).topics[topic]
        if found.error is None:
            return
        wait = found.error.code() == module.KafkaError.LEADER_NOT_AVAILABLE
        if not wait or time.monotonic() >= until:
            raise unknown_topic(settings, topic)


def check_transactions(settings: KafkaSettings, timeout_ms: int) -> None:
    """Compare what exactly once needs with what the brokers allow, as far as they can be asked."""
    try:
        allowed = dict(_broker_settings(settings))
    except Exception as error:  # without the right to ask, a job can still write
        _LOGGER.warning(
            "the brokers do not tell their settings (%s): exactly once holds if a job that has failed "
            "starts again within offsets.retention.minutes of the broker (%d by default), and "
            "transaction.max.timeout.ms is %d at least",
            settings.redacted(reason(error)),
            _DEFAULT_RETENTION_MINUTES,
            timeout_ms,
        )
        return
    most = allowed.get("transaction.max.timeout.ms")
    if most is not None and timeout_ms > most:
        raise settings.error(
            "KAFKA_TRANSACTION_TIMEOUT",
            f"a transaction of the sink may take {timeout_ms} ms, and the broker allows {most} ms",
            "set the property transaction.timeout.ms lower, or transaction.max.timeout.ms of the broker "
            "higher",
        )
    kept = allowed.get("offsets.retention.minutes")
    if kept is not None and kept < LEAST_RETENTION_MINUTES:
        _LOGGER.warning(
            "the broker forgets which epochs are written after %d minutes (offsets.retention.minutes): "
            "a job that has failed and starts again later than that may write an epoch twice; the "
            "default is %d",
            kept,
            _DEFAULT_RETENTION_MINUTES,
        )


def _broker_settings(settings: KafkaSettings) -> Iterator[tuple[str, int]]:
    from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

    admin: Any = AdminClient(settings.configuration({"log_level": 3}))
    broker = next(iter(admin.list_topics(timeout=_SECONDS).brokers))
    asked = [ConfigResource(ResourceType.BROKER, str(broker))]
    for answer in admin.describe_configs(asked, request_timeout=_SECONDS).values():
        for name, entry in answer.result().items():
            if name in ("transaction.max.timeout.ms", "offsets.retention.minutes"):
                yield name, int(entry.value)
