"""An operator that shares the stage of the one before it gives what it gives in a stage of its own.

The tests of the order of causes compare both with the oracle; here the same program runs in both ways,
and goes on from a savepoint of one way in the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from millstream.plan.options import CHAINING, ChannelOrder, JobOptions
from millstream.testing import LocalJob
from tests.support.properties.deep_programs import DeepProgram, deep_programs
from tests.support.properties.oracle import Event
from tests.support.properties.programs import per_channel
from tests.support.strategies import LAYOUTS, Cut, Layout, examples, uneven_channels, uneven_cut

ORDERS: st.SearchStrategy[ChannelOrder] = st.sampled_from(("arrival", "watermark"))


def job(
    program: DeepProgram,
    channels: list[list[Event]],
    layout: Layout,
    order: ChannelOrder,
    *,
    chained: bool,
    **more: Any,
) -> LocalJob:
    options = JobOptions(
        parallelism=layout.parallelism,
        slots=layout.slots,
        channel_order=order,
        configuration={CHAINING: str(chained).lower()},
    )
    return LocalJob(program.graph(channels), options, **more)


def epochs(running: LocalJob, cut: Cut, layout: Layout) -> list[Any]:
    """What comes out epoch by epoch: chaining must not move a record to another one."""
    found: list[Any] = [running.epoch(per_channel(r), splits=layout.splits) for r in cut]
    return found


def stages(running: LocalJob) -> int:
    return len(running.programs.stages)


@examples(60)
@given(deep_programs(promises=True, again=True), uneven_channels(), LAYOUTS, ORDERS, st.data())
def test_the_same_in_every_epoch(
    program: DeepProgram,
    channels: list[list[Event]],
    layout: Layout,
    order: ChannelOrder,
    data: st.DataObject,
) -> None:
    cut = data.draw(uneven_cut([len(channel) for channel in channels]), label="cut")
    apart = job(program, channels, layout, order, chained=False)
    together = job(program, channels, layout, order, chained=True)
    assume(stages(together) < stages(apart))
    assert epochs(together, cut, layout) == epochs(apart, cut, layout)
    assert together.epoch(0, end=True) == apart.epoch(0, end=True)
    counts = [
        {uid: (one.records_in, one.records_out) for uid, one in running.metrics.operators.items()}
        for running in (together, apart)
    ]
    assert counts[0] == counts[1]


@examples(60)
@given(
    deep_programs(promises=True, again=True),
    uneven_channels(),
    LAYOUTS,
    st.sampled_from((1, 2, 3)),
    ORDERS,
    st.booleans(),
    st.data(),
)
def test_a_savepoint_of_one_way_goes_on_in_the_other(
    program: DeepProgram,
    channels: list[list[Event]],
    layout: Layout,
    later_slots: int,
    order: ChannelOrder,
    chained: bool,
    data: st.DataObject,
) -> None:
    cut = data.draw(uneven_cut([len(channel) for channel in channels]), label="cut")
    until = data.draw(st.integers(1, len(cut)), label="until") if cut else 0
    first = job(program, channels, layout, order, chained=chained)
    whole = job(program, channels, layout, order, chained=not chained)
    assume(stages(first) != stages(whole))
    assert epochs(first, cut[:until], layout) == epochs(whole, cut[:until], layout)
    later = replace(layout, slots=later_slots)
    second = job(program, channels, later, order, chained=not chained, savepoint=first.savepoint())
    assert epochs(second, cut[until:], layout) == epochs(whole, cut[until:], layout)
    assert second.epoch(0, end=True) == whole.epoch(0, end=True)
