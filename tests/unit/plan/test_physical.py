"""The operator that each window gets, and why; no job runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from millstream.common import Types
from millstream.common.output_tag import OutputTag
from millstream.datastream import DataStream, ProcessWindowFunction
from millstream.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from millstream.kernel.operators.channel import TimelineOperator
from millstream.kernel.operators.keyed import KeyedOperator
from millstream.kernel.operators.reduce import ReduceOperator
from millstream.kernel.records.buffers import ArrowCodec
from millstream.kernel.windows.aligned import AlignedWindowOperator
from millstream.kernel.windows.columnar import ColumnarWindowOperator
from millstream.kernel.windows.kept import KeptWindowOperator
from millstream.kernel.windows.operator import WindowOperator
from millstream.kernel.windows.sessions import SessionWindowOperator
from millstream.plan.explain import explain
from millstream.plan.options import JobOptions
from millstream.plan.physical import Choice, Stored
from millstream.plan.restoring import state_layouts
from tests.support.plan_support import (
    RECORD,
    by_key,
    component,
    environment,
    hosted,
    ids,
    passed,
    plan_of,
    source,
    timed,
)

TUMBLING = TumblingEventTimeWindows.of(10)
SLIDING = SlidingEventTimeWindows.of(12, 4)
GAPS = SlidingEventTimeWindows.of(4, 12)
SESSIONS = EventTimeSessionWindows.with_gap(5)
PAGES = "windows in pages"
FLOATS = Types.TUPLE([Types.STRING(), Types.DOUBLE(), Types.LONG()])


class Listed(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        return [(key, tuple(elements))]


def named(record: Any) -> str:
    key: str = record[0]
    return key


def unread(stream: DataStream) -> Any:
    """By a function that the planner cannot read."""
    return stream.key_by(named)


@dataclass(frozen=True)
class Case:
    name: str
    build: Callable[[DataStream], DataStream]
    operator: type[Any]
    layout: str = PAGES
    reason: str = ""
    type_info: Any = RECORD


def windows(name: str, build: Callable[[Any], DataStream], *rest: Any, **more: Any) -> Case:
    return Case(name, lambda stream: build(by_key(stream)), *rest, **more)


SUMS = f"partial sums of {RECORD} in windows of"
COUNTS = f"counts of {RECORD} in windows of"
COLUMNS = f"columns of {RECORD} in windows of"

CASES = [
    windows(
        "tumbling sum",
        lambda s: s.window(TUMBLING).sum(1),
        ColumnarWindowOperator,
        f"{SUMS} 10 ms every 10 ms",
        "by column",
    ),
    windows(
        "sliding maximum",
        lambda s: s.window(SLIDING).max_by(1),
        ColumnarWindowOperator,
        f"{SUMS} 12 ms every 4 ms",
        "by column",
    ),
    windows(
        "windows with an offset",
        lambda s: s.window(TumblingEventTimeWindows.of(10, 3)).min(1),
        ColumnarWindowOperator,
        f"{SUMS} 10 ms every 10 ms from 3 ms on",
        "by column",
    ),
    windows(
        "count",
        lambda s: s.window(TUMBLING).count(),
        ColumnarWindowOperator,
        f"{COUNTS} 10 ms every 10 ms",
        "by column",
    ),
    windows(
        "kept columns",
        lambda s: s.window(SLIDING).process(Listed()),
        KeptWindowOperator,
        f"{COLUMNS} 12 ms every 4 ms",
        "records kept by column",
    ),
    Case(
        "a key that is read by a function",
        lambda s: unread(s).window(TUMBLING).sum(1),
        AlignedWindowOperator,
        reason="all records of a page at once",
    ),
    windows(
        "a late side output",
        lambda s: s.window(TUMBLING).side_output_late_data(OutputTag("late", RECORD)).sum(1),
        AlignedWindowOperator,
        reason="all records of a page at once",
    ),
    windows(
        "lateness",
        lambda s: s.window(TUMBLING).allowed_lateness(3).process(Listed()),
        AlignedWindowOperator,
        reason="all records of a page at once",
    ),
    windows(
        "gaps between windows",
        lambda s: s.window(GAPS).sum(1),
        AlignedWindowOperator,
        reason="all records of a page at once",
    ),
    windows(
        "sum of floats",
        lambda s: s.window(TUMBLING).sum(1),
        AlignedWindowOperator,
        reason="all records of a page at once",
        type_info=FLOATS,
    ),
    windows(
        "records without a type",
        lambda s: s.window(TUMBLING).sum(1),
        AlignedWindowOperator,
        reason="all records of a page at once",
        type_info=Types.PICKLED_BYTE_ARRAY(),
    ),
    windows(
        "reduce",
        lambda s: s.window(TUMBLING).reduce(lambda a, b: a),
        AlignedWindowOperator,
        reason="all records of a page at once",
    ),
    Case(
        "all records",
        lambda s: s.window_all(TUMBLING).sum(1),
        AlignedWindowOperator,
        reason="all records of a page at once",
    ),
    windows(
        "sum of sessions",
        lambda s: s.window(SESSIONS).sum(1),
        SessionWindowOperator,
        reason="sessions by column",
    ),
    windows(
        "sessions",
        lambda s: s.window(SESSIONS).process(Listed()),
        SessionWindowOperator,
        reason="sessions record by record",
    ),
    windows(
        "trigger",
        lambda s: s.window(TUMBLING).trigger(CountTrigger.of(2)).sum(1),
        WindowOperator,
        reason="record by record",
    ),
    windows(
        "evictor",
        lambda s: s.window(TUMBLING).evictor(CountEvictor.of(2)).process(Listed()),
        WindowOperator,
        reason="record by record",
    ),
    windows(
        "count windows",
        lambda s: s.count_window(3).sum(1),
        WindowOperator,
        reason="record by record",
    ),
    windows(
        "processing time",
        lambda s: s.window(TumblingProcessingTimeWindows.of(10)).sum(1),
        WindowOperator,
        reason="record by record",
    ),
]


def stream_of(case: Case) -> DataStream:
    env = environment()
    return case.build(timed(source(env, "in", case.type_info), "times")).uid("case")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_window_has_the_quickest_operator_that_can_do_it(case: Case) -> None:
    stream = stream_of(case)
    stream.print()
    planned = component(stream._env)
    found = hosted(planned)["case"]
    assert type(found.operator) is case.operator
    assert state_layouts(planned)["case"] == case.layout
    reads_columns = isinstance(found.edges[0].codec, ArrowCodec)
    assert reads_columns == (case.type_info != Types.PICKLED_BYTE_ARRAY())
    assert f"windows: {case.reason}" in str(stream._env.get_execution_plan())


def skipped(stream: DataStream, how: str) -> DataStream:
    """The stream with a policy of its own, of the job, or with neither."""
    if how == "job":
        stream._env.get_config().set_global_job_parameters({"millstream.on-error": "skip"})
    return stream.on_error("skip") if how == "operator" else stream


@pytest.mark.parametrize("how", ["fail", "operator", "job"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_explain_names_what_runs(case: Case, how: str) -> None:
    """The plan, the text that explains it and the compiled operator agree, whatever the policy."""
    stream = skipped(stream_of(case), how)
    text = str(stream.explain())
    stream.print()
    planned = plan_of(stream._env)
    choice = planned.choices[ids(planned)["case"]]
    operator = hosted(planned)["case"].operator
    assert type(operator) is choice.operator
    assert f"windows: {choice.reason}" in text
    assert ("on error: skip" in text) == (how != "fail") == (choice.on_error.policy == "skip")


FAST = (AlignedWindowOperator, SessionWindowOperator)
UNDONE = "record by record: a record that fails is undone and skipped by itself"


@pytest.mark.parametrize("how", ["operator", "job"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_windows_that_skip_go_record_by_record_if_a_function_could_fail(
    case: Case, how: str
) -> None:
    stream = skipped(stream_of(case), how)
    stream.print()
    planned = plan_of(stream._env)
    choice = planned.choices[ids(planned)["case"]]
    by_record = issubclass(case.operator, FAST)
    assert choice.reason.startswith(UNDONE if by_record else case.reason)
    assert choice.layout == case.layout
    operator = hosted(planned)["case"].operator
    assert type(operator) is (WindowOperator if by_record else case.operator)
    assert operator.policy.skips


def test_a_choice_is_printed_in_one_sentence() -> None:
    stream = stream_of(next(case for case in CASES if case.name == "tumbling sum"))
    stream.print()
    planned = component(stream._env)
    assert str(planned.choices[ids(planned)["case"]]) == (
        "ColumnarWindowOperator reads partial sums, gives columns, keeps partial sums of "
        "TUPLE(STRING, LONG, LONG) in windows of 10 ms every 10 ms, fails on errors: by column: "
        "partial sums before the exchange, no Python object per record"
    )


def test_every_hosted_operator_has_a_choice() -> None:
    env = environment()
    stream = timed(source(env, "in"), "times")
    one = passed(stream, "one")
    timed(one, "again").print()
    by_key(one).reduce(lambda a, b: a).uid("reduce").print()
    planned = component(env)
    found = {planned.uids[node_id]: choice for node_id, choice in planned.choices.items()}
    assert {uid: (c.operator, c.layout) for uid, c in found.items()} == {
        "one": (KeyedOperator, "pages"),
        "again": (TimelineOperator, None),
        "reduce": (ReduceOperator, "reduced values in pages"),
    }
    assert {uid: type(h.operator) for uid, h in hosted(planned).items()} == {
        uid: choice.operator for uid, choice in found.items()
    }


# -- what is stored --------------------------------------------------------------------------------

BY_COLUMN = [case for case in CASES if case.layout != PAGES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_layout_that_a_window_has_anyway_changes_nothing(case: Case) -> None:
    stream = stream_of(case)
    stream.print()
    free = plan_of(stream._env)
    number = ids(free)["case"]
    known = free.choices[number].as_panes
    as_panes = {} if known is None else {"case": known}
    stored = Stored({"case": case.layout, "gone": "pages"}, as_panes)
    assert plan_of(stream._env, stored).choices == free.choices
    unknown = plan_of(stream._env, Stored({"case": case.layout}))
    assert unknown.choices[number] == replace(free.choices[number], as_panes=None)


@pytest.mark.parametrize("case", BY_COLUMN, ids=lambda case: case.name)
def test_a_window_follows_stored_windows_of_single_records(case: Case) -> None:
    stream = stream_of(case)
    stream.print()
    planned = plan_of(stream._env, Stored({"case": PAGES}))
    choice = planned.choices[ids(planned)["case"]]
    assert choice.operator is AlignedWindowOperator
    assert (choice.layout, choice.edge) == (PAGES, "records")
    assert choice.reason.endswith(
        "; it could be by column, but the stored state has windows of single records"
    )
    assert type(hosted(planned)["case"].operator) is AlignedWindowOperator


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_other_panes_become_windows_of_single_records(case: Case) -> None:
    stream = stream_of(case)
    stream.print()
    stored = f"partial sums of {RECORD} in windows of 77 ms every 11 ms"
    planned = plan_of(stream._env, Stored({"case": stored}))
    choice = planned.choices[ids(planned)["case"]]
    assert choice.layout == PAGES and issubclass(choice.operator, WindowOperator)
    assert choice.reason.endswith(
        "; the stored state is by column, and becomes windows of single records"
    )


def test_explain_says_what_is_followed() -> None:
    stream = stream_of(CASES[0])
    stream.print()
    text = explain(
        stream._env._job_graph(), JobOptions(parallelism=1), Stored({"case": PAGES})
    ).text
    assert (
        "windows: all records of a page at once: the windows follow from the time alone; it could be by "
        "column, but the stored state has windows of single records"
    ) in text


def test_explain_says_what_is_not_restored() -> None:
    stream = stream_of(CASES[0])
    stream.print()
    graph, stored = stream._env._job_graph(), Stored({"gone": "pages"})
    text = explain(graph, JobOptions(), stored).text
    assert text.endswith(
        "not restored: no operator takes over the state of 'gone', which has to be allowed"
    )
    allowed = JobOptions(allow_non_restored_state=True)
    assert explain(graph, allowed, stored).text.endswith(
        "not restored: the state of 'gone' is dropped, and so are the records that waited before it "
        "for other channels"
    )


SUM_BY_FUNCTION = next(c for c in CASES if c.name == "a key that is read by a function")


def choice_of(case: Case, stored: Stored) -> Choice:
    stream = stream_of(case)
    stream.print()
    planned = plan_of(stream._env, stored)
    return planned.choices[ids(planned)["case"]]


def test_tumbling_windows_of_declared_records_become_columns() -> None:
    """All that is in pages was made by a window with the same panes, of records that fit columns."""
    before = choice_of(SUM_BY_FUNCTION, Stored())
    assert before.as_panes == CASES[0].layout
    stored = Stored({"case": PAGES}, {"case": CASES[0].layout})
    after = choice_of(CASES[0], stored)
    assert after.operator is ColumnarWindowOperator
    assert after.reason.endswith(
        "; the stored state has windows of single records, and becomes columns"
    )
    restart = choice_of(CASES[0], replace(stored, converts=False))
    assert restart.operator is AlignedWindowOperator


def test_it_is_not_known_of_windows_that_others_have_filled() -> None:
    other = f"partial sums of {RECORD} in windows of 77 ms every 77 ms"
    for stored in (Stored({"case": PAGES}), Stored({"case": PAGES}, {"case": other})):
        assert choice_of(SUM_BY_FUNCTION, stored).as_panes is None
        assert choice_of(CASES[0], stored).operator is AlignedWindowOperator
    assert choice_of(SUM_BY_FUNCTION, Stored({"case": other})).as_panes is None
    same = Stored({"case": CASES[0].layout})
    assert choice_of(SUM_BY_FUNCTION, same).as_panes == CASES[0].layout


@pytest.mark.parametrize(
    "name",
    [
        "gaps between windows",
        "sum of floats",
        "records without a type",
        "reduce",
        "trigger",
        "sessions",
        "processing time",
    ],
)
def test_windows_that_are_no_panes_have_no_layout_by_column(name: str) -> None:
    case = next(case for case in CASES if case.name == name)
    assert choice_of(case, Stored()).as_panes is None
