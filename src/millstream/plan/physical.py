"""The physical plan: how each operator of a keyed stage runs, and why.

All choices are made here, once per plan. Compile, explain, the manifest and restoring only read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from millstream.common.typeinfo import TypeInformation
from millstream.kernel.operators.keyed import KeyedOperator
from millstream.kernel.steps.routing import Place
from millstream.kernel.windows.pane_layout import IN_PAGES, PaneLayout
from millstream.plan.chaining import Link
from millstream.plan.columnar import (
    ByColumn,
    columnar_window,
    kept_window,
    pane_equivalent,
    session_aggregate,
)
from millstream.plan.graph import (
    JobGraph,
    KeyedNode,
    Node,
    OnError,
    SourceNode,
    StatelessNode,
    TimestampsNode,
)
from millstream.plan.operators import REDUCED_IN_PAGES, SPECS, Edge
from millstream.plan.rolling import is_rolling, rolling_columns

FAIL = OnError("fail")


@dataclass(frozen=True)
class Stored:
    """The state that a job continues from, by uid.

    ``layouts``: how operators have kept it. ``as_panes``: the layouts that windows in pages can be made
    into. ``converts``: whether another layout can be made of it, as of a savepoint. ``levels``: the
    stages of operators, where their state has to stay.
    """

    layouts: Mapping[str, str] = field(default_factory=dict)
    as_panes: Mapping[str, str] = field(default_factory=dict)
    converts: bool = True
    levels: Mapping[str, int] = field(default_factory=dict)


NOTHING = Stored()


@dataclass(frozen=True)
class Choice:
    """How one operator of a keyed stage runs.

    ``kind``: see `SPECS`. ``edge``: what travels to it.
    ``layout``: how it keeps its state, None if it has no keys. ``lag``: how many instants its clock is
    behind the channels. ``by_column``: the columns that a window works on. ``as_panes``: the layout by
    column that all its windows in pages can be made into, None if that is not sure. ``links``: the ways
    by which its records come, with an exchange or without one.
    """

    kind: str
    edge: Edge
    layout: str | None
    reason: str
    on_error: OnError = FAIL
    lag: int = 0
    by_column: ByColumn | None = None
    as_panes: str | None = None
    links: tuple[Link, ...] = ()

    def link(self, origin: int, number: int) -> Link:
        """The way from an operator or source to an input."""
        return next(k for k in self.links if (k.origin, k.number) == (origin, number))

    @property
    def operator(self) -> type[KeyedOperator]:
        """The class that is built."""
        return SPECS[self.kind].operator

    def __str__(self) -> str:
        lag = f", {self.lag} ms behind its channels" if self.lag else ""
        gives = ", gives columns" if self.operator.gives_columns else ""
        return (
            f"{self.operator.__name__} reads {self.edge}{gives}, keeps "
            f"{self.layout or 'no keyed state'}, "
            f"{self.on_error.policy}s on errors{lag}: {self.reason}"
        )


def choices(
    graph: JobGraph, hosted: Mapping[int, str], on_error: OnError, stored: Stored = NOTHING
) -> dict[int, Choice]:
    """The choice for each operator of a keyed stage, by id.

    ``hosted``: their uids. ``on_error``: the policy of operators that have none of their own.
    """
    lags = _Lags(graph)
    found: dict[int, Choice] = {}
    for node_id in sorted(hosted):
        node = graph[node_id]
        policy = node.on_error or on_error
        chosen = _choice(graph, node, policy, hosted[node_id], stored)
        found[node_id] = replace(chosen, lag=lags.of(node))
    return found


def _choice(graph: JobGraph, node: Node, policy: OnError, uid: str, stored: Stored) -> Choice:
    if isinstance(node, TimestampsNode):
        return _of("timeline", policy)
    if isinstance(node, StatelessNode):
        return _of("channel", policy)
    assert isinstance(node, KeyedNode)
    if node.kind == "window":
        return _window(graph, node, policy, uid, stored)
    if node.kind == "table":
        chosen = _of("table", FAIL, reason=node.function.describe())
        return replace(chosen, layout=node.function.layout)
    if is_rolling(node):
        return _rolling(graph, node, policy, uid, stored)
    without_key = f"{node.kind} without key"
    has_key = not isinstance(node.selector, Place) or without_key not in SPECS
    return _of(node.kind if has_key else without_key, policy)


def _of(kind: str, policy: OnError, columns: ByColumn | None = None, reason: str = "") -> Choice:
    """The choice of a kind, as its specification says."""
    spec = SPECS[kind]
    assert spec.can_skip or policy.policy != "skip", f"{kind} cannot skip"
    layout = spec.layout
    if layout is None and columns is not None:
        layout = columns.layout
    return Choice(kind, spec.edge, layout, reason or spec.reason, policy, by_column=columns)


def _rolling(graph: JobGraph, node: KeyedNode, policy: OnError, uid: str, stored: Stored) -> Choice:
    """A rolling aggregate by column if it can be, and if the stored state is, or becomes, columns."""
    columns = rolling_columns(node, graph[node.inputs[0]].output_type)
    by_record = "rolling aggregate of records"
    if isinstance(columns, str):
        return _of(by_record, policy, reason=f"record by record: {columns}")
    if policy.policy == "skip":
        return _of(by_record, policy, reason=_ONE_BY_ONE)
    if stored.layouts.get(uid) == REDUCED_IN_PAGES:
        if not stored.converts:
            why = "it could be by column, but the stored state has values of single keys"
            return _of(by_record, policy, reason=f"record by record: {why}")
        why = "the stored state has values of single keys, and becomes columns"
        chosen = _of("rolling aggregate", policy, columns)
        return replace(chosen, reason=f"{chosen.reason}; {why}")
    return _of("rolling aggregate", policy, columns)


def _window(graph: JobGraph, node: KeyedNode, policy: OnError, uid: str, stored: Stored) -> Choice:
    """The quickest operator that does what a window asks for, and can go on from what is stored."""
    type_info = graph[node.inputs[0]].output_type
    quickest = _quickest_window(node, type_info, policy)
    was, could_be = stored.layouts.get(uid), pane_equivalent(node, type_info)
    as_panes = could_be if was is None or could_be in (was, stored.as_panes.get(uid)) else None
    if was is None or was == quickest.layout:
        return replace(quickest, as_panes=as_panes) if quickest.layout == IN_PAGES else quickest
    by_record = _window_in_pages(node, policy, session_aggregate(node, type_info))
    by_record = replace(by_record, as_panes=as_panes)
    if PaneLayout.read(was) is not None:
        why = "the stored state is by column, and becomes windows of single records"
    elif quickest.layout == by_record.layout:
        return by_record
    elif stored.converts and quickest.layout == stored.as_panes.get(uid):
        why = "the stored state has windows of single records, and becomes columns"
        return replace(quickest, reason=f"{quickest.reason}; {why}")
    else:
        why = "it could be by column, but the stored state has windows of single records"
    return replace(by_record, reason=f"{by_record.reason}; {why}")


def _quickest_window(node: KeyedNode, type_info: TypeInformation | None, policy: OnError) -> Choice:
    if (columns := columnar_window(node, type_info)) is not None:
        return _of("columnar window", policy, columns)
    if (columns := kept_window(node, type_info)) is not None:
        return _of("kept window", policy, columns)
    return _window_in_pages(node, policy, session_aggregate(node, type_info))


_ONE_BY_ONE = "record by record: a record that fails is undone and skipped by itself"


def _window_in_pages(node: KeyedNode, policy: OnError, columns: ByColumn | None) -> Choice:
    """The quickest operator that keeps a table of windows for each key."""
    spec = node.function
    kind = "window"
    if spec.alignment is not None:
        kind = "aligned window"
    elif columns is not None:
        kind = "session runs"
    elif spec.plain_sessions():
        kind = "session window"
    if policy.policy == "skip" and not SPECS[kind].can_skip:
        return _of("window", policy, reason=_ONE_BY_ONE)
    return _of(kind, policy, columns if kind == "session runs" else None)


class _Lags:
    """How far operators' clocks are behind the channels: by what the operators before them are late."""

    def __init__(self, graph: JobGraph) -> None:
        self._graph = graph
        self._known: dict[int, int] = {}

    def of(self, node: Node) -> int:
        if node.id not in self._known:
            self._known[node.id] = self._behind(node)
        return self._known[node.id]

    def _behind(self, node: Node) -> int:
        lags = [0]
        for other in (self._graph[node_id] for node_id in node.inputs):
            if not isinstance(other, TimestampsNode | SourceNode):
                lags.append(self.of(other) + _delay(other))
        return max(lags)


def _delay(node: Node) -> int:
    """How much later than others an operator emits: windows that merge by an instant."""
    if isinstance(node, KeyedNode) and node.kind == "window":
        return int(node.function.waits_for_its_end())
    if isinstance(node, KeyedNode) and node.kind == "table":
        return int(node.function.delay)
    return 0
