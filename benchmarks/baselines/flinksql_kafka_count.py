"""Flink SQL, without any Python function: count per key from one topic into another."""

from __future__ import annotations

import sys

import flink_common as flink
from kafka_common import connector_jar, parser
from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment


def main() -> int:
    arguments = parser(__doc__).parse_args()
    with flink.workspace() as folder:
        configuration = Configuration()
        for name, value in flink.settings(folder, "rocksdb").items():
            configuration.set_string(name, value)
        configuration.set_string("pipeline.jars", connector_jar().as_uri())
        settings = EnvironmentSettings.new_instance().in_streaming_mode()
        tables = TableEnvironment.create(settings.with_configuration(configuration).build())
        servers = f"'properties.bootstrap.servers' = '{arguments.bootstrap}'"
        tables.execute_sql(
            f"""CREATE TABLE numbers (`key` STRING, `number` BIGINT) WITH (
                'connector' = 'kafka', 'topic' = '{arguments.input}', {servers},
                'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset',
                'format' = 'csv')"""
        )
        tables.execute_sql(
            f"""CREATE TABLE counts (`key` STRING, `n` BIGINT, PRIMARY KEY (`key`) NOT ENFORCED)
                WITH ('connector' = 'upsert-kafka', 'topic' = '{arguments.output}', {servers},
                'key.format' = 'csv', 'value.format' = 'csv')"""
        )
        tables.execute_sql(
            "INSERT INTO counts SELECT `key`, COUNT(*) FROM numbers GROUP BY `key`"
        ).wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
