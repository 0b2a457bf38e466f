"""Showing how a job will run: stages, levels, what was fused, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from millstream.common.secrets import masked_uris
from millstream.kernel.steps.routing import Place
from millstream.plan.graph import (
    ExchangeNode,
    JobGraph,
    KeyedNode,
    Node,
    ReinterpretNode,
    Selector,
    SinkNode,
    SourceNode,
    TimestampsNode,
    UnionNode,
)
from millstream.plan.operators import SPECS
from millstream.plan.options import JobOptions
from millstream.plan.physical import NOTHING, Stored
from millstream.plan.planner import Component, plan
from millstream.plan.restoring import state_layouts
from millstream.plan.used_fields import used_fields


@dataclass(frozen=True)
class Explanation:
    """A plan as text and as a Mermaid diagram."""

    text: str
    mermaid: str


def explain(graph: JobGraph, options: JobOptions, stored: Stored = NOTHING) -> Explanation:
    """Plan a job and say what was decided. ``stored``: see `plan`."""
    components = plan(graph, options.configuration, stored).components
    mode = _mode(components, options)
    lines = [
        f"{options.name}: {len(components)} {'query' if len(components) == 1 else 'queries'}, "
        f"{mode}, parallelism {options.parallelism}, {options.slot_count} slots, "
        f"channel order {options.channel_order!r}"
    ]
    for component in components:
        lines += _Text(component, options).lines()
    lines += _restored(components, options, stored)
    return Explanation(masked_uris("\n".join(lines)), masked_uris(_mermaid(components)))


def _restored(
    components: tuple[Component, ...], options: JobOptions, stored: Stored
) -> Iterator[str]:
    """A line for each operator that finds its stored state, that begins empty, or that is gone."""
    if not stored.layouts:
        return
    known = {uid for component in components for uid in state_layouts(component)}
    for uid in sorted(known):
        yield (
            f"restored: the state of {uid!r}" if uid in stored.layouts else f"begins empty: {uid!r}"
        )
    for uid in sorted(stored.layouts.keys() - known):
        if options.allow_non_restored_state:
            yield (
                f"not restored: the state of {uid!r} is dropped, and so are the records that waited "
                "before it for other channels"
            )
        else:
            yield f"not restored: no operator takes over the state of {uid!r}, which has to be allowed"


def _mode(components: tuple[Component, ...], options: JobOptions) -> str:
    bounded = all(source.source.bounded for c in components for source in c.sources)
    if options.mode == "automatic":
        chosen = "batch" if bounded else "streaming"
        reason = "all sources are bounded" if bounded else "a source is unbounded"
        return f"{chosen} (automatic: {reason})"
    return options.mode


class _Text:
    """The text of one component."""

    def __init__(self, component: Component, options: JobOptions) -> None:
        self.component = component
        self.options = options
        self.graph = component.graph

    def lines(self) -> Iterator[str]:
        component = self.component
        yield f"query {component.index}"
        for source in component.sources:
            yield f"  source stage: {self._title(source)}"
            ends = "" if source.source.bounded else "; without end"
            yield f"    channels: {source.source.describe_channels()}{ends}"
            if (reading := source.source.describe_reading(self.options.configuration)) is not None:
                yield f"    read by: {reading}{self._columns(source)}"
            yield from self._fused(source, source, "    ")
        for number, level in enumerate(component.levels, start=1):
            yield f"  keyed stage {number}: one exchange by key into {self._slots()}"
            for node in level:
                yield f"    {self._title(node)}"
                yield f"      clock: {self._clock(node)}"
                choice = component.choices[node.id]
                if (heading := SPECS[choice.kind].heading) is not None:
                    yield f"      {heading}: {choice.reason}"
                if choice.on_error.policy == "skip":
                    yield "      on error: skip"
                yield from self._fused(node, node, "      ")
            yield from self._passing(number)

    def _columns(self, source: SourceNode) -> str:
        """The fields that are read, if somebody reads only some."""
        used = used_fields(self.component, source)
        names = getattr(source.output_type, "field_names", None)
        if used is None or names is None or len(used) == len(names):
            return ""
        return f"; nobody reads {', '.join(n for i, n in enumerate(names) if i not in used)}"

    def _slots(self) -> str:
        count = self.options.slot_count
        return f"{count} slot{'s' if count != 1 else ''}"

    def _fused(self, entry: Node, node: Node, indent: str) -> Iterator[str]:
        """Operators that run after a node in the stage of its entry, up to where records leave it."""
        for reader, number in self.component.consumers(node.id):
            if isinstance(reader, KeyedNode):
                yield f"{indent}-> {self._title(reader)}, {self._edge(entry, reader, number)}"
            elif isinstance(reader, SinkNode):
                promise = f", {reader.sink.promise}" if reader.sink.promise else ""
                yield f"{indent}-> {self._title(reader)}{promise}"
            else:
                yield f"{indent}+ {self._title(reader)}: {_reason(reader)}"
                yield from self._fused(entry, reader, indent + "  ")

    def _edge(self, entry: Node, reader: KeyedNode, number: int) -> str:
        """How records come from an entry to an operator of a keyed stage, and why so."""
        which = "" if reader.second is None else f"as input {number + 1} "
        link = self.component.choices[reader.id].link(entry.id, number)
        if link.chained:
            return f"{which}chained, without an exchange: {link.reason}"
        return f"{which}in a keyed stage: {_exchange(reader.selector_of(number))}"

    def _passing(self, level: int) -> Iterator[str]:
        """Records that only pass a keyed stage on their way to a later one."""
        for later in self.component.levels[level:]:
            for node in later:
                entries = {entry.id for entry in self._entries(node)}
                earlier = {n.id for lower in self.component.levels[: level - 1] for n in lower}
                earlier |= {source.id for source in self.component.sources}
                if entries & earlier:
                    yield f"    (records for {self._title(node)} pass through untouched)"

    def _entries(self, node: Node) -> Iterator[Node]:
        for node_id in node.inputs:
            source = self.graph[node_id]
            if isinstance(source, SourceNode | KeyedNode):
                yield source
            else:
                yield from self._entries(source)

    def _clock(self, node: Node) -> str:
        timing = self.component.timing[node.id]
        names = [self.graph[i].name for i in sorted(timing.timelines)]
        untimed = [self.graph[i].name for i in sorted(timing.untimed)]
        if not names:
            return "none: no source behind it has timestamps"
        if untimed:
            return f"held back until {', '.join(untimed)} ends: it has no timestamps"
        return f"minimum over the channels of {', '.join(names)}"

    def _title(self, node: Node) -> str:
        where = f" at {node.location.file}:{node.location.line}" if node.location else ""
        kind = "" if node.output_type is None else f" -> {node.output_type}"
        return f"{node.name} [{self.component.uids[node.id]}]{kind}{where}"


def _exchange(selector: Selector) -> str:
    """Why records leave for a keyed stage, and how."""
    match selector:
        case Place.EVERY_SLOT:
            return "every slot gets a copy, and keeps what it says"
        case Place.BY_POSITION:
            return "spread over all slots, where the broadcast state is"
        case Place.BY_CHANNEL:
            return "by channel, for it reads the watermark"
        case Place.ONE_SLOT:
            return "all in one slot, for it has no key"
        case _:
            return "it needs its key's state"


def _reason(node: Node) -> str:
    match node:
        case ExchangeNode():
            return node.reason
        case ReinterpretNode():
            return "costs nothing: the program says which keys its records have"
        case UnionNode():
            return "costs nothing: both inputs keep their order keys"
        case TimestampsNode():
            return "stamps records as they are read"
        case _:
            return "fused: it has no state"


def _mermaid(components: tuple[Component, ...]) -> str:
    lines = ["flowchart LR"]
    for component in components:
        graph = component.graph
        for number, level in enumerate(component.levels, start=1):
            lines.append(f'  subgraph s{component.index}_{number}["keyed stage {number}"]')
            lines += [f'    n{node.id}["{_label(node.name)}"]' for node in level]
            lines.append("  end")
        for node_id in sorted(component.live):
            node = graph[node_id]
            shape = _shape(node)
            if shape is not None:
                lines.append(f"  n{node_id}{shape}")
            for number, other in enumerate(node.inputs):
                lines.append(f"  n{other} {_arrow(component, node, number)} n{node_id}")
    return "\n".join(lines)


def _arrow(component: Component, node: Node, number: int) -> str:
    """A thick arrow where records leave for another stage."""
    if not isinstance(node, KeyedNode):
        return "-->"
    links = [link for link in component.choices[node.id].links if link.number == number]
    return "-->" if all(link.chained for link in links) else "==>"


def _shape(node: Node) -> str | None:
    if isinstance(node, KeyedNode):
        return None
    if isinstance(node, SourceNode):
        return f'(["{_label(node.name)}"])'
    if isinstance(node, SinkNode):
        return f'[["{_label(node.name)}"]]'
    return f'("{_label(node.name)}")'


def _label(name: str) -> str:
    return name.replace('"', "'")
