"""design.md 1: results do not depend on the schedule. The oracle says what they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.watermark_strategy import WatermarkStrategy
from millstream.connectors.collection import CollectionSource
from millstream.connectors.simple_sinks import DiscardingSink
from millstream.kernel.state import pages
from millstream.plan.graph import JobGraph, KeyedNode, SinkNode, SourceNode
from millstream.plan.options import ChannelOrder, JobOptions
from millstream.testing import LocalJob
from tests.support.properties.blocks import Block, blocks
from tests.support.properties.oracle import Event
from tests.support.properties.programs import Outputs, Program, by_name, programs
from tests.support.strategies import (
    BOUNDS,
    LAYOUTS,
    Cut,
    Layout,
    even_cut,
    events,
    examples,
    uneven_channels,
    uneven_cut,
)

EVERYTHING = 1_000


def cuts(channels: list[list[Event]], data: st.DataObject) -> dict[str, Cut]:
    lengths = [len(channel) for channel in channels]
    return {
        "1": even_cut(lengths, 1),
        "7": even_cut(lengths, 7),
        "random": data.draw(uneven_cut(lengths), label="cut"),
        "all": even_cut(lengths, EVERYTHING),
    }


def assert_same(got: Outputs, expected: Outputs, where: str) -> None:
    for sink, records in expected.items():
        assert got[sink] == records, f"sink {sink!r}, {where}"


@examples(50)
@given(programs(), events(), LAYOUTS, st.data())
def test_one_channel_any_program_any_cut(
    program: Program, channel: list[Event], layout: Layout, data: st.DataObject
) -> None:
    expected = program.expected([channel])
    for name, cut in cuts([channel], data).items():
        assert_same(program.run([channel], layout, cut), expected, f"epochs of {name}")
    assert_same(program.run_batch([channel], layout), expected, "batch")


@examples(50)
@given(programs(), uneven_channels(), LAYOUTS, st.data())
def test_channel_order_watermark_any_program_any_cut(
    program: Program, channels: list[list[Event]], layout: Layout, data: st.DataObject
) -> None:
    expected = program.expected(channels)
    for name, cut in cuts(channels, data).items():
        got = program.run(channels, layout, cut, order="watermark")
        assert_same(got, expected, f"epochs of {name}")
    assert_same(program.run_batch(channels, layout), expected, "batch")


@examples(40)
@given(programs(), uneven_channels(), LAYOUTS, st.data())
def test_channel_order_arrival_follows_the_rules_epoch_by_epoch(
    program: Program, channels: list[list[Event]], layout: Layout, data: st.DataObject
) -> None:
    for name, cut in cuts(channels, data).items():
        got = program.run(channels, layout, cut)
        assert_same(got, program.expected(channels, cut), f"epochs of {name}")


@examples(40)
@given(programs(past=True), events(), LAYOUTS, st.data())
def test_timers_at_or_before_the_clock_any_cut(
    program: Program, channel: list[Event], layout: Layout, data: st.DataObject
) -> None:
    expected = program.expected([channel])
    for name, cut in cuts([channel], data).items():
        assert_same(program.run([channel], layout, cut), expected, f"epochs of {name}")
    assert_same(program.run_batch([channel], layout), expected, "batch")


@examples(30)
@given(programs(), uneven_channels(), LAYOUTS, st.data())
def test_restart_after_every_epoch_changes_nothing(
    program: Program, channels: list[list[Event]], layout: Layout, data: st.DataObject
) -> None:
    cut = cuts(channels, data)["random"]
    got = program.run(channels, layout, cut, order="watermark", restart=True)
    assert_same(got, program.expected(channels), "channel order watermark")
    got = program.run(channels, layout, cut, restart=True)
    assert_same(got, program.expected(channels, cut), "channel order arrival")


@examples(25)
@given(programs(past=True), BOUNDS, uneven_channels(), LAYOUTS, st.booleans(), st.data())
def test_timestamps_assigned_again_after_a_keyed_stage_any_cut(
    program: Program,
    bound: int,
    channels: list[list[Event]],
    layout: Layout,
    restart: bool,
    data: st.DataObject,
) -> None:
    program = replace(program, again=bound)
    expected = program.expected(channels)
    for name, cut in cuts(channels, data).items():
        got = program.run(channels, layout, cut, order="watermark", restart=restart)
        assert_same(got, expected, f"channel order watermark, epochs of {name}")
        got = program.run(channels, layout, cut, restart=restart)
        assert_same(got, program.expected(channels, cut), f"arrival, epochs of {name}")
    assert_same(program.run_batch(channels, layout), expected, "batch")


@examples(30)
@given(programs(), blocks(past=True), BOUNDS, uneven_channels(), LAYOUTS, st.booleans(), st.data())
def test_streams_with_other_watermarks_that_meet_any_cut(
    program: Program,
    second: Block,
    bound: int,
    channels: list[list[Event]],
    layout: Layout,
    restart: bool,
    data: st.DataObject,
) -> None:
    """The order of a batch is that of channel order "watermark"."""
    program = replace(program, second=second, again=bound, meet=True)
    expected = program.run_batch(channels, Layout())
    for name, cut in cuts(channels, data).items():
        got = program.run(channels, layout, cut, order="watermark", restart=restart)
        assert_same(got, expected, f"epochs of {name}")


@examples(25)
@given(programs(), events(), LAYOUTS, st.data())
def test_pages_that_split_all_the_time_change_nothing(
    program: Program, channel: list[Event], layout: Layout, data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "SPLIT_BYTES", 64)
        patch.setattr(pages, "SPLIT_KEYS", 1)
        got = program.run([channel], layout, cuts([channel], data)["random"])
    assert_same(got, program.expected([channel]), "tiny pages")


# -- rolling reduce ------------------------------------------------------------------------------


def total(one: tuple[str, int, tuple[int, ...]], other: tuple[str, int, tuple[int, ...]]) -> object:
    """The order of the trace shows the order of the records."""
    return one[0], one[1] + other[1], (*one[2], other[1])


def rolling(
    channels: list[list[Event]], layout: Layout, *, batch: bool, order: ChannelOrder = "watermark"
) -> LocalJob:
    graph = JobGraph()
    source = CollectionSource(
        tuple(tuple(value for value, _ in channel) for channel in channels),
        tuple(tuple(ts for _, ts in channel) for channel in channels),
    )
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    node = graph.add(SourceNode, name="s", source=source, strategy=strategy)
    reduced = graph.add(
        KeyedNode, name="r", inputs=(node.id,), selector=by_name, kind="reduce", function=total
    )
    graph.add(SinkNode, name="out", inputs=(reduced.id,), sink=DiscardingSink())
    options = JobOptions(parallelism=layout.parallelism, slots=layout.slots, channel_order=order)
    return LocalJob(graph, options, batch=batch)


@examples(30)
@given(uneven_channels(), LAYOUTS, st.sampled_from((1, 3, None)))
def test_rolling_reduce_in_batch_is_the_last_value_per_key_of_the_stream(
    channels: list[list[Event]], layout: Layout, size: int | None
) -> None:
    streamed = rolling(channels, layout, batch=False).run_all(size, splits=layout.splits)
    batched = rolling(channels, layout, batch=True).run_all(splits=layout.splits)
    last = {value[0]: (value, ts) for value, ts in streamed["out"]}
    assert {value[0]: (value, ts) for value, ts in batched["out"]} == last
    assert len(batched["out"]) == len(last)


@examples(30)
@given(events(), LAYOUTS, st.sampled_from((1, 3, None)))
def test_rolling_reduce_emits_every_update_in_order(
    channel: list[Event], layout: Layout, size: int | None
) -> None:
    expected: list[Any] = []
    reduced: dict[Any, Any] = {}
    for value, ts in channel:
        name = value[0]
        reduced[name] = total(reduced[name], value) if name in reduced else value
        expected.append((reduced[name], ts))
    got = rolling([channel], layout, batch=False, order="arrival").run_all(size)
    assert got["out"] == expected
