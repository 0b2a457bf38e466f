"""The nodes of a program: what is to be computed, not how."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from millstream.common.errors import Location
from millstream.common.typeinfo import TypeInformation
from millstream.dataset.functions import Aggregation, JoinHint
from millstream.dataset.plan.calls import UserFunction
from millstream.dataset.plan.conditions import Condition
from millstream.dataset.plan.keys import Keys, SortKey
from millstream.dataset.plan.records import PICKLED

_numbers = itertools.count(1)


@dataclass(eq=False, kw_only=True)
class Node:
    """An operator. Its type is that of the records it gives; PICKLED if nothing is known."""

    inputs: tuple[Node, ...] = ()
    type: TypeInformation = PICKLED
    location: Location | None = None
    name: str = ""
    parallelism: int | None = None
    broadcasts: dict[str, Node] = field(default_factory=dict)
    number: int = field(default_factory=lambda: next(_numbers))

    @property
    def title(self) -> str:
        """The name in errors and plans."""
        return self.name or type(self).__name__


@dataclass(eq=False, kw_only=True)
class FromRecords(Node):
    """Records that the program has."""

    records: list[Any]


@dataclass(eq=False, kw_only=True)
class NumberSequence(Node):
    """Whole numbers, both ends included."""

    first: int
    last: int


@dataclass(eq=False, kw_only=True)
class FromTable(Node):
    """A pyarrow table; records are Rows."""

    table: Any


@dataclass(eq=False, kw_only=True)
class FromFrame(Node):
    """A DataFrame of Spark, or a function that gives one; records are Rows."""

    frame: Any


@dataclass(eq=False, kw_only=True)
class ReadLines(Node):
    """The lines of text files."""

    path: str
    end: str = "\n"


@dataclass(eq=False, kw_only=True)
class ReadParquet(Node):
    """The rows of Parquet files; on Spark with the DataFrame whose schema was read."""

    path: str
    frame: Any = None


@dataclass(eq=False, kw_only=True)
class Placeholder(Node):
    """A place for a set of an iteration: the partial solution, the workset or the solution set."""


@dataclass(eq=False, kw_only=True)
class Each(Node):
    """A function of the user for each element or partition: map, flat_map, filter, map_partition."""

    kind: str
    function: UserFunction


@dataclass(eq=False, kw_only=True)
class Project(Node):
    """Some fields of each record, as tuples."""

    fields: Keys


@dataclass(eq=False, kw_only=True)
class Where(Node):
    """The records for which an expression of their fields is true."""

    condition: Condition


@dataclass(eq=False, kw_only=True)
class Union(Node):
    """All elements of several sets."""


@dataclass(eq=False, kw_only=True)
class Reduce(Node):
    """Two elements to one until one is left, per key or of all."""

    keys: Keys | None
    function: UserFunction


@dataclass(eq=False, kw_only=True)
class GroupReduce(Node):
    """A function for each group, or for all elements."""

    keys: Keys | None
    sort: tuple[SortKey, ...]
    function: UserFunction
    combine: UserFunction | None = None


@dataclass(eq=False, kw_only=True)
class GroupCombine(Node):
    """A function for what one task has of each group."""

    keys: Keys | None
    sort: tuple[SortKey, ...]
    function: UserFunction


@dataclass(eq=False, kw_only=True)
class Aggregate(Node):
    """Built-in aggregates of fields; the other fields are those of one of the records."""

    keys: Keys | None
    aggregates: list[tuple[Aggregation, Keys]]


@dataclass(eq=False, kw_only=True)
class Extreme(Node):
    """The record with the smallest or largest fields, per key or of all."""

    keys: Keys | None
    fields: Keys
    largest: bool


@dataclass(eq=False, kw_only=True)
class Distinct(Node):
    """One record of those with equal keys."""

    keys: Keys


@dataclass(eq=False, kw_only=True)
class First(Node):
    """Some records, per key or of all."""

    keys: Keys | None
    sort: tuple[SortKey, ...]
    size: int


@dataclass(eq=False, kw_only=True)
class Join(Node):
    """Pairs of records with equal keys.

    `pick` has the fields of a projection, (side, position or name); without it and without a
    function, the pairs themselves are the records.
    """

    kind: str
    left: Keys
    right: Keys
    hint: JoinHint = JoinHint.OPTIMIZER_CHOOSES
    function: UserFunction | None = None
    flat: bool = False
    pick: tuple[tuple[int, int | str | None], ...] | None = None


@dataclass(eq=False, kw_only=True)
class Cross(Node):
    """All pairs of records."""

    small: str = ""
    function: UserFunction | None = None
    pick: tuple[tuple[int, int | str | None], ...] | None = None


@dataclass(eq=False, kw_only=True)
class CoGroup(Node):
    """A function for the two groups of each key."""

    left: Keys
    right: Keys
    function: UserFunction
    sort: tuple[tuple[SortKey, ...], tuple[SortKey, ...]] = ((), ())


@dataclass(eq=False, kw_only=True)
class Rebalance(Node):
    """The same records, evenly spread."""


@dataclass(eq=False, kw_only=True)
class Partition(Node):
    """The same records, equal keys in one partition: by hash, range or a function."""

    kind: str
    keys: Keys
    function: Callable[[Any, int], int] | None = None


@dataclass(eq=False, kw_only=True)
class SortPartition(Node):
    """The same records, sorted within their partition."""

    sort: tuple[SortKey, ...]


@dataclass(eq=False, kw_only=True)
class Numbered(Node):
    """Each record with a number: consecutive over all partitions, or only unique."""

    consecutive: bool


@dataclass(eq=False, kw_only=True)
class SampleSize(Node):
    """A sample of so many records."""

    size: int
    seed: int
    replacement: bool


@dataclass(eq=False, kw_only=True)
class BulkLoop(Node):
    """An iteration: the step plan, from the partial solution to the next one."""

    start: Placeholder
    result: Node
    termination: Node | None
    most: int
    aggregators: Mapping[str, Any]
    convergence: tuple[str, Any] | None


@dataclass(eq=False, kw_only=True)
class DeltaLoop(Node):
    """A delta iteration: the step plan, from solution set and workset to changes and next workset."""

    solution: Placeholder
    workset: Placeholder
    delta: Node
    next_workset: Node
    keys: Keys
    most: int
    aggregators: Mapping[str, Any]
    convergence: tuple[str, Any] | None


def keeps_partitions(node: Node) -> bool:
    """Whether the input of a node is in as many partitions as it wants: they stay as they are."""
    (before,) = node.inputs
    placed = isinstance(before, Rebalance | Partition | SortPartition) or (
        isinstance(before, Each) and before.kind == "map_partition"
    )
    return node.parallelism is None or (placed and before.parallelism == node.parallelism)


def cut(results: Sequence[Node], puts: Mapping[Node, Node]) -> list[Node]:
    """Copies of a step plan in which other nodes stand for some of its nodes."""
    made: dict[Node, Node] = dict(puts)

    def copy(node: Node) -> Node:
        if node not in made:
            if isinstance(node, Placeholder):
                made[node] = node
            else:
                broadcasts = {name: copy(other) for name, other in node.broadcasts.items()}
                inputs = tuple(copy(other) for other in node.inputs)
                made[node] = replace(node, inputs=inputs, broadcasts=broadcasts)
        return made[node]

    return [copy(result) for result in results]


def upstream(node: Node) -> Sequence[Node]:
    """The nodes that a node reads, with its broadcast sets and the static sets of its iteration."""
    inside: list[Node] = []
    if isinstance(node, BulkLoop):
        inside = static_inputs([node.result, *([node.termination] if node.termination else [])])
    elif isinstance(node, DeltaLoop):
        inside = static_inputs([node.delta, node.next_workset])
    return [*node.inputs, *node.broadcasts.values(), *inside]


def readers_of(results: Sequence[Node]) -> Counter[Node]:
    """How many operators read each node of a program; a result is read from outside, too."""
    found: Counter[Node] = Counter(results)
    seen: set[Node] = set()
    waiting = list(results)
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            for other in upstream(node):
                found[other] += 1
                waiting.append(other)
    return found


def depends_on_placeholder(node: Node, known: dict[Node, bool]) -> bool:
    """Whether a node of a step plan changes from superstep to superstep."""
    if node not in known:
        known[node] = isinstance(node, Placeholder) or any(
            depends_on_placeholder(each, known) for each in upstream(node)
        )
    return known[node]


def static_inputs(results: Sequence[Node]) -> list[Node]:
    """The sets outside of an iteration that its step plan reads, each once."""
    known: dict[Node, bool] = {}
    found: dict[Node, None] = {}
    seen: set[Node] = set()

    def walk(node: Node) -> None:
        if node in seen:
            return
        seen.add(node)
        if not depends_on_placeholder(node, known):
            found[node] = None
            return
        for each in upstream(node):
            walk(each)

    for result in results:
        walk(result)
    return list(found)
