"""History first, then Kafka: on a real broker, in memory and on Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from millstream.common import SimpleStringSchema, Types, WatermarkStrategy
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DataGeneratorSource, FileSource, HybridSource
from millstream.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaSource,
)
from millstream.testing import Checkpoint, run_local
from tests.support.spark.spark_support import Collecting, cancel, wait_for_job

if TYPE_CHECKING:
    from tests.support.kafka import Topics

pytestmark = pytest.mark.servers


def history(count: int = 4) -> DataGeneratorSource:
    return DataGeneratorSource(lambda n: f"old {n}", count, type_info=Types.STRING())


def log(topics: Topics, name: str, *, bounded: bool) -> KafkaSource:
    builder = KafkaSource.builder().set_bootstrap_servers(topics.servers).set_topics(name)
    builder.set_value_only_deserializer(SimpleStringSchema())
    builder.set_starting_offsets(KafkaOffsetsInitializer.earliest())
    if bounded:
        builder.set_bounded(KafkaOffsetsInitializer.latest())
    return builder.build()


def test_history_comes_before_the_topic(topics: Topics) -> None:
    name = topics.new(partitions=2)
    topics.write(name, ["a", "b"], partition=0)
    topics.write(name, ["c"], partition=1)

    def program(env: StreamExecutionEnvironment) -> Any:
        source = HybridSource.builder(history()).add_source(log(topics, name, bounded=True)).build()
        assert source.bounded and source.get_produced_type() == Types.STRING()
        return env.from_source(source, WatermarkStrategy.no_watermarks(), "texts")

    for options in ({"epochs": 1}, {"epochs": 3, "restarts": "every"}, {"batch": False}):
        found = run_local(program, **options).values()
        assert found[:4] == [f"old {n}" for n in range(4)]
        assert sorted(found[4:]) == ["a", "b", "c"]


def test_a_topic_without_end_is_read_from_the_switch_on(topics: Topics) -> None:
    name = topics.new()
    topics.transaction(name, ["a", "b"])

    def program(env: StreamExecutionEnvironment) -> Any:
        source = HybridSource(history(3), log(topics, name, bounded=False))
        return env.from_source(source, WatermarkStrategy.no_watermarks(), "texts")

    checkpoint = Checkpoint()
    old = run_local(program, epochs=[2], checkpoint=checkpoint).values()
    assert old == ["old 0", "old 1"]
    # In the epoch that reads the last record of the history the topic enters, and is not read yet.
    assert run_local(program, epochs=[5], checkpoint=checkpoint).values()[-1] == "old 2"
    topics.write(name, ["c"])
    found = run_local(program, epochs=[9, 9], checkpoint=checkpoint).values()
    assert found[-3:] == ["a", "b", "c"]


def test_files_come_before_the_topic(topics: Topics, tmp_path: Path) -> None:
    name = topics.new(partitions=2)
    topics.write(name, ["new 0"], partition=0)
    topics.write(name, ["new 1"], partition=1)
    for number in range(2):
        (tmp_path / f"{number}.txt").write_text(f"old {number}a\nold {number}b\n")

    def program(env: StreamExecutionEnvironment) -> Any:
        files = FileSource.text(str(tmp_path))
        source = HybridSource(files, log(topics, name, bounded=True))
        return env.from_source(source, WatermarkStrategy.no_watermarks(), "texts")

    for options in ({"epochs": 1}, {"epochs": 3, "restarts": "every"}, {"batch": False}):
        found = run_local(program, **options).values()
        assert sorted(found[:4]) == ["old 0a", "old 0b", "old 1a", "old 1b"]
        assert sorted(found[4:]) == ["new 0", "new 1"]


@pytest.mark.spark
def test_files_then_the_topic_on_spark(
    make_env: Callable[..., StreamExecutionEnvironment], topics: Topics, tmp_path: Path
) -> None:
    """The list of files is made once; a savepoint after the switch goes on in the topic."""
    name = topics.new(partitions=2)
    topics.write(name, ["new"], partition=1)
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text("old\nold\n")

    def started(env: StreamExecutionEnvironment, run: str) -> tuple[Collecting, Any]:
        source = HybridSource(FileSource.text(str(folder)), log(topics, name, bounded=False))
        sink = Collecting()
        env.set_checkpoint_directory(str(tmp_path / run))
        words = env.from_source(source, WatermarkStrategy.no_watermarks(), "words").uid("words")
        pairs = words.map(lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.LONG()]))
        pairs.key_by(lambda pair: pair[0], Types.STRING()).sum(1).uid("sum").sink_to(sink)
        return sink, env.execute_async("files, then a topic")

    sink, client = started(make_env(), "first")
    wait_for_job(lambda: ("new", 1) in sink.values, client, "the topic")
    assert sink.values == [("old", 1), ("old", 2), ("new", 1)]
    saved = client.stop_with_savepoint(str(tmp_path / "saved"))
    (folder / "a.txt").unlink()
    (folder / "late.txt").write_text("old\n")
    topics.write(name, ["new"], partition=0)
    sink, client = started(make_env().restore_from_savepoint(saved), "second")
    wait_for_job(lambda: sink.values, client, "the topic after the savepoint")
    cancel(client)
    assert sink.values == [("new", 2)]
