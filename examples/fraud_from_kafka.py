"""Fraud detection from Kafka to Kafka: a small payment, then a large one within a minute.

Payments come as JSON from one topic, alerts go to another one, exactly once. Both topics are made here,
with some payments, so that the example can run alone. Start a broker with
``python -m tools.servers run kafka`` and put its address below.

Prints:
    {"card":"ada","amount":900.0,"seconds":20}
    {"card":"cyn","amount":650.0,"seconds":59}
"""

import json
import time
import uuid

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from millstream.common import Row, Types, WatermarkStrategy
from millstream.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millstream.datastream.connectors import DeliveryGuarantee
from millstream.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from millstream.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from millstream.datastream.state import ValueStateDescriptor

SERVERS = "localhost:9092"  # needs kafka at localhost:9092
RUN = uuid.uuid4().hex[:8]
PAYMENTS_TOPIC, ALERTS_TOPIC = f"payments-{RUN}", f"alerts-{RUN}"
# Alerts get the times of payments as timestamps, and brokers delete records whose timestamps are old.
START_MS = int(time.time() * 1_000)

# Card, amount, seconds since the start. Bob's large payment comes too late after the small one.
PAYMENTS = [
    ("ada", 0.5, 0),
    ("bob", 0.8, 5),
    ("ada", 900.0, 20),
    ("cyn", 0.9, 30),
    ("bob", 700.0, 70),
    ("cyn", 650.0, 89),
    ("ada", 800.0, 95),
]
PAYMENT = Types.ROW_NAMED(["card", "amount", "at"], [Types.STRING(), Types.DOUBLE(), Types.LONG()])
ALERT = Types.ROW_NAMED(
    ["card", "amount", "seconds"], [Types.STRING(), Types.DOUBLE(), Types.LONG()]
)
MINUTE_MS = 60_000


class Detector(KeyedProcessFunction):
    """Remembers when a card paid little; a timer forgets it after a minute."""

    def open(self, runtime_context):
        self.small_at = runtime_context.get_state(ValueStateDescriptor("small at", Types.LONG()))

    def process_element(self, payment, ctx):
        since = self.small_at.value()
        passed_ms = MINUTE_MS + 1 if since is None else ctx.timestamp() - since
        # The timer comes with the watermark, so it may come after a payment of a later time.
        if payment.amount > 500 and passed_ms <= MINUTE_MS:
            yield Row(card=payment.card, amount=payment.amount, seconds=passed_ms // 1_000)
        self.small_at.clear()
        if payment.amount < 1:
            self.small_at.update(ctx.timestamp())
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + MINUTE_MS)

    def on_timer(self, timestamp, ctx):
        if self.small_at.value() == timestamp - MINUTE_MS:
            self.small_at.clear()


def detect():
    env = StreamExecutionEnvironment.get_execution_environment()
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(SERVERS)
        .set_topics(PAYMENTS_TOPIC)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(
            JsonRowDeserializationSchema.builder().type_info(PAYMENT).build()
        )
        .build()
    )
    alerts = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(ALERTS_TOPIC)
        .set_value_serialization_schema(
            JsonRowSerializationSchema.builder().with_type_info(ALERT).build()
        )
        .build()
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(SERVERS)
        .set_record_serializer(alerts)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .build()
    )
    in_order = WatermarkStrategy.for_bounded_out_of_orderness("5 s").with_timestamp_assigner(
        lambda payment, _: payment.at
    )
    payments = env.from_source(source, in_order, "payments").uid("payments")
    found = payments.key_by(lambda payment: payment.card).process(Detector(), ALERT).uid("fraud")
    found.sink_to(sink).uid("alerts")
    env.execute("fraud detection")


def fill():
    admin = AdminClient({"bootstrap.servers": SERVERS})
    for made in admin.create_topics(
        [NewTopic(PAYMENTS_TOPIC, 1), NewTopic(ALERTS_TOPIC, 1)]
    ).values():
        made.result()
    producer = Producer({"bootstrap.servers": SERVERS})
    for card, amount, second in PAYMENTS:
        payment = {"card": card, "amount": amount, "at": START_MS + second * 1_000}
        producer.produce(PAYMENTS_TOPIC, json.dumps(payment))
    producer.flush()


def show():
    consumer = Consumer({"bootstrap.servers": SERVERS, "group.id": RUN})
    consumer.assign([TopicPartition(ALERTS_TOPIC, 0, 0)])
    alerts: list[str] = []
    # Brokers show a transaction a moment after its commit.
    while (message := consumer.poll(5 if alerts else 60)) is not None:
        alerts.append(message.value().decode())
    print(*sorted(alerts), sep="\n")  # several tasks have written them
    consumer.close()


if __name__ == "__main__":
    fill()
    detect()
    show()
