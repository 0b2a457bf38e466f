"""Output modes: what each epoch gives, over crashes and restarts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millstream.common import Row, Types, WatermarkStrategy
from millstream.common.errors import MillstreamError, PlanError
from millstream.datastream import StreamExecutionEnvironment
from millstream.table import Schema, StreamTableEnvironment, TableEnvironment
from millstream.table.outputs.modes import foreach_output, show_output
from millstream.testing import Checkpoint, TestSource, in_memory

Given = list[tuple[int, list[tuple[Any, ...]]]]
EPOCH = TestSource.EPOCH()


def words(*elements: Any) -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    """Words as a table, in epochs that marks end."""
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    source = TestSource(elements)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "words")
    rows = stream.map(lambda word: (word,), Types.TUPLE([Types.STRING()]))
    t_env.create_temporary_view("words", t_env.from_data_stream(rows).alias("word"))
    return env, t_env


def noted() -> tuple[Given, Callable[[list[Row], int], None]]:
    found: Given = []
    return found, lambda rows, epoch: found.append((epoch, [tuple(row) for row in rows]))


COUNTS = "SELECT word, COUNT(*) AS n FROM words GROUP BY word"
SPOKEN = ("to", "be", EPOCH, "to", "or", EPOCH, "be", EPOCH, "be")


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (
            "complete",
            [
                (0, [("be", 1), ("to", 1)]),
                (1, [("be", 1), ("or", 1), ("to", 2)]),
                (2, [("be", 2), ("or", 1), ("to", 2)]),
                (3, [("be", 3), ("or", 1), ("to", 2)]),
            ],
        ),
        (
            "update",
            [
                (0, [("be", 1), ("to", 1)]),
                (1, [("or", 1), ("to", 2)]),
                (2, [("be", 2)]),
                (3, [("be", 3)]),
            ],
        ),
    ],
)
def test_counts_by_mode(mode: Any, expected: Given) -> None:
    env, t_env = words(*SPOKEN)
    found, note = noted()
    foreach_output(t_env.sql_query(COUNTS), note, mode)
    with in_memory():
        env.execute()
    assert [(epoch, sorted(rows)) for epoch, rows in found] == expected


def test_append_gives_rows_once() -> None:
    env, t_env = words(*SPOKEN)
    found, note = noted()
    foreach_output(t_env.sql_query("SELECT UPPER(word) FROM words WHERE word <> 'be'"), note)
    with in_memory():
        env.execute()
    assert found == [(0, [("TO",)]), (1, [("TO",), ("OR",)])]


def test_append_refuses_tables_that_change() -> None:
    _, t_env = words("a")
    with pytest.raises(PlanError, match=r"OUTPUT_MODE.*append gives rows once"):
        foreach_output(t_env.sql_query(COUNTS), print)


def test_rows_that_an_epoch_takes_back_do_not_come_in_update() -> None:
    env, t_env = words("a", EPOCH, "a", EPOCH, "b")
    found, note = noted()
    foreach_output(t_env.sql_query(f"{COUNTS} HAVING COUNT(*) < 2"), note, "update")
    with in_memory():
        env.execute()
    assert found == [(0, [("a", 1)]), (2, [("b", 1)])]


def test_a_program_that_goes_on_has_the_rows_of_before() -> None:
    checkpoint = Checkpoint()
    results: Given = []
    for mark in (True, False):
        env, t_env = words("to", "be", EPOCH, *([] if mark else ["to", "or"]))
        found, note = noted()
        foreach_output(t_env.sql_query(COUNTS), note, "complete")
        with in_memory(checkpoint=checkpoint, stop=mark):
            env.execute()
        results += found
    assert [rows for _, rows in results] == [
        [("be", 1), ("to", 1)],
        [("be", 1), ("or", 1), ("to", 2)],
    ]


@pytest.mark.parametrize("mode", ["update", "complete"])
def test_a_crash_changes_nothing(mode: Any) -> None:
    def run(*elements: Any) -> list[Any]:
        env, t_env = words(*elements)
        found, note = noted()
        foreach_output(t_env.sql_query(COUNTS), note, mode)
        with in_memory(restarts=1):
            env.execute()
        return [sorted(rows) for _, rows in found]

    crashing = ("to", "be", EPOCH, "to", TestSource.ABORT(), "or", EPOCH, "be", EPOCH, "be")
    assert run(*crashing) == run(*SPOKEN)


def test_the_console_of_structured_streaming(capsys: pytest.CaptureFixture[str]) -> None:
    env, t_env = words("a word that is too long to show", "b", "c")
    table = t_env.sql_query("SELECT word, CAST(NULL AS INT) AS nothing FROM words")
    show_output(table, n=2)
    with in_memory():
        env.execute()
    assert capsys.readouterr().out.splitlines()[3:] == [
        "+--------------------+-------+",
        "|                word|nothing|",
        "+--------------------+-------+",
        "|a word that is to...|   NULL|",
        "|                   b|   NULL|",
        "+--------------------+-------+",
        "only showing top 2 rows",
    ]


def test_errors_of_the_function_name_it() -> None:
    env, t_env = words("a")
    foreach_output(t_env.sql_query("SELECT word FROM words"), lambda rows, epoch: 1 / 0)
    with in_memory(), pytest.raises(MillstreamError, match="ZeroDivisionError"):
        env.execute()


def test_what_is_refused() -> None:
    _, t_env = words("a")
    table = t_env.sql_query("SELECT word FROM words")
    with pytest.raises(PlanError, match=r"OUTPUT_MODE.*no output mode 'all'"):
        foreach_output(table, print, "all")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match=r"OUTPUT_MODE.*StreamTableEnvironment"):
        foreach_output(TableEnvironment.create().from_elements([(1,)], ["n"]), print)


def test_watermarks_make_windows_append() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    source = TestSource([(1, 1_000), (2, 2_000), EPOCH, (3, 12_000), EPOCH, (4, 3_000)])
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "rows").map(
        lambda pair: pair, Types.TUPLE([Types.INT(), Types.LONG()])
    )
    schema = (
        Schema.new_builder()
        .column("f0", "INT")
        .column("f1", "BIGINT")
        .column_by_expression("ts", "TO_TIMESTAMP_LTZ(f1, 3)")
        .watermark("ts", "ts - INTERVAL '2' SECOND")
        .build()
    )
    t_env.create_temporary_view("ticks", t_env.from_data_stream(rows, schema))
    query = "SELECT SUM(f0) AS total FROM ticks GROUP BY WINDOW(ts, '10 seconds')"
    found, note = noted()
    foreach_output(t_env.sql_query(query), note)
    with in_memory():
        env.execute()
    assert [rows for _, rows in found] == [[(3,)], [(3,)]]  # 4 is late.
