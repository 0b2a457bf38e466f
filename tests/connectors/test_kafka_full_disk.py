"""A broker whose disk is full, under the Kafka sinks and the source; no Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream.common import SimpleStringSchema
from millstream.common.errors import EnvironmentSetupError
from millstream.connectors import PartContext
from millstream.connectors.sink import DeliveryGuarantee
from millstream.datastream.connectors.kafka import KafkaSource
from tests.chaos.disk import SmallDisk, can_mount
from tests.support.kafka import until
from tests.support.kafka_sinks import AT_LEAST_ONCE, ONCE, Output
from tools.servers import Kafka

pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(not can_mount(), reason="to mount a small disk takes root"),
]
RECORDS = 20
TEXT = "x" * 20_000
"""What makes the records of an epoch larger than what is left of the disk."""


class OnSmallDisk(Kafka):
    """A broker whose logs are on a disk of their own."""

    @property
    def data(self) -> Path:
        return self.folder / "disk" / "logs"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[tuple[Kafka, SmallDisk]]:
    disk = SmallDisk(tmp_path / "disk")
    try:
        with OnSmallDisk(tmp_path) as started:
            yield started, disk
    finally:
        disk.remove()


class Written:
    """A topic, and a sink that writes epochs to it, as a task does."""

    def __init__(self, output: Output, guarantee: DeliveryGuarantee) -> None:
        self.output, self.topic = output, output.new()
        limits: dict[str, Any] = {"message_timeout_ms": 4_000}
        if guarantee is ONCE:
            limits["transaction_timeout_ms"] = 5_000
        self.sink: Any = output.sink(self.topic, guarantee, **limits)

    def write(self, epoch: int) -> None:
        part = PartContext(job_id="job", sink="words", epoch=epoch, part=0, fingerprint=f"{epoch}")
        writer = self.sink.open_part(part)
        try:
            if not hasattr(writer, "begin") or writer.begin() is None:
                writer.write([(f"{epoch}-{number}", TEXT) for number in range(RECORDS)])
                writer.finish()
        finally:
            writer.close()

    def fails(self, epoch: int) -> EnvironmentSetupError:
        with pytest.raises(EnvironmentSetupError) as caught:
            self.write(epoch)
        return caught.value

    def names(self) -> list[str]:
        return sorted(name for name, _ in self.output.values(self.topic))


def test_a_broker_whose_disk_is_full(broker: tuple[Kafka, SmallDisk]) -> None:
    kafka, disk = broker
    output = Output(kafka.bootstrap)
    once, at_least_once = Written(output, ONCE), Written(output, AT_LEAST_ONCE)
    for written in (once, at_least_once):
        written.write(0)
    builder = KafkaSource.builder().set_bootstrap_servers(kafka.bootstrap).set_topics(once.topic)
    made = builder.set_value_only_deserializer(SimpleStringSchema()).build()
    source: Any = made.parts()[0]
    before = source.latest()

    disk.fill(pages_left=4)
    began = time.monotonic()
    for written in (once, at_least_once):
        error = written.fails(1)
        assert error.code in ("KAFKA_UNREACHABLE", "KAFKA_NOT_WRITTEN")
        assert error.hint
    assert time.monotonic() - began < 60, "within the limits of the sinks"
    # The broker ends by itself; a job that reads from it waits.
    until(lambda: not kafka.is_running)
    assert source.latest_after(before) == before

    disk.free()
    kafka.start()
    for epoch in (1, 2):
        for written in (once, at_least_once):
            written.write(epoch)
    wanted = sorted(f"{epoch}-{number}" for epoch in range(3) for number in range(RECORDS))
    assert once.names() == wanted
    assert sorted(set(at_least_once.names())) == wanted
    assert source.latest_after(before)[f"{once.topic}-0"] > before[f"{once.topic}-0"]
    source.close()
    for written in (once, at_least_once):
        written.sink.close()
