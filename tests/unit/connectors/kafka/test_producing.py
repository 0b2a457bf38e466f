"""The producer of a Kafka sink, without a broker."""

from __future__ import annotations

import threading

import pytest

from millstream.connectors.kafka import producing
from millstream.connectors.kafka.producing import Sending
from millstream.connectors.kafka.settings import KafkaSettings


class Client:
    """A client that does not come back from its end, as librdkafka's when the broker is away."""

    def __init__(self) -> None:
        self.ends = 0
        self.comes_back = threading.Event()

    def purge(self) -> None:
        pass

    def close(self, seconds: float) -> None:
        self.ends += 1
        self.comes_back.wait(60)


def test_a_client_that_does_not_come_back_from_its_end_is_left_to_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(producing, "CLOSED_SECONDS", 0.0)
    sending = Sending(KafkaSettings("127.0.0.1:1"))
    client = sending.client = Client()
    sending.close(0.01)
    sending.close(0.01)
    assert client.ends == 1, "it is asked once"
    client.comes_back.set()


def test_a_client_is_ended() -> None:
    sending = Sending(KafkaSettings("127.0.0.1:1"))
    client = sending.client = Client()
    client.comes_back.set()
    sending.close(0.01)
    sending.close(0.01)
    assert client.ends == 2
