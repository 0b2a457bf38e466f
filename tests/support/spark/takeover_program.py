"""A job as a user writes it, that is stopped (SIGSTOP) by itself in the middle of an epoch.

``python takeover_program.py FOLDER --stop-at 2`` stops in its function of that epoch, before it writes.
``--elsewhere`` lets it pretend that it runs on another machine, so that it watches the lease of the
first one instead of looking for its process.
"""

from __future__ import annotations

import argparse
import os
import signal
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

from millstream.checkpoint import lease
from millstream.common import RestartStrategies, Types, WatermarkStrategy
from millstream.datastream import FencingToken, StreamExecutionEnvironment
from millstream.datastream.connectors import DataGeneratorSource, FileSink, RateLimiterStrategy

RECORDS, PER_EPOCH = 24, 4
SILENCE_SECONDS = 7
"""Longer than the time between two renewals."""


class Database:
    """Writes each epoch in one transaction, which compares the token."""

    def __init__(self, path: Path, stop_at: int | None) -> None:
        self.path = path
        self.stop_at = stop_at

    def __call__(self, frame: Any, epoch: int, token: FencingToken) -> None:
        rows = [(epoch, row[0], token.attempt) for row in frame.collect()]
        assert token.is_current()
        if epoch == self.stop_at:
            os.kill(os.getpid(), signal.SIGSTOP)
            # This thread may run on for a moment, and must not lock the database in it.
            while not (self.path.parent / "go on").exists():
                threading.Event().wait(0.01)
            print(f"goes on, current: {token.is_current()}", flush=True)
        with closing(sqlite3.connect(self.path, isolation_level=None)) as database:
            database.execute("create table if not exists line (epoch, number, attempt)")
            database.execute("create table if not exists writer (job primary key, attempt, epoch)")
            database.execute("begin immediate")
            with database:
                found = database.execute(
                    "select attempt, epoch from writer where job = ?", (token.job_id,)
                ).fetchone()
                attempt, last = found or (0, -1)
                if attempt > token.attempt:
                    raise RuntimeError("a later driver writes here")
                if epoch > last:
                    row = (token.job_id, token.attempt, epoch)
                    database.execute("insert or replace into writer values (?, ?, ?)", row)
                    database.executemany("insert into line values (?, ?, ?)", rows)


class Careless:
    """Knows of no token: it is only called by a driver that holds its lease."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, frame: Any, epoch: int) -> None:
        with open(self.folder / "careless", "a") as file:
            file.write(f"{os.getpid()} {epoch}\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--stop-at", type=int)
    parser.add_argument("--elsewhere", action="store_true")
    options = parser.parse_args()
    folder = options.folder
    if options.elsewhere:
        lease.LEASE_SECONDS = SILENCE_SECONDS
        lease.socket.gethostname = lambda: "elsewhere"  # type: ignore[attr-defined]
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1).set_runtime_mode("STREAMING")
    env.set_checkpoint_directory(str(folder / "checkpoint"))
    env.set_restart_strategy(RestartStrategies.no_restart())
    limit = RateLimiterStrategy.per_checkpoint(PER_EPOCH)
    source = DataGeneratorSource(lambda n: n, RECORDS, limit, Types.LONG())
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    numbers.foreach_batch(Database(folder / "rows.sqlite", options.stop_at)).uid("database")
    numbers.foreach_batch(Careless(folder)).uid("careless")
    numbers.sink_to(FileSink.text(str(folder / "out"))).uid("files")
    env.execute("takeover")


if __name__ == "__main__":
    main()
