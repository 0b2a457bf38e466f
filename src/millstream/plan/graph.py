"""The logical graph: frozen nodes, held by id in a `JobGraph`.

A stream object of the user API knows a graph and a node id, nothing more. ``uid``, ``name`` and
``set_parallelism`` replace the node under its id, so that a program may set them in a chain or in
a statement of their own, and no node ever changes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from millstream.common.errors import Location, PlanError
from millstream.common.typeinfo import TypeInformation
from millstream.common.watermark_strategy import WatermarkStrategy
from millstream.connectors.sink import Changelog, Sink
from millstream.connectors.source import SourceSpec
from millstream.kernel.steps.routing import Place

if TYPE_CHECKING:
    from millstream.kernel.steps.decode import Decoder

StatelessKind = Literal[
    "map", "flat_map", "filter", "process", "async", "changelog", "row_kinds", "columns"
]
KeyedKind = Literal[
    "process", "reduce", "window", "co_process", "broadcast", "interval_join", "table"
]
Selector = Callable[[Any], Any] | Place
"""A key selector, or where records without a key go."""


@dataclass(frozen=True)
class OnError:
    """Error policy: the fate of a record on which a function fails.

    ``tag``: the side output of those that are skipped; without one they are only counted.
    """

    policy: Literal["fail", "skip"]
    tag: str | None = None


@dataclass(frozen=True, kw_only=True)
class Node:
    """Base of all nodes. ``output_type`` None means: unknown, records travel pickled.

    ``on_error`` None means: as the job says.
    """

    id: int
    name: str
    inputs: tuple[int, ...] = ()
    output_type: TypeInformation | None = None
    uid: str | None = None
    parallelism: int | None = None
    location: Location | None = None
    on_error: OnError | None = None


@dataclass(frozen=True, kw_only=True)
class SourceNode(Node):
    """A source, read once per query however many branches use it.

    ``decoder``: makes records of what is read.
    """

    source: SourceSpec
    strategy: WatermarkStrategy | None = None
    decoder: Decoder | None = None


@dataclass(frozen=True, kw_only=True)
class TimestampsNode(Node):
    """``assign_timestamps_and_watermarks``."""

    strategy: WatermarkStrategy


@dataclass(frozen=True, kw_only=True)
class StatelessNode(Node):
    """A function without keyed state; it fuses into the stage that produces its input.

    ``function`` is a plain callable or an object with the method of its kind (``map``,
    ``flat_map``, ``filter``, ``process_element``) and optional ``open``/``close``; of kind "async" it
    is an `AsyncSpec`, of kind "changelog" there is none, of kind "columns" it is a `TableStep`, of kind
    "row_kinds" it makes changes of rows.
    """

    kind: StatelessKind
    function: Any


@dataclass(frozen=True, kw_only=True)
class UnionNode(Node):
    """The records of all inputs."""


@dataclass(frozen=True, kw_only=True)
class ExchangeNode(Node):
    """``rebalance``, ``shuffle``, ``broadcast``, ``partition_custom``, ... : no effect on results."""

    kind: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class ReinterpretNode(Node):
    """``reinterpret_as_keyed_stream``: keyed operators before it have kept the keys of ``selector``."""

    selector: Callable[[Any], Any]


EMITS_ITS_RECORDS = "emits_its_records"
"""Marks the function of a keyed operator that emits nothing but records that it has got."""


@dataclass(frozen=True, kw_only=True)
class KeyedNode(Node):
    """A function with keyed state and timers: one exchange, hosted in a keyed stage.

    ``second``: the selector of the second input, if there is one. Of kind "table" the function is a
    `TableSpec`.
    """

    selector: Selector
    second: Selector | None = None
    key_type: TypeInformation | None = None
    kind: KeyedKind
    function: Any

    def selector_of(self, number: int) -> Selector:
        """The selector of an input, by its number."""
        if number == 0:
            return self.selector
        assert self.second is not None
        return self.second


def takes_dead_letters(node: Node, tag: str) -> bool:
    """Whether a side output of an operator is that of the records it skips."""
    return node.on_error is not None and node.on_error.tag == tag


def has_side_outputs(node: Node) -> bool:
    """Whether an operator or its function may emit under output tags."""
    if node.on_error is not None and node.on_error.tag is not None:
        return True
    return function_has_side_outputs(node)


def function_has_side_outputs(node: Node) -> bool:
    """Whether an operator's function may emit under output tags."""
    if isinstance(node, KeyedNode):
        return node.kind not in ("reduce", "table") and getattr(
            node.function, "has_side_outputs", True
        )
    return isinstance(node, StatelessNode) and node.kind == "process"


@dataclass(frozen=True, kw_only=True)
class SideOutputNode(Node):
    """The records its input node emitted with an output tag."""

    tag: str


NOT_OPERATORS = (UnionNode, ExchangeNode, ReinterpretNode, SideOutputNode)
"""Nodes that run nothing, and need no uid."""


@dataclass(frozen=True, kw_only=True)
class SinkNode(Node):
    """The end of a branch. ``changelog``: the changes that come in."""

    sink: Sink
    changelog: Changelog = "append"


N = TypeVar("N", bound=Node)


@dataclass
class JobGraph:
    """All nodes of a job, by id, in the order of their creation."""

    nodes: dict[int, Node] = field(default_factory=dict)

    def add(self, node_class: type[N], **fields: Any) -> N:
        """Add a node under the next free id."""
        node = node_class(id=len(self.nodes) + 1, **fields)
        self.nodes[node.id] = node
        return node

    def update(self, node_id: int, **changes: Any) -> None:
        """Replace a node by a changed copy; its id stays."""
        uid = changes.get("uid")
        if uid is not None:
            self._refuse_second(uid, node_id)
        self.nodes[node_id] = dataclasses.replace(self.nodes[node_id], **changes)

    def __getitem__(self, node_id: int) -> Node:
        return self.nodes[node_id]

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())

    def consumers(self, node_id: int) -> list[Node]:
        """The nodes that read a node's output, in the order of their creation."""
        return [node for node in self if node_id in node.inputs]

    def _refuse_second(self, uid: str, node_id: int) -> None:
        for other in self:
            if other.uid == uid and other.id != node_id:
                raise PlanError(
                    "DUPLICATE_UID",
                    f"uid {uid!r} is already taken by operator {other.name!r}",
                    location=self.nodes[node_id].location,
                    hint="give every operator a uid of its own: state is found again by it",
                )
