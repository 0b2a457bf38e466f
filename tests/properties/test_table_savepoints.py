"""SQL jobs that are stopped in the middle end with the same table, at any parallelism."""

from __future__ import annotations

import datetime
import random
from typing import Any

import pytest

from millstream.common import Row
from tests.support.sql import Tables, back
from tests.support.sql_savepoints import SqlJob
from tests.support.strategies import thinned

START = datetime.datetime(2024, 1, 1)


def plain(rng: random.Random, number: int) -> list[Any]:
    found: list[Any] = []
    for i in range(number):
        time = START + datetime.timedelta(seconds=max(0, i + rng.randint(-3, 0)))
        key = rng.choice([None, "a", "b", "c", "d"])
        found.append((rng.randint(0, 4), key, rng.choice([None, *range(9)]), time))
    return found


def changing(rng: random.Random, number: int) -> list[Any]:
    """Rows of which some are taken back later."""
    found: list[Any] = []
    there: list[Any] = []
    for row in plain(rng, number):
        if there and rng.random() < 0.3:
            found.append(back(*there.pop(rng.randrange(len(there)))))
        there.append(row)
        found.append(Row(*row))
    return found


COLUMNS = "a INT, b STRING, v INT, ts TIMESTAMP(3)"


def tables(seed: int) -> Tables:
    rng = random.Random(seed)
    found = Tables().add("t", COLUMNS, plain(rng, 40), watermark=("ts", "ts - INTERVAL '3' SECOND"))
    found.add("u", COLUMNS, plain(rng, 30), watermark=("ts", "ts - INTERVAL '3' SECOND"))
    return found.add("c", COLUMNS, changing(rng, 30), updating=True)


AGGREGATES = (
    "COUNT(*), SUM(v), AVG(v), MIN(v), MAX(v), COUNT(DISTINCT v), STDDEV_POP(v), "
    "SUM(v) FILTER (WHERE v > 3)"
)
_RANK = "SELECT a, v, {} OVER (PARTITION BY a ORDER BY v, b, ts) AS n FROM {}"
RANKED = f"SELECT * FROM ({_RANK}) WHERE n {{}}"
TUMBLE = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND))"
HOP = "TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '6' SECOND))"
CUMULATE = "TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '6' SECOND))"
QUERIES = [
    f"SELECT b, {AGGREGATES} FROM t GROUP BY b",
    f"SELECT b, {AGGREGATES} FROM c GROUP BY b",
    f"SELECT {AGGREGATES} FROM c",
    "SELECT a, b, COUNT(*) FROM c GROUP BY GROUPING SETS ((a), (b), ())",
    "SELECT n, COUNT(*) FROM (SELECT b, COUNT(*) AS n FROM t GROUP BY b) GROUP BY n",
    "SELECT t.a, t.v, u.v FROM t JOIN u ON t.a = u.a",
    "SELECT t.a, t.v, u.v FROM t LEFT JOIN u ON t.a = u.a AND t.v < u.v",
    "SELECT t.a, t.v, c.v FROM t RIGHT JOIN c ON t.b = c.b",
    "SELECT t.a, t.v, c.v FROM t FULL JOIN c ON t.a = c.a AND t.b = c.b",
    "SELECT a, v FROM t WHERE b IN (SELECT b FROM c WHERE v > 4)",
    "SELECT a, v FROM t WHERE a NOT IN (SELECT v FROM c WHERE v IS NOT NULL)",
    "SELECT a, (SELECT MAX(v) FROM u WHERE u.a = c.a) FROM c",
    RANKED.format("ROW_NUMBER()", "t", "<= 2"),
    RANKED.format("ROW_NUMBER()", "c", "= 1"),
    RANKED.format("RANK()", "c", "<= 2"),
    RANKED.format("DENSE_RANK()", "t", "<= 2"),
    "SELECT DISTINCT b FROM c",
    "SELECT b FROM t UNION SELECT b FROM c",
    "SELECT a, b FROM t INTERSECT SELECT a, b FROM c",
    "SELECT a, b FROM t EXCEPT SELECT a, b FROM c",
    "SELECT a, b FROM t INTERSECT ALL SELECT a, b FROM c",
    "SELECT a, b FROM t EXCEPT ALL SELECT a, b FROM c",
    "SELECT a, v, b, ts FROM t ORDER BY v, a, b, ts LIMIT 3",
    "SELECT a, SUM(v) OVER (PARTITION BY b ORDER BY ts) FROM t",
    "SELECT a, LAG(v) OVER (PARTITION BY b ORDER BY v, a, ts) FROM c",
    f"SELECT b, window_start, {AGGREGATES} FROM {TUMBLE} GROUP BY b, window_start, window_end",
    f"SELECT window_start, SUM(v) FROM {HOP} GROUP BY window_start, window_end",
    f"SELECT window_end, MAX(v) FROM {CUMULATE} GROUP BY window_start, window_end",
    "SELECT a, v FROM t ORDER BY ts",
]


@pytest.mark.parametrize("sql", QUERIES)
@pytest.mark.parametrize("seed", range(2))
def test_a_stopped_job_ends_with_the_same_table(sql: str, seed: int) -> None:
    names = tables(seed)
    whole = SqlJob(names, sql).run().table()
    assert whole, sql
    epochs = random.Random(sql).randint(2, 8)
    half = SqlJob(names, sql, slots=2).run(epochs)
    for slots in thinned((1, 2, 3), sql):
        assert half.stopped(slots=slots).run().table() == whole


@pytest.mark.slow
def test_a_job_is_stopped_more_than_once() -> None:
    sql, names = QUERIES[1], tables(5)
    job = SqlJob(names, sql, slots=3).run(3)
    for slots in (1, 2, 4):
        job = job.stopped(slots=slots).run(3)
    assert job.stopped().run().table() == SqlJob(names, sql).run().table()
