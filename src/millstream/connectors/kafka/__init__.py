"""Kafka by librdkafka: the machinery of `millstream.datastream.connectors.kafka`."""
