"""Real servers for tests, demos and benchmarks: on loopback, with free ports and folders of their own.

    python -m tools.servers install            # what is missing, as far as it can be installed
    python -m tools.servers run kafka          # start one, show its address, stop it with Ctrl-C

A server is a process of the one that starts it, and ends with it at the latest.
"""

from tools.servers.databases import MariaDB, Postgres
from tools.servers.install import NotInstalled
from tools.servers.kafka import Kafka
from tools.servers.nats import Nats
from tools.servers.server import Server

SERVERS: dict[str, type[Server]] = {
    "kafka": Kafka,
    "postgres": Postgres,
    "mariadb": MariaDB,
    "nats": Nats,
}

__all__ = ["SERVERS", "Kafka", "MariaDB", "Nats", "NotInstalled", "Postgres", "Server"]
