"""Rolling aggregates by column give what the operator of single records gives, whatever the cut."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from millstream.common import Row, Types, WatermarkStrategy
from millstream.common.errors import MillstreamError
from millstream.common.typeinfo import TypeInformation
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DiscardingSink
from millstream.plan.graph import JobGraph
from millstream.plan.options import ChannelOrder, JobOptions
from millstream.testing import LocalJob, TestSource, rebatch, run_local
from tests.support.strategies import examples, schedules

AGGREGATES = ("sum", "min", "max", "min_by", "max_by")
TIMES = WatermarkStrategy.for_bounded_out_of_orderness(3).with_timestamp_assigner(
    lambda record, _: record[2]
)
HALF = 2**62
LARGE = st.sampled_from((HALF, -HALF, 2**63 - 1, -(2**63), 5, 0, -1))
REALS = st.sampled_from((0.1, 0.2, -0.3, 1e300, -1e300, 0.0, -0.0, math.inf, math.nan, 7.5))
SINGLES = st.sampled_from((0.5, -0.0, 0.0, math.nan, 3.25, -8.0))
FIELDS: dict[str, tuple[TypeInformation, st.SearchStrategy[Any]]] = {
    "BYTE": (Types.BYTE(), st.integers(-5, 5)),
    "INT": (Types.INT(), st.sampled_from((2**31 - 1, -(2**31), 3, -4, 0))),
    "LONG": (Types.LONG(), st.integers(-9, 9) | LARGE),
    "DOUBLE": (Types.DOUBLE(), REALS),
    "FLOAT": (Types.FLOAT(), SINGLES),
    "BIG_INT": (Types.BIG_INT(), st.integers(-(2**70), 2**70)),
    "BIG_DEC": (Types.BIG_DEC(), st.decimals(-9, 9, places=2)),
    "STRING": (Types.STRING(), st.sampled_from(("", "a", "ab", "é", "\U0001f600", "￿"))),
    "BOOLEAN": (Types.BOOLEAN(), st.booleans()),
    "SQL_DATE": (Types.SQL_DATE(), st.dates(date(1960, 1, 1), date(1980, 1, 1))),
    "SQL_TIMESTAMP": (
        Types.SQL_TIMESTAMP(),
        st.datetimes(datetime(1960, 1, 1), datetime(1980, 1, 1)),
    ),
}
NUMBERS = ("BYTE", "INT", "LONG", "DOUBLE", "FLOAT", "BIG_INT", "BIG_DEC")
KEYS: dict[str, tuple[TypeInformation, st.SearchStrategy[Any]]] = {
    "STRING": (Types.STRING(), st.sampled_from(("a", "b", "c", ""))),
    "LONG": (Types.LONG(), st.sampled_from((0, 1, -(2**63), 7))),
    "BOOLEAN": (Types.BOOLEAN(), st.booleans()),
    "DOUBLE": (Types.DOUBLE(), st.sampled_from((0.0, -0.0, 1.5))),
}


@st.composite
def inputs(draw: st.DrawFn, *, missing: bool = True) -> tuple[list[list[Any]], Any, str]:
    """Channels of (key, value, time, second key), their type, and an aggregate of the value."""
    aggregate = draw(st.sampled_from(AGGREGATES))
    field, values = FIELDS[draw(st.sampled_from(NUMBERS if aggregate == "sum" else tuple(FIELDS)))]
    key, keys = KEYS[draw(st.sampled_from(tuple(KEYS)))]
    if missing and draw(st.integers(0, 5)) == 0:
        values = values | st.none()
    second = st.sampled_from(("x", None))
    record = st.tuples(keys, values, st.integers(0, 40), second)
    channels = draw(st.lists(st.lists(record, min_size=1, max_size=12), min_size=1, max_size=3))
    kinds = [key, field, Types.LONG(), Types.STRING()]
    if draw(st.booleans()):
        return channels, Types.TUPLE(kinds), aggregate
    named = Types.ROW_NAMED(["k", "v", "t", "s"], kinds)
    rows = [[Row(k=r[0], v=r[1], t=r[2], s=r[3]) for r in channel] for channel in channels]
    return rows, named, aggregate


def keyed(stream: Any, by: str) -> Any:
    """By fields that the planner can see, or by the same ones that it cannot."""
    if by == "one":
        return stream.key_by(lambda record: record[0])
    if by == "two":
        return stream.key_by(lambda record: (record[0], record[3]))
    if by == "one unseen":
        return stream.key_by(lambda record: (record[0],)[0])
    return stream.key_by(lambda record: (record[0], (record[3],)[0]))


def program(data: tuple[list[list[Any]], Any, str], by: str) -> Callable[..., Any]:
    channels, type_info, aggregate = data

    def build(env: StreamExecutionEnvironment) -> Any:
        streams = [
            env.from_collection(records, type_info=type_info).assign_timestamps_and_watermarks(
                TIMES
            )
            for records in channels
        ]
        return getattr(keyed(streams[0].union(*streams[1:]), by), aggregate)(1)

    return build


def outcome(run: Callable[[], Any]) -> Any:
    """Results as text, which tells -0.0 from 0.0 and has NaN equal itself; or the error."""
    try:
        return repr(run())
    except MillstreamError as error:
        # Which of several bad records is found first is not promised.
        return error.code


@given(inputs(), st.sampled_from(("one", "two")), st.booleans())
@examples(250)
def test_columns_and_records_give_the_same(data: Any, by: str, batch: bool) -> None:
    def run(by: str) -> Any:
        return outcome(lambda: run_local(program(data, by), batch=batch).records())

    assert run(by) == run(f"{by} unseen")


ZEROS = (
    [[(-0.0, -3, 0, "x"), (0.0, 3, 39, "x")]],
    Types.TUPLE([Types.DOUBLE(), Types.BYTE(), Types.LONG(), Types.STRING()]),
    "max_by",
)


@given(inputs(missing=False), st.sampled_from(("one", "two")), st.integers(0, 1_000))
@example(ZEROS, "two", 0)
@examples(20)
def test_the_cut_does_not_show(data: Any, by: str, seed: int) -> None:
    channels, type_info, aggregate = data
    # Sums of large numbers fail or not, with every cut; here only those that do not are of interest.
    if outcome(lambda: run_local(program(data, by)).records())[0] != "[":
        return
    one = ([[record for channel in channels for record in channel]], type_info, aggregate)
    rebatch(
        program(one, by),
        **schedules(cuts=(1, "random"), seeds=(seed,), slots=(1, 2)),
        rolling=True,
        # The key stays a value before the text: 0.0 and -0.0 are one key, and two texts.
        normalize=lambda record: ((record[0], record[3] if by == "two" else None), repr(record)),
    )


def graph(data: tuple[list[list[Any]], Any, str], by: str) -> JobGraph:
    channels, type_info, aggregate = data
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(TestSource(*channels), TIMES, "in", type_info).uid("in")
    getattr(keyed(stream, by), aggregate)(1).uid("total").sink_to(DiscardingSink()).name("out")
    return env._job_graph()


def results(job: LocalJob) -> Any:
    return job.run_all(2)["out"]


@given(
    inputs(),
    st.sampled_from(("one", "two")),
    st.integers(1, 6),
    st.sampled_from(("arrival", "watermark")),
    st.sampled_from((1, 2, 3)),
)
@examples(120)
def test_a_savepoint_of_either_operator_goes_on_in_either(
    data: Any, by: str, read: int, order: ChannelOrder, slots: int
) -> None:
    found = []
    for first in (by, f"{by} unseen"):
        options = JobOptions(parallelism=1, slots=2, channel_order=order)
        job = LocalJob(graph(data, first), options)
        try:
            before = repr(job.epoch(read))
        except MillstreamError:
            return
        saved = job.savepoint()
        for then in (by, f"{by} unseen"):
            later = LocalJob(
                graph(data, then),
                JobOptions(parallelism=1, slots=slots, channel_order=order),
                savepoint=saved,
            )
            found.append((before, outcome(partial(results, later))))
    assert found == [found[0]] * 4


@pytest.mark.parametrize("slots", [1, 2])
def test_a_sum_beyond_64_bits_stays_exact_and_comes_back(slots: int) -> None:
    """The results are wider than the declared type, which says so; the state is exact."""
    numbers = [2 * HALF - 1, 2 * HALF - 1, -2 * HALF, -2 * HALF, 7]
    channel = [("a", n, i, "x") for i, n in enumerate(numbers)] + [("b", 1, 9, "x")]
    kinds = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG(), Types.STRING()])
    data: Any = ([channel], kinds, "sum")
    job = LocalJob(graph(data, "one"), JobOptions(parallelism=1, slots=slots))
    with pytest.raises(MillstreamError):
        job.run_all(6)

    def narrowed(env: StreamExecutionEnvironment) -> Any:
        sums = program(data, "one")(env)
        return sums.map(lambda record: (record[0], str(record[1])), output_type=None)

    totals = [record[1] for record in run_local(narrowed).values() if record[0] == "a"]
    assert totals == [str(sum(numbers[: i + 1])) for i in range(len(numbers))]
