"""How much processor time a million rows take on their way into a database, on both sides.

    python benchmarks/databases.py [--rows 1000000]

Starts PostgreSQL and MariaDB on loopback, with data folders of their own, and writes rows of
(bigint, bigint, text) in epochs of 100,000 through `DatabaseSink`, each with its marker in the same
transaction. Writes a section for RESULTS.md to .bench/databases.md; `run.py` appends it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from data import DEFAULT_CACHE
from millstream.connectors.databases import Database, DatabaseSink
from millstream.connectors.databases.dialect import Session
from millstream.connectors.sink import PartContext
from tools.servers import SERVERS
from tools.servers.server import Server

EPOCH = 100_000
SMALL = 100
TARGET_SECONDS = 15.0


@dataclass(frozen=True)
class Cost:
    """What some rows have cost."""

    what: str
    rows: int
    seconds: float
    client_cpu: float
    server_cpu: float

    def line(self) -> str:
        million = 1_000_000 / self.rows
        both = (self.client_cpu + self.server_cpu) * million
        cells = (
            f"{self.what} | {self.rows:,} | {self.rows / self.seconds:,.0f} | "
            f"{self.client_cpu * million:.2f} | {self.server_cpu * million:.2f} | {both:.2f}"
        )
        return f"| {cells} |"


class Meter:
    """Measures processor time of this process and of a server with all its processes.

    PostgreSQL has a process for each connection; one that ends takes its time with it, so the parent is
    asked for the time of its children that have ended.
    """

    def __init__(self, server: Server) -> None:
        self.server = psutil.Process(server.pid)

    def server_cpu(self) -> float:
        own = self.server.cpu_times()
        alive = (child.cpu_times() for child in self.server.children(recursive=True))
        ended = own.children_user + own.children_system
        return own.user + own.system + ended + sum(t.user + t.system for t in alive)

    def measure(self, what: str, rows: int, write: Iterator[None]) -> Cost:
        began, client, server = time.perf_counter(), time.process_time(), self.server_cpu()
        for _ in write:
            pass
        return Cost(
            what,
            rows,
            time.perf_counter() - began,
            time.process_time() - client,
            self.server_cpu() - server,
        )


def batch(first: int, count: int, add: int) -> pa.RecordBatch:
    """Rows with the keys from `first` on, in no order."""
    keys = np.random.default_rng(first).permutation(np.arange(first, first + count))
    texts = pa.array(np.char.add("value ", (keys % 997).astype(str)))
    return pa.RecordBatch.from_arrays(
        [pa.array(keys), pa.array(keys + add), texts], names=["id", "n", "note"]
    )


def epochs(sink: DatabaseSink, rows: int, size: int, first_epoch: int, add: int) -> Iterator[None]:
    """Write rows epoch by epoch, as a task does."""
    for number in range(rows // size):
        context = PartContext(
            job_id="benchmark", sink="table", epoch=first_epoch + number, part=0, fingerprint="x"
        )
        with closing(sink.open_part(context)) as writer:
            assert writer.begin() is None
            writer.write(batch(number * size, size, add))
            writer.finish()
        yield


def run(server: Server, name: str, rows: int) -> Iterator[Cost]:
    """All measurements on one server."""
    database = Database(server.url)  # type: ignore[attr-defined]
    with closing(Session.open(database)) as session:
        for table in ("upserted", "appended"):
            session.run(f"create table {table} (id bigint primary key, n bigint, note varchar(40))")
    meter = Meter(server)
    upsert = DatabaseSink.upsert(database, "upserted", key="id")
    yield meter.measure(f"{name}: upsert, new keys", rows, epochs(upsert, rows, EPOCH, 0, 0))
    yield meter.measure(
        f"{name}: upsert, keys that exist", rows, epochs(upsert, rows, EPOCH, 1_000, 1)
    )
    append = DatabaseSink.append(database, "appended", markers="appended_epochs")
    yield meter.measure(f"{name}: append", rows, epochs(append, rows, EPOCH, 0, 0))
    small = 100 * SMALL
    yield meter.measure(
        f"{name}: upsert, epochs of {SMALL} rows", small, epochs(upsert, small, SMALL, 2_000, 2)
    )
    for sink in (upsert, append):
        sink.close()
    with closing(Session.open(database)) as session:
        (count, total) = session.run("select count(*), sum(n) from upserted").fetchone()
        expected = rows * (rows - 1) // 2 + rows + small
        assert (int(count), int(total)) == (rows, expected), (count, total, expected)


def section(costs: list[Cost]) -> str:
    """The text for RESULTS.md."""
    worst = max(
        (c.client_cpu + c.server_cpu) * 1_000_000 / c.rows
        for c in costs
        if c.what.startswith("PostgreSQL: upsert") and c.rows >= EPOCH
    )
    lines = [
        "",
        "## Databases",
        "",
        f"Rows of (bigint, bigint, text) through `DatabaseSink`, in epochs of {EPOCH:,} rows with the",
        "marker in the same transaction, one connection, server on the same machine. CPU is processor",
        "time per million rows, in seconds; that of the server has all its processes. Rates depend on",
        "what else the machine does.",
        "",
        "| Written | Rows | Rows/s | Client CPU s | Server CPU s | Both |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        *(cost.line() for cost in costs),
        "",
        f"Target: PostgreSQL upserts take at most {TARGET_SECONDS:.0f} s of both per million rows; "
        f"measured at most {worst:.1f} s: {'met' if worst <= TARGET_SECONDS else 'MISSED'}.",
        "Command: `python benchmarks/databases.py`",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    costs: list[Cost] = []
    for key, name in (("postgres", "PostgreSQL"), ("mariadb", "MariaDB")):
        with SERVERS[key]() as server:
            for cost in run(server, name, rows):
                print(cost.line(), flush=True)
                costs.append(cost)
    DEFAULT_CACHE.mkdir(parents=True, exist_ok=True)
    (DEFAULT_CACHE / "databases.md").write_text(section(costs))
    print(section(costs))


if __name__ == "__main__":
    main()
