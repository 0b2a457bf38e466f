"""``table.exec.emit``: which windows give results besides at their end, and what is refused."""

from __future__ import annotations

import pytest

from millstream.table import TableEnvironment
from millstream.table.logical.algebra import EmitStrategy, WindowTable
from millstream.table.sql.errors import SqlError

EARLY = {"early-fire.enabled": "true", "early-fire.delay": "0 s"}
LATE = {"late-fire.enabled": "true", "late-fire.delay": "1 s", "allow-lateness": "10 s"}
GROUPS = "SELECT COUNT(*) FROM t GROUP BY TUMBLE({}, INTERVAL '5' SECOND)"


def environment(options: dict[str, str]) -> TableEnvironment:
    t_env = TableEnvironment.create()
    t_env.execute_sql(
        "CREATE TABLE t (ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) "
        "WITH ('connector' = 'datagen')"
    )
    for name, value in options.items():
        t_env.execute_sql(f"SET 'table.exec.emit.{name}' = '{value}'")
    return t_env


def strategy(options: dict[str, str], time: str = "ts", mode: str = "") -> EmitStrategy | None:
    t_env = environment(options)
    if mode:
        t_env.execute_sql(f"SET 'execution.runtime-mode' = '{mode}'")
    relation = t_env.sql_query(GROUPS.format(time)).relation
    return next(each.emit for each in relation.walk() if isinstance(each, WindowTable))


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, None),
        ({"allow-lateness": "10 s"}, None),
        ({**EARLY, "early-fire.enabled": "false"}, None),
        (EARLY, EmitStrategy(early=True, lateness=0)),
        (LATE, EmitStrategy(early=False, lateness=10_000)),
        ({**EARLY, **LATE}, EmitStrategy(early=True, lateness=10_000)),
    ],
)
def test_options(options: dict[str, str], wanted: EmitStrategy | None) -> None:
    assert strategy(options) == wanted


def test_rows_may_be_late_for_as_long_as_state_lives_by_default() -> None:
    t_env = environment({**LATE, "allow-lateness": "0 s"})
    t_env.execute_sql("RESET 'table.exec.emit.allow-lateness'")
    t_env.execute_sql("SET 'table.exec.state.ttl' = '20 s'")
    relation = t_env.sql_query(GROUPS.format("ts")).relation
    found = next(each.emit for each in relation.walk() if isinstance(each, WindowTable))
    assert found == EmitStrategy(early=False, lateness=20_000)


def test_no_row_is_late_in_processing_time_and_nothing_waits_in_a_batch() -> None:
    assert strategy({**EARLY, **LATE}, "p") == EmitStrategy(early=True, lateness=0)
    assert strategy(LATE, "p") is None
    assert strategy({**EARLY, **LATE}, mode="BATCH") is None


@pytest.mark.parametrize(
    ("options", "query", "words"),
    [
        (EARLY, "SELECT COUNT(*) FROM t GROUP BY SESSION(ts, INTERVAL '5' SECOND)", "sessions"),
        (
            LATE,
            "SELECT COUNT(*) FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND) "
            "GROUP BY window_start, window_end",
            "windowing table functions",
        ),
        ({"early-fire.enabled": "true"}, GROUPS.format("ts"), "needs a delay"),
        ({**LATE, "allow-lateness": "0 s"}, GROUPS.format("ts"), "for how long"),
        ({**LATE, "late-fire.delay": "11 s"}, GROUPS.format("ts"), "for 10000 ms only"),
    ],
)
def test_what_is_refused(options: dict[str, str], query: str, words: str) -> None:
    with pytest.raises(SqlError, match="EMIT_STRATEGY") as caught:
        environment(options).sql_query(query)
    assert words in caught.value.message
    assert caught.value.hint


def test_a_result_that_changes_is_no_window_any_more() -> None:
    window = "(ts, INTERVAL '5' SECOND)"
    inner = f"SELECT TUMBLE_START{window} AS w, COUNT(*) AS n FROM t GROUP BY TUMBLE{window}"
    plan = environment(EARLY).explain_sql(f"SELECT w, SUM(n) FROM ({inner}) GROUP BY w")
    assert "grows with the groups" in plan
    assert "changelogMode=[I,UB,UA,D]" in plan
