"""A broker that is killed and comes back, under the Kafka sink; no Spark."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from millstream.connectors import PartContext
from millstream.connectors.kafka import producing
from millstream.connectors.sink import DeliveryGuarantee
from tests.support.kafka_sinks import AT_LEAST_ONCE, ONCE, Output
from tools.servers import Kafka

pytestmark = pytest.mark.servers
PART = PartContext(job_id="job", sink="words", epoch=0, part=0)


@pytest.fixture(scope="module")
def broker() -> Iterator[Kafka]:
    """A broker of its own: the others' tests go on while this one is killed."""
    with Kafka() as started:
        yield started


def write(sink: Any, epoch: int) -> None:
    writer = sink.open_part(replace(PART, epoch=epoch, fingerprint=f"fp {epoch}"))
    begin = getattr(writer, "begin", None)
    if begin is None or begin() is None:
        writer.write([("word", epoch)])
        writer.finish()
    writer.close()


@pytest.mark.parametrize("guarantee", [ONCE, AT_LEAST_ONCE])
def test_a_broker_that_comes_back_between_two_epochs(
    broker: Kafka, guarantee: DeliveryGuarantee
) -> None:
    output = Output(broker.bootstrap)
    topic = output.new()
    sink = output.sink(topic, guarantee)
    for epoch in (0, 1):
        write(sink, epoch)
    broker.kill()
    broker.start()
    for epoch in (2, 3):
        write(sink, epoch)
    sink.close()
    assert output.values(topic) == [("word", epoch) for epoch in range(4)]


@pytest.mark.parametrize("step", ["send_offsets_to_transaction", "commit_transaction"])
def test_a_broker_that_is_away_in_the_middle_of_a_transaction(
    broker: Kafka, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = Output(broker.bootstrap)
    topic = output.new()
    sink = output.sink(topic)
    write(sink, 0)
    call, broken = producing.Sending.call, threading.Event()

    def breaking(self: Any, name: str, *arguments: Any, **options: Any) -> None:
        if name == step and not broken.is_set():
            broken.set()
            self.flush()
            broker.kill()
            broker.start()
        call(self, name, *arguments, **options)

    monkeypatch.setattr(producing.Sending, "call", breaking)
    for epoch in (1, 2):
        write(sink, epoch)
    assert broken.is_set()
    sink.close()
    assert output.values(topic) == [("word", epoch) for epoch in range(3)]


def test_a_client_that_does_not_come_back_is_given_up(
    broker: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """librdkafka may stay in this call for ever when a broker was away."""
    output = Output(broker.bootstrap)
    topic = output.new()
    sink = output.sink(topic)
    monkeypatch.setattr(producing, "STUCK_SECONDS", 0.5)
    call, stuck, over = producing.Sending.call, threading.Event(), threading.Event()

    def staying(self: Any, name: str, *arguments: Any, **options: Any) -> None:
        if name == "send_offsets_to_transaction" and not stuck.is_set():
            stuck.set()
            over.wait(60)
        call(self, name, *arguments, **options)

    monkeypatch.setattr(producing.Sending, "call", staying)
    write(sink, 0)
    over.set()
    write(sink, 1)
    sink.close()
    assert output.values(topic) == [("word", 0), ("word", 1)]
