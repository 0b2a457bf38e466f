"""Random programs with two to four watermark strategies in a row, with and without keyed operators and
functions without a key between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from hypothesis import strategies as st

from millstream.common.watermark_strategy import WatermarkStrategy
from millstream.connectors.collection import CollectionSource
from millstream.connectors.simple_sinks import DiscardingSink
from millstream.plan.graph import JobGraph, SinkNode, SourceNode, TimestampsNode
from tests.support.properties.blocks import Block, blocks
from tests.support.properties.oracle import SOURCE, Event, Operator, simulate
from tests.support.properties.programs import KEYS, Bounded, Outputs, fan, flat, keyed, stage
from tests.support.strategies import BOUNDS


@dataclass(frozen=True)
class Times:
    """A watermark strategy. ``shift``: how far it moves event times; ``custom``: by a generator."""

    bound: int
    shift: int | None = None
    custom: bool = False

    def strategy(self) -> WatermarkStrategy:
        found = WatermarkStrategy.for_bounded_out_of_orderness(self.bound)
        if self.custom:
            found = WatermarkStrategy.for_generator(partial(Bounded, self.bound))
        if self.shift is None:
            return found
        return found.with_timestamp_assigner(lambda value, before: before + (self.shift or 0))


@dataclass(frozen=True)
class Keyed:
    does: Block
    key: Callable[[Any], Any]


Link = Times | Keyed | None
"""None is a flat map."""


@dataclass(frozen=True)
class StrategyChain:
    """Operators one behind the other. Each has a sink, except for strategies."""

    links: tuple[Link, ...]

    def graph(self, channels: Sequence[list[Event]]) -> JobGraph:
        graph = JobGraph()
        source = CollectionSource(
            tuple(tuple(value for value, _ in channel) for channel in channels),
            tuple(tuple(ts for _, ts in channel) for channel in channels),
        )
        stream = graph.add(SourceNode, name=SOURCE, source=source).id
        for number, link in enumerate(self.links):
            name = f"op{number}"
            if isinstance(link, Times):
                strategy = link.strategy()
                stream = graph.add(
                    TimestampsNode, name=name, uid=name, inputs=(stream,), strategy=strategy
                ).id
                continue
            if link is None:
                stream = flat(graph, stream)
                continue
            stream = keyed(graph, name, stream, link.key, link.does.function())
            graph.add(SinkNode, name=name, inputs=(stream,), sink=DiscardingSink())
        graph.add(SinkNode, name="last", inputs=(stream,), sink=DiscardingSink())
        return graph

    def expected(self, channels: Sequence[list[Event]]) -> Outputs:
        """What the oracle says.

        Of strategies with no keyed operator between them the last one gives the watermarks, and each
        sees the event times of those before it. Behind a keyed operator there is one channel, the
        sequence of its results.
        """
        found: dict[str, list[Event]] = {}
        now = list(channels)
        for bound, before, behind in self._timelines():
            now = [_expanded(channel, before) for channel in now]
            operators, last = [], SOURCE
            for number, link in behind:
                name = f"op{number}"
                does = fan if link is None else stage(name, link.key, link.does)
                operators.append(Operator(name, (last,), does))
                last = name
            sinks = {op.name: op.name for op in operators if op.does is not fan} | {"last": last}
            found |= simulate(now, bound, operators, sinks)
            now = [found["last"]]
        return found

    def _timelines(self) -> list[tuple[int, list[Link], list[tuple[int, Keyed | None]]]]:
        """For each timeline: its bound, what is before its strategy, and what is behind it."""
        found: list[tuple[int, list[Link], list[tuple[int, Keyed | None]]]] = []
        before: list[Link] = []
        behind: list[tuple[int, Keyed | None]] = []
        for number, link in enumerate(self.links):
            if not isinstance(link, Times):
                behind.append((number, link))
                continue
            if found and not any(isinstance(other, Keyed) for _, other in behind):
                _, before, _ = found.pop()
                before += [other for _, other in behind]
            else:
                before = [other for _, other in behind] if not found else []
            behind = []
            found.append((link.bound, [*before, link], behind))
        return found


def _expanded(channel: list[Event], links: list[Link]) -> list[Event]:
    """What becomes of a channel before its last strategy: event times, and what a flat map makes."""
    for link in links:
        if isinstance(link, Times):
            channel = [(value, ts + (link.shift or 0)) for value, ts in channel]
        else:
            channel = [(part, ts) for value, ts in channel for part in fan(value)]
    return channel


TIMES = st.builds(
    Times,
    BOUNDS,
    st.none() | st.integers(-8, 8),
    st.sampled_from((False, False, True)),
)


@st.composite
def strategy_chains(draw: st.DrawFn, *, by_channel: bool = False) -> StrategyChain:
    """Two to four strategies; the last operator is keyed, so that the last watermarks show.

    ``by_channel``: all strategies follow the channels of the source: there is no keyed operator between
    them, and no generator but in the last place.
    """
    links: list[Link] = [None] if draw(st.booleans()) else []
    keyed_links = st.builds(Keyed, blocks(past=True) | blocks(), KEYS)
    between: list[st.SearchStrategy[Any]] = [st.none()]
    if not by_channel:
        between.append(keyed_links)
    count = draw(st.integers(2, 4))
    for number in range(count):
        times = draw(TIMES)
        links.append(replace(times, custom=False) if by_channel and number < count - 1 else times)
        links += draw(st.lists(st.one_of(between), max_size=2))
    return StrategyChain((*links, draw(keyed_links)))
