"""State of tables that expires, by the time of epochs and by that of records."""

from __future__ import annotations

import datetime
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from millstream.common.errors import PlanError
from millstream.kernel.tables.expiry import EXPIRED
from millstream.table.physical.state_ttl import StateTtl
from tests.support.sql import Tables
from tests.support.sql_savepoints import SqlJob

START = datetime.datetime(2024, 1, 1)
COUNT = "SELECT k, COUNT(*) FROM t GROUP BY k"


def at(second: int) -> datetime.datetime:
    return START + datetime.timedelta(seconds=second)


def tables(*rows: tuple[str, int], ttl: StateTtl, others: Any = ()) -> Tables:
    columns, mark = "k STRING, ts TIMESTAMP(3)", ("ts", "ts - INTERVAL '1' SECOND")
    found = Tables(ttl=ttl).add("t", columns, [(k, at(s)) for k, s in rows], watermark=mark)
    return found.add("u", columns, [(k, at(s)) for k, s in others], watermark=mark)


def expired(job: SqlJob) -> int:
    return sum(each.counters.get(EXPIRED, 0) for each in job.job.metrics.operators.values())


PROCESSING, EVENT = StateTtl(2000), StateTtl(2000, event=True)
ROWS = [("a", 0), ("b", 0), ("a", 1), ("b", 9), ("a", 10), ("a", 11)]


def test_by_epochs_a_key_starts_again_after_some_time_without_records() -> None:
    job = SqlJob(tables(("a", 0), ("b", 0), ("b", 0), ("a", 0), ttl=PROCESSING), COUNT)
    job.run(reads=1, ms=1000)
    # a comes at 1 s and at 4 s, b at 2 s and at 3 s.
    assert job.rows == Counter({("a", 1): 2, ("b", 2): 1, ("b", 1): 0})
    assert SqlJob(tables(*ROWS, ttl=StateTtl()), COUNT).run().rows[("a", 4)] == 1


@pytest.mark.parametrize("reads", [1, 2, 3, 6])
def test_by_records_the_cut_into_epochs_does_not_matter(reads: int) -> None:
    job = SqlJob(tables(*ROWS, ttl=EVENT), COUNT).run(reads=reads)
    # a: 0 and 1, then 10 and 11; b: 0, then 9. What expires is not taken back.
    assert +job.rows == Counter({("a", 2): 2, ("b", 1): 2})


@pytest.mark.parametrize("reads", [1, 2, 5])
def test_a_stopped_job_knows_when_keys_had_their_last_record(reads: int) -> None:
    names = tables(*ROWS, ttl=EVENT)
    job = SqlJob(names, COUNT).run(2, reads=reads).stopped(slots=3)
    assert +job.run(reads=reads).rows == Counter({("a", 2): 2, ("b", 1): 2})


JOIN = "SELECT {} t.k, t.ts, u.ts FROM t JOIN u ON t.k = u.k"


@pytest.mark.parametrize("reads", [1, 2, 9])
def test_sides_of_a_join_expire_apart(reads: int) -> None:
    others = [("a", 1), ("a", 2), ("a", 4)]
    names = tables(("a", 0), ttl=replace(EVENT, millis=3000), others=others)
    found = +SqlJob(names, JOIN.format("")).run(reads=reads).rows
    # The row of t is 4 s old when the last row of u comes.
    assert sorted(row[2] for row in found) == [at(1), at(2)]
    hint = "/*+ STATE_TTL('t' = '1 min', 'u' = '1 s') */"
    assert len(+SqlJob(names, JOIN.format(hint)).run(reads=reads).rows) == 3


def test_hints_of_aggregates() -> None:
    names = tables(*ROWS, ttl=replace(EVENT, millis=0))
    hinted = "SELECT /*+ STATE_TTL('t' = '2 s') */ k, COUNT(*) FROM t GROUP BY k"
    assert +SqlJob(names, hinted).run().rows == Counter({("a", 2): 2, ("b", 1): 2})
    assert +SqlJob(names, COUNT).run().rows == Counter({("a", 4): 1, ("b", 2): 1})


def test_windows_end_by_their_clock_alone() -> None:
    sql = (
        "SELECT k, COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) "
        "GROUP BY k, window_start, window_end"
    )
    found = SqlJob(tables(*ROWS, ttl=EVENT), sql).run(reads=1).table()
    assert found == Counter({("a", 4): 1, ("b", 2): 1})


def test_keys_without_records_go_when_others_come_and_are_counted() -> None:
    names = tables(*[(f"k{i}", i) for i in range(40)], ttl=EVENT)
    job = SqlJob(names, COUNT, slots=1).run(reads=4)
    stored = job.job.savepoint().state.tables
    (groups,) = (t for name, t in stored.items() if name[1] == "sections/groups")
    assert sum(len(each) for each in groups) < 10
    assert expired(job) > 30


def test_another_time_is_refused() -> None:
    options = {"table.exec.state.ttl": "1 h", "table.exec.state.ttl.time": "moon"}
    with pytest.raises(PlanError, match="cannot be 'moon'"):
        StateTtl.of(options.get)
    assert StateTtl.of({"table.exec.state.ttl": "1 h"}.get) == StateTtl(3_600_000)
