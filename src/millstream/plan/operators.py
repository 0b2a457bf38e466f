"""The table of operators: for each kind what it needs, how it keeps its state, and how it is built.

An operator of the kernel becomes a part of the language of plans here, and only here: the physical plan
chooses a kind, and compile, explain and the manifest read what this table says of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.operators.channel import ChannelOperator, TimelineOperator
from millstream.kernel.operators.keyed import KeyedOperator
from millstream.kernel.operators.reduce import ReduceOperator
from millstream.kernel.operators.two_inputs.broadcast import (
    BroadcastOperator,
    KeyedBroadcastOperator,
)
from millstream.kernel.operators.two_inputs.connected import (
    CoChannelOperator,
    CoProcessOperator,
    PairKey,
)
from millstream.kernel.operators.two_inputs.interval_join import IntervalJoinOperator
from millstream.kernel.steps.routing import Place
from millstream.kernel.tables.operator import TableOperator
from millstream.kernel.tables.rolling import RollingAggregateOperator
from millstream.kernel.windows.aligned import AlignedWindowOperator
from millstream.kernel.windows.columnar import ColumnarWindowOperator
from millstream.kernel.windows.kept import KeptWindowOperator
from millstream.kernel.windows.operator import WindowOperator
from millstream.kernel.windows.pane_layout import IN_PAGES
from millstream.kernel.windows.sessions import SessionWindowOperator
from millstream.plan.graph import KeyedNode, Node, Selector
from millstream.plan.on_error import policy_of

if TYPE_CHECKING:
    from millstream.plan.physical import Choice

Edge = Literal["records", "columns", "partial sums"]
"""The input of an operator: records as they are, records as columns, or sums of records."""
Build = Callable[[Any, "Choice", "Surroundings"], Any]


@dataclass(frozen=True)
class OperatorSpec:
    """All that the planner knows of a kind of operator.

    ``operator`` is its class. ``reason``: why it is chosen. ``edge``: what travels to it. ``layout``:
    how it keeps its state; None if it has no keys, or if the layout follows from its columns.
    ``heading``: where `explain` shows the reason, None if it does not. ``can_skip``: what a function
    fails on can be undone and skipped; else the planner takes another kind if that is asked for.
    """

    operator: type[KeyedOperator]
    build: Build
    reason: str
    edge: Edge = "records"
    layout: str | None = None
    heading: str | None = None
    can_skip: bool = True


@dataclass(frozen=True)
class Surroundings:
    """The facts about the job that an operator needs.

    ``timed``: all its inputs have timestamps. ``freeze``: what it emits could be changed later.
    ``last_only``: only the last result of a key counts. ``in_order``: records come in the one order from
    epoch to epoch. ``may_change``: a function could change the records that it is given. ``offsets`` and
    ``one_channel``: the channels of a timeline.
    """

    info: OperatorInfo
    timed: bool
    freeze: bool
    last_only: bool = False
    in_order: bool = True
    may_change: bool = True
    offsets: Mapping[int, int] = field(default_factory=dict)
    one_channel: bool = False


def operator_of(node: Node, choice: Choice, around: Surroundings) -> KeyedOperator:
    """The operator that a choice names."""
    made: KeyedOperator = SPECS[choice.kind].build(node, choice, around)
    made.policy = policy_of(choice.on_error, around.info)
    return made


def _timeline(node: Any, choice: Choice, around: Surroundings) -> Any:
    operator: Any = choice.operator
    return operator(
        around.info,
        node.id,
        node.strategy,
        offsets=dict(around.offsets),
        one_channel=around.one_channel,
    )


def _without_key(node: Any, choice: Choice, around: Surroundings) -> Any:
    operator: Any = choice.operator
    return operator(around.info, node.function, timed=around.timed, freeze=around.freeze)


def _keyed(node: KeyedNode, choice: Choice, around: Surroundings, **options: Any) -> Any:
    """An operator of a function and a key selector."""
    operator: Any = choice.operator
    options = {"timed": around.timed, "freeze": around.freeze, **options}
    return operator(around.info, node.function, _selector(node), **options)


def _reduce(node: KeyedNode, choice: Choice, around: Surroundings) -> Any:
    return _keyed(node, choice, around, last_only=around.last_only)


def _rolling(node: KeyedNode, choice: Choice, around: Surroundings) -> Any:
    columns, operator = choice.by_column, choice.operator
    assert columns is not None and columns.place is not None
    return operator(  # type: ignore[call-arg]
        around.info,
        node.function,
        _selector(node),
        type_info=columns.type_info,
        key=columns.key,
        place=columns.place,
        last_only=around.last_only,
    )


def _table(node: KeyedNode, choice: Choice, around: Surroundings) -> Any:
    return node.function.operator(around.info, timed=around.timed, batch=around.last_only)


def _interval_join(node: KeyedNode, choice: Choice, around: Surroundings) -> Any:
    return _keyed(node, choice, around, may_change=around.may_change)


def _columnar_window(node: KeyedNode, choice: Choice, around: Surroundings) -> Any:
    operator, columns = choice.operator, choice.by_column
    assert columns is not None
    return operator(around.info, columns.aggregate, columns.panes, _selector(node))  # type: ignore[arg-type,call-arg]


def _kept_window(node: KeyedNode, choice: Choice, around: Surroundings) -> Any:
    columns = choice.by_column
    assert columns is not None
    return _window(node, choice, around, key=columns.key, type_info=columns.type_info)


def _session_window(node: KeyedNode, choice: Choice, around: Surroundings) -> Any:
    columns = choice.by_column
    return _window(node, choice, around, aggregate=None if columns is None else columns.aggregate)


def _window(node: KeyedNode, choice: Choice, around: Surroundings, **options: Any) -> Any:
    by_channel = node.selector is Place.BY_CHANNEL
    return _keyed(
        node,
        choice,
        around,
        in_order=by_channel or around.in_order,
        two_inputs=node.second is not None,
        by_channel=by_channel,
        may_change=around.may_change,
        **options,
    )


def _selector(node: KeyedNode) -> Callable[[Any], Any]:
    """The key selector of a record; of two inputs, both selectors."""
    first = key_selector(node.selector)
    if node.second is None or node.kind == "broadcast":
        return first
    return PairKey(first, key_selector(node.second))


def key_selector(selector: Selector) -> Callable[[Any], Any]:
    """A selector that gives a key; records that have none of their own share one."""
    return _one_key if isinstance(selector, Place) else selector


def _one_key(value: Any) -> int:
    return 0


REDUCED_IN_PAGES = "reduced values in pages"
_WITH_STATE = "its function keeps state of each key"
_EVERYWHERE = "every slot has the broadcast state"
SPECS: dict[str, OperatorSpec] = {
    "timeline": OperatorSpec(
        TimelineOperator,
        _timeline,
        "its generator sees the records of a channel in their order",
    ),
    "channel": OperatorSpec(
        ChannelOperator,
        _without_key,
        "its function reads the watermark, so it sees a channel's records in their order",
    ),
    "process": OperatorSpec(KeyedOperator, _keyed, _WITH_STATE, layout="pages"),
    "reduce": OperatorSpec(
        ReduceOperator,
        _reduce,
        "it keeps one value of each key",
        layout=REDUCED_IN_PAGES,
    ),
    "rolling aggregate": OperatorSpec(
        RollingAggregateOperator,
        _rolling,
        "by column: all records of an epoch at once, no Python object per record",
        edge="columns",
        heading="aggregate",
        can_skip=False,
    ),
    "rolling aggregate of records": OperatorSpec(
        ReduceOperator,
        _reduce,
        "record by record",
        layout=REDUCED_IN_PAGES,
        heading="aggregate",
    ),
    "table": OperatorSpec(
        TableOperator,
        _table,
        "by column: the differences of an epoch at once",
        edge="columns",
        heading="table",
        can_skip=False,
    ),
    "co_process": OperatorSpec(CoProcessOperator, _keyed, _WITH_STATE, layout="pages"),
    "co_process without key": OperatorSpec(
        CoChannelOperator,
        _without_key,
        "its function reads the watermark, and has no key",
        layout="pages",
    ),
    "broadcast": OperatorSpec(KeyedBroadcastOperator, _keyed, _EVERYWHERE, layout="pages"),
    "broadcast without key": OperatorSpec(BroadcastOperator, _keyed, _EVERYWHERE, layout="pages"),
    "interval_join": OperatorSpec(
        IntervalJoinOperator,
        _interval_join,
        "it keeps the records of both sides as long as others can meet them",
        layout="joined records in pages",
    ),
    "columnar window": OperatorSpec(
        ColumnarWindowOperator,
        _columnar_window,
        "by column: partial sums before the exchange, no Python object per record",
        edge="partial sums",
        heading="windows",
    ),
    "kept window": OperatorSpec(
        KeptWindowOperator,
        _kept_window,
        "records kept by column: Python objects are made of them when the window fires",
        edge="columns",
        heading="windows",
    ),
    "aligned window": OperatorSpec(
        AlignedWindowOperator,
        _window,
        "all records of a page at once: the windows follow from the time alone",
        layout=IN_PAGES,
        heading="windows",
        can_skip=False,
    ),
    "session runs": OperatorSpec(
        SessionWindowOperator,
        _session_window,
        "sessions by column: a run of many records is added as one",
        edge="columns",
        layout=IN_PAGES,
        heading="windows",
        can_skip=False,
    ),
    "session window": OperatorSpec(
        SessionWindowOperator,
        _session_window,
        "sessions record by record, without asking a trigger",
        layout=IN_PAGES,
        heading="windows",
        can_skip=False,
    ),
    "window": OperatorSpec(
        WindowOperator,
        _window,
        "record by record: assigner, trigger or evictor decide",
        layout=IN_PAGES,
        heading="windows",
    ),
}
"""All kinds of operators that keyed stages run."""
