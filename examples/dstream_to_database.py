"""Batches into PostgreSQL: one connection for each partition, and each batch once, whatever happens.

`foreachRDD` gets a batch and its time, `foreachPartition` opens one connection for a whole partition and
writes it in one transaction. The time of the batch is part of the primary key, so rows that come again
change nothing. In the first run the network breaks when one of two partitions is written. The second
run goes on from the checkpoint: the batch comes again with the same time and the same records, and the
table has each count once. Start the server with ``python -m tools.servers run postgres`` and put its
address below.

Prints:
    first run: the network is down
    rows of the batch that failed: 2
    second run: all batches are written
    00:01  /cart  1
    00:01  /home  2
    00:02  /cart  1
    00:02  /help  1
    00:02  /home  1
    00:03  /home  1
"""

import os
import tempfile
import uuid
from operator import add
from pathlib import Path
from typing import Any

import psycopg

from millstream.dstream import ManualClock, SparkContext, StreamingContext

DATABASE = "postgresql://postgres@localhost:5432/postgres"  # needs postgres at localhost:5432
TABLE = f"clicks_{uuid.uuid4().hex[:8]}"
INSERT = f"insert into {TABLE} values (%s, %s, %s) on conflict (batch, page) do nothing"
# What comes, and when: a batch has the files that were changed in its second.
CLICKS = {500: ["/home", "/cart", "/home"], 1_500: ["/help", "/home", "/cart"], 2_500: ["/home"]}
BREAKS = (
    "BREAKS_AT"  # A batch, in the environment: the program in the checkpoint cannot be changed.
)


def write(time, rdd):
    """Write a batch."""
    written: list[tuple[Any, ...]] = []

    def write_partition(counts):
        if written and os.environ.get(BREAKS) == f"{time:%M:%S}":
            raise ConnectionError("the network is down")
        # As few connections as partitions, and none that would have to be sent anywhere: it is opened
        # where it is used. The block is one transaction.
        with psycopg.connect(DATABASE) as connection:
            rows = [(f"{time:%M:%S}", page, count) for page, count in counts]
            connection.cursor().executemany(INSERT, rows)
            written.extend(rows)

    rdd.foreachPartition(write_partition)


def program(folder, clock):
    def setup():
        ssc = StreamingContext(SparkContext("local[2]"), 1, clock=clock)
        clicks = ssc.textFileStream(str(folder / "clicks"))
        counts = clicks.map(lambda page: (page, 1)).reduceByKey(add, 2)
        counts.foreachRDD(write)
        return ssc

    return StreamingContext.getOrCreate(str(folder / "checkpoint"), setup, clock=clock)


def run(folder, clock, seconds):
    """Run the program for so many seconds of its clock; the error of a batch is raised here."""
    ssc = program(folder, clock)
    ssc.start()
    try:
        clock.advance(seconds)
        ssc.awaitTerminationOrTimeout(0)
    finally:
        ssc.stop()


def fill(folder):
    for time_ms, pages in CLICKS.items():
        path = folder / "clicks" / f"{time_ms}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(pages))
        os.utime(path, ns=(0, time_ms * 1_000_000))


def rows_of(batch):
    with psycopg.connect(DATABASE) as connection:
        query = f"select batch, page, clicks from {TABLE} where batch like %s order by 1, 2"
        return connection.execute(query, [batch]).fetchall()


def main():
    with psycopg.connect(DATABASE) as connection:
        columns = "batch text, page text, clicks int, primary key (batch, page)"
        connection.execute(f"create table {TABLE} ({columns})")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder)
        os.environ[BREAKS] = "00:02"
        try:
            run(folder, ManualClock(), 3)
        except Exception as error:
            print("first run:", error.__cause__)
        print("rows of the batch that failed:", len(rows_of("00:02")))
        del os.environ[BREAKS]
        run(folder, ManualClock(3_000), 1)
        print("second run: all batches are written")
    for batch, page, clicks in rows_of("%"):
        print(batch, page, clicks, sep="  ")


if __name__ == "__main__":
    main()
