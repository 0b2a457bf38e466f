"""The producer of a Kafka sink, without a broker."""

from __future__ import annotations

import gc
import threading
import warnings
import weakref
from types import SimpleNamespace

import pytest

from millstream.connectors.kafka import producing
from millstream.connectors.kafka.producing import FencedError, Sending
from millstream.connectors.kafka.serialization import (
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
)
from millstream.connectors.kafka.settings import KafkaSettings
from millstream.connectors.kafka.sink import AtLeastOnceKafkaSink
from millstream.connectors.sink import PartContext


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


class WarningClient(Client):
    """A client whose transaction belongs to another one when it ends."""

    def close(self, seconds: float) -> None:
        text = (
            "Producer abort_transaction failed during close: Local: This instance has been fenced"
        )
        warnings.warn(text, RuntimeWarning, stacklevel=2)
        self.ends += 1


def test_a_fenced_client_ends_in_silence(recwarn: pytest.WarningsRecorder) -> None:
    sending = Sending(KafkaSettings("127.0.0.1:1"))
    client = sending.client = WarningClient()
    sending.close(0.01)
    assert client.ends == 1
    assert not recwarn.list


class FencedClient:
    """A client whose transactional id belongs to another one now."""

    def __init__(self, code: int) -> None:
        self.code = code

    def send_offsets_to_transaction(self, places: list[object], group: object, left: float) -> None:
        from confluent_kafka import KafkaError, KafkaException

        raise KafkaException(KafkaError(self.code))

    def poll(self, seconds: float) -> int:
        return 0


class Batch(list[bytes]):
    """Records of a part, to which a weak reference can be."""


def test_a_fenced_producer_lets_the_records_of_its_part_go() -> None:
    """Workers hand parts to one another all the time; the garbage collector comes rarely."""
    sending = Sending(KafkaSettings("127.0.0.1:1"))
    sending.client = FencedClient(sending._errors._FENCED)

    def write() -> weakref.ref[Batch]:
        batch = Batch([b"record"])
        try:
            sending.send_offset(SimpleNamespace(topic="words"), None, 1.0)
        except FencedError:
            return weakref.ref(batch)
        raise AssertionError(f"{batch} is written by a fenced producer")

    gc.collect()
    gc.disable()
    try:
        assert write()() is None
    finally:
        gc.enable()


class Serializer(KafkaRecordSerializationSchema):
    def serialize(self, element: bytes, timestamp: int | None) -> KafkaProducerRecord:
        return KafkaProducerRecord("words", element)


def test_a_producer_with_failed_records_is_ended_before_the_next_one_is_made() -> None:
    """A cycle through a client with records under way is never collected, nor are its threads."""
    sink = AtLeastOnceKafkaSink(KafkaSettings("127.0.0.1:1"), Serializer())
    context = PartContext(job_id="job", sink="words", epoch=0, part=0)
    sink.open_part(context)
    first: Sending = vars(sink)["_sending"]
    client = first.client = Client()
    client.comes_back.set()
    sink.open_part(context)
    assert (vars(sink)["_sending"], client.ends) == (first, 0)
    first.failed.append((None, "words", 0))
    sink.open_part(context)
    assert vars(sink)["_sending"] is not first
    assert client.ends == 1
    sink.close()


def test_a_producer_whose_id_the_broker_has_forgotten_is_fenced() -> None:
    """Brokers forget a transactional id that was not used for a week: the next one takes it anew."""
    sending = Sending(KafkaSettings("127.0.0.1:1"))
    sending.client = FencedClient(sending._errors.INVALID_PRODUCER_ID_MAPPING)
    with pytest.raises(FencedError):
        sending.send_offset(SimpleNamespace(topic="words"), None, 1.0)
