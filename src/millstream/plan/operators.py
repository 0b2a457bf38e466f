"""Which operators of the kernel do what nodes of the graph ask for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from millstream.common.typeinfo import TypeInformation
from millstream.kernel.keyed import KeyedOperator
from millstream.kernel.places import Place
from millstream.kernel.runtime import OperatorInfo
from millstream.kernel.two_inputs.broadcast import BroadcastOperator, KeyedBroadcastOperator
from millstream.kernel.two_inputs.connected import CoChannelOperator, CoProcessOperator, PairKey
from millstream.kernel.two_inputs.interval_join import IntervalJoinOperator
from millstream.kernel.windows.aligned import AlignedWindowOperator
from millstream.kernel.windows.kept import KeptWindowOperator
from millstream.kernel.windows.operator import WindowOperator
from millstream.kernel.windows.sessions import SessionWindowOperator
from millstream.kernel.windows.spec import WindowSpec
from millstream.plan.columnar import field_aggregate, kept_by
from millstream.plan.graph import KeyedNode, Selector
from millstream.plan.on_error import Kinds


def window_operator(
    node: KeyedNode, type_info: TypeInformation | None, kinds: Kinds
) -> Callable[..., WindowOperator]:
    """The quickest operator that does what a window node asks for."""
    spec: WindowSpec = node.function
    if type_info is not None and (key := kept_by(node, type_info)) is not None:
        return partial(kinds(KeptWindowOperator), key=key, type_info=type_info)
    if spec.alignment is not None:
        return kinds(AlignedWindowOperator)
    if spec.session_gap is not None:
        return partial(kinds(SessionWindowOperator), aggregate=field_aggregate(node, type_info))
    return kinds(WindowOperator)


def key_selector(selector: Selector) -> Callable[[Any], Any]:
    """A selector that gives a key; records that have none of their own share one."""
    return _one_key if isinstance(selector, Place) else selector


def _one_key(value: Any) -> int:
    return 0


def two_input_operator(
    node: KeyedNode,
    info: OperatorInfo,
    kinds: Kinds,
    may_change: bool,
    *,
    timed: bool,
    freeze: bool,
) -> KeyedOperator:
    """The operator of a node with two inputs that is no window."""
    has_key = not isinstance(node.selector, Place)
    selector = key_selector(node.selector)
    if node.kind == "broadcast":
        operator = KeyedBroadcastOperator if has_key else BroadcastOperator
        return kinds(operator)(info, node.function, selector, timed=timed, freeze=freeze)
    if not has_key:
        return kinds(CoChannelOperator)(info, node.function, timed=timed, freeze=freeze)
    selector = PairKey(selector, key_selector(node.selector_of(1)))
    if node.kind == "interval_join":
        return kinds(IntervalJoinOperator)(
            info, node.function, selector, timed=timed, freeze=freeze, may_change=may_change
        )
    return kinds(CoProcessOperator)(info, node.function, selector, timed=timed, freeze=freeze)
