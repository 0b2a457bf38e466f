"""Which operators find their records in the right slot already, and so need no exchange.

A stream is *placed* by a key if each record that an operator of a keyed stage emits into it is in the
slot of that key. The planner believes this only where it can see it: the operator emits its own records,
or keeps the field that is the key; nothing but filters comes between. Where it cannot, the program may
promise it (`ReinterpretNode`). Edges without an exchange check each record, so a promise that is wrong
is an error and never wrong state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MethodType
from typing import Any

from millstream.common.recognition import field_read_by
from millstream.common.typeinfo import TypeInformation, Types
from millstream.kernel.records.columns import field_index, field_types
from millstream.kernel.steps.routing import Place
from millstream.kernel.tables.spec import ColumnKey
from millstream.kernel.windows.contents import Reduced
from millstream.kernel.windows.spec import WindowSpec
from millstream.plan.columnar import KEYS
from millstream.plan.graph import (
    EMITS_ITS_RECORDS,
    ExchangeNode,
    JobGraph,
    KeyedNode,
    Node,
    ReinterpretNode,
    Selector,
    StatelessNode,
    UnionNode,
)

_UNCHANGED = KEYS | {"BOOLEAN"}
"""Types whose values are the same before and after they have been in a column."""


@dataclass(frozen=True)
class Placement:
    """Records are in the slots of their keys by ``selector``, or by ``field``, or all in one slot.

    ``columns``: of a table, the places of the columns that are the key.

    ``reason``: how that is known. ``promise``: the node with which the program says so, if it does.
    """

    selector: Selector | None
    field: int | str | None
    type_info: TypeInformation | None
    reason: str
    promise: int | None = None
    columns: tuple[int, ...] | None = None


Placements = dict[int, Placement | None]
"""By the operator or source that a stream's records come from, how they are placed if it is known."""


@dataclass(frozen=True)
class Link:
    """A way from an operator or source to an input of an operator of a keyed stage.

    ``chained``: both are in one stage, and no record leaves its slot. ``reason``: why, or why not.
    ``promise``: the node with which the program says that keys are kept, if the planner cannot see it.
    """

    origin: int
    reader: int
    number: int
    chained: bool
    reason: str
    promise: int | None = None

    def __str__(self) -> str:
        how = "chained" if self.chained else "exchange"
        return f"{self.origin} -> {self.reader}, input {self.number + 1}: {how}, {self.reason}"


@dataclass
class Chaining:
    """Places the streams of a graph one after the other, and links operators to those before them.

    ``levels``: of a checkpoint that the job goes on from, the stages of operators, by uid: state stays
    where it is.
    """

    graph: JobGraph
    uids: Mapping[int, str]
    enabled: bool = True
    levels: Mapping[str, int] = field(default_factory=dict)
    _known: dict[int, Placements] = field(default_factory=dict)

    def place(self, node: Node, *, hosted: bool) -> None:
        """Take note of a node, after those that it reads."""
        before = [self._known[other] for other in node.inputs]
        if hosted or not before:
            self._known[node.id] = {node.id: self._own(node)}
            return
        origins = {origin for known in before for origin in known}
        self._known[node.id] = {
            origin: self._behind(node, origin, [p[origin] for p in before if origin in p])
            for origin in sorted(origins)
        }

    def links(self, node: Node, *, may_chain: bool) -> list[Link]:
        """The ways into an operator of a keyed stage."""
        return [
            self._link(node, number, origin, placement, may_chain)
            for number, other in enumerate(node.inputs)
            for origin, placement in self._known[other].items()
        ]

    # -- one link --------------------------------------------------------------------------------

    def _link(
        self, node: Node, number: int, origin: int, placement: Placement | None, may_chain: bool
    ) -> Link:
        why_not = self._why_not(node, number, origin, placement, may_chain)
        if why_not is not None or placement is None:
            return Link(origin, node.id, number, False, why_not or _UNSEEN)
        return Link(origin, node.id, number, True, placement.reason, placement.promise)

    def _why_not(
        self, node: Node, number: int, origin: int, placement: Placement | None, may_chain: bool
    ) -> str | None:
        if not isinstance(node, KeyedNode) or not isinstance(self.graph[origin], KeyedNode):
            return "records come from where no key has placed them"
        if placement is None:
            return _UNSEEN
        type_info = self.graph[node.inputs[number]].output_type
        if not _places(placement, node.selector_of(number), type_info):
            return "the key is another one than that of the operator before it"
        if not may_chain:
            return "streams with different watermarks meet here"
        was, now = (self.levels.get(self.uids[node_id]) for node_id in (origin, node.id))
        if was is not None and now is not None:
            return None if was == now else "the checkpoint keeps its state in another stage"
        return None if self.enabled else "operator chaining is disabled"

    # -- placements ------------------------------------------------------------------------------

    def _behind(self, node: Node, origin: int, before: list[Placement | None]) -> Placement | None:
        """How the records of an origin are placed behind a node without keys."""
        placement = _agreed(before)
        before_all = self.graph[origin]
        has_keys = isinstance(before_all, KeyedNode) and not isinstance(before_all.selector, Place)
        if isinstance(node, ReinterpretNode) and has_keys:
            type_info = self.graph[node.inputs[0]].output_type
            reason = "the program says that the keys are kept, see reinterpret_as_keyed_stream"
            key = field_read_by(node.selector)
            return Placement(node.selector, key, type_info, reason, node.id)
        if placement is None or placement.selector is Place.ONE_SLOT:
            return placement
        if placement.columns is not None and isinstance(node, StatelessNode):
            return _through_columns(node, placement)
        passes = isinstance(node, UnionNode | ExchangeNode)
        filters = isinstance(node, StatelessNode) and node.kind == "filter"
        return placement if passes or filters else None

    def _own(self, node: Node) -> Placement | None:
        """How an operator of a keyed stage places what it emits."""
        if not isinstance(node, KeyedNode):
            return None
        if node.selector is Place.ONE_SLOT and node.second in (None, Place.ONE_SLOT):
            return Placement(Place.ONE_SLOT, None, None, "all records are in one slot already")
        if node.kind == "table":
            return _of_table(node)
        if isinstance(node.selector, Place) or node.second is not None:
            return None
        type_info = self.graph[node.inputs[0]].output_type
        key = field_read_by(node.selector)
        if isinstance(node.function, WindowSpec) and node.function.counts:
            if key is None or not _is_unchanged(_type_of(type_info, key)):
                return None
            reason = "it reads the key that the counts of the windows before it begin with"
            return Placement(None, 0, node.output_type, reason)
        fold = _fold_of(node)
        if getattr(node.function, EMITS_ITS_RECORDS, False) or fold in ("min_by", "max_by"):
            # The key of a record that comes out is the key of a record that went in.
            unchanged = key is not None and _is_unchanged(_type_of(type_info, key))
            if unchanged or _is_unchanged(type_info):
                reason = "the operator before it emits records that it has got, by the same key"
                return Placement(node.selector, key, type_info, reason)
            return None
        if key is None or fold is None or not _is_unchanged(_type_of(type_info, key)):
            return None
        folded = node.function.fold.function if node.kind == "window" else node.function
        if fold == "sum" and _same_field(key, folded.field, type_info) is not False:
            return None
        reason = f"the {fold} before it keeps field {key!r}, the key"
        return Placement(node.selector, key, type_info, reason)


def _of_table(node: KeyedNode) -> Placement | None:
    """How an operator of tables places its rows: by the columns of its key, if it emits them."""
    columns = node.function.placed_by
    if isinstance(node.selector, Place) or columns is None:
        return None
    reason = "the table operator before it emits the columns of the same key"
    return Placement(None, None, node.output_type, reason, columns=columns)


def _through_columns(node: StatelessNode, placement: Placement) -> Placement | None:
    """How rows are placed behind a step over columns: as before, if it keeps the columns of the key."""
    if node.kind != "columns" or placement.columns is None:
        return None
    kept = [node.function.kept(place) for place in placement.columns]
    if any(place is None for place in kept):
        return None
    return replace(placement, columns=tuple(kept), type_info=node.output_type)


_UNSEEN = "the planner cannot see that the operator before it keeps the key"


def _agreed(placements: list[Placement | None]) -> Placement | None:
    """The placement of records that come on several ways, None if the ways differ."""
    first, *others = placements
    for other in others:
        if first is None or other is None:
            return None
        same = first.selector is other.selector and first.field == other.field
        same &= first.columns == other.columns
        if not same:
            return None
        first = replace(first, promise=first.promise or other.promise)
    return first


def _places(placement: Placement, selector: Selector, type_info: TypeInformation | None) -> bool:
    """Whether a placement is that of a selector of records of a type."""
    if isinstance(selector, Place) or isinstance(placement.selector, Place):
        return selector is placement.selector is Place.ONE_SLOT
    if placement.columns is not None:
        return isinstance(selector, ColumnKey) and selector.key_fields == placement.columns
    if selector is placement.selector:
        return True
    if isinstance(selector, MethodType) and selector == placement.selector:
        return True
    key = field_read_by(selector)
    if key is None or placement.field is None:
        return False
    if type_info == placement.type_info:
        return _same_field(key, placement.field, type_info) is True
    return key == placement.field


def _same_field(one: int | str, other: int | str, type_info: TypeInformation | None) -> bool | None:
    """Whether two positions or names are those of one field, None if that is not sure."""
    if type(one) is type(other):
        return one == other
    places = [field_index(type_info, name) for name in (one, other)]
    return None if None in places else places[0] == places[1]


def _fold_of(node: KeyedNode) -> str | None:
    """Of a declared aggregate, what it does with its field."""
    folded: Any = node.function
    if isinstance(folded, WindowSpec):
        folded = folded.fold.function if isinstance(folded.fold, Reduced) else None
        if not node.function.emits_fold:
            return None
    elif node.kind != "reduce":
        return None
    kind = getattr(folded, "kind", None)
    return kind if kind in ("sum", "min", "max", "min_by", "max_by") else None


def _type_of(type_info: TypeInformation | None, key: int | str) -> TypeInformation | None:
    """The type of a field, None if it is not known."""
    place = field_index(type_info, key)
    return None if place is None else field_types(type_info)[place]


def _is_unchanged(type_info: TypeInformation | None) -> bool:
    """Whether values of a type have the same key after they have been in columns of that type.

    Others may come out as another value: a float with fewer digits.
    """
    if type_info is None or type_info == Types.PICKLED_BYTE_ARRAY():
        return True
    fields = field_types(type_info)
    return all(map(_is_unchanged, fields)) if fields else type_info.kind in _UNCHANGED
