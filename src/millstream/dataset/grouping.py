"""Groups of elements with equal keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.dataset.functions import Order
from millstream.dataset.operations.groups import GroupOperations
from millstream.dataset.plan.keys import Keys, SortKey
from millstream.dataset.plan.nodes import Node

if TYPE_CHECKING:
    from millstream.dataset.environment import ExecutionEnvironment

__all__ = ["Grouping", "SortedGrouping", "UnsortedGrouping"]


class Grouping(GroupOperations):
    """Elements in groups; what is called on it is done per group.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> pairs = env.from_elements(("a", 1), ("b", 2), ("a", 3))
    >>> pairs.group_by(0).reduce(lambda x, y: (x[0], x[1] + y[1])).collect()
    [('a', 4), ('b', 2)]
    """

    def __init__(
        self,
        env: ExecutionEnvironment,
        node: Node,
        keys: Keys,
        sort: tuple[SortKey, ...] = (),
    ) -> None:
        super().__init__(env, node)
        self._group_keys = keys
        self._sort = sort

    def sort_group(self, field: Any, order: Order = Order.ASCENDING) -> SortedGrouping:
        """Sort the elements of each group; more fields by further calls.

        Parameters
        ----------
        field
            A field by position or name, or a key selector.
        order
            The direction.
        """
        assert self._group_keys is not None
        key = self._sort_key(field, order, "sort_group")
        return SortedGrouping(self._env, self._node, self._group_keys, (*self._sort, key))


class UnsortedGrouping(Grouping):
    """Groups in which elements have no order.

    Examples
    --------
    See `Grouping`.
    """


class SortedGrouping(Grouping):
    """Groups whose elements are sorted.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment, Order
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> scores = env.from_elements(("a", 1), ("b", 2), ("a", 3))
    >>> scores.group_by(0).sort_group(1, Order.DESCENDING).first(1).collect()
    [('a', 3), ('b', 2)]
    """
