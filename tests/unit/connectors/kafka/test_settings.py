"""Servers and properties of clients."""

from __future__ import annotations

import logging
import pickle
import socket

import pytest

from millstream.common.errors import EnvironmentSetupError, PlanError
from millstream.connectors.kafka.settings import KafkaSettings

_JAAS = 'x.PlainLoginModule required username="me" password="hidden-away";'
_SECRETS = {
    "sasl.jaas.config": _JAAS,
    "sasl.password": "hidden-away",
    "ssl.key.pem": "hidden-away",
    "ssl.keystore.key": "hidden-away",
    "ssl.key.password": "hidden-away",
    "sasl.oauthbearer.client.secret": "hidden-away",
    "sasl.oauthbearer.config": "hidden-away",
}


def test_secrets_are_not_shown() -> None:
    settings = KafkaSettings("a:1", _SECRETS)
    assert "hidden-away" not in repr(settings)
    assert "hidden-away" not in str(settings)
    assert "hidden-away" not in settings.redacted("login with hidden-away failed")
    assert "hidden-away" not in KafkaSettings("a:1", {"ssl.key.pem": "hidden-away"}).redacted(
        "key hidden-away"
    )


def test_settings_travel() -> None:
    settings = KafkaSettings("a:1", _SECRETS)
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_the_configuration_has_ours_before_the_programs() -> None:
    made = KafkaSettings("a:1", {"group.id": "g", "client.id": "c"}).configuration(
        {"group.id": "ours"}
    )
    assert made["group.id"] == "ours"
    assert made["client.id"] == "c"
    assert made["bootstrap.servers"] == "a:1"
    assert made["logger"].name == "millstream.kafka"


def test_lines_of_librdkafka_do_not_reach_the_terminal() -> None:
    logger = logging.getLogger("millstream.kafka")
    assert any(isinstance(handler, logging.NullHandler) for handler in logger.handlers)


@pytest.mark.parametrize("given", [{"no.such.property": "1"}, {"fetch.wait.max.ms": "soon"}])
def test_properties_that_librdkafka_refuses(given: dict[str, object]) -> None:
    with pytest.raises(PlanError, match=r"KAFKA_PROPERTY.*properties of the consumer") as error:
        KafkaSettings("a:1", {**_SECRETS, **given}).check("Consumer", {"group.id": "g"})
    assert "hidden-away" not in str(error.value)


def test_good_properties_pass() -> None:
    settings = KafkaSettings("a:1", {"linger.ms": 5, "key.serializer": "x"})
    settings.check("Producer")


def test_a_broker_that_does_not_answer_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(EnvironmentSetupError, match=rf"KAFKA_UNREACHABLE.*at {address}"):
            KafkaSettings(address).check_reachable(0.3)
