"""The graph of a streaming program: nodes, their times, and how long their RDDs are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from millstream.common.errors import Location, MillstreamError, user_location
from millstream.dstream.inputs import Input
from millstream.dstream.rdd import RDD, SparkContext, StorageLevel

__all__ = ["Graph", "Node", "OutputNode", "StatefulNode", "moment"]


def moment(time_ms: int) -> datetime:
    """The time of a batch as functions of the program get it."""
    return datetime.fromtimestamp(time_ms / 1000)


@dataclass(frozen=True)
class OutputNode:
    """A function that gets the RDD of a node in every batch."""

    number: int
    node: Node
    function: Callable[[datetime, RDD[Any]], Any]
    label: str
    place: Location | None


class Graph:
    """Nodes, inputs and outputs of one context.

    Parameters
    ----------
    batch_ms : int
        The length of a batch.
    """

    def __init__(self, batch_ms: int) -> None:
        self.batch_ms = batch_ms
        self.zero_ms: int | None = None
        self.remember_ms = 0
        self.nodes: list[Node] = []
        self.inputs: list[Input[Any]] = []
        self.outputs: list[OutputNode] = []
        self.reset()

    def reset(self) -> None:
        """Forget what only a running program has."""
        self.context: SparkContext | None = None
        self.taken: dict[int, Sequence[Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "context": None, "taken": {}}

    @property
    def sc(self) -> SparkContext:
        """The maker of RDDs."""
        assert self.context is not None
        return self.context

    def add_output(
        self, node: Node, function: Callable[[datetime, RDD[Any]], Any], label: str
    ) -> None:
        """Add an output behind all others."""
        self.outputs.append(OutputNode(len(self.outputs), node, function, label, user_location()))

    def begin(self, zero_ms: int) -> None:
        """Fix the time of the first batch, and how long each node keeps its RDDs."""
        self.zero_ms = zero_ms
        for node in self.nodes:
            node.remember(max(node.slide_ms, self.remember_ms))

    def connected(self) -> list[Node]:
        """The nodes that an output needs, parents first."""
        found: dict[int, Node] = {}
        todo = [output.node for output in self.outputs]
        while todo:
            node = todo.pop()
            if node.number not in found:
                found[node.number] = node
                todo += node.parents
        return [found[number] for number in sorted(found)]

    def stateful(self) -> list[StatefulNode]:
        """The connected nodes that go on from the batch before."""
        return [node for node in self.connected() if isinstance(node, StatefulNode)]

    def input_memory_ms(self) -> int:
        """For how long the records of a batch are needed again."""
        kept = (node.remember_ms for node in self.nodes if not node.parents)
        return max(kept, default=self.batch_ms)

    def advance(self, time_ms: int) -> None:
        """Bring all state to a batch, whether an output reads it or not."""
        for node in self.stateful():
            node.rdd_at(time_ms)

    def clear(self, time_ms: int) -> None:
        """Forget RDDs that no batch after this one needs."""
        for node in self.nodes:
            node.clear(time_ms)


class Node(ABC):
    """A maker of one RDD per batch, or per slide of a window.

    Parameters
    ----------
    graph : Graph
        The program.
    parents : sequence of Node
        The nodes whose RDDs it needs.
    slide_ms : int
        The time from one RDD to the next.
    """

    def __init__(self, graph: Graph, parents: Sequence[Node], slide_ms: int) -> None:
        self.graph = graph
        self.parents = tuple(parents)
        self.slide_ms = slide_ms
        self.remember_ms = slide_ms
        self.level: StorageLevel | None = None
        self.number = len(graph.nodes)
        self.place = user_location()
        self.made: dict[int, RDD[Any]] = {}
        graph.nodes.append(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "made": {}}

    @abstractmethod
    def compute(self, time_ms: int) -> RDD[Any] | None:
        """The RDD of a batch; None if there is none."""

    def rdd_at(self, time_ms: int) -> RDD[Any] | None:
        """The RDD of a batch, made once; None if the node has none at this time."""
        found = self.made.get(time_ms)
        if found is None and self.is_valid(time_ms):
            try:
                found = self.compute(time_ms)
            except MillstreamError as error:
                error.location = error.location or self.place
                raise
            if found is not None:
                if self.level is not None and not found.is_cached:
                    found.persist(self.level)
                self.made[time_ms] = found
        return found

    def is_valid(self, time_ms: int) -> bool:
        """Whether the node makes an RDD at a time."""
        zero = self.graph.zero_ms
        return zero is not None and time_ms > zero and (time_ms - zero) % self.slide_ms == 0

    def between(self, begin_ms: int, end_ms: int) -> Iterator[RDD[Any]]:
        """The RDDs from a time to another one, both of them included, moved back to slides."""
        zero = self.graph.zero_ms or 0
        first = begin_ms - (begin_ms - zero) % self.slide_ms
        for time_ms in range(first, end_ms + 1, self.slide_ms):
            found = self.rdd_at(time_ms)
            if found is not None:
                yield found

    def remember(self, duration_ms: int) -> None:
        """Keep RDDs at least that long, and those of the parents as long as they are needed then."""
        self.remember_ms = max(self.remember_ms, duration_ms)
        for parent in self.parents:
            parent.remember(self.parents_remember_ms())

    def parents_remember_ms(self) -> int:
        """How long the parents have to keep their RDDs."""
        return self.remember_ms

    def clear(self, time_ms: int) -> None:
        """Forget RDDs that are older than the node needs to remember at a time."""
        for old in [each for each in self.made if each <= time_ms - self.remember_ms]:
            del self.made[old]


class StatefulNode(Node):
    """A node whose RDD follows from that of the batch before: it is saved in snapshots."""

    kind = "state"
    latest_ms = 0

    def rdd_at(self, time_ms: int) -> RDD[Any] | None:
        """The RDD of a batch. One that was forgotten is not made again: it stood on those before it."""
        if time_ms <= self.latest_ms:
            return self.made.get(time_ms)
        found = super().rdd_at(time_ms)
        if found is not None:
            self.latest_ms = time_ms
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "latest_ms": 0}

    @abstractmethod
    def save(self) -> tuple[bool, Any]:
        """Whether the content is whole, and the content; else the changes since the last call."""

    @abstractmethod
    def load(self, contents: Sequence[Any]) -> None:
        """Go on from a whole content and the changes after it."""

    def entries(self) -> int:
        """The number of keys, for reports."""
        return 0
