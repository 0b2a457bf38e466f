"""Kafka as a source of jobs on Spark: broker restarts, savepoints, secrets, metrics."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from millstream.common import SimpleStringSchema, Types, WatermarkStrategy
from millstream.datastream import OutputTag, StreamExecutionEnvironment
from millstream.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaSourceBuilder,
)
from tests.support.spark.spark_support import Collecting, cancel, wait_for_job

if TYPE_CHECKING:
    from tests.support.kafka import Topics
    from tools.servers import Kafka

pytestmark = [pytest.mark.servers, pytest.mark.spark]
MakeEnv = Callable[..., StreamExecutionEnvironment]
NO_TIME = WatermarkStrategy.no_watermarks()
BAD = OutputTag("bad")


def source(kafka: Kafka, topic: str, group: str) -> KafkaSourceBuilder:
    """A source that logs in with a password."""
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    jaas = f'{login} username="{kafka.sasl_user}" password="{kafka.sasl_password}";'
    return (
        KafkaSource.builder()
        .set_bootstrap_servers(kafka.sasl_bootstrap)
        .set_topics(topic)
        .set_group_id(group)
        .set_value_only_deserializer(SimpleStringSchema())
        .set_property("security.protocol", "SASL_PLAINTEXT")
        .set_property("sasl.mechanism", "PLAIN")
        .set_property("sasl.jaas.config", jaas)
        .set_property("partition.discovery.interval.ms", "200")
    )


class Counting:
    """How often each word has come: a record that is lost or read twice shows."""

    def __init__(self, env: StreamExecutionEnvironment, builder: KafkaSourceBuilder) -> None:
        self.sink, self.bad = Collecting(), Collecting()
        words = env.from_source(builder.build(), NO_TIME, "words").uid("words")
        words = words.on_error("skip", BAD)
        pairs = words.map(lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.LONG()]))
        pairs.key_by(lambda pair: pair[0], Types.STRING()).sum(1).uid("sum").sink_to(self.sink)
        words.get_side_output(BAD).sink_to(self.bad)
        self.client = env.execute_async("words")

    def gives(self, **counts: int) -> None:
        """A restart may deliver its last epoch again; a wrong count would be there for good."""
        wanted = set(counts.items())
        wait_for_job(lambda: wanted <= set(self.sink.values), self.client, f"{counts}")


def test_a_job_goes_on_whatever_happens_to_it(
    make_env: MakeEnv, topics: Topics, kafka: Kafka, tmp_path: Path
) -> None:
    topic = topics.new(2)
    topics.write(topic, ["a", "b", b"\xff"], 0)
    topics.write(topic, ["a"], 1)
    checkpoint = tmp_path / "checkpoint"
    env = make_env().set_checkpoint_directory(str(checkpoint))
    job = Counting(env, source(kafka, topic, f"g-{topic}"))
    job.gives(a=2, b=1)
    wait_for_job(lambda: job.bad.values, job.client, "a dead letter")
    assert job.bad.values[0].value.offset == 2

    # The broker is killed, and comes back with more records.
    kafka.kill()
    kafka.start()
    topics.write(topic, ["a", "c"], 0)
    job.gives(a=3, c=1)
    read = job.client.metrics().sources["words"]
    assert read.lag == {f"{topic}-0": 0, f"{topic}-1": 0}
    assert (read.backlog, read.skipped) == (0, 1)
    wait_for_job(
        lambda: topics.committed(f"g-{topic}", topic) == 5, job.client, "offsets of the group"
    )
    # A savepoint, another parallelism and group, a partition more.
    saved = job.client.stop_with_savepoint(str(tmp_path / "saved"))
    topics.grow(topic, 3)
    topics.write(topic, ["c", "d"], 2)
    topics.write(topic, ["b"], 0)
    env = make_env().set_parallelism(1).set_checkpoint_directory(str(tmp_path / "second"))
    other = source(kafka, topic, "other").set_starting_offsets(KafkaOffsetsInitializer.latest())
    job = Counting(env.restore_from_savepoint(saved), other)
    job.gives(b=2, c=2, d=1)
    assert ("b", 3) not in job.sink.values
    cancel(job.client)

    for path in [p for p in tmp_path.rglob("*") if p.is_file()]:
        assert kafka.sasl_password.encode() not in path.read_bytes(), path


def test_a_bounded_job_ends(
    make_env: MakeEnv, topics: Topics, kafka: Kafka, capfd: pytest.CaptureFixture[str]
) -> None:
    topic = topics.new(3)
    for number in range(3):
        topics.write(topic, [f"{number}{letter}" for letter in "abc"], number)
    for mode in ("streaming", "batch"):
        env = make_env(mode)
        builder = source(kafka, topic, "bounded").set_bounded(KafkaOffsetsInitializer.latest())
        words = env.from_source(builder.build(), NO_TIME, "words")
        assert kafka.sasl_password not in env.get_execution_plan()
        with words.execute_and_collect() as found:
            assert sorted(found) == [f"{number}{letter}" for number in range(3) for letter in "abc"]
    told = capfd.readouterr()
    assert kafka.sasl_password not in told.out + told.err
    assert "%3|" not in told.err


def test_no_broker_fails_within_seconds(make_env: MakeEnv) -> None:
    from millstream.common.errors import EnvironmentSetupError

    builder = KafkaSource.builder().set_bootstrap_servers("127.0.0.1:1").set_topics("t")
    builder.set_value_only_deserializer(SimpleStringSchema())
    env = make_env()
    env.from_source(builder.build(), NO_TIME, "words").print()
    with pytest.raises(EnvironmentSetupError, match=r"KAFKA_UNREACHABLE.*127\.0\.0\.1:1"):
        env.execute()
