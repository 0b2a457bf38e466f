"""Tables of several channels: results that depend on the order of rows do not depend on the schedule."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.table.table_environment import TableEnvironment
from millstream.testing import in_memory
from tests.support.strategies import examples

Rows = list[tuple[str, int, int]]
"""Of each row its key, its value and its time in seconds."""

QUERIES = {
    "last": "SELECT k, LAST_VALUE(v), COUNT(*) FROM t GROUP BY k",
    "first": "SELECT k, FIRST_VALUE(v) FROM t GROUP BY k",
    "list": "SELECT k, LISTAGG(CAST(v AS STRING)) FROM t GROUP BY k",
    "longest of lasts": "SELECT MAX(v), COUNT(*) FROM (SELECT k, LAST_VALUE(v) AS v FROM t GROUP BY k)",
    "list of pairs": "SELECT a.k, LISTAGG(CAST(a.v + b.v AS STRING)) FROM t a JOIN t b "
    "ON a.v = b.v GROUP BY a.k",
}


@contextmanager
def files_of(channels: list[Rows]) -> Iterator[Path]:
    """A folder with a file for each channel."""
    with tempfile.TemporaryDirectory() as folder:
        for number, found in enumerate(channels):
            lines = (
                json.dumps({"k": k, "v": v, "ts": f"2026-01-01 00:00:{at:02}"})
                for k, v, at in found
            )
            (Path(folder) / f"{number}.json").write_text("\n".join(lines) + "\n")
        yield Path(folder)


def result(folder: Path, query: str, order: str | None = None, **schedule: Any) -> Any:
    """The table at the end."""
    with in_memory(**schedule):
        t_env = TableEnvironment.create()
        if order is not None:
            t_env.execute_sql(f"SET 'millstream.channel-order' = '{order}'")
        t_env.execute_sql(
            "CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '2' "
            f"SECOND) WITH ('connector' = 'filesystem', 'path' = '{folder}', 'format' = 'json')"
        )
        return Counter(map(tuple, t_env.final_rows(t_env.sql_query(query))))


rows = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 99), st.integers(0, 9)), max_size=8)
several = st.lists(rows, min_size=2, max_size=3).filter(any)


@pytest.mark.parametrize("name", QUERIES)
@given(
    channels=several,
    seed=st.integers(0, 1000),
    slots=st.integers(1, 3),
    restarts=st.sampled_from([0, "every"]),
)
@examples(12)
def test_the_table_is_the_same_for_all_schedules(
    name: str, channels: list[Rows], seed: int, slots: int, restarts: Any
) -> None:
    schedule = {"epochs": "random", "seed": seed, "slots": slots, "restarts": restarts}
    # In one folder: the path of a file decides between rows of the same time.
    with files_of(channels) as folder:
        whole = result(folder, QUERIES[name], batch=True)
        assert result(folder, QUERIES[name], **schedule) == whole


def test_by_arrival_the_epochs_would_decide() -> None:
    """Else the test above could not fail: one channel is far behind the other one."""
    behind, ahead = [("a", n, n) for n in range(6)], [("a", 100 + n, 5 + n) for n in range(4)]
    query = QUERIES["last"]
    with files_of([ahead, behind]) as folder:
        found = {
            order: [result(folder, query, order, epochs=size) for size in (1, 2, 20)]
            for order in ("arrival", "watermark")
        }
    assert found["watermark"] == [Counter({("a", 103, 10): 1})] * 3
    assert found["arrival"] != found["watermark"]
