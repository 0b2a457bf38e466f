"""Clicks from Kafka, counted per page and minute into PostgreSQL.

The topic has two partitions, and one of them is an hour behind the other. Each partition has a watermark
of its own, so no click of the slow one is late. The table is upserted by page and minute, each count
once. Start the servers with ``python -m tools.servers run kafka`` (and ``postgres``) and put their
addresses below.

Prints:
    2026-01-01 10:00  /cart   1
    2026-01-01 10:00  /home   2
    2026-01-01 10:01  /home   1
    2026-01-01 11:00  /cart   2
    2026-01-01 11:01  /home   1
"""

import json
import uuid
from datetime import datetime, timedelta

import psycopg
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from millstream.common import Row, Types, WatermarkStrategy
from millstream.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from millstream.datastream.connectors.databases import DatabaseSink
from millstream.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from millstream.datastream.formats.json import JsonRowDeserializationSchema
from millstream.datastream.window import TumblingEventTimeWindows

SERVERS = "localhost:9092"  # needs kafka at localhost:9092
DATABASE = "postgresql://postgres@localhost:5432/postgres"  # needs postgres at localhost:5432
RUN = uuid.uuid4().hex[:8]
TOPIC, TABLE = f"clicks-{RUN}", f"clicks_{RUN}"

TEN = datetime(2026, 1, 1, 10)
# Partition, page, seconds since ten o'clock.
CLICKS = [
    (0, "/cart", 3_601),
    (0, "/cart", 3_630),
    (0, "/home", 3_661),
    (1, "/home", 1),
    (1, "/cart", 20),
    (1, "/home", 40),
    (1, "/home", 75),
]
CLICK = Types.ROW_NAMED(["page", "at"], [Types.STRING(), Types.LONG()])
COUNT = Types.ROW_NAMED(
    ["page", "minute", "clicks"], [Types.STRING(), Types.SQL_TIMESTAMP(), Types.LONG()]
)


class Count(ProcessWindowFunction):
    def process(self, key, context, elements):
        minute = TEN + timedelta(milliseconds=context.window().start)
        yield Row(page=key, minute=minute, clicks=len(list(elements)))


def count():
    env = StreamExecutionEnvironment.get_execution_environment()
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(SERVERS)
        .set_topics(TOPIC)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(
            JsonRowDeserializationSchema.builder().type_info(CLICK).build()
        )
        .build()
    )
    in_order = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda click, _: click.at
    )
    clicks = env.from_source(source, in_order, "clicks").uid("clicks")
    counts = (
        clicks.key_by(lambda click: click.page)
        .window(TumblingEventTimeWindows.of("1 min"))
        .process(Count(), COUNT)
        .uid("counts")
    )
    counts.sink_to(DatabaseSink.upsert(DATABASE, TABLE, key=["page", "minute"])).uid("table")
    env.execute("clicks per minute")


def fill():
    admin = AdminClient({"bootstrap.servers": SERVERS})
    admin.create_topics([NewTopic(TOPIC, 2)])[TOPIC].result()
    producer = Producer({"bootstrap.servers": SERVERS})
    for partition, page, second in CLICKS:
        click = {"page": page, "at": second * 1_000}
        producer.produce(TOPIC, json.dumps(click), partition=partition)
    producer.flush()
    with psycopg.connect(DATABASE) as connection:
        columns = "page text, minute timestamp, clicks bigint, primary key (page, minute)"
        connection.execute(f"create table {TABLE} ({columns})")


def show():
    with psycopg.connect(DATABASE) as connection:
        for page, minute, clicks in connection.execute(
            f"select page, minute, clicks from {TABLE} order by minute, page"
        ):
            print(f"{minute:%Y-%m-%d %H:%M}  {page:<7} {clicks}")


if __name__ == "__main__":
    fill()
    count()
    show()
