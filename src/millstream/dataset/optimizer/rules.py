"""The rules that decide: what Spark's engine does, what Python does, and how sets are joined."""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass

from millstream.common.paths import local_path
from millstream.common.typeinfo import TypeInformation
from millstream.dataset.functions import Aggregation, JoinHint
from millstream.dataset.plan.columns import is_plain, stored
from millstream.dataset.plan.keys import Keys
from millstream.dataset.plan.nodes import (
    Aggregate,
    Each,
    Extreme,
    First,
    FromRecords,
    FromTable,
    Join,
    Node,
    NumberSequence,
    Partition,
    Project,
    ReadLines,
    ReadParquet,
    Rebalance,
    SortPartition,
    Union,
    Where,
)
from millstream.dataset.plan.records import field_types, has_fields

__all__ = [
    "BROADCAST_BYTES",
    "JoinPlan",
    "aggregate_in_engine",
    "extreme_in_engine",
    "join_plan",
    "key_columns",
    "same_keys",
    "size_of",
]

BROADCAST_BYTES = 10 * 1024 * 1024
"""Up to this size a set is sent to all tasks: Spark's own default."""
_NUMBERS = frozenset({"BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE"})
_SAMPLE = 200


def key_columns(
    type_info: TypeInformation, keys: Keys, *, floats: bool = False
) -> tuple[int, ...] | None:
    """The columns of a key, if Spark compares them as Python does; else Python makes bytes of it."""
    if keys.selector is not None or (keys.fields and keys.positions is None):
        return None
    kinds = field_types(stored(type_info))
    places = keys.positions if keys.fields else tuple(range(len(kinds)))
    assert places is not None
    return places if all(is_plain(kinds[at], floats=floats) for at in places) else None


def same_keys(left: Keys, right: Keys) -> bool:
    """Whether Spark can compare the keys of two sets: both are fields, of the same types."""
    kinds = []
    for keys in (left, right):
        if keys.selector is not None or (keys.fields and keys.positions is None):
            return False
        if not all(is_plain(stored(kind)) for kind in keys.types):
            return False
        kinds.append([kind.to_arrow() for kind in keys.types])
    return kinds[0] == kinds[1]


def aggregate_in_engine(node: Aggregate) -> bool:
    """Whether Spark's own aggregates do what an aggregate asks for."""
    if not has_fields(node.type):
        return False
    for how, field in node.aggregates:
        kind = stored(field.types[0])
        if not field.positions or not is_plain(kind, floats=True):
            return False
        if how is Aggregation.SUM and kind.kind not in _NUMBERS:
            return False
    return True


def extreme_in_engine(node: Extreme) -> bool:
    """Whether Spark's own min_by and max_by do what a node asks for."""
    kinds = [stored(kind) for kind in node.fields.types]
    return bool(node.fields.positions) and all(is_plain(kind, floats=True) for kind in kinds)


def size_of(node: Node) -> int | None:
    """How many bytes the records of a node have at most, about; None if nobody knows."""
    if isinstance(node, FromRecords):
        sample = node.records[:_SAMPLE]
        size = len(pickle.dumps([repr(record) for record in sample])) if sample else 0
        return size * max(len(node.records), 1) // max(len(sample), 1)
    if isinstance(node, FromTable):
        return int(node.table.nbytes)
    if isinstance(node, NumberSequence):
        return 8 * max(node.last - node.first + 1, 0)
    if isinstance(node, ReadLines | ReadParquet):
        return _file_size(node.path)
    if isinstance(node, Union):
        sizes = [size_of(other) for other in node.inputs]
        return None if any(size is None for size in sizes) else sum(size or 0 for size in sizes)
    fewer = (Project, Rebalance, Partition, SortPartition, First, Aggregate, Extreme, Where)
    if isinstance(node, fewer) or (isinstance(node, Each) and node.kind == "filter"):
        return size_of(node.inputs[0])
    return None


def _file_size(path: str) -> int | None:
    here = local_path(path)
    if here is None or not os.path.exists(here):
        return None
    if os.path.isfile(here):
        return os.path.getsize(here)
    return sum(
        os.path.getsize(os.path.join(folder, name))
        for folder, _, names in os.walk(here)
        for name in names
    )


@dataclass(frozen=True)
class JoinPlan:
    """The way of a join.

    Parameters
    ----------
    side
        Which set is sent or hashed: 0, 1, or None if Spark chooses.
    strategy
        Spark's name of it: broadcast, shuffle_hash, merge.
    reason
        Why.
    """

    side: int | None
    strategy: str
    reason: str

    @property
    def text(self) -> str:
        """The way as `explain` shows it."""
        which = "" if self.side is None else ("first", "second")[self.side] + " set "
        return {
            "broadcast": f"{which}sent to all tasks",
            "shuffle_hash": f"both partitioned by key, {which}hashed",
            "merge": "both partitioned by key and sorted",
            "": "by the sizes that Spark sees when it runs",
        }[self.strategy] + f" ({self.reason})"


_HINTS = {
    JoinHint.BROADCAST_HASH_FIRST: (0, "broadcast"),
    JoinHint.BROADCAST_HASH_SECOND: (1, "broadcast"),
    JoinHint.REPARTITION_HASH_FIRST: (0, "shuffle_hash"),
    JoinHint.REPARTITION_HASH_SECOND: (1, "shuffle_hash"),
    JoinHint.REPARTITION_SORT_MERGE: (1, "merge"),
}
_MAY_BE_SENT = {"inner": (0, 1), "left": (1,), "right": (0,), "full": ()}


def join_plan(node: Join) -> JoinPlan:
    """How a join is done: by its hint, else by the sizes that are known before it runs."""
    if node.hint in _HINTS:
        side, strategy = _HINTS[node.hint]
        return JoinPlan(side, strategy, "the program says so")
    sizes = [size_of(other) for other in node.inputs]
    known = [(size, at) for at, size in enumerate(sizes) if size is not None]
    small = [(size, at) for size, at in known if size <= BROADCAST_BYTES]
    fitting = sorted((size, at) for size, at in small if at in _MAY_BE_SENT[node.kind])
    if fitting:
        size, at = fitting[0]
        return JoinPlan(at, "broadcast", f"about {_amount(size)}")
    return JoinPlan(None, "", "no set is known to be small")


def _amount(size: int) -> str:
    if size < 1024:
        return "1 KB"
    return f"{size // 1024:,} KB" if size < 1 << 20 else f"{size / (1 << 20):.1f} MB"
