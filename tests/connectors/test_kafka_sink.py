"""The Kafka sink on a real broker, in memory: what is written, and the contract of sinks."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from millstream.common import Row, RowKind, SimpleStringSchema, WatermarkStrategy
from millstream.common.errors import CheckpointError, EnvironmentSetupError, MillstreamError
from millstream.connectors import PartContext, PartMarker, SinkContext
from millstream.connectors.kafka import transactions
from millstream.connectors.kafka.serialization import (
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
)
from millstream.connectors.kafka.sink import KafkaSink
from millstream.connectors.kafka.transactions import ExactlyOnceKafkaSink
from millstream.connectors.sink import DeliveryGuarantee
from millstream.datastream import StreamExecutionEnvironment
from millstream.plan.sinks import begins
from millstream.testing import run_local
from millstream.testing.connectors import check_sink
from tests.support.kafka_sinks import AT_LEAST_ONCE, ONCE, Output

if TYPE_CHECKING:
    from tools.servers import Kafka

pytestmark = pytest.mark.servers
BOTH = pytest.mark.parametrize("guarantee", [ONCE, AT_LEAST_ONCE])


@pytest.fixture(scope="module")
def output(kafka: Kafka) -> Output:
    return Output(kafka.bootstrap)


def write(records: list[Any], sink: KafkaSink, *, timed: bool = False, **options: Any) -> None:
    """Run a job that writes records; their event times are their second fields."""
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection(records)
    if timed:
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        stream = stream.assign_timestamps_and_watermarks(
            strategy.with_timestamp_assigner(lambda record, _: record[1])
        )
    stream.sink_to(sink).uid("kafka")
    run_local(env, write=True, **options)


def to(output: Output, serializer: Any, guarantee: DeliveryGuarantee = ONCE) -> KafkaSink:
    """A sink with a serializer."""
    return output.builder("", guarantee).set_record_serializer(serializer).build()


# -- the contract ----------------------------------------------------------------------------------


@BOTH
def test_the_contract_of_sinks_holds(
    output: Output, guarantee: DeliveryGuarantee, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In the kit nobody writes the part while a fenced writer waits for it.
    monkeypatch.setattr(transactions, "PATIENCE_SECONDS", 0.0)
    passed = check_sink(output.sink_of(guarantee), output.read, crashes=5)
    assert "a task dies in finish()" in passed
    assert ("the last epoch" in passed) == (guarantee is ONCE)


# -- what is written -------------------------------------------------------------------------------


@BOTH
def test_keys_values_and_event_times_are_written(
    output: Output, guarantee: DeliveryGuarantee
) -> None:
    topic = output.new(3)
    pairs = [(f"key {n % 5}", 1_000 + n) for n in range(40)]
    write(pairs, output.sink(topic, guarantee), timed=True, epochs=3)
    found = output.messages(topic)
    assert sorted(json.loads(m.value()) for m in found) == sorted(map(list, pairs))
    # 1 is Kafka's number for times that the producer has given.
    assert all(m.timestamp() == (1, json.loads(m.value())[1]) for m in found)
    places = {(m.key(), m.partition()) for m in found}
    assert len(places) == 5, "the records of a key are in one partition"


def test_keys_go_where_the_java_client_sends_them(output: Output) -> None:
    topic = output.new(10)
    write([("a", 1), ("millstream", 1), ("21", 1)], output.sink(topic))
    # Worked out by hand from Kafka's murmur2, with the sign cut off, modulo 10.
    found = {m.key(): m.partition() for m in output.messages(topic)}
    assert found == {key: _murmur2(key) % 10 for key in (b"a", b"millstream", b"21")}


def _murmur2(data: bytes) -> int:
    """The hash by which Kafka's Java client finds the partition of a key."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = 0x9747B28C ^ len(data)
    for start in range(0, len(data) - len(data) % 4, 4):
        k = int.from_bytes(data[start : start + 4], "little") * m & mask
        h = (h * m & mask) ^ ((k ^ k >> 24) * m & mask)
    rest = data[len(data) - len(data) % 4 :]
    if rest:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return (h ^ h >> 15) & 0x7FFFFFFF


def test_records_without_a_time_that_kafka_takes_get_the_time_of_writing(output: Output) -> None:
    topic = output.new()
    before = time.time_ns() // 1_000_000
    write([("no time", 1)], output.sink(topic))
    write([("before 1970", -5)], output.sink(topic), timed=True)
    assert all(before <= m.timestamp()[1] <= before + 60_000 for m in output.messages(topic))


def test_a_function_makes_headers_times_partitions_tombstones_and_nothing(output: Output) -> None:
    topic = output.new(2)

    def record(word: str) -> KafkaProducerRecord | None:
        if word == "nothing":
            return None
        if word == "gone":
            return KafkaProducerRecord(topic, None, key=b"gone")
        headers = [("lang", b"en"), ("lang", None)]
        return KafkaProducerRecord(topic, word.encode(), None, headers, 12_345, 1)

    write(["be", "nothing", "gone"], to(output, record))
    found = {m.value(): m for m in output.messages(topic)}
    assert set(found) == {b"be", None}
    assert found[b"be"].headers() == [("lang", b"en"), ("lang", None)]
    assert found[b"be"].timestamp() == (1, 12_345)
    assert (found[b"be"].partition(), found[b"be"].key()) == (1, None)
    assert found[None].key() == b"gone"


def test_a_schema_of_ones_own_gets_the_event_time(output: Output) -> None:
    topic = output.new()

    class Tagged(KafkaRecordSerializationSchema):
        def serialize(self, element: Any, timestamp: int | None) -> KafkaProducerRecord:
            return KafkaProducerRecord(topic, b"x", headers={"time": str(timestamp).encode()})

    write([("a", 77)], to(output, Tagged()), timed=True)
    write([("b", 78)], to(output, Tagged()))
    assert [m.headers() for m in output.messages(topic)] == [[("time", b"77")], [("time", b"None")]]


def test_a_topic_is_chosen_by_record(output: Output) -> None:
    topics = [output.new(), output.new()]
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic_selector(lambda word: topics[len(word) % 2])
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    write(["to", "be", "not"], to(output, schema), epochs=2)
    found = [sorted(m.value() for m in output.messages(topic)) for topic in topics]
    assert found == [[b"be", b"to"], [b"not"]]


class First(SimpleStringSchema):
    def serialize(self, value: Any) -> bytes:
        return str(value[0]).encode()


def test_rows_that_are_taken_back_become_tombstones(output: Output) -> None:
    topic = output.new()
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic)
        .set_key_serialization_schema(First())
        .set_value_serialization_schema(First())
        .set_upsert()
        .build()
    )
    rows = [
        Row("ada", 1),
        Row.of_kind(RowKind.UPDATE_BEFORE, "ada", 1),
        Row.of_kind(RowKind.UPDATE_AFTER, "ada", 2),
        Row.of_kind(RowKind.DELETE, "ada", 2),
    ]
    write(rows, to(output, schema))
    assert [m.value() for m in output.messages(topic)] == [b"ada", None, b"ada", None]


@BOTH
def test_a_full_queue_of_the_producer_is_waited_for(
    output: Output, guarantee: DeliveryGuarantee
) -> None:
    topic = output.new()
    small = output.sink(topic, guarantee, queue_buffering_max_messages=50)
    write([("a", n) for n in range(2_000)], small)
    assert sorted(output.values(topic)) == [("a", n) for n in range(2_000)]


# -- exactly once ----------------------------------------------------------------------------------


def part(epoch: int, number: int = 0, **changes: Any) -> PartContext:
    context = PartContext(
        job_id="job", sink="words", epoch=epoch, part=number, fingerprint=f"fp-{epoch}"
    )
    return replace(context, **changes)


def write_part(sink: Any, context: PartContext, *records: Any) -> str | None:
    """Write a part as a task does; returns the fingerprint with which it was there already."""
    writer = sink.open_part(context)
    found: str | None = writer.begin()
    if found is None:
        writer.write(list(records))
        writer.finish()
    writer.close()
    return found


@pytest.fixture
def sink(output: Output) -> Iterator[ExactlyOnceKafkaSink]:
    made = output.sink(output.new())
    assert isinstance(made, ExactlyOnceKafkaSink)
    yield made
    made.close()


def topic_of(sink: Any) -> str:
    found: str = sink.serializer.function.topic
    return found


def test_a_part_is_visible_when_its_transaction_is_committed(
    output: Output, sink: ExactlyOnceKafkaSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, ...]] = []
    topic = topic_of(sink)
    write_part(sink, part(1), ("a", 1))
    producer = sink.taken(sink.transactional_id(part(1), 0))
    assert producer is not None
    sink.keep(producer)
    call = producer.sending.call

    def looking(step: str, *arguments: Any, **options: Any) -> None:
        if step == "commit_transaction":
            producer.sending.flush()
            levels = ("read_committed", "read_uncommitted")
            seen.append(tuple(len(output.now(topic, level)) for level in levels))
        call(step, *arguments, **options)

    monkeypatch.setattr(producer.sending, "call", looking)
    write_part(sink, part(2), ("b", 2))
    assert seen == [(1, 2)]
    assert output.values(topic) == [("a", 1), ("b", 2)]


def test_one_producer_is_kept_from_epoch_to_epoch(
    output: Output, sink: ExactlyOnceKafkaSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    begun = ExactlyOnceKafkaSink.begun
    monkeypatch.setattr(
        ExactlyOnceKafkaSink, "begun", lambda self, name: made.append(name) or begun(self, name)
    )
    for epoch in range(5):
        write_part(sink, part(epoch), ("a", epoch))
    assert len(made) == 1
    assert output.values(topic_of(sink)) == [("a", epoch) for epoch in range(5)]


def test_a_kept_producer_that_was_fenced_is_replaced_at_once(
    output: Output, sink: ExactlyOnceKafkaSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processes of Spark get parts by chance: the producer that one has kept may be out of date."""
    monkeypatch.setattr(transactions, "PATIENCE_SECONDS", 1e6)
    other = output.sink(topic_of(sink))
    for epoch in range(4):
        write_part((sink, other)[epoch % 2], part(epoch), ("a", epoch))
    # Another process has written the epoch meanwhile: nothing is to be done.
    assert write_part(sink, part(3), ("a", 3)) is None
    assert output.values(topic_of(sink)) == [("a", epoch) for epoch in range(4)]
    other.close()


def test_a_part_in_another_process_asks_for_its_marker_once(
    output: Output, sink: ExactlyOnceKafkaSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is half of the parts of a job with two workers, and each question takes a new client."""
    other = output.sink(topic_of(sink))
    for epoch in range(2):
        write_part((sink, other)[epoch % 2], part(epoch), ("a", epoch))
    asked: list[str] = []
    read = transactions._read_marker
    monkeypatch.setattr(
        transactions, "_read_marker", lambda *given: asked.append(given[1]) or read(*given)
    )
    write_part(sink, part(2), ("a", 2))
    assert len(asked) == 1
    assert output.values(topic_of(sink)) == [("a", epoch) for epoch in range(3)]
    other.close()


def test_a_fenced_writer_waits_for_the_one_that_fenced_it(
    output: Output, sink: ExactlyOnceKafkaSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark runs a task twice: the second attempt fences the first, which ends well all the same."""
    other = output.sink(topic_of(sink))
    slow, fast = sink.open_part(part(1)), other.open_part(part(1))
    for writer in (slow, fast):
        assert writer.begin() is None  # type: ignore[attr-defined]
        writer.write([("a", 1)])
    looked: list[PartMarker] = []
    read = transactions._read_marker

    def reading(*arguments: Any) -> PartMarker:
        looked.append(read(*arguments))
        if len(looked) == 2:
            fast.finish()
        return looked[-1]

    monkeypatch.setattr(transactions, "_read_marker", reading)
    slow.finish()
    assert [marker.epoch for marker in looked] == [-1, -1, 1]
    assert output.values(topic_of(sink)) == [("a", 1)]
    fast.close()
    slow.close()
    other.close()


def test_an_id_that_cannot_be_held_is_an_error(
    output: Output, sink: ExactlyOnceKafkaSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "PATIENCE_SECONDS", 0.0)
    begun = ExactlyOnceKafkaSink.begun

    def fenced(self: Any, name: str) -> Any:
        producer = begun(self, name)
        begun(self, name).close()
        return producer

    monkeypatch.setattr(ExactlyOnceKafkaSink, "begun", fenced)
    with pytest.raises(EnvironmentSetupError, match=r"KAFKA_FENCED.*-job-words-0"):
        write_part(sink, part(1), ("a", 1))
    assert output.values(topic_of(sink)) == []


def test_a_replay_with_other_records_is_refused(output: Output, sink: ExactlyOnceKafkaSink) -> None:
    """Also where only the transaction finds out: a process has kept a producer that is out of date."""
    other = output.sink(topic_of(sink))
    write_part(sink, part(0), ("a", 0))
    write_part(other, part(1), ("a", 1))
    with pytest.raises(CheckpointError, match=r"PART_CHANGED.*part 0 of epoch 1.*fp-1.*changed"):
        write_part(sink, part(1, fingerprint="changed"), ("b", 1))
    assert output.values(topic_of(sink)) == [("a", 0), ("a", 1)]
    other.close()


def test_a_marker_keeps_the_number_of_parts(output: Output, sink: ExactlyOnceKafkaSink) -> None:
    write_part(sink, part(1, 2, fingerprint="1-a of 3"), ("a", 1))
    assert sink.last_markers(part(0)) == {2: PartMarker(1, "1-a of 3")}
    # A writer that was replaced in between finds it in the broker.
    sink.close()
    with pytest.raises(CheckpointError, match=r"PART_CHANGED.*in 3 parts and is replayed in 4"):
        begun(sink, part(1, 2, fingerprint="1-a of 4"))
    assert begun(sink, part(1, 2, fingerprint="1-a of 3"))
    assert output.values(topic_of(sink)) == [("a", 1)]


def test_a_marker_of_an_earlier_version_is_read(sink: ExactlyOnceKafkaSink) -> None:
    write_part(sink, part(1, 0, fingerprint="1-a"), ("a", 1))
    assert begun(sink, part(1, 0, fingerprint="1-a of 3"))
    with pytest.raises(CheckpointError, match="PART_CHANGED"):
        begun(sink, part(1, 0, fingerprint="2-b of 3"))


def begun(sink: Any, context: PartContext) -> bool:
    """Whether a part is there already, with the same records."""
    writer = sink.open_part(context)
    try:
        return not begins(sink, writer, context)
    finally:
        writer.close()


def test_markers_are_those_of_one_job_and_sink(output: Output, sink: ExactlyOnceKafkaSink) -> None:
    write_part(sink, part(3, 0), ("a", 1))
    write_part(sink, part(5, 12), ("a", 2))
    write_part(sink, part(9, sink="words-1"), ("a", 3))
    write_part(sink, part(9, sink="words-1-2"), ("a", 3))
    write_part(sink, part(9, job_id="job-words"), ("a", 4))
    marked = sink.last_markers(part(0))
    assert {number: marker.epoch for number, marker in marked.items()} == {0: 3, 12: 5}
    assert sink.last_epoch(part(0)) == 5
    assert sink.last_epoch(SinkContext(job_id="none", sink="words")) is None


def test_hostile_names_of_sinks_and_prefixes(output: Output) -> None:
    topic = output.new()
    made = output.builder(topic).set_transactional_id_prefix("ü'\"; --\n $HOME").build()
    hostile = part(1, sink="wörds '; drop table \\0 {}%s")
    for _ in range(2):
        write_part(made, hostile, ("a", 1))
        made.close()
    assert output.values(topic) == [("a", 1)]


HOSTILE = [
    "a b",
    "../etc",
    "'; drop table t; --",
    "$HOME",
    "{}%s",
    "t\u00fc",
    "a/b",
    "x" * 300,
    ".",
]


@BOTH
@pytest.mark.parametrize("topic", HOSTILE)
def test_names_that_no_topic_has_are_refused_by_name(
    output: Output, guarantee: DeliveryGuarantee, topic: str
) -> None:
    found = failure(output.builder("", guarantee).set_record_serializer(_words(topic)).build())
    assert found.code == "KAFKA_NO_TOPIC"
    assert repr(topic) in found.message


@pytest.mark.parametrize("name", ["a.b_c-0", "-", "_", "0", "...", "A-0"])
def test_odd_names_of_topics(output: Output, name: str) -> None:
    topic = output.make(f"{name}x-{time.time_ns()}-0")
    write([("a", 1)], output.sink(topic))
    assert output.values(topic) == [("a", 1)]


# -- failures --------------------------------------------------------------------------------------


def failure(sink: KafkaSink, records: list[Any] | None = None) -> MillstreamError:
    with pytest.raises(MillstreamError) as info:
        write(records or [("a", 1)], sink)
    return info.value


@BOTH
def test_a_topic_that_does_not_exist(output: Output, guarantee: DeliveryGuarantee) -> None:
    found = failure(output.builder("", guarantee).set_record_serializer(_words("no-such")).build())
    assert found.code == "KAFKA_NO_TOPIC"
    assert "'no-such'" in found.message
    assert found.location is not None
    assert found.location.file == __file__


def _words(topic: str) -> KafkaRecordSerializationSchema:
    return (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic)
        .set_value_serialization_schema(First())
        .build()
    )


@BOTH
def test_a_chosen_topic_that_does_not_exist(output: Output, guarantee: DeliveryGuarantee) -> None:
    quick = output.sink("not-there", guarantee, topic_metadata_propagation_max_ms=500)
    found = failure(quick)
    assert (found.code, "'not-there'" in found.message) == ("KAFKA_NO_TOPIC", True)


@BOTH
def test_a_record_that_is_too_large_for_the_client(
    output: Output, guarantee: DeliveryGuarantee
) -> None:
    topic = output.new()
    found = failure(output.sink(topic, guarantee), [("a", "x" * 2_000_000)])
    assert found.code == "KAFKA_NOT_WRITTEN"
    assert f"topic {topic!r}" in found.message
    assert "MSG_SIZE_TOO_LARGE" in found.message
    assert "max.message.bytes" in (found.hint or "")


@BOTH
def test_a_record_that_is_too_large_for_the_topic(
    output: Output, guarantee: DeliveryGuarantee
) -> None:
    topic = output.new(max_message_bytes="1000")
    sink = output.sink(topic, guarantee)
    found = failure(sink, [("a", 1), ("b", "x" * 20_000)])
    assert found.code == "KAFKA_NOT_WRITTEN"
    assert f"topic {topic!r}, partition 0" in found.message
    write([("c", 2)], sink)
    assert ("c", 2) in output.values(topic)
    assert guarantee is AT_LEAST_ONCE or output.values(topic) == [("c", 2)]


@BOTH
def test_a_partition_that_the_topic_does_not_have(
    output: Output, guarantee: DeliveryGuarantee
) -> None:
    topic = output.new()
    found = failure(to(output, lambda _: KafkaProducerRecord(topic, b"", partition=7), guarantee))
    assert found.code == "KAFKA_NOT_WRITTEN"
    assert f"topic {topic!r}, partition 7" in found.message


@BOTH
def test_a_serializer_that_fails_names_the_record(
    output: Output, guarantee: DeliveryGuarantee
) -> None:
    found = failure(to(output, lambda record: record["x"], guarantee), [("a", 1)])
    assert found.code == "USER_CODE"
    assert "('a', 1)" in str(found)
    found = failure(to(output, lambda record: record, guarantee), [("a", 1)])
    assert found.code == "KAFKA_RECORD"


@BOTH
def test_brokers_that_do_not_answer(guarantee: DeliveryGuarantee) -> None:
    began = time.monotonic()
    sink = Output("127.0.0.1:1").sink("words", guarantee, sasl_password="s3cret-of-mine")
    found = failure(sink)
    assert found.code == "KAFKA_UNREACHABLE"
    assert "127.0.0.1:1" in found.message
    assert "s3cret-of-mine" not in f"{found} {sink!r} {found.to_dict()}"
    assert time.monotonic() - began < 30


def test_a_transaction_may_not_take_longer_than_the_broker_allows(output: Output) -> None:
    sink = output.sink(output.new(), transaction_timeout_ms=10**8)
    found = failure(sink)
    assert found.code == "KAFKA_TRANSACTION_TIMEOUT"
    assert "100000000 ms, and the broker allows 900000 ms" in found.message


def test_short_lived_markers_are_warned_of(
    output: Output, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from millstream.connectors.kafka import sink_checks

    sink = output.sink(output.new())
    with caplog.at_level(logging.WARNING, "millstream.kafka"):
        sink.start(part(0))
        assert caplog.messages == []
        monkeypatch.setattr(sink_checks, "LEAST_RETENTION_MINUTES", 10**6)
        sink.start(part(0))
    assert "after 10080 minutes (offsets.retention.minutes)" in caplog.text


def test_brokers_that_tell_nothing_are_warned_of(
    output: Output, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from millstream.connectors.kafka import sink_checks

    def refused(_: object) -> Any:
        raise PermissionError("not allowed")

    monkeypatch.setattr(sink_checks, "_broker_settings", refused)
    with caplog.at_level(logging.WARNING, "millstream.kafka"):
        output.sink(output.new()).start(part(0))
    assert "not allowed" in caplog.text
    assert "offsets.retention.minutes of the broker (10080 by default)" in caplog.text


def test_a_login_is_used_and_never_shown(kafka: Kafka, output: Output) -> None:
    topic = output.new()
    login: dict[str, Any] = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": kafka.sasl_user,
    }
    inside = Output(kafka.sasl_bootstrap)
    write([("a", 1)], inside.sink(topic, **login, sasl_password=kafka.sasl_password))
    assert output.values(topic) == [("a", 1)]
    found = failure(inside.sink(topic, **login, sasl_password="wrong-password"))
    assert found.code == "KAFKA_UNREACHABLE"
    assert "wrong-password" not in f"{found}"
