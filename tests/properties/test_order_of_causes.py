"""No effect comes before its cause, through any number of operators. The oracle lets each record run
through the whole program; the kernel must give the same, in the same order."""

from __future__ import annotations

from typing import Any

from deep_programs import DeepProgram, deep_programs
from hypothesis import given
from hypothesis import strategies as st
from oracle import Event
from programs import Outputs, per_channel

from millstream.plan.options import ChannelOrder, JobOptions
from millstream.testing import LocalJob
from strategies import LAYOUTS, Cut, Layout, even_cut, events, examples, uneven_channels, uneven_cut


def run(
    program: DeepProgram,
    channels: list[list[Event]],
    layout: Layout,
    cut: Cut | None,
    order: ChannelOrder = "arrival",
    **options: Any,
) -> Outputs:
    """What the kernel gives; without a cut in batch mode."""
    settings = JobOptions(parallelism=layout.parallelism, slots=layout.slots, channel_order=order)
    job = LocalJob(program.graph(channels), settings, batch=cut is None, **options)
    if cut is None:
        return job.run_all(splits=layout.splits)
    for reads in cut:
        job.epoch(per_channel(reads), splits=layout.splits)
    job.epoch(0, end=True)
    return job.outputs


def assert_same(got: Outputs, expected: Outputs, where: str) -> None:
    for sink, records in expected.items():
        assert [tuple(record) for record in got[sink]] == records, f"sink {sink!r}, {where}"


def cuts(channels: list[list[Event]], data: st.DataObject) -> dict[str, Cut | None]:
    lengths = [len(channel) for channel in channels]
    random = data.draw(uneven_cut(lengths), label="cut")
    return {"1": even_cut(lengths, 1), "random": random, "all": even_cut(lengths, 1_000)}


@examples(80)
@given(deep_programs(), events(), LAYOUTS, st.data())
def test_one_channel_any_cut(
    program: DeepProgram, channel: list[Event], layout: Layout, data: st.DataObject
) -> None:
    expected = program.expected([channel])
    for name, cut in [*cuts([channel], data).items(), ("batch", None)]:
        assert_same(run(program, [channel], layout, cut), expected, f"epochs of {name}")


@examples(50)
@given(deep_programs(), uneven_channels(), LAYOUTS, st.data())
def test_several_channels_in_watermark_order_any_cut(
    program: DeepProgram, channels: list[list[Event]], layout: Layout, data: st.DataObject
) -> None:
    expected = program.expected(channels)
    for name, cut in [*cuts(channels, data).items(), ("batch", None)]:
        got = run(program, channels, layout, cut, "watermark")
        assert_same(got, expected, f"epochs of {name}")


@examples(40)
@given(deep_programs(windows=False), uneven_channels(), LAYOUTS, st.data())
def test_several_channels_as_they_come(
    program: DeepProgram, channels: list[list[Event]], layout: Layout, data: st.DataObject
) -> None:
    for name, cut in cuts(channels, data).items():
        got = run(program, channels, layout, cut)
        assert_same(got, program.expected(channels, cut), f"epochs of {name}")
