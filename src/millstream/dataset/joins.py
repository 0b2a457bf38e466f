"""Joins, crosses and co-groups, from their keys to their functions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.typeinfo import TupleTypeInfo, TypeInformation
from millstream.dataset.data_set import OperatorSet
from millstream.dataset.functions import JoinHint, Order
from millstream.dataset.operations.base import sort_key
from millstream.dataset.plan.calls import return_type, user_function
from millstream.dataset.plan.keys import Keys, SortKey, keys_of
from millstream.dataset.plan.nodes import CoGroup, Join, Node
from millstream.dataset.plan.records import PICKLED, field_index, field_types

if TYPE_CHECKING:
    from millstream.dataset.environment import ExecutionEnvironment

__all__ = [
    "CoGroupOperatorTo",
    "CoGroupOperatorUsing",
    "CoGroupOperatorWhere",
    "CrossOperator",
    "JoinOperator",
    "JoinOperatorTo",
    "JoinOperatorWhere",
]


def pair_type(left: TypeInformation, right: TypeInformation, kind: str) -> TypeInformation:
    """The type of pairs; a side that may be missing has no type of its own.

    Examples
    --------
    >>> from millstream.common.typeinfo import Types
    >>> pair_type(Types.LONG(), Types.STRING(), "inner")
    TUPLE(LONG, STRING)
    """
    return TupleTypeInfo([left, right])


class JoinOperatorWhere:
    """A join that waits for the key of its first set.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> ages = env.from_elements(("Ada", 36), ("Bob", 41))
    >>> towns = env.from_elements(("Ada", "London"))
    >>> ages.join(towns).where(0).equal_to(0).collect()
    [(('Ada', 36), ('Ada', 'London'))]
    """

    def __init__(
        self,
        env: ExecutionEnvironment,
        nodes: tuple[Node, Node],
        kind: str,
        hint: JoinHint,
    ) -> None:
        self._env, self._nodes, self._kind, self._hint = env, nodes, kind, hint

    def where(self, *fields: Any) -> JoinOperatorTo:
        """Name the key of the first set: fields, or one key selector."""
        keys = keys_of(fields, self._nodes[0].type, user_location(), "where")
        return JoinOperatorTo(self._env, self._nodes, self._kind, self._hint, keys)


class JoinOperatorTo:
    """A join that waits for the key of its second set.

    Examples
    --------
    See `JoinOperatorWhere`.
    """

    def __init__(
        self,
        env: ExecutionEnvironment,
        nodes: tuple[Node, Node],
        kind: str,
        hint: JoinHint,
        left: Keys,
    ) -> None:
        self._env, self._nodes, self._kind, self._hint, self._left = env, nodes, kind, hint, left

    def equal_to(self, *fields: Any) -> JoinOperator:
        """Name the key of the second set: fields, or one key selector."""
        location = user_location()
        keys = keys_of(fields, self._nodes[1].type, location, "equal_to")
        same_size(self._left, keys, "join")
        left, right = (node.type for node in self._nodes)
        node = Join(
            inputs=self._nodes, type=pair_type(left, right, self._kind), location=location,
            name=f"{self._kind.title()}Join" if self._kind != "inner" else "Join",
            kind=self._kind, left=self._left, right=keys, hint=self._hint,
        )  # fmt: skip
        return JoinOperator(self._env, node)


def same_size(left: Keys, right: Keys, what: str) -> None:
    """Fail if two keys cannot be equal."""
    if left.selector is None and right.selector is None and len(left.types) != len(right.types):
        raise PlanError(
            "DATASET_KEYS",
            f"the keys of a {what} have {len(left.types)} and {len(right.types)} fields",
            location=user_location(),
            hint="name as many fields in equal_to() as in where()",
        )


class _Paired(OperatorSet):
    """A set of pairs of elements, of which other elements may be made."""

    _node: Any

    def project_first(self, *fields: int | str) -> Any:
        """Take fields of the first element; without fields, the element itself."""
        return self._projected(0, fields)

    def project_second(self, *fields: int | str) -> Any:
        """Take fields of the second element; without fields, the element itself."""
        return self._projected(1, fields)

    def _projected(self, side: int, fields: tuple[int | str, ...]) -> Any:
        given = self._node.inputs[side].type
        picks = (*(self._node.pick or ()), *((side, field) for field in fields or (None,)))
        for field in fields:
            field_index(given, field, user_location())
        node = replace(self._node, pick=picks, type=self._picked_type(picks), broadcasts={})
        return type(self)(self._env, node)

    def _picked_type(self, picks: Any) -> TypeInformation:
        found = []
        for side, field in picks:
            kind = self._node.inputs[side].type
            if field is not None:
                index = field_index(kind, field, None)
                kind = PICKLED if index is None else field_types(kind)[index]
            found.append(kind)
        return TupleTypeInfo(found)

    def _using(self, operator: Any, method: str, output_type: Any, flat: bool) -> OperatorSet:
        location = user_location()
        function = user_function(operator, method, 2, location)
        found = return_type(function, output_type, elements=flat or function.collects)
        node = replace(
            self._node, function=function, type=found, location=location, pick=None, broadcasts={}
        )
        if isinstance(node, Join):
            node = replace(node, flat=flat)
        return OperatorSet(self._env, node)


class JoinOperator(_Paired):
    """A join: a set of pairs, unless a function or a projection makes something else of them.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> ages = env.from_elements(("Ada", 36), ("Bob", 41))
    >>> towns = env.from_elements(("Ada", "London"))
    >>> joined = ages.left_outer_join(towns).where(0).equal_to(0)
    >>> joined.using(lambda age, town: (age[0], town[1] if town else "?")).collect()
    [('Ada', 'London'), ('Bob', '?')]
    """

    def using(
        self, operator: Any, output_type: TypeInformation | None = None, *, flat: bool = False
    ) -> OperatorSet:
        """Make an element of each pair; in an outer join one of the two may be None.

        Parameters
        ----------
        operator
            A function of two elements, and if it takes three arguments of a collector; a
            `JoinFunction` or a `FlatJoinFunction`.
        output_type
            The type of one result.
        flat
            Whether the function returns or yields any number of results.
        """
        from millstream.dataset.functions import FlatJoinFunction

        is_flat = flat or isinstance(operator, FlatJoinFunction)
        return self._using(operator, "join", output_type, is_flat)


class CrossOperator(_Paired):
    """All pairs of two sets.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> env.from_elements(1, 2).cross(env.from_elements(10)).using(lambda x, y: x * y).collect()
    [10, 20]
    """

    def using(self, operator: Any, output_type: TypeInformation | None = None) -> OperatorSet:
        """Make an element of each pair.

        Parameters
        ----------
        operator
            A function of two elements, or a `CrossFunction`.
        output_type
            The type of one result.
        """
        return self._using(operator, "cross", output_type, False)


class CoGroupOperatorWhere:
    """A co-group that waits for the key of its first set.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> left, right = env.from_elements(("a", 1), ("b", 2)), env.from_elements(("a", 3))
    >>> sizes = lambda one, other: [(len(list(one)), len(list(other)))]
    >>> left.co_group(right).where(0).equal_to(0).using(sizes).collect()
    [(1, 1), (1, 0)]
    """

    def __init__(self, env: ExecutionEnvironment, nodes: tuple[Node, Node]) -> None:
        self._env, self._nodes = env, nodes

    def where(self, *fields: Any) -> CoGroupOperatorTo:
        """Name the key of the first set: fields, or one key selector."""
        keys = keys_of(fields, self._nodes[0].type, user_location(), "where")
        return CoGroupOperatorTo(self._env, self._nodes, keys)


class CoGroupOperatorTo:
    """A co-group that waits for the key of its second set.

    Examples
    --------
    See `CoGroupOperatorWhere`.
    """

    def __init__(self, env: ExecutionEnvironment, nodes: tuple[Node, Node], left: Keys) -> None:
        self._env, self._nodes, self._left = env, nodes, left

    def equal_to(self, *fields: Any) -> CoGroupOperatorUsing:
        """Name the key of the second set: fields, or one key selector."""
        keys = keys_of(fields, self._nodes[1].type, user_location(), "equal_to")
        same_size(self._left, keys, "co-group")
        return CoGroupOperatorUsing(self._env, self._nodes, self._left, keys)


class CoGroupOperatorUsing:
    """A co-group that waits for its function.

    Examples
    --------
    See `CoGroupOperatorWhere`.
    """

    def __init__(
        self,
        env: ExecutionEnvironment,
        nodes: tuple[Node, Node],
        left: Keys,
        right: Keys,
        sort: tuple[tuple[SortKey, ...], tuple[SortKey, ...]] = ((), ()),
    ) -> None:
        self._env, self._nodes, self._left, self._right = env, nodes, left, right
        self._sort = sort

    def sort_first_group(self, field: Any, order: Order = Order.ASCENDING) -> CoGroupOperatorUsing:
        """Sort the elements of the first set in each group."""
        key = sort_key(field, order, self._nodes[0].type, "sort_first_group")
        sort = ((*self._sort[0], key), self._sort[1])
        return CoGroupOperatorUsing(self._env, self._nodes, self._left, self._right, sort)

    def sort_second_group(self, field: Any, order: Order = Order.ASCENDING) -> CoGroupOperatorUsing:
        """Sort the elements of the second set in each group."""
        key = sort_key(field, order, self._nodes[1].type, "sort_second_group")
        sort = (self._sort[0], (*self._sort[1], key))
        return CoGroupOperatorUsing(self._env, self._nodes, self._left, self._right, sort)

    def using(self, operator: Any, output_type: TypeInformation | None = None) -> OperatorSet:
        """Turn the two groups of each key into any number of elements.

        Parameters
        ----------
        operator
            A function of two iterators, and if it takes three arguments of a collector; or a
            `CoGroupFunction`.
        output_type
            The type of one result.
        """
        location = user_location()
        function = user_function(operator, "co_group", 2, location)
        node = CoGroup(
            inputs=self._nodes, type=return_type(function, output_type, elements=True),
            location=location, name="CoGroup", left=self._left, right=self._right,
            function=function, sort=self._sort,
        )  # fmt: skip
        return OperatorSet(self._env, node)


_NEVER_SENT = {
    "left": (JoinHint.BROADCAST_HASH_FIRST,),
    "right": (JoinHint.BROADCAST_HASH_SECOND,),
    "full": (JoinHint.BROADCAST_HASH_FIRST, JoinHint.BROADCAST_HASH_SECOND),
}


def join_hint(hint: Any, kind: str) -> JoinHint:
    """The hint, if it is one, and one that this kind of join can follow."""
    if hint in _NEVER_SENT.get(kind, ()):
        raise PlanError(
            "DATASET_HINT",
            f"a {kind} outer join cannot be done by {hint.name}: tasks would not know which elements of "
            "the set that is sent have no partner",
            location=user_location(),
            hint="send the other set in a left or right join, or partition both",
        )
    if not isinstance(hint, JoinHint):
        raise PlanError(
            "DATASET_HINT",
            f"a join needs a JoinHint, got {short_repr(hint)}",
            location=user_location(),
            hint="such as JoinHint.BROADCAST_HASH_SECOND",
        )
    return hint
