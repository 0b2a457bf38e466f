"""NATS with JetStream, its streams that can be read again."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

from tools.servers.install import debian_package, program
from tools.servers.server import Server


class Nats(Server):
    """A NATS server with JetStream."""

    name = "nats"

    @classmethod
    def find(cls) -> None:
        program("nats-server", "/usr/sbin")

    @classmethod
    def install(cls) -> None:
        debian_package("nats-server")

    @property
    def url(self) -> str:
        return f"nats://{self.address}"

    def prepare(self) -> None:
        self.data.mkdir()

    def command(self) -> Sequence[str | Path]:
        server = program("nats-server", "/usr/sbin")
        return [server, "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", self.data]

    def ask(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port), timeout=2) as connection:
            if not connection.recv(4).startswith(b"INFO"):
                raise ConnectionError("it does not greet yet")
