"""SQL as a job that can be broken: a statement set as a user writes it.

``python sql_job.py FOLDER --records 60 --per-epoch 6`` reads two tables of files from the folder beside
``FOLDER``: ``events``, which only come, and ``changes``, whose rows are updated and deleted
(debezium-json). Four statements are one job: groups over changes, the best rows of each group and a join
of both tables go to the database ``FOLDER/db/rows.sqlite`` by upserts; sums in windows, which are final,
to the files of ``FOLDER/out``. `tests.chaos.sql_truth` says what has to be there.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from millstream.datastream import StreamExecutionEnvironment
from millstream.table import DataTypes, StreamTableEnvironment
from millstream.table.udf import udf
from tests.chaos.program import environment, run

KEYS = "abcdefg"
BOUND, WIDTH, BEST = 40, 100, 2
CHANNELS = 2


class Item(NamedTuple):
    """A row of the table ``changes``."""

    id: int
    k: str
    v: int


Change = tuple[Item | None, Item | None]
"""A row before and after; None: it was not there, or is gone."""


def event(number: int) -> tuple[int, str, int]:
    """The number, key and event time of a row: out of order, none of them late."""
    scatter = number * 17 % 37
    return number, KEYS[scatter % len(KEYS)], number * 9 - scatter


def item(number: int) -> Item:
    return Item(number, KEYS[number * 31 % 61 % len(KEYS)], number * 19 % 41)


def change(number: int) -> Change:
    """A new row; or the update of an older one, which gets into another group; or its end."""
    if number % 4 == 3:
        old = item(number - 3)
        return old, Item(old.id, KEYS[(number + 2) % len(KEYS)], old.v + 50)
    if number % 8 == 6:
        return item(number - 1), None
    return None, item(number)


# -- tables ----------------------------------------------------------------------------------------


def write_tables(folder: Path, records: int, per_epoch: int) -> None:
    """Write the files of both tables: a channel each, from which epochs read."""
    for name, lines in (("events", _event_lines(records)), ("changes", _change_lines(records))):
        (folder / name).mkdir(parents=True)
        found = list(lines)
        for channel in range(CHANNELS):
            text = "\n".join(found[channel::CHANNELS]) + "\n"
            (folder / name / f"{channel}.json").write_text(text)


def _event_lines(records: int) -> Iterator[str]:
    for number, key, time in map(event, range(records)):
        seconds, millis = divmod(time + 1_000, 1_000)
        ts = f"2026-01-01 00:{seconds // 60:02}:{seconds % 60:02}.{millis:03}"
        yield json.dumps({"id": number, "k": key, "ts": ts})


def _change_lines(records: int) -> Iterator[str]:
    for before, after in map(change, range(records)):
        op = "c" if before is None else "d" if after is None else "u"
        rows = [None if row is None else row._asdict() for row in (before, after)]
        yield json.dumps({"before": rows[0], "after": rows[1], "op": op})


def declare(t_env: StreamTableEnvironment, inputs: Path, folder: Path) -> None:
    """Declare the tables that are read, below one folder, and those that are written."""
    for name, columns, form in (
        ("events", f"id BIGINT, k STRING, ts TIMESTAMP(3), {_WATERMARK}", "json"),
        ("changes", "id BIGINT, k STRING, v BIGINT", "debezium-json"),
    ):
        t_env.execute_sql(
            f"CREATE TABLE {name} ({columns}) WITH "
            f"('connector' = 'filesystem', 'path' = '{inputs / name}', 'format' = '{form}')"
        )
    t_env.execute_sql(
        "CREATE TABLE windows (k STRING, ends TIMESTAMP(3), n BIGINT, total BIGINT) WITH "
        f"('connector' = 'filesystem', 'path' = '{folder / 'out'}', 'format' = 'json')"
    )
    database = folder / "db" / "rows.sqlite"
    database.parent.mkdir(parents=True, exist_ok=True)
    for name, (columns, key) in UPSERTS.items():
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.execute(
                f"create table if not exists {name} ({columns}, primary key ({key}))"
            )
        t_env.execute_sql(
            f"CREATE TABLE {name} ({columns}, PRIMARY KEY ({key}) NOT ENFORCED) WITH "
            f"('connector' = 'jdbc', 'url' = 'jdbc:sqlite:{database}', 'table-name' = '{name}')"
        )


_WATERMARK = f"WATERMARK FOR ts AS ts - INTERVAL '0.{BOUND:03}' SECOND"
UPSERTS = {
    "totals": ("k STRING, n BIGINT, total BIGINT, most BIGINT, kinds BIGINT", "k"),
    "best": ("k STRING, place BIGINT, id BIGINT, v BIGINT", "k, place"),
    "joined": ("id BIGINT, k STRING, v BIGINT", "id"),
}
"""The tables of the database, with their keys."""

STATEMENTS = (
    "INSERT INTO totals SELECT k, COUNT(*), SUM(v), MAX(v), COUNT(DISTINCT MOD(v, 5)) "
    "FROM changes GROUP BY k",
    "INSERT INTO best SELECT k, place, id, v FROM (SELECT *, ROW_NUMBER() OVER "
    f"(PARTITION BY k ORDER BY v DESC, id) AS place FROM changes) WHERE place <= {BEST}",
    "INSERT INTO joined SELECT e.id, e.k, c.v FROM events e LEFT JOIN changes c ON e.id = c.id",
    "INSERT INTO windows SELECT k, window_end, COUNT(*), SUM(checked(id)) FROM TUMBLE(TABLE events, "
    f"DESCRIPTOR(ts), INTERVAL '0.{WIDTH}' SECOND) GROUP BY k, window_start, window_end",
)


# -- the job ---------------------------------------------------------------------------------------


def checked(fail_at: int | None, marker: Path) -> Any:
    """A function of the user's that gives its argument; at one record it fails, once."""

    def check(number: int) -> int:
        if number == fail_at and not marker.exists():
            marker.touch()
            raise RuntimeError(f"chaos at record {number}")
        return number

    return udf(check, result_type=DataTypes.BIGINT())


def insert(
    env: StreamExecutionEnvironment,
    inputs: Path,
    folder: Path,
    fail_at: int | None = None,
    *,
    mode: str = "streaming",
) -> Any:
    """Start all statements as one job; returns its result."""
    t_env = StreamTableEnvironment.create(env)
    t_env.execute_sql(f"SET 'execution.runtime-mode' = '{mode}'")
    declare(t_env, inputs, folder)
    t_env.create_temporary_function("checked", checked(fail_at, folder / "failed-once"))
    statements = t_env.create_statement_set()
    for each in STATEMENTS:
        statements.add_insert_sql(each)
    return statements.execute()


def start(options: argparse.Namespace) -> Any:
    """Start the job; returns its client."""
    env = environment(options)
    # A job of SQL has a folder with its name below the folder of checkpoints.
    env.set_checkpoint_directory(str(options.folder))
    per_channel = max(options.per_epoch // CHANNELS, 1)
    env.configure({"pipeline.name": "checkpoint", "millstream.epoch.max-records": per_channel})
    inputs = options.folder.parent / "in"
    return insert(env, inputs, options.folder, options.fail_at).get_job_client()


if __name__ == "__main__":
    run(start)
