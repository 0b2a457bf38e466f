"""Word count and join of data sets against plain PySpark: ``python benchmarks/dataset.py``.

Each way runs twice in one session after a warm-up on the same data; the better one counts. CPU is
that of the driver, the JVM and the Python workers.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks.process_tree import cpu_of_tree
from millstream.common import Types
from millstream.dataset import DataSet, ExecutionEnvironment
from millstream.spark.session.session import get_session

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


def make_data(folder: str, lines: int, orders: int) -> None:
    """Lines of 10 words, the same words with a count each, and orders of 100,000 users."""
    chance = random.Random(7)
    words = [f"word{int(chance.paretovariate(0.8)) % 20_000}" for _ in range(lines * 10)]
    with open(f"{folder}/lines.txt", "w") as file:
        file.writelines(" ".join(words[at : at + 10]) + "\n" for at in range(0, len(words), 10))
    ones = pa.array([1] * len(words), pa.int64())
    pq.write_table(pa.table({"word": words, "n": ones}), f"{folder}/words.parquet")
    users = [chance.randrange(100_000) for _ in range(orders)]
    amounts = [chance.randrange(1_000) for _ in range(orders)]
    pq.write_table(pa.table({"user": users, "amount": amounts}), f"{folder}/orders.parquet")
    names = [f"name{n}" for n in range(100_000)]
    pq.write_table(pa.table({"user": range(100_000), "name": names}), f"{folder}/users.parquet")


def ways(spark: SparkSession, folder: str) -> dict[str, list[tuple[str, Callable[[], Any]]]]:
    """The programs: DataSet first, then what is compared."""

    def read(name: str) -> DataSet:
        env = ExecutionEnvironment.get_execution_environment(spark)
        return env.read_parquet(f"{folder}/{name}.parquet")

    def lines() -> DataSet:
        env = ExecutionEnvironment.get_execution_environment(spark)
        return env.read_text(f"{folder}/lines.txt")

    def frame(name: str) -> Any:
        return spark.read.parquet(f"{folder}/{name}.parquet")

    def joined() -> DataSet:
        join = read("orders").join(read("users")).where("user").equal_to("user")
        return join.project_first("amount").project_second("name")

    def plain_join() -> Any:
        return frame("orders").join(frame("users"), "user").select("amount", "name")

    def by_hand() -> Any:
        found = spark.read.text(f"{folder}/lines.txt")
        found = found.select(F.explode(F.split("value", " ")).alias("word"))
        return found.groupBy("word").count()

    def by_rdd() -> Any:
        found = spark.sparkContext.textFile(f"{folder}/lines.txt")
        return found.flatMap(str.split).map(lambda w: (w, 1)).reduceByKey(lambda x, y: x + y)

    def typed() -> DataSet:
        words = lines().flat_map(lambda line: [(word, 1) for word in line.split()], PAIR)
        return words.group_by(0).sum(1)

    def untyped() -> DataSet:
        words = lines().flat_map(str.split).map(lambda word: (word, 1))
        return words.group_by(0).reduce(lambda x, y: (x[0], x[1] + y[1]))

    noop = lambda found: found.write.format("noop").mode("overwrite").save()  # noqa: E731
    return {
        "word count, built-in": [
            ("DataSet", lambda: noop(read("words").group_by("word").sum("n").to_dataframe())),
            ("DataFrame", lambda: noop(frame("words").groupBy("word").agg(F.sum("n")))),
        ],
        "join and projection, built-in": [
            ("DataSet", lambda: noop(joined().to_dataframe())),
            ("DataFrame", lambda: noop(plain_join())),
        ],
        "join, projection and sum, built-in": [
            ("DataSet", lambda: noop(joined().group_by(1).sum(0).to_dataframe())),
            ("DataFrame", lambda: noop(plain_join().groupBy("name").agg(F.sum("amount")))),
        ],
        "word count with Python functions": [
            ("DataSet, flat_map of a declared type, then sum", lambda: typed().count()),
            ("DataSet, no types, flat_map, map, reduce", lambda: untyped().count()),
            ("RDD of PySpark, the same functions", lambda: by_rdd().count()),
            ("DataFrame without Python functions", lambda: by_hand().count()),
        ],
    }


def measured(run: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """CPU and wall seconds of the better round, after a warm-up."""
    run()
    found = []
    for _ in range(rounds):
        cpu, wall = cpu_of_tree(os.getpid()), time.perf_counter()
        run()
        found.append((cpu_of_tree(os.getpid()) - cpu, time.perf_counter() - wall))
    return min(found)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=400_000)
    parser.add_argument("--orders", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    spark = get_session(None, 2, {})
    with tempfile.TemporaryDirectory() as folder:
        make_data(folder, given.lines, given.orders)
        print("| Program | Way | CPU s | Wall s | CPU, times the last way |")
        print("| --- | --- | ---: | ---: | ---: |")
        for name, programs in ways(spark, folder).items():
            rows = [(way, *measured(run, given.rounds)) for way, run in programs]
            for way, cpu, wall in rows:
                print(f"| {name} | {way} | {cpu:.2f} | {wall:.2f} | {cpu / rows[-1][1]:.2f} |")
    spark.stop()


if __name__ == "__main__":
    main()
