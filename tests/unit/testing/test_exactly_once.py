"""Crashes, ends and cuts at any point change nothing."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from millstream.testing import Checkpoint, TestSource, run_local
from tests.support.strategies import examples
from tests.support.testing_support import sessions

EVENTS = st.lists(
    st.tuples(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), st.integers(0, 60)),
    max_size=10,
)
MARKS = st.lists(
    st.tuples(
        st.integers(0, 10),
        st.sampled_from((TestSource.ABORT(), TestSource.EOF(), TestSource.EPOCH())),
    ),
    max_size=4,
)
SCHEDULES = st.fixed_dictionaries(
    {
        "epochs": st.sampled_from((None, 1, 3, "random")),
        "seed": st.integers(0, 9),
        "slots": st.sampled_from((1, 2, 4)),
        "parallelism": st.sampled_from((1, 2)),
        "splits": st.sampled_from((1, 3)),
    }
)


def with_marks(events: list[Any], marks: list[tuple[int, Any]]) -> list[Any]:
    """Marks before the records at their positions; an EOF needs a record before it."""
    marked: list[Any] = []
    for position in range(len(events) + 1):
        wanted = [mark for place, mark in marks if place == position]
        marked += [mark for mark in wanted if position or mark != TestSource.EOF()]
        marked += events[position : position + 1]
    return marked


@examples(60)
@given(EVENTS, MARKS, SCHEDULES, st.sampled_from(("marks", "every")))
def test_marks_and_restarts_change_nothing(
    events: list[Any], marks: list[tuple[int, Any]], schedule: dict[str, Any], restarts: Any
) -> None:
    expected = run_local(sessions(events))
    found = run_local(sessions(with_marks(events, marks)), **schedule, restarts=restarts)
    assert found.finished
    assert found.sinks == expected.sinks
    assert found.accumulators == expected.accumulators or not events


@examples(40)
@given(EVENTS, MARKS, SCHEDULES)
def test_runs_on_one_checkpoint_together_are_one_run(
    events: list[Any], marks: list[tuple[int, Any]], schedule: dict[str, Any]
) -> None:
    expected = run_local(sessions(events))
    program, checkpoint = sessions(with_marks(events, marks)), Checkpoint()
    found: dict[str, list[Any]] = {"sessions": [], "late": []}
    while not checkpoint.finished:
        # The program makes its source anew in each run, so that each ABORT acts in each of them.
        results = run_local(program, **schedule, checkpoint=checkpoint, restarts=len(marks))
        for name, records in results.sinks.items():
            found[name] += records
    assert found == expected.sinks
