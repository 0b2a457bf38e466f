"""Kafka as a source, on a real broker, in memory: no Spark."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from millstream.common import Row, SimpleStringSchema, Types, WatermarkStrategy
from millstream.common.errors import (
    CheckpointError,
    EnvironmentSetupError,
    PlanError,
    UserCodeError,
    short_repr,
)
from millstream.datastream import OutputTag
from millstream.datastream.connectors.kafka import (
    ConsumerRecord,
    FlinkKafkaConsumer,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from millstream.datastream.formats.json import JsonRowDeserializationSchema
from millstream.testing import Checkpoint, run_local
from millstream.testing.connectors import check_source

if TYPE_CHECKING:
    from tests.support.kafka import Topics
    from tools.servers import Kafka

pytestmark = pytest.mark.servers
NO_TIME = WatermarkStrategy.no_watermarks()
EARLIEST, LATEST = KafkaOffsetsInitializer.earliest(), KafkaOffsetsInitializer.latest()


def texts(topics: Topics, *names: str) -> KafkaSourceBuilder:
    """A source of texts."""
    found = KafkaSource.builder().set_bootstrap_servers(topics.servers)
    found.set_value_only_deserializer(SimpleStringSchema())
    return found.set_topics(*names) if names else found


def read(builder: KafkaSourceBuilder, *, name: str = "kafka", **options: Any) -> list[Any]:
    """All records of a source; one without an end is read as far as it goes."""
    source = builder.build()
    if not source.bounded:
        options = {"epochs": [1_000_000], **options}
    return run_local(lambda env: env.from_source(source, NO_TIME, name), **options).values()


# -- from where to where ---------------------------------------------------------------------------


def test_records_of_all_partitions_with_their_order(topics: Topics) -> None:
    topic = topics.new(2)
    topics.write(topic, ["a", "b"], 0)
    topics.write(topic, ["c", "d"], 1)
    found = read(texts(topics, topic).set_bounded(LATEST))
    assert sorted(found) == ["a", "b", "c", "d"]
    assert found.index("a") < found.index("b")


@pytest.fixture(scope="module")
def five(topics: Topics) -> str:
    """Five records at the times 1,000 to 5,000."""
    topic = topics.new()
    topics.write(topic, [(str(n), 1_000 * n) for n in range(1, 6)])
    return topic


@pytest.fixture
def group(topics: Topics, five: str) -> str:
    """A group that stands at offset 3."""
    topics.commit("five", five, 3)
    return "five"


def starts(five: str) -> dict[str, tuple[KafkaOffsetsInitializer, str]]:
    place = KafkaTopicPartition(five, 0)
    other = KafkaTopicPartition(five, 7)
    reset, init = KafkaOffsetResetStrategy, KafkaOffsetsInitializer
    return {
        "earliest": (EARLIEST, "12345"),
        "latest": (LATEST, ""),
        "committed": (init.committed_offsets(), "45"),
        "timestamp": (init.timestamp(2_500), "345"),
        "timestamp of a record": (init.timestamp(3_000), "345"),
        "timestamp of the future": (init.timestamp(9_999_999), ""),
        "offsets": (init.offsets({place: 2}), "345"),
        "offsets of others": (init.offsets({other: 2}), "12345"),
        "offsets, latest": (init.offsets({}, reset.LATEST), ""),
        "the end by Kafka's number": (init.offsets({place: -1}), ""),
        "the beginning by Kafka's number": (init.offsets({place: -2}), "12345"),
        "committed by Kafka's number": (init.offsets({place: -3}), "45"),
    }


@pytest.mark.parametrize("way", starts("x"))
def test_a_source_begins(topics: Topics, five: str, group: str, way: str) -> None:
    start, expected = starts(five)[way]
    source = texts(topics, five).set_group_id(group).set_starting_offsets(start)
    assert "".join(read(source)) == expected


@pytest.mark.parametrize("way", ["latest", "committed", "timestamp", "offsets"])
def test_a_source_ends(topics: Topics, five: str, group: str, way: str) -> None:
    stop, rest = starts(five)[way]
    source = texts(topics, five).set_group_id(group).set_bounded(stop)
    source.set_property("commit.offsets.on.checkpoint", "false")
    expected = "12345".removesuffix(rest)
    assert "".join(read(source)) == expected
    assert "".join(read(source, batch=True)) == expected


def test_a_range_that_ends_before_it_begins_is_empty(topics: Topics, five: str) -> None:
    source = texts(topics, five).set_starting_offsets(KafkaOffsetsInitializer.timestamp(4_000))
    assert read(source.set_bounded(KafkaOffsetsInitializer.timestamp(2_000))) == []


def test_a_group_without_offsets(topics: Topics, five: str) -> None:
    def source(strategy: KafkaOffsetResetStrategy) -> KafkaSourceBuilder:
        start = KafkaOffsetsInitializer.committed_offsets(strategy)
        found = texts(topics, five).set_group_id("nobody").set_starting_offsets(start)
        return found.set_property("commit.offsets.on.checkpoint", "false")

    assert len(read(source(KafkaOffsetResetStrategy.EARLIEST))) == 5
    assert read(source(KafkaOffsetResetStrategy.LATEST)) == []
    with pytest.raises(PlanError, match=rf"KAFKA_OFFSETS.*'nobody' has committed no.*{five}-0"):
        read(source(KafkaOffsetResetStrategy.NONE))


def test_an_offset_that_is_not_there(topics: Topics, five: str) -> None:
    far = KafkaOffsetsInitializer.offsets({KafkaTopicPartition(five, 0): 99})
    with pytest.raises(PlanError, match=rf"KAFKA_OFFSETS.*{five}-0 ends at offset 5, and 99"):
        read(texts(topics, five).set_starting_offsets(far))
    with pytest.raises(PlanError, match=rf"KAFKA_OFFSETS.*{five}-0 ends at offset 5, and 99"):
        read(texts(topics, five).set_bounded(far))


def test_the_older_source(topics: Topics, five: str, group: str) -> None:
    properties = {"bootstrap.servers": topics.servers, "group.id": group}
    made = FlinkKafkaConsumer(five, SimpleStringSchema(), properties)

    def found(consumer: FlinkKafkaConsumer) -> str:
        results = run_local(lambda env: env.add_source(consumer), epochs=[100])
        return "".join(results.values())

    assert found(made) == "45"
    assert found(made.set_start_from_earliest()) == "12345"
    assert found(made.set_start_from_timestamp(4_000)) == "45"
    assert found(made.set_start_from_latest()) == ""


# -- which topics ----------------------------------------------------------------------------------


def test_topics_by_pattern(topics: Topics) -> None:
    first = topics.new()
    for name in (f"{first}.eu", f"{first}.us", f"{first}-other"):
        topics.new(name=name)
        topics.write(name, [name[len(first) :]])
    source = texts(topics).set_topic_pattern(rf"{first}\..*")
    assert sorted(read(source.set_bounded(LATEST))) == [".eu", ".us"]


def test_some_partitions(topics: Topics) -> None:
    topic = topics.new(3)
    for number in range(3):
        topics.write(topic, [f"p{number}"], number)
    chosen = {KafkaTopicPartition(topic, 0), KafkaTopicPartition(topic, 2)}
    assert sorted(read(texts(topics).set_partitions(chosen).set_bounded(LATEST))) == ["p0", "p2"]


def test_names_that_look_like_channels_of_others(topics: Topics) -> None:
    base = topics.new(2)
    names = [base, f"{base}-1", f"{base}-1-0", f"{base}_1.0", f"{base}.-_."]
    for name in names[1:]:
        topics.new(1, name)
    for number, name in enumerate(names):
        topics.write(name, [f"{number}"])
    topics.write(base, ["second"], 1)
    found = read(texts(topics, *names).set_bounded(LATEST))
    assert sorted(found) == ["0", "1", "2", "3", "4", "second"]


def test_a_topic_that_is_not_there(topics: Topics) -> None:
    with pytest.raises(EnvironmentSetupError, match=r"KAFKA_NO_TOPIC.*no such-topic-here at"):
        read(texts(topics, "such-topic-here"))
    topic = topics.new()
    missing = {KafkaTopicPartition(topic, 4)}
    with pytest.raises(EnvironmentSetupError, match=rf"KAFKA_NO_TOPIC.*no {topic}-4"):
        read(texts(topics).set_partitions(missing))


@pytest.mark.parametrize("name", ["a b", "'; drop table t; --", "$HOME {}%s", "t\u00fc", "x" * 300])
def test_names_that_no_topic_has_are_refused_by_name(topics: Topics, name: str) -> None:
    with pytest.raises(PlanError, match="no topic can be named") as error:
        texts(topics, name)
    assert short_repr(name) in error.value.message


def test_partitions_and_topics_that_appear(topics: Topics) -> None:
    """They begin at their earliest offset, wherever the others have begun."""
    topic = topics.new()
    topics.write(topic, ["before"])
    source = texts(topics).set_topic_pattern(rf"{topic}.*").set_starting_offsets(LATEST)
    source.set_property("partition.discovery.interval.ms", "1")
    checkpoint = Checkpoint()

    def more() -> list[Any]:
        return read(source, checkpoint=checkpoint)

    assert more() == []
    topics.grow(topic, 2)
    topics.write(topic, ["grown"], 1)
    topics.new(name=f"{topic}-new")
    topics.write(f"{topic}-new", ["new"])
    assert sorted(more()) == ["grown", "new"]
    topics.write(topic, ["again"], 1)
    assert more() == ["again"]


# -- gaps ------------------------------------------------------------------------------------------


def test_gaps_of_transactions(topics: Topics) -> None:
    topic = topics.new()
    topics.transaction(topic, ["a", "b"])
    topics.transaction(topic, ["x", "y"], commit=False)
    topics.transaction(topic, ["c"])
    topics.transaction(topic, ["z"], commit=False)
    source = texts(topics, topic).set_bounded(LATEST)
    assert read(source) == ["a", "b", "c"]
    for size in range(1, 8):
        assert read(source, epochs=size, splits=2) == ["a", "b", "c"]


def test_the_end_is_before_a_transaction_that_is_open(topics: Topics) -> None:
    topic = topics.new()
    topics.write(topic, ["a"])
    writer = topics.open_transaction(topic, ["b"])
    topics.write(topic, ["c"])
    checkpoint = Checkpoint()
    source = texts(topics, topic)
    assert read(source, checkpoint=checkpoint) == ["a"]
    assert read(source, checkpoint=checkpoint) == []
    uncommitted = texts(topics, topic).set_property("isolation.level", "read_uncommitted")
    assert read(uncommitted) == ["a", "b", "c"]
    writer.commit_transaction(30)
    assert read(source, checkpoint=checkpoint) == ["b", "c"]


def test_gaps_of_compaction(topics: Topics) -> None:
    from tests.support.kafka import until

    topic = topics.new(
        cleanup_policy="compact",
        segment_ms="100",
        min_cleanable_dirty_ratio="0.01",
        delete_retention_ms="0",
        min_compaction_lag_ms="0",
    )
    for n in range(40):
        topics.write(topic, [f"{n}"], key=f"k{n % 3}")
    source = texts(topics, topic).set_bounded(LATEST)

    def compacted() -> list[Any] | None:
        # A new segment closes the one before it, which can then be compacted.
        topics.write(topic, ["last"], key="last")
        found = read(source)
        return found if len(found) < 15 else None

    found = until(compacted)
    assert {"37", "38", "39"} <= set(found)
    for size in (3, 7):
        # Compaction goes on: what is read later may be less, and has the same order.
        again = read(source, epochs=size)
        assert {"37", "38", "39", "last"} <= set(again) <= set(found)
        assert again[:3] == ["37", "38", "39"]


def test_records_keep_their_numbers_however_the_input_is_cut(topics: Topics) -> None:
    """Where a record without a key goes depends on its position: so must not depend on gaps."""
    topic = topics.new()
    for n in range(4):
        topics.transaction(topic, [f"{n}a", f"{n}b"])
    (channels,) = texts(topics, topic).build().parts()

    def offsets(*cuts: int) -> list[int]:
        return [
            int(one)
            for start, stop in zip((0, *cuts), (*cuts, 12), strict=True)
            for chunk in channels.read(f"{topic}-0", start, stop)
            for one in chunk.positions  # type: ignore[union-attr]
        ]

    assert offsets() == [0, 1, 3, 4, 6, 7, 9, 10]
    assert offsets(2, 5, 8) == offsets(4) == offsets()
    channels.close()


# -- records that are gone, and brokers ------------------------------------------------------------


def test_retention_that_overtook_the_job(topics: Topics, caplog: pytest.LogCaptureFixture) -> None:
    topic = topics.new()
    topics.write(topic, ["a", "b", "c", "d"])
    source = texts(topics, topic)
    first, second = Checkpoint(), Checkpoint()
    for checkpoint in (first, second):
        assert read(source, epochs=[1], checkpoint=checkpoint) == ["a"]
    topics.delete_before(topic, 3)
    with pytest.raises(
        CheckpointError, match=rf"KAFKA_DATA_LOSS.*{topic}-0 begins at offset 3"
    ) as e:
        read(source, checkpoint=first)
    assert e.value.parameters == {"channel": f"{topic}-0", "position": 1, "first": 3}
    source.set_on_data_loss("continue")
    with caplog.at_level(logging.WARNING, "millstream"):
        assert read(source, checkpoint=second) == ["d"]
    assert "2 offsets are lost" in caplog.text


def test_retention_while_a_task_reads(topics: Topics, caplog: pytest.LogCaptureFixture) -> None:
    topic = topics.new()
    topics.write(topic, ["a", "b", "c", "d"])
    topics.delete_before(topic, 2)
    (channels,) = texts(topics, topic).build().parts()
    with pytest.raises(CheckpointError, match="KAFKA_DATA_LOSS"):
        list(channels.read(f"{topic}-0", 0, 4))
    (channels,) = texts(topics, topic).set_on_data_loss("continue").build().parts()
    chunks = list(channels.read(f"{topic}-0", 0, 4))
    assert values_of(chunks) == [b"c", b"d"]
    assert list(channels.read(f"{topic}-0", 0, 1)) == []


def values_of(chunks: Iterable[Any]) -> list[bytes]:
    return [value for chunk in chunks for value in chunk.values["value"].to_pylist()]


def test_no_broker_at_the_start() -> None:
    source = KafkaSource.builder().set_bootstrap_servers("127.0.0.1:1").set_topics("t")
    source.set_value_only_deserializer(SimpleStringSchema())
    with pytest.raises(EnvironmentSetupError, match=r"KAFKA_UNREACHABLE.*at 127\.0\.0\.1:1: "):
        read(source)


def test_a_broker_that_is_killed_and_comes_back(topics: Topics, kafka: Kafka) -> None:
    topic = topics.new()
    topics.write(topic, ["a", "b", "c"])
    (channels,) = texts(topics, topic).build().parts()
    channel = f"{topic}-0"

    def values(start: int, stop: int) -> list[bytes]:
        chunks = channels.read(channel, start, stop)
        return values_of(chunks)

    assert channels.latest() == {channel: 3}
    assert values(0, 2) == [b"a", b"b"]
    kafka.kill()
    # The job waits; it does not fail.
    assert channels.latest_after({channel: 2}) == {channel: 3}
    kafka.start()
    topics.write(topic, ["d"])
    assert channels.latest_after({channel: 2}) == {channel: 4}
    assert values(2, 4) == [b"c", b"d"]
    channels.close()


# -- records ---------------------------------------------------------------------------------------


def test_key_headers_timestamp_and_tombstones_reach_the_program(topics: Topics) -> None:
    topic = topics.new()
    topics.write(topic, [("v", 1_000)], key="k", headers=[("h", b"1"), ("h", b"2"), ("n", None)])
    topics.write(topic, [(None, 2_000)], key="gone")
    source = KafkaSource.builder().set_bootstrap_servers(topics.servers).set_topics(topic)
    source.set_deserializer(lambda record: record)
    assert read(source.set_bounded(LATEST)) == [
        ConsumerRecord(topic, 0, 0, 1_000, b"k", b"v", (("h", b"1"), ("h", b"2"), ("n", None))),
        ConsumerRecord(topic, 0, 1, 2_000, b"gone", None),
    ]
    # Values alone: a tombstone has none.
    assert read(texts(topics, topic).set_bounded(LATEST)) == ["v"]


def numbers(topics: Topics, topic: str) -> KafkaSource:
    schema = JsonRowDeserializationSchema.builder().type_info(
        Types.ROW_NAMED(["n"], [Types.LONG()])
    )
    source = KafkaSource.builder().set_bootstrap_servers(topics.servers).set_topics(topic)
    return source.set_value_only_deserializer(schema.build()).set_bounded(LATEST).build()


@pytest.fixture(scope="module")
def broken(topics: Topics) -> str:
    """Numbers, and two records that are none."""
    topic = topics.new()
    topics.write(topic, [('{"n": 1}', 1_000), ("{oops" + "x" * 500, 2_000)], key="k")
    topics.write(topic, [('{"n": 2}', 3_000), (b"\xff\xfe", 4_000), ('{"n": 3}', 5_000)])
    return topic


def test_what_cannot_be_decoded_fails_the_job(topics: Topics, broken: str) -> None:
    source = numbers(topics, broken)
    with pytest.raises(UserCodeError, match=r"source 'numbers': decoding") as error:
        run_local(lambda env: env.from_source(source, NO_TIME, "numbers"))
    text = str(error.value)
    for part in (
        f"topic='{broken}', partition=0, offset=1",
        "key=b'k'",
        "value=b'{oops",
        "on_error",
    ):
        assert part in text
    assert "x" * 200 not in text


@pytest.mark.parametrize("epochs", ["all", 1, 2])
def test_what_cannot_be_decoded_goes_to_the_side_output(
    topics: Topics, broken: str, epochs: Any
) -> None:
    bad = OutputTag("bad")
    source = numbers(topics, broken)

    def program(env: Any) -> dict[str, Any]:
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        rows = env.from_source(source, strategy, "numbers").on_error("skip", bad)
        return {"rows": rows.map(lambda row: row.n), "bad": rows.get_side_output(bad)}

    results = run_local(program, epochs=epochs)
    assert results.values("rows") == [1, 2, 3]
    letters = results.values("bad")
    assert [letter.value.offset for letter in letters] == [1, 3]
    assert [letter.timestamp for letter in letters] == [2_000, 4_000]
    assert letters[0].value.key == b"k"
    assert letters[1].value == ConsumerRecord(broken, 0, 3, 4_000, None, b"\xff\xfe")
    assert "BAD_JSON" in letters[0].error
    assert letters[0].operator == "numbers"


def test_text_that_is_no_text(topics: Topics) -> None:
    topic = topics.new()
    topics.write(topic, ["a", b"\xff", None, "b"])
    source = texts(topics, topic).set_bounded(LATEST).build()
    bad = OutputTag("bad")

    def program(env: Any) -> dict[str, Any]:
        found = env.from_source(source, NO_TIME, "texts").on_error("skip", bad)
        return {"texts": found, "bad": found.get_side_output(bad)}

    results = run_local(program)
    assert results.values("texts") == ["a", "b"]
    assert [letter.value.value for letter in results.values("bad")] == [b"\xff"]


# -- event time ------------------------------------------------------------------------------------


class Windows:
    """Counts of tumbling windows, and what came too late for them."""

    late = OutputTag("late", Types.STRING())

    def __init__(self, source: KafkaSource, strategy: WatermarkStrategy) -> None:
        self.source = source
        self.strategy = strategy

    def __call__(self, env: Any) -> dict[str, Any]:
        from millstream.common import Time
        from millstream.datastream.window import TumblingEventTimeWindows

        stream = env.from_source(self.source, self.strategy, "kafka")
        windows = (
            stream.key_by(lambda text: text[:2], Types.STRING())
            .window(TumblingEventTimeWindows.of(Time.hours(1)))
            .side_output_late_data(self.late)
            .reduce(lambda a, b: f"{a}+{b[2:]}")
        )
        return {"windows": windows, "late": windows.get_side_output(self.late)}


def test_the_slow_partition_and_the_silent_one(topics: Topics) -> None:
    """One partition is an hour behind and speaks in the second epoch; one never speaks."""
    topic = topics.new(4)
    for number in (0, 1):
        topics.write(topic, [(f"p{number}.{m}", m * 60_000) for m in (61, 72, 140)], number)
    source = texts(topics, topic).build()
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    patient, idle = Windows(source, strategy), Windows(source, strategy.with_idleness("5 s"))
    checkpoints = {patient: Checkpoint(), idle: Checkpoint()}
    for program, checkpoint in checkpoints.items():
        results = run_local(program, epochs=[1_000], checkpoint=checkpoint)
        assert results.values("windows") == results.values("late") == []
    topics.write(topic, [(f"p3.{m}", m * 60_000) for m in (1, 12, 200)], 3)
    for number in (0, 1):
        topics.write(topic, [(f"p{number}.200", 200 * 60_000)], number)
    found = {
        program: run_local(program, epochs=[1_000, *[1] * 9], checkpoint=checkpoint)
        for program, checkpoint in checkpoints.items()
    }
    # Partition 2 was announced: while it may still speak, it holds the clock.
    assert found[patient].values("windows") == found[patient].values("late") == []
    assert found[idle].values("late") == []
    assert sorted(found[idle].values("windows")) == [
        "p0.140",
        "p0.61+.72",
        "p1.140",
        "p1.61+.72",
        "p3.1+.12",
    ]


def test_the_timestamps_of_kafka_are_the_event_times(topics: Topics, five: str) -> None:
    from millstream.datastream import ProcessFunction

    class Times(ProcessFunction):  # type: ignore[type-arg]
        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            yield value, ctx.timestamp()

    source = texts(topics, five).set_bounded(KafkaOffsetsInitializer.timestamp(3_000)).build()

    def found(strategy: WatermarkStrategy) -> list[Any]:
        return run_local(
            lambda env: env.from_source(source, strategy, "kafka").process(Times())
        ).values()

    plain = WatermarkStrategy.for_monotonous_timestamps()
    assert found(plain) == [("1", 1_000), ("2", 2_000)]
    own = plain.with_timestamp_assigner(lambda value, ts: ts + int(value))
    assert found(own) == [("1", 1_001), ("2", 2_002)]


# -- jobs ------------------------------------------------------------------------------------------


def test_the_contract(topics: Topics) -> None:
    topic = topics.new(2)
    topics.transaction(topic, ["a", "b"])
    topics.write(topic, ["c", "d", "e"], 1)
    names = iter(range(100))

    def source() -> Any:
        found = texts(topics).set_topic_pattern(rf"{topic}.*")
        return found.set_property("partition.discovery.interval.ms", "1").build().parts()[0]

    def row(value: str, at: str, offset: int, partition: int = 0) -> Any:
        return Row(value=value.encode(), key=None, offset=offset, topic=at, partition=partition)

    def arrive() -> list[Any]:
        from tests.support.kafka import Topics

        offset = end_of(topics, topic, 0)
        Topics.write(topics, topic, ["x", "y"], 0)
        return [row("x", topic, offset), row("y", topic, offset + 1)]

    def appear() -> list[Any]:
        name = topics.new(name=f"{topic}.{next(names)}")
        topics.write(name, ["z"])
        return [row("z", name, 0)]

    expected = [row("a", topic, 0), row("b", topic, 1)]
    expected += [row(v, topic, n, 1) for n, v in enumerate("cde")]
    passed = check_source(source, expected=expected, arrive=arrive, appear=appear)
    assert len(passed) == 11


def end_of(topics: Topics, topic: str, partition: int) -> int:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({**topics.common, "group.id": "end"})
    try:
        place = TopicPartition(topic, partition)
        return int(consumer.get_watermark_offsets(place, timeout=10)[1])
    finally:
        consumer.close()


def test_savepoints_know_partitions_by_name(topics: Topics) -> None:
    """Another parallelism, another group, partitions that came in between."""
    topic = topics.new(2)
    for number in (0, 1):
        topics.write(topic, [f"{number}{letter}" for letter in "abc"], number)
    checkpoint = Checkpoint()
    source = texts(topics, topic).set_group_id("one")
    source.set_property("partition.discovery.interval.ms", "1")
    found = read(source, epochs=[1], checkpoint=checkpoint, slots=4, parallelism=1)
    assert sorted(found) == ["0a", "1a"]
    topics.grow(topic, 4)
    topics.write(topic, ["3a"], 3)
    other = texts(topics, topic).set_group_id("two").set_starting_offsets(LATEST)
    other.set_property("partition.discovery.interval.ms", "1")
    found = read(other, checkpoint=checkpoint, slots=4, parallelism=3)
    assert sorted(found) == ["0b", "0c", "1b", "1c", "3a"]


def test_group_offsets_are_for_those_who_watch(topics: Topics) -> None:
    from tests.support.kafka import until

    topic = topics.new()
    topics.write(topic, ["a", "b", "c"])

    def commit(builder: KafkaSourceBuilder) -> None:
        (channels,) = builder.build().parts()
        channels.latest()
        channels.commit({f"{topic}-0": 2})
        channels.close()

    commit(texts(topics, topic).set_group_id("watched"))
    until(lambda: topics.committed("watched", topic) == 2)
    commit(
        texts(topics, topic)
        .set_group_id("silent")
        .set_property("commit.offsets.on.checkpoint", "false")
    )
    assert topics.committed("silent", topic) < 0
    # A job goes on from its checkpoint, whatever the group says.
    checkpoint = Checkpoint()
    source = texts(topics, topic).set_group_id("watched")
    assert read(source, epochs=[1], checkpoint=checkpoint) == ["a"]
    topics.commit("watched", topic, 3)
    assert read(source, checkpoint=checkpoint) == ["b", "c"]


def test_an_epoch_reads_at_most_so_much_of_each_partition(topics: Topics) -> None:
    topic = topics.new()
    topics.write(topic, [str(n) for n in range(10)])
    source = texts(topics, topic).set_bounded(LATEST)

    def epochs() -> int:
        made = source.build()
        return run_local(lambda env: env.from_source(made, NO_TIME, "kafka")).epochs

    at_once = epochs()
    source.set_max_records_per_epoch(4)
    assert epochs() == at_once + 2


# -- security --------------------------------------------------------------------------------------


def sasl(kafka: Kafka, topic: str, password: str) -> KafkaSourceBuilder:
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    source = KafkaSource.builder().set_bootstrap_servers(kafka.sasl_bootstrap).set_topics(topic)
    source.set_value_only_deserializer(SimpleStringSchema())
    return source.set_properties(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{login} username="{kafka.sasl_user}" password="{password}";',
        }
    )


def test_login_by_sasl(topics: Topics, kafka: Kafka) -> None:
    topic = topics.new()
    topics.write(topic, ["a"])
    assert read(sasl(kafka, topic, kafka.sasl_password).set_bounded(LATEST)) == ["a"]


def test_secrets_are_shown_nowhere(topics: Topics, kafka: Kafka, tmp_path: Path) -> None:
    topic, secret = topics.new(), "hidden-away"
    builder = sasl(kafka, topic, secret)
    source = builder.build()
    assert secret not in repr(builder) + repr(source) + repr(source.parts()[0])
    with pytest.raises(EnvironmentSetupError, match=r"KAFKA_UNREACHABLE.*uthenticat") as error:
        read(builder)
    assert secret not in str(error.value)
    assert secret not in str(error.value.to_dict())
