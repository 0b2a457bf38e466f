"""Windows that were made up in one way go on in another; programs that cannot take over are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from millstream.common import Types, WatermarkStrategy
from millstream.common.errors import CheckpointError
from millstream.common.time import MIN_TIMESTAMP
from millstream.common.watermark_strategy import Watermark, WatermarkGenerator
from millstream.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from millstream.datastream.functions import ProcessWindowFunction
from millstream.datastream.window import (
    CountEvictor,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.snapshot.layouts import agreed, converter
from millstream.kernel.windows.contents import (
    AGGREGATED,
    ELEMENTS,
    FIRST_REDUCED,
    ORDERED_ELEMENTS,
    REDUCED,
    VALUES,
    Aggregated,
    Contents,
    Reduced,
    contents_for,
)
from millstream.plan.options import ChannelOrder, JobOptions
from millstream.testing import LocalJob, TestSource
from millstream.testing.engine.local import LocalSavepoint

RECORD = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
EARLIEST = (MIN_TIMESTAMP, -1, -(1 << 63), -(1 << 63), 0, b"")
"""No record has an earlier place in the order."""


def operator_of(fold: Any = None, *, in_order: bool, evictor: Any = None) -> Any:
    """What a converter asks of a window operator."""

    def contents(ordered: bool) -> Contents:
        return contents_for(fold, in_order=ordered, evicting=evictor is not None)

    return SimpleNamespace(
        info=OperatorInfo("op", "the-uid"),
        spec=SimpleNamespace(fold=fold, evictor=evictor),
        contents=contents(in_order),
        with_order=lambda: contents(False),
    )


FIRST = Reduced(min, prefers_older=True)


def test_values_get_places_before_all_others() -> None:
    operator = operator_of(in_order=False)
    found = converter(VALUES, operator)(["b", "a"])
    assert operator.contents.elements(found) == ["b", "a"]
    assert all(order < EARLIEST for _, _, order in found)
    found = operator.contents.add(found, "c", 1, EARLIEST)
    assert operator.contents.elements(found) == ["b", "a", "c"]


def test_elements_keep_their_times() -> None:
    operator = operator_of(in_order=False, evictor=CountEvictor.of(1))
    found = converter(ELEMENTS, operator)([("b", 5, None), ("a", 3, None)])
    assert [element[:2] for element in operator.contents.sorted(found)] == [("b", 5), ("a", 3)]


def test_a_reduced_value_is_older_than_what_comes() -> None:
    operator = operator_of(replace(FIRST, function=lambda a, b: a + b), in_order=False)
    found = converter(REDUCED, operator)("a")
    assert operator.contents.elements(operator.contents.add(found, "b", 1, EARLIEST)) == ["ab"]


def test_the_order_stays_where_records_come_in_order_now() -> None:
    """One may come that precedes those that are there."""
    for operator, layout in [
        (operator_of(in_order=True), ORDERED_ELEMENTS),
        (operator_of(in_order=True, evictor=CountEvictor.of(1)), ORDERED_ELEMENTS),
        (operator_of(FIRST, in_order=True), FIRST_REDUCED),
    ]:
        assert agreed(layout, operator) == layout
        content = [("a", 1, EARLIEST)]
        assert converter(layout, operator)(content) is content


def test_without_an_evictor_times_are_left_out() -> None:
    assert converter(ELEMENTS, operator_of(in_order=True))([("b", 5, None)]) == ["b"]


def test_another_function_may_not_need_the_order() -> None:
    assert converter(FIRST_REDUCED, operator_of(Reduced(max), in_order=False))((EARLIEST, 7)) == 7


@pytest.mark.parametrize(
    ("stored", "operator"),
    [
        (VALUES, operator_of(in_order=False, evictor=CountEvictor.of(1))),
        (VALUES, operator_of(in_order=True, evictor=CountEvictor.of(1))),
        (VALUES, operator_of(FIRST, in_order=True)),
        (REDUCED, operator_of(in_order=True)),
        (AGGREGATED, operator_of(FIRST, in_order=False)),
        (ORDERED_ELEMENTS, operator_of(Aggregated(None), in_order=True)),
    ],
)
def test_what_cannot_be_converted_is_refused(stored: str, operator: Any) -> None:
    with pytest.raises(CheckpointError, match="'the-uid'") as caught:
        converter(stored, operator)
    assert caught.value.code == "STATE_LAYOUT_CHANGED"
    assert caught.value.hint


# -- jobs ------------------------------------------------------------------------------------------


class Listed(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        return [(key, [value[1] for value in elements])]


class Passing(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


CHANNELS = [[("a", n, 3 * n) for n in range(9)], [("a", -n, 2 * n) for n in range(12)]]
Build = Callable[[DataStream], DataStream]


def job_of(
    build: Build,
    channels: list[Any] = CHANNELS,
    order: ChannelOrder = "arrival",
    savepoint: LocalSavepoint | None = None,
    *,
    typed: bool = True,
    batch: bool = False,
    gives_up: bool = False,
) -> LocalJob:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda record, _: record[2]
    )
    type_info = RECORD if typed else Types.PICKLED_BYTE_ARRAY()
    stream = env.from_source(
        TestSource(*channels), WatermarkStrategy.no_watermarks(), "source", type_info
    ).uid("source")
    timed = stream.assign_timestamps_and_watermarks(strategy).uid("times")
    build(timed).uid("op").print().name("out").uid("out")
    options = JobOptions(parallelism=1, slots=2, channel_order=order)
    return LocalJob(
        env._job_graph(),
        options,
        savepoint=savepoint,
        batch=batch,
        allow_non_restored_state=gives_up,
    )


def windowed(assigner: Any, build: Callable[[Any], DataStream]) -> Build:
    return lambda stream: build(stream.key_by(lambda record: record[0]).window(assigner))


TEN = TumblingEventTimeWindows.of(10)
EVICTING = windowed(TEN, lambda w: w.evictor(CountEvictor.of(9)).process(Listed()))


@pytest.mark.parametrize("batch", [False, True])
def test_an_evictor_sees_records_in_the_one_order(batch: bool) -> None:
    """In batch mode records come in order; those that had come before had not."""
    job = job_of(EVICTING)
    job.epoch({(0, 0): 4, (0, 1): 1})
    later = job_of(EVICTING, savepoint=job.savepoint(), batch=batch)
    later.run_all()
    whole = job_of(EVICTING, batch=True)
    whole.run_all()
    assert job.outputs["out"] + later.outputs["out"] == whole.outputs["out"]


def test_a_second_channel_comes_after_what_there_was() -> None:
    """With one channel there are values, with two there are places."""
    listing = windowed(TEN, lambda w: w.process(Listed()))
    job = job_of(listing, CHANNELS[:1], typed=False)
    job.epoch(3)
    assert job.savepoint().state.operators["op"].info("windows").layout == VALUES
    later = job_of(listing, CHANNELS, savepoint=job.savepoint(), typed=False)
    later.epoch({(0, 0): 1, (0, 1): 5})
    assert later.savepoint().state.operators["op"].info("windows").layout == ORDERED_ELEMENTS
    later.run_all()
    first = next(value for value, _ in later.outputs["out"])
    assert first == ("a", [0, 1, 2, 0, -1, -2, -3, 3, -4])


def test_an_evictor_cannot_be_added() -> None:
    listing = windowed(TEN, lambda w: w.process(Listed()))
    job = job_of(listing, CHANNELS[:1], typed=False)
    job.epoch(3)
    with pytest.raises(CheckpointError, match="'op' kept its state as values"):
        job_of(EVICTING, CHANNELS[:1], savepoint=job.savepoint(), typed=False)


def test_a_restart_with_more_channels_needs_a_savepoint() -> None:
    """Its windows would be read as something else."""
    listing = windowed(TEN, lambda w: w.process(Listed()))
    job = job_of(listing, CHANNELS[:1], typed=False)
    job.epoch(3)
    other = job_of(listing, typed=False)
    other.committed = job.committed
    with pytest.raises(CheckpointError, match="STATE_LAYOUT_CHANGED"):
        other.epoch(1)


# -- layouts of operators --------------------------------------------------------------------------

SUM = windowed(TEN, lambda w: w.sum(1))


@pytest.mark.parametrize(
    ("before", "after", "typed", "was"),
    [
        (SUM, windowed(TEN, lambda w: w.count()), True, "partial sums of"),
        (SUM, windowed(TEN, lambda w: w.process(Listed())), True, "partial sums of"),
        (SUM, windowed(TEN, lambda w: w.evictor(CountEvictor.of(2)).sum(1)), True, "partial sums"),
        (windowed(TEN, lambda w: w.count()), SUM, True, "counts of"),
        (windowed(TEN, lambda w: w.process(Listed())), SUM, True, "columns of"),
        (
            lambda s: s.key_by(lambda r: r[0]).process(Passing()),
            windowed(TEN, lambda w: w.process(Listed())),
            False,
            "as pages",
        ),
        (
            lambda s: s.key_by(lambda r: r[0]).reduce(max),
            lambda s: s.key_by(lambda r: r[0]).process(Passing()),
            True,
            "reduced values in pages",
        ),
    ],
)
def test_an_operator_that_keeps_its_state_differently(
    before: Build, after: Build, typed: bool, was: str
) -> None:
    job = job_of(before)
    job.epoch(4)
    with pytest.raises(CheckpointError, match=was) as caught:
        job_of(after, savepoint=job.savepoint(), typed=typed)
    error = caught.value
    assert error.code == "STATE_LAYOUT_CHANGED"
    assert error.parameters["uid"] == "op" and error.parameters["was"] != error.parameters["is"]
    assert error.location is not None and error.hint


@pytest.mark.parametrize(
    ("before", "after", "typed"),
    [
        (SUM, windowed(TumblingEventTimeWindows.of(20), lambda w: w.sum(1)), True),
        (SUM, windowed(TumblingEventTimeWindows.of(10, 5), lambda w: w.sum(1)), True),
        (SUM, windowed(SlidingEventTimeWindows.of(10, 5), lambda w: w.sum(1)), True),
        (SUM, SUM, False),
        (SUM, windowed(EventTimeSessionWindows.with_gap(5), lambda w: w.sum(1)), True),
        (
            windowed(TEN, lambda w: w.process(Listed())),
            windowed(TumblingEventTimeWindows.of(5), lambda w: w.process(Listed())),
            True,
        ),
    ],
    ids=["size", "offset", "slide", "no type", "sessions", "kept records"],
)
def test_state_by_column_becomes_windows_of_other_windows(
    before: Build, after: Build, typed: bool
) -> None:
    """What they mean is compared in tests/properties/test_other_operators.py."""
    job = job_of(before)
    job.epoch(4)
    later = job_of(after, savepoint=job.savepoint(), typed=typed)
    (choice,) = later.component.choices.values()
    assert choice.layout == "windows in pages"
    assert "the stored state is by column, and becomes windows of single records" in choice.reason
    later.run_all()
    assert later.outputs["out"] and later.savepoint().layouts == {"op": "windows in pages"}


def test_a_window_of_the_same_panes_goes_on() -> None:
    job = job_of(SUM)
    job.epoch(4)
    later = job_of(SUM, savepoint=job.savepoint())
    later.run_all()
    assert later.outputs["out"]


# -- strategies over one source --------------------------------------------------------------------


def strategies_job(names: list[str], savepoint: LocalSavepoint | None = None) -> LocalJob:
    """A branch for each name, all over one source, with a strategy of its own."""
    env = StreamExecutionEnvironment.get_execution_environment()
    source = TestSource(*CHANNELS)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "source", RECORD).uid("src")
    for name in names:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda record, _: record[2]
        )
        timed = stream.assign_timestamps_and_watermarks(strategy).uid(f"{name} times")
        windows = timed.key_by(lambda record: record[0]).window(TEN)
        windows.sum(1).uid(name).print().name(name).uid(f"{name} sink")
    return LocalJob(
        env._job_graph(),
        JobOptions(parallelism=1, slots=2),
        savepoint=savepoint,
        allow_non_restored_state=True,
    )


def test_a_strategy_may_come_after_those_that_there_are() -> None:
    whole = strategies_job(["one", "two"])
    whole.run_all(2)
    job = strategies_job(["one", "two"])
    job.epoch(2)
    for names in (["one", "two"], ["two", "one"], ["one", "two", "three"], ["three", "two", "one"]):
        later = strategies_job(names, job.savepoint())
        later.run_all(2)
        for name in ("one", "two"):
            found = job.outputs[name] + later.outputs[name]
            assert sorted(found) == sorted(whole.outputs[name])


def test_the_last_strategy_may_go() -> None:
    job = strategies_job(["one", "two"])
    job.epoch(2)
    whole = strategies_job(["one"])
    whole.run_all(2)
    later = strategies_job(["one"], job.savepoint())
    later.run_all(2)
    assert sorted(job.outputs["one"] + later.outputs["one"]) == sorted(whole.outputs["one"])


def test_the_first_strategy_may_not_go() -> None:
    """The channels of the second would be taken for those of the first."""
    job = strategies_job(["one", "two"])
    job.epoch(2)
    with pytest.raises(CheckpointError, match="CHANNELS_CHANGED") as caught:
        strategies_job(["two"], job.savepoint())
    assert "'two times'" in str(caught.value) and "'src'" in str(caught.value)


def test_state_without_an_operator_has_to_be_given_up() -> None:
    job = job_of(SUM)
    job.epoch(4)
    renamed = windowed(TEN, lambda w: w.sum(1).uid("other").map(lambda v: v))
    with pytest.raises(CheckpointError, match=r"NON_RESTORED_STATE.*'op'.*'other'"):
        job_of(renamed, savepoint=job.savepoint())


def test_what_is_given_up_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    channels = [[("a", 1, ts)] for ts in (5, 7)]
    job = job_of(SUM, channels, "watermark")
    job.epoch({(0, 1): 1})
    saved = job.savepoint()
    assert saved.state.with_waiting_records() == {"op"}
    renamed = windowed(TEN, lambda w: w.sum(1).uid("other").map(lambda v: v))
    job_of(renamed, channels, "watermark", saved, gives_up=True)
    (message,) = [record.getMessage() for record in caplog.records]
    assert message == (
        "non-restored state: the state of 'op' is dropped, and the records that waited before it for "
        "other channels"
    )


# -- watermarks made behind a keyed operator -------------------------------------------------------


class Counting(WatermarkGenerator):
    """A watermark of ten for each record it has seen."""

    def __init__(self) -> None:
        self.seen = 0

    def on_event(self, event: Any, timestamp: int, output: Any) -> None:
        self.seen += 1
        output.emit_watermark(Watermark(10 * self.seen))

    def on_periodic_emit(self, output: Any) -> None:
        pass


@pytest.mark.parametrize("slots", [1, 2, 3, 4, 5, 7])
def test_the_one_channel_behind_a_keyed_operator_is_found_again(slots: int) -> None:
    """It is in the slot where its records go, and not where its number would be."""

    def build(stream: DataStream) -> DataStream:
        passed = stream.key_by(lambda record: record[0]).process(Passing(), RECORD).uid("passing")
        again = WatermarkStrategy.for_generator(Counting).with_timestamp_assigner(
            lambda record, _: record[2]
        )
        timed = passed.assign_timestamps_and_watermarks(again).uid("again")
        return windowed(TEN, lambda w: w.process(Listed()))(timed)

    whole = job_of(build, CHANNELS[:1])
    whole.run_all(2)
    job = job_of(build, CHANNELS[:1])
    job.epoch(2)
    savepoint = job.savepoint()
    later = LocalJob(
        job.component.graph, JobOptions(parallelism=1, slots=slots), savepoint=savepoint
    )
    later.epoch(1)
    table = later.savepoint().state.tables["again", "count"][0]
    assert table.column("value_number").to_pylist() == [3]
    later.run_all(2)
    assert job.outputs["out"] + later.outputs["out"] == whole.outputs["out"]
