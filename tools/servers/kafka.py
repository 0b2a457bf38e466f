"""Kafka in KRaft mode: one process that is broker and controller."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.servers.install import NotInstalled, fetch_kafka, kafka_jars, program
from tools.servers.server import Server, free_port

_JVM = ["-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"

_LOGGING = """Configuration:
  Appenders: {Console: {name: C, PatternLayout: {pattern: "%d %p %m (%c)%n"}}}
  Loggers: {Root: {level: WARN, AppenderRef: [{ref: C}]}}
"""


class Kafka(Server):
    """A broker without security at `bootstrap`, and with SASL/PLAIN at `sasl_bootstrap`."""

    name = "kafka"
    sasl_user = "millstream"
    sasl_password = "secret-of-the-tests"

    def __init__(self, folder: Path | None = None, **settings: str) -> None:
        super().__init__(folder)
        self.controller_port = free_port()
        self.sasl_port = free_port()
        self.settings = settings

    @property
    def bootstrap(self) -> str:
        return self.address

    @property
    def sasl_bootstrap(self) -> str:
        return f"127.0.0.1:{self.sasl_port}"

    @classmethod
    def find(cls) -> None:
        program("java")
        kafka_jars()

    @classmethod
    def install(cls) -> None:
        fetch_kafka()

    def properties(self) -> dict[str, str]:
        """The settings of the broker: small, and quick to start."""
        plain, sasl, controller = (
            f"{kind}://127.0.0.1:{port}"
            for kind, port in (
                ("PLAINTEXT", self.port),
                ("SASL_PLAINTEXT", self.sasl_port),
                ("CONTROLLER", self.controller_port),
            )
        )
        login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{self.controller_port}",
            "listeners": f"{plain},{sasl},{controller}",
            "advertised.listeners": f"{plain},{sasl}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,"
            "CONTROLLER:PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{login} "
            f'user_{self.sasl_user}="{self.sasl_password}";',
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.data),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "2",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "auto.create.topics.enable": "false",
            # A broker that was killed comes back when its old session has ended.
            "broker.session.timeout.ms": "2000",
            "broker.heartbeat.interval.ms": "300",
            "log.retention.check.interval.ms": "1000",
            # Tests write records of 1970; those of retention set it for their topics.
            "log.retention.ms": "-1",
            "log.cleaner.backoff.ms": "500",
            **self.settings,
        }

    def prepare(self) -> None:
        shutil.copytree(_formatted(), self.data)

    def command(self) -> Sequence[str | Path]:
        lines = [f"{key}={value}" for key, value in self.properties().items()]
        (self.folder / "server.properties").write_text("\n".join(lines) + "\n")
        (self.folder / "log4j2.yaml").write_text(_LOGGING)
        logging = f"-Dlog4j2.configurationFile={self.folder / 'log4j2.yaml'}"
        jars = f"{kafka_jars()}/*"
        properties = self.folder / "server.properties"
        return [program("java"), *_JVM, logging, "-cp", jars, "kafka.Kafka", properties]

    def ask(self) -> None:
        from confluent_kafka.admin import AdminClient

        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        if not admin.list_topics(timeout=2).brokers:
            raise NotInstalled("no broker has registered yet")


def _formatted() -> Path:
    """An empty data folder. To make one takes a JVM, so it is kept and copied."""
    kept = kafka_jars().parent / "formatted"
    if not kept.is_dir():
        with tempfile.TemporaryDirectory(dir=kept.parent) as made:
            blank = Kafka(Path(made))
            blank.command()
            properties = blank.folder / "server.properties"
            tool = ["kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(properties)]
            command = [program("java"), *_JVM, "-cp", f"{kafka_jars()}/*", *tool]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"Kafka's folder cannot be made\n{done.stdout}{done.stderr}")
            try:
                os.rename(blank.data, kept)
            except OSError:
                if not kept.is_dir():  # another process was faster
                    raise
    return kept
