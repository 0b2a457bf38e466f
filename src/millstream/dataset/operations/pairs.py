"""Methods that bring two sets together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.common.errors import user_location
from millstream.dataset.functions import JoinHint
from millstream.dataset.operations.base import Operations, node_of
from millstream.dataset.plan.nodes import Cross

if TYPE_CHECKING:
    from millstream.dataset.data_set import DataSet
    from millstream.dataset.joins import CoGroupOperatorWhere, CrossOperator, JoinOperatorWhere

__all__ = ["PairOperations"]


class PairOperations(Operations):
    """Methods that bring two sets together.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> left, right = env.from_elements((1, "a"), (2, "b")), env.from_elements((2, "c"))
    >>> left.join(right).where(0).equal_to(0).project_first(0, 1).project_second(1).collect()
    [(2, 'b', 'c')]
    """

    def join(
        self, other_set: DataSet, hint: JoinHint = JoinHint.OPTIMIZER_CHOOSES
    ) -> JoinOperatorWhere:
        """All pairs with equal keys. A key that is None equals no other.

        Parameters
        ----------
        other_set
            The second set.
        hint
            How to join; without it, the smaller set is broadcast if it is small enough.
        """
        return self._join(other_set, "inner", hint)

    def join_with_huge(self, other_set: DataSet) -> JoinOperatorWhere:
        """A join with a set that is much larger than this one: this one is broadcast."""
        return self._join(other_set, "inner", JoinHint.BROADCAST_HASH_FIRST)

    def join_with_tiny(self, other_set: DataSet) -> JoinOperatorWhere:
        """A join with a set that is much smaller than this one: the other one is broadcast."""
        return self._join(other_set, "inner", JoinHint.BROADCAST_HASH_SECOND)

    def left_outer_join(
        self, other_set: DataSet, hint: JoinHint = JoinHint.OPTIMIZER_CHOOSES
    ) -> JoinOperatorWhere:
        """A join that also has each element of this set without a partner, paired with None."""
        return self._join(other_set, "left", hint)

    def right_outer_join(
        self, other_set: DataSet, hint: JoinHint = JoinHint.OPTIMIZER_CHOOSES
    ) -> JoinOperatorWhere:
        """A join that also has each element of the other set without a partner."""
        return self._join(other_set, "right", hint)

    def full_outer_join(
        self, other_set: DataSet, hint: JoinHint = JoinHint.OPTIMIZER_CHOOSES
    ) -> JoinOperatorWhere:
        """A join that also has the elements of both sets without a partner."""
        return self._join(other_set, "full", hint)

    def _join(self, other_set: Any, kind: str, hint: Any) -> JoinOperatorWhere:
        from millstream.dataset.joins import JoinOperatorWhere, join_hint

        other = node_of(other_set, self, "join")
        return JoinOperatorWhere(self._env, (self._node, other), kind, join_hint(hint, kind))

    def co_group(self, other_set: DataSet) -> CoGroupOperatorWhere:
        """Bring the elements of both sets together by key; a function gets both groups.

        A group that one of the sets does not have is empty.
        """
        from millstream.dataset.joins import CoGroupOperatorWhere

        return CoGroupOperatorWhere(self._env, (self._node, node_of(other_set, self, "co_group")))

    def cross(self, other_set: DataSet) -> CrossOperator:
        """All pairs of elements of both sets."""
        return self._cross(other_set, "")

    def cross_with_huge(self, other_set: DataSet) -> CrossOperator:
        """All pairs with a set that is much larger than this one."""
        return self._cross(other_set, "first")

    def cross_with_tiny(self, other_set: DataSet) -> CrossOperator:
        """All pairs with a set that is much smaller than this one."""
        return self._cross(other_set, "second")

    def _cross(self, other_set: Any, small: str) -> CrossOperator:
        from millstream.dataset.joins import CrossOperator, pair_type

        other = node_of(other_set, self, "cross")
        node = Cross(
            inputs=(self._node, other), type=pair_type(self._node.type, other.type, "inner"),
            location=user_location(), name="Cross", small=small,
        )  # fmt: skip
        return CrossOperator(self._env, node)
