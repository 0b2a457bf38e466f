"""A slow partition on a real broker: Millstream and plain Structured Streaming, on the same records.

    python benchmarks/slow_partition.py [--per-minute 100] [--per-trigger 4000]

A topic has 4 partitions. Partitions 0 and 1 bring minutes 60 to 120, then all of that is read. Only
then partition 3 speaks for the first time, an hour behind: minutes 0 to 60; 0 and 1 go on to minute 140.
Partition 2 is silent. Both engines count records per partition in windows of 10 minutes, with a delay of
a minute. The counts are compared with those of the records that were written.

Spark's Kafka connector has no release for Spark 4.3. The one of 4.2 with a token provider of 4.1, which
Maven fetches here, reads topics all the same. It is good for this comparison only: nobody supports it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tools.servers import Kafka
from tools.servers.install import cache, run

START = 1_704_067_200_000  # 2024-01-01, the beginning of a window
MINUTE = 60_000
SIZE = 10
END = 300
PATIENCE_SECONDS = 300
ENGINES = ("Millstream", "Structured Streaming")

JARS = (
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.1.0-preview1"),
    ("org.apache.kafka", "kafka-clients", "3.9.2"),
    ("org.apache.commons", "commons-pool2", "2.12.1"),
)

# -- records ---------------------------------------------------------------------------------------

Minutes = dict[int, range]
"""The minutes of which each partition brings records."""
PHASES: tuple[Minutes, ...] = (
    {0: range(60, 120), 1: range(60, 120)},
    {3: range(60), 0: range(120, 140), 1: range(120, 140)},
)


def truth(per_minute: int) -> Counter[tuple[str, int]]:
    """How many records each partition has in the window that begins at a minute."""
    return Counter(
        {
            (f"p{partition}", begin): per_minute * SIZE
            for phase in PHASES
            for partition, minutes in phase.items()
            for begin in minutes[::SIZE]
        }
    )


class Topic:
    """A topic to which the phases are written, when an engine has read all that is there."""

    def __init__(self, bootstrap: str, name: str, per_minute: int) -> None:
        self.name, self.per_minute = name, per_minute
        common = {"bootstrap.servers": bootstrap}
        admin = AdminClient(common)
        admin.create_topics([NewTopic(name, 4)])[name].result(30)
        self.producer = Producer(common)

    def write(self, phase: Minutes) -> None:
        for partition, minutes in phase.items():
            for minute in minutes:
                for number in range(self.per_minute):
                    self._one(partition, minute * MINUTE + number * MINUTE // self.per_minute)
            self.producer.flush()

    def end(self) -> None:
        """All partitions that ever spoke come to the same time, so that all windows are over."""
        for partition in (0, 1, 3):
            self._one(partition, END * MINUTE)
        self.producer.flush()

    def _one(self, partition: int, time_ms: int) -> None:
        value = f"p{partition}"
        self.producer.produce(self.name, value, partition=partition, timestamp=START + time_ms)
        self.producer.poll(0)


# -- engines ---------------------------------------------------------------------------------------


def millstream(bootstrap: str, topic: Topic, per_trigger: int) -> dict[str, object]:
    from millstream.common import SimpleStringSchema, Types, WatermarkStrategy
    from millstream.connectors.simple_sinks import DriverSink
    from millstream.datastream import OutputTag, StreamExecutionEnvironment
    from millstream.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
    from millstream.datastream.window import TumblingEventTimeWindows

    class Kept(DriverSink):
        def __init__(self) -> None:
            self.records: list[tuple[object, int]] = []

        def deliver(self, context, epoch, records):
            self.records += records

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2).set_runtime_mode("STREAMING")
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(bootstrap)
        .set_topics(topic.name)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(SimpleStringSchema())
        .set_max_records_per_epoch(per_trigger // 2)
        .build()
    )
    late = OutputTag("late", Types.TUPLE([Types.STRING(), Types.LONG()]))
    strategy = WatermarkStrategy.for_bounded_out_of_orderness("1 min").with_idleness("1 min")
    sites = env.from_source(source, strategy, "readings").uid("readings")
    pairs = sites.map(lambda site: (site, 1), Types.TUPLE([Types.STRING(), Types.LONG()]))
    windows = pairs.key_by(lambda pair: pair[0], Types.STRING()).window(
        TumblingEventTimeWindows.of("10 min")
    )
    counts = windows.side_output_late_data(late).sum(1)
    kept, dropped = Kept(), Kept()
    counts.sink_to(kept).name("counts")
    counts.get_side_output(late).sink_to(dropped).name("late")
    client = env.execute_async("slow partition")

    def wait(what) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not what():
            if client.get_job_execution_result().done():
                client.get_job_execution_result().result()
            if time.monotonic() > end:
                raise SystemExit("Millstream has not come to the end in time")
            time.sleep(0.2)

    def is_read(count: int) -> bool:
        read = client.metrics().sources.get("readings")
        return read is not None and read.read >= count and not read.backlog

    written = 0
    for phase in PHASES:
        topic.write(phase)
        written += topic.per_minute * sum(map(len, phase.values()))
        wait(lambda written=written: is_read(written))
    topic.end()
    wait(lambda: len(kept.records) >= len(truth(1)))
    client.cancel().result()
    found = [(pair[0], (last + 1 - START) // MINUTE - SIZE, pair[1]) for pair, last in kept.records]
    return {"counts": found, "dropped": len(dropped.records)}


def structured_streaming(bootstrap: str, topic: Topic, per_trigger: int) -> dict[str, object]:
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", ",".join(str(jar) for jar in sorted(jars().glob("*.jar"))))
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    readings = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic.name)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", per_trigger)
        .load()
        .select(F.col("value").cast("string").alias("site"), "timestamp")
    )
    counts = (
        readings.withWatermark("timestamp", "1 minutes")
        .groupBy("site", F.window("timestamp", "10 minutes"))
        .count()
        .select("site", F.unix_millis("window.start").alias("start"), "count")
    )
    found: list[tuple[str, int, int]] = []

    def keep(batch, _) -> None:
        found.extend((site, (at - START) // MINUTE, n) for site, at, n in batch.collect())

    query = counts.writeStream.outputMode("append").foreachBatch(keep).start()
    for phase in PHASES:
        topic.write(phase)
        query.processAllAvailable()
    topic.end()
    query.processAllAvailable()
    dropped = sum(
        state["numRowsDroppedByWatermark"]
        for progress in query.recentProgress
        for state in progress["stateOperators"]
    )
    query.stop()
    spark.stop()
    return {"counts": found, "dropped": dropped}


def jars() -> Path:
    """Spark's Kafka connector: four jars that fit, without what they ask for."""
    target = cache() / "spark-kafka-4.2.0"
    if not target.is_dir():
        dependencies = "".join(
            f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
            f"<version>{version}</version><exclusions><exclusion><groupId>*</groupId>"
            "<artifactId>*</artifactId></exclusion></exclusions></dependency>"
            for group, name, version in JARS
        )
        pom = (
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
            "<groupId>millstream</groupId><artifactId>jars</artifactId><version>1</version>"
            f"<dependencies>{dependencies}</dependencies></project>"
        )
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as made:
            Path(made, "pom.xml").write_text(pom)
            goal = "dependency:copy-dependencies"
            run(["mvn", "-q", "-B", goal, "-DoutputDirectory=jars"], folder=Path(made))
            shutil.move(Path(made, "jars"), target)
    return target


# -- the comparison --------------------------------------------------------------------------------


def compared(engine: str, bootstrap: str, options: argparse.Namespace) -> dict[str, object]:
    """What an engine has counted, in a process of its own."""
    command = [sys.executable, __file__, "--engine", engine, "--bootstrap", bootstrap]
    command += ["--per-minute", str(options.per_minute)]
    command += ["--per-trigger", str(options.per_trigger)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{engine} has failed with exit code {done.returncode}")
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def report(found: dict[str, dict[str, object]], per_minute: int) -> None:
    wanted = truth(per_minute)
    results = {
        engine: {(site, begin): n for site, begin, n in one["counts"] if begin < END}
        for engine, one in found.items()
    }
    print("| Partition | Records | " + " | ".join(results) + " |")
    print("|---|---:|" + "---:|" * len(results))
    for partition in (0, 1, 2, 3):
        site = f"p{partition}"
        cells = [str(sum(n for (one, _), n in wanted.items() if one == site))]
        for counts in results.values():
            cells.append(str(sum(n for (one, _), n in counts.items() if one == site)))
        print(f"| {partition} | " + " | ".join(cells) + " |")
    right = [
        sum(counts.get(place) == n for place, n in wanted.items()) for counts in results.values()
    ]
    print(f"| windows that are right | {len(wanted)} | " + " | ".join(map(str, right)) + " |")
    lost = [
        sum(wanted.values()) - sum(n for place, n in counts.items() if place in wanted)
        for counts in results.values()
    ]
    print("| records lost | 0 | " + " | ".join(map(str, lost)) + " |")
    told = [str(one["dropped"]) for one in found.values()]
    print("| reported as late or dropped | | " + " | ".join(told) + " |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--per-minute", type=int, default=100, help="records of a partition")
    parser.add_argument("--per-trigger", type=int, default=4_000, help="offsets of a micro-batch")
    parser.add_argument("--engine", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--bootstrap", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.engine is not None:
        topic = Topic(options.bootstrap, f"slow-{time.time_ns()}", options.per_minute)
        engine = millstream if options.engine == "Millstream" else structured_streaming
        print(json.dumps(engine(options.bootstrap, topic, options.per_trigger)))
        return 0
    with Kafka() as kafka:
        found = {engine: compared(engine, kafka.bootstrap, options) for engine in ENGINES}
    report(found, options.per_minute)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
