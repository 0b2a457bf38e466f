"""Windows in pages that a savepoint holds become columns, whatever numbers they hold."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Types, WatermarkStrategy
from millstream.common.errors import MillstreamError
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DiscardingSink
from millstream.datastream.window import TumblingEventTimeWindows
from millstream.plan.graph import JobGraph
from millstream.plan.options import ChannelOrder, JobOptions
from millstream.testing import LocalJob, TestSource
from tests.support.strategies import examples

RECORD = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
TIMES = WatermarkStrategy.for_bounded_out_of_orderness(3).with_timestamp_assigner(
    lambda record, _: record[2]
)
HALF = 2**62
AGGREGATES = ("sum", "min", "max", "min_by", "max_by")
Record = tuple[str, int | None, int]


def graph(channels: list[list[Record]], aggregate: str, *, by_column: bool) -> JobGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(TestSource(*channels), TIMES, "in", RECORD).uid("in")
    # The planner does not see which field the first of these functions reads.
    key = (lambda record: record[0]) if by_column else (lambda record: str(record[0]))
    windows = stream.key_by(key, Types.STRING()).window(TumblingEventTimeWindows.of(10))
    getattr(windows, aggregate)(1).uid("windows").sink_to(DiscardingSink()).name("out")
    return env._job_graph()


def results(job: LocalJob) -> Any:
    """What is left, or that it fails."""
    try:
        return job.run_all(1)["out"]
    except MillstreamError:
        return "an error"


def both(
    channels: list[list[Record]], aggregate: str, read: int, order: ChannelOrder, slots: int
) -> list[Any]:
    """The results after a savepoint, in pages and by column."""
    options = JobOptions(parallelism=1, slots=2, channel_order=order)
    job = LocalJob(graph(channels, aggregate, by_column=False), options)
    try:
        job.epoch(read)
    except MillstreamError:
        return ["an error"] * 2
    saved = job.savepoint()
    found = []
    for by_column in (False, True):
        later = LocalJob(
            graph(channels, aggregate, by_column=by_column),
            JobOptions(parallelism=1, slots=slots, channel_order=order),
            savepoint=saved,
        )
        (choice,) = later.component.choices.values()
        assert (choice.layout != "windows in pages") == by_column
        found.append(results(later))
    return found


@st.composite
def channels(draw: st.DrawFn) -> list[list[Record]]:
    """Records with large numbers, and early ones without a number, which later epochs do not have."""
    found: list[list[Record]] = []
    for _ in range(draw(st.integers(1, 2))):
        numbers = st.sampled_from((HALF, -HALF, 2**63 - 1, -(2**63), 5, 0))
        records = draw(
            st.lists(st.tuples(st.sampled_from("ab"), numbers, st.integers(0, 25)), max_size=8)
        )
        found.append([*records])
    if draw(st.booleans()):
        found[0].insert(0, (draw(st.sampled_from("ac")), None, draw(st.integers(0, 25))))
    return found


@examples(120)
@given(
    channels(),
    st.sampled_from(AGGREGATES),
    st.integers(1, 6),
    st.sampled_from(("arrival", "watermark")),
    st.sampled_from((1, 2, 3)),
)
def test_the_results_are_the_same(
    channels: list[list[Record]], aggregate: str, read: int, order: ChannelOrder, slots: int
) -> None:
    in_pages, by_column = both(channels, aggregate, read, order, slots)
    assert in_pages == by_column


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_a_sum_beyond_64_bits_comes_back(slots: int) -> None:
    records: list[Record] = [("a", 2 * HALF - 1, 1), ("a", 2 * HALF - 1, 2), ("a", -2 * HALF, 3)]
    expected = [(("a", 2 * HALF - 2, 1), 9)]
    for found in both([records], "sum", 2, "arrival", slots):
        assert [tuple(record) for record in found] == expected


def test_one_that_does_not_is_an_error_when_it_is_emitted() -> None:
    assert both([[("a", HALF, 1)] * 3], "sum", 2, "arrival", 1) == ["an error"] * 2


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_a_window_of_a_record_without_a_number_stays(aggregate: str) -> None:
    records: list[Record] = [("a", None, 1), ("b", 7, 4)]
    for found in both([records], aggregate, 1, "arrival", 2):
        assert [record.value for record in found] == records
