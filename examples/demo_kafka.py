"""The word counter through a real broker: counter and broker are killed, restarted, and checked.

    make demo-kafka                        # or: python examples/demo_kafka.py [--words 40000]

The demo starts Kafka on loopback, with a folder of its own, and writes words into a topic. The counter,
in a process of its own, reads them, counts with keyed state, and writes each count into a second topic,
exactly once. The demo reads that topic as any consumer would (``read_committed``). When a third of the
counts is there it kills the counter with SIGKILL, Spark's JVM included, and after two thirds the broker.
In the end it counts the same words in plain Python and compares.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from examples.demo import (
    Screen,
    check_counts,
    kill,
    process_in,
    run_in_folder,
    watch,
    word_of,
)

PARTITIONS = 2
PER_EPOCH = 1_000


# -- the job: this is all that runs on Spark -------------------------------------------------------


def count_words(folder: Path, servers: str) -> None:
    """Count the words of the topic ``words`` into the topic ``counts``."""
    from millstream.common import SimpleStringSchema, Types, WatermarkStrategy
    from millstream.datastream import KeyedProcessFunction, StreamExecutionEnvironment
    from millstream.datastream.connectors import DeliveryGuarantee
    from millstream.datastream.connectors.kafka import (
        KafkaOffsetsInitializer,
        KafkaRecordSerializationSchema,
        KafkaSink,
        KafkaSource,
    )
    from millstream.datastream.state import ValueStateDescriptor

    class CountWords(KeyedProcessFunction):
        def open(self, runtime_context):
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

        def process_element(self, word, ctx):
            count = (self.count.value() or 0) + 1
            self.count.update(count)
            yield f"{word},{count}"

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.set_checkpoint_directory(str(folder / "checkpoint"))

    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics("words")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .set_max_records_per_epoch(PER_EPOCH)
        .build()
    )
    values = KafkaRecordSerializationSchema.builder().set_topic("counts")
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_record_serializer(values.set_value_serialization_schema(SimpleStringSchema()).build())
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix("word-counter")
        .build()
    )
    words = env.from_source(source, WatermarkStrategy.no_watermarks(), "words").uid("words")
    counts = words.key_by(lambda word: word).process(CountWords(), Types.STRING()).uid("count")
    counts.sink_to(sink).uid("counts")
    env.execute("word counter")


# -- the topics ------------------------------------------------------------------------------------


def fill(servers: str, words: int) -> None:
    """Make the topics, and write the words."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    names = ("words", "counts")
    admin = AdminClient({"bootstrap.servers": servers})
    made = admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names])
    for name in names:
        made[name].result()
    producer = Producer({"bootstrap.servers": servers})
    for number in range(words):
        producer.produce("words", word_of(number), partition=number % PARTITIONS)
        producer.poll(0)
    producer.flush()


class Tally:
    """What a consumer of the topic ``counts`` has seen so far."""

    def __init__(self, servers: str) -> None:
        from confluent_kafka import Consumer, TopicPartition

        settings: dict[str, Any] = {"bootstrap.servers": servers, "group.id": "demo"}
        settings |= {"isolation.level": "read_committed", "log_level": 0}
        self._consumer = Consumer(settings)
        self._consumer.assign([TopicPartition("counts", part, 0) for part in range(PARTITIONS)])
        self.rows: list[tuple[str, int]] = []
        self.latest: Counter[str] = Counter()

    def refresh(self) -> bool:
        """Read new messages; whether there were any."""
        messages = [one for one in self._consumer.consume(10_000, 0.5) if one.error() is None]
        for message in messages:
            word, count = message.value().decode().split(",")
            self.rows.append((word, int(count)))
            self.latest[word] = max(self.latest[word], int(count))
        return bool(messages)

    @property
    def progress(self) -> str:
        """How far the counter is."""
        return f"{len(self.rows):>9,} counts"


# -- the demo --------------------------------------------------------------------------------------


def run(folder: Path, options: argparse.Namespace, screen: Screen) -> bool:
    """The demo; True if the counts are right."""
    from tools.servers import Kafka

    words = options.words
    print(screen.style("1;36", "A word counter from Kafka to Kafka that survives kill -9"))
    with Kafka() as broker:
        fill(broker.bootstrap, words)
        tally = Tally(broker.bootstrap)
        command = [__file__, "--worker", str(folder), "--servers", broker.bootstrap]
        screen.section(
            1,
            "Count",
            f"{words:,} words in the topic 'words', {PER_EPOCH:,} per partition and epoch.",
            "Each count becomes a message of the topic 'counts', in a transaction per epoch.",
        )
        with process_in(folder, command) as process:
            watch(process, tally, screen, lambda: len(tally.rows) >= words // 3)
            kill(process)
        screen.section(2, "Kill the counter", "kill -9 for the driver and its JVM, then a restart.")
        with process_in(folder, command) as process:
            watch(process, tally, screen, lambda: len(tally.rows) >= words * 2 // 3)
            broker.kill()
            screen.section(3, "Kill the broker", "kill -9 for Kafka, then a restart.")
            broker.start()
            watch(process, tally, screen)
    return check_counts(tally.rows, tally.latest, words, screen)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=40_000, help="how many words")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--servers", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        count_words(options.worker, options.servers)
        return 0
    return run_in_folder(lambda folder: run(folder, options, Screen(options.words)))


if __name__ == "__main__":
    sys.exit(main())
