"""PostgreSQL and MariaDB of Debian's packages; anybody on this machine may log in."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path

from tools.servers.install import debian_package, program
from tools.servers.server import PATIENCE_SECONDS, Server

_POSTGRES_BIN = "/usr/lib/postgresql/*/bin"


class Postgres(Server):
    """PostgreSQL with the user and the database ``postgres``."""

    name = "postgres"
    user = "postgres"
    stop_signal = signal.SIGINT  # ends sessions instead of waiting for them

    @classmethod
    def find(cls) -> None:
        program("postgres", _POSTGRES_BIN)

    @classmethod
    def install(cls) -> None:
        debian_package("postgresql")

    @property
    def url(self) -> str:
        return f"postgresql://postgres@{self.address}/postgres"

    def prepare(self) -> None:
        init = program("initdb", _POSTGRES_BIN)
        how = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--no-instructions"]
        self.run_once([init, "-D", self.data, *how])

    def command(self) -> Sequence[str | Path]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
            "max_connections": "50",
        }
        options = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        server = program("postgres", _POSTGRES_BIN)
        return [server, "-D", self.data, "-p", str(self.port), *options]

    def kill(self) -> None:
        """Kill it, and wait for its sessions: a new server refuses to start while one is left."""
        import psutil

        sessions = psutil.Process(self.pid).children(recursive=True) if self.is_running else []
        super().kill()
        psutil.wait_procs(sessions, timeout=PATIENCE_SECONDS)

    def ask(self) -> None:
        import psycopg

        psycopg.connect(self.url, connect_timeout=2).close()


class MariaDB(Server):
    """MariaDB with the user ``root`` without a password, and the database ``test``."""

    name = "mariadb"
    user = "mysql"

    @classmethod
    def find(cls) -> None:
        program("mariadbd", "/usr/sbin")

    @classmethod
    def install(cls) -> None:
        debian_package("mariadb-server")

    @property
    def url(self) -> str:
        return f"mysql://root@{self.address}/test"

    def prepare(self) -> None:
        init = program("mariadb-install-db", "/usr/bin")
        how = ["--auth-root-authentication-method=normal", "--skip-test-db"]
        self.run_once([init, "--no-defaults", f"--datadir={self.data}", *how])

    def command(self) -> Sequence[str | Path]:
        return [
            program("mariadbd", "/usr/sbin"),
            "--no-defaults",
            f"--datadir={self.data}",
            f"--port={self.port}",
            "--bind-address=127.0.0.1",
            f"--socket={self.folder / 'socket'}",
            f"--pid-file={self.folder / 'pid'}",
            "--innodb-buffer-pool-size=64M",
            "--local-infile=1",
        ]

    def ask(self) -> None:
        import pymysql

        where = {"host": "127.0.0.1", "port": self.port, "user": "root", "connect_timeout": 2}
        with pymysql.connect(**where) as connection, connection.cursor() as cursor:
            cursor.execute("create database if not exists test character set utf8mb4")
