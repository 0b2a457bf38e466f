"""The common part of the methods of data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.typeinfo import TypeInformation
from millstream.dataset.functions import Order
from millstream.dataset.plan.keys import Keys, SortKey, keys_of
from millstream.dataset.plan.nodes import Node

if TYPE_CHECKING:
    from millstream.dataset.data_set import DataSet, OperatorSet
    from millstream.dataset.environment import ExecutionEnvironment


class Operations:
    """A node of a program, and the environment that runs it."""

    def __init__(self, env: ExecutionEnvironment, node: Node) -> None:
        self._env = env
        self._node = node

    def _set(self, node: Node) -> DataSet:
        from millstream.dataset.data_set import DataSet

        return DataSet(self._env, node)

    def _operator(self, node: Node) -> OperatorSet:
        from millstream.dataset.data_set import OperatorSet

        return OperatorSet(self._env, node)

    def _keys(self, fields: Any, what: str) -> Keys:
        return keys_of(fields, self._node.type, user_location(), what)

    def _sort_key(self, field: Any, order: Order, what: str) -> SortKey:
        return sort_key(field, order, self._node.type, what)


def sort_key(field: Any, order: Order, type_info: TypeInformation, what: str) -> SortKey:
    """A field and the direction in which it sorts."""
    if order not in (Order.ASCENDING, Order.DESCENDING):
        raise PlanError(
            "DATASET_ORDER",
            f"{what}() needs Order.ASCENDING or Order.DESCENDING, got {short_repr(order)}",
            location=user_location(),
            hint=f"write {what}({field!r}, Order.ASCENDING)",
        )
    keys = keys_of([field], type_info, user_location(), what)
    return SortKey(keys, order is Order.DESCENDING)


def checked_size(size: Any, what: str, least: int = 0) -> int:
    """A number that an operator needs."""
    if isinstance(size, bool) or not isinstance(size, int) or size < least:
        raise PlanError(
            "DATASET_SIZE",
            f"{what} needs a whole number of at least {least}, got {short_repr(size)}",
            location=user_location(),
        )
    return size


def node_of(other: Any, mine: Operations, what: str) -> Node:
    """The node of another data set of the same environment."""
    node = getattr(other, "_node", None)
    if not isinstance(node, Node):
        raise PlanError(
            "DATASET_OTHER",
            f"{what}() needs a DataSet, got {short_repr(other)}",
            location=user_location(),
            hint="make one with env.from_elements(...) or env.from_collection([...])",
        )
    return node
