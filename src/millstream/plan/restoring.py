"""Whether a program can go on from the state of another."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping

from millstream.common.errors import CheckpointError
from millstream.common.typeinfo import TypeInformation
from millstream.kernel.state.compatibility import keys_changed, layout_changed, other_keys
from millstream.kernel.tables.rolling import IN_COLUMNS
from millstream.kernel.windows.pane_layout import IN_PAGES, PaneLayout
from millstream.plan.graph import KeyedNode, Node
from millstream.plan.operators import REDUCED_IN_PAGES
from millstream.plan.planner import Component

log = logging.getLogger("millstream")


def key_types(component: Component) -> dict[str, TypeInformation | None]:
    """The operators that may have state by uid, with the types of their keys."""
    found: dict[str, TypeInformation | None] = {}
    for level in component.levels:
        for node in level:
            found[component.uids[node.id]] = node.key_type if isinstance(node, KeyedNode) else None
    return found


def depths(component: Component) -> dict[str, int]:
    """The depths of the operators that may have state, by uid."""
    nodes = [node for level in component.levels for node in level]
    return {component.uids[node.id]: component.ranks[node.id].depth for node in nodes}


def non_restored(
    stored: Collection[str],
    waiting: Collection[str],
    components: Iterable[Component],
    allowed: bool,
) -> frozenset[str]:
    """The operators of the stored state that the program does not have; an error unless allowed.

    ``waiting``: the operators with records before them that wait for other channels. What is dropped is
    logged.
    """
    known: set[str] = set()
    for component in components:
        known |= key_types(component).keys()
    gone = sorted({*stored, *waiting} - known)
    if gone and not allowed:
        raise CheckpointError(
            "NON_RESTORED_STATE",
            "the program has no operator for the state of "
            f"{', '.join(map(repr, gone))}; its operators with state are "
            f"{', '.join(map(repr, sorted(known))) or 'none'}",
            hint="give the operator its uid again, or allow non-restored state to go on without it",
        )
    for uid in gone:
        more = (
            ", and the records that waited before it for other channels" if uid in waiting else ""
        )
        log.warning("non-restored state: the state of %r is dropped%s", uid, more)
    return frozenset(gone)


def refuse_other_keys(
    stored: Mapping[str, TypeInformation | None], components: Iterable[Component]
) -> None:
    """Refuse a program whose operators have keys of other types than those of the stored state."""
    for component in components:
        changes = other_keys(stored, key_types(component))
        if changes:
            raise keys_changed(changes, "the savepoint")


def record_types(component: Component) -> dict[str, TypeInformation]:
    """The types of the records that operators with keyed state read, by uid, where they are known."""
    found = {}
    for node_id, choice in component.choices.items():
        type_info = component.graph[component.graph[node_id].inputs[0]].output_type
        if choice.layout is not None and type_info is not None:
            found[component.uids[node_id]] = type_info
    return found


def panes_of_windows(component: Component) -> dict[str, str]:
    """The layouts by column that windows in pages can be made into, by uid."""
    return {
        component.uids[node_id]: choice.as_panes
        for node_id, choice in component.choices.items()
        if choice.as_panes is not None
    }


def state_layouts(component: Component) -> dict[str, str]:
    """How the operators with keyed state keep it, by uid."""
    return {
        component.uids[node_id]: choice.layout
        for node_id, choice in component.choices.items()
        if choice.layout is not None
    }


def refuse_other_layouts(stored: Mapping[str, str], components: Iterable[Component]) -> None:
    """Refuse a program with an operator that cannot take over what is stored of it."""
    for component in components:
        nodes = {component.uids[node.id]: node for level in component.levels for node in level}
        for uid, layout in state_layouts(component).items():
            was = stored.get(uid, layout)
            if was != layout and not _can_become(was, layout, nodes[uid]):
                raise layout_changed(uid, was, layout, nodes[uid].location)


def _can_become(was: str, layout: str, node: Node) -> bool:
    """Whether stored state can be made into another layout: panes into windows, rows into cells."""
    panes = PaneLayout.read(was)
    if {was, layout} == {REDUCED_IN_PAGES, IN_COLUMNS}:
        return True
    if panes is None:
        # The planner has chosen panes for windows only if those can become panes.
        return was == IN_PAGES and PaneLayout.read(layout) is not None
    is_window = isinstance(node, KeyedNode) and layout == IN_PAGES
    return is_window and panes.becomes_windows_of(node.function)  # type: ignore[attr-defined]


Offsets = Mapping[str, Mapping[str, int]]
"""By the uids of a timeline and of a source, what the source's channels have been moved by."""


def channel_offsets(component: Component) -> dict[str, dict[str, int]]:
    """How the channels of each timeline are told apart from those of others over the same source."""
    uids = component.uids
    found: dict[str, dict[str, int]] = {}
    for source in component.sources:
        for timeline in sorted(component.timelines_of_source(source.id)):
            offset = component.channel_offset(source.id, timeline)
            found.setdefault(uids[timeline], {})[uids[source.id]] = offset
    return found


def refuse_other_offsets(stored: Offsets, components: Iterable[Component]) -> None:
    """Refuse a program in which the channels of a timeline are not those of the stored state."""
    for component in components:
        for timeline, offsets in channel_offsets(component).items():
            known = stored.get(timeline, {})
            for source, offset in offsets.items():
                if known.get(source, offset) != offset:
                    raise _other_channels(timeline, source)


def _other_channels(timeline: str, source: str) -> CheckpointError:
    return CheckpointError(
        "CHANNELS_CHANGED",
        f"the watermark strategy {timeline!r} is one of several over source {source!r}, and those "
        "before it have been added or removed",
        parameters={"timeline": timeline, "source": source},
        hint="keep the other strategies over this source, with their uids; new ones may come after "
        "them, but not at the source itself",
    )


def refuse_ended(ended: Collection[int]) -> None:
    """Refuse to go on where all input has ended: every timer has fired then."""
    if ended:
        raise CheckpointError(
            "SAVEPOINT_ENDED",
            "the savepoint was taken after the end of the input, when everything had fired",
            hint="take a savepoint before the input ends, or begin a new run",
        )
