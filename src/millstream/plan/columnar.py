"""Which windows can be computed by column, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millstream.common._type_certainty import Certainty, is_declared
from millstream.common.recognition import field_read_by
from millstream.common.typeinfo import TypeInformation, Types
from millstream.kernel.columns import field_index, field_types
from millstream.kernel.places import Place
from millstream.kernel.windows.contents import Reduced
from millstream.kernel.windows.pane_layout import PaneContent, PaneLayout
from millstream.kernel.windows.panes import FieldAggregate, Panes
from millstream.kernel.windows.spec import Alignment, WindowSpec
from millstream.plan.graph import KeyedNode

WHOLE_NUMBERS = frozenset({"BYTE", "SHORT", "INT", "LONG"})
KEYS = WHOLE_NUMBERS | {"STRING"}
AGGREGATES = frozenset({"sum", "min", "max", "min_by", "max_by"})
"""Of whole numbers only. A sum of floats depends on the order in which they are added, and partial
sums on how epochs are cut; and NaN is neither smaller nor larger than any other."""


@dataclass(frozen=True)
class ByColumn:
    """The columns that a window works on: the type of its records, and the field that is the key.

    ``aggregate``: what it makes of a field, None if it keeps the records. ``panes``: those of its
    windows, None if they merge.
    """

    type_info: TypeInformation
    key: int
    aggregate: FieldAggregate | None = None
    panes: Panes | None = None
    alignment: Alignment | None = None

    @property
    def layout(self) -> str:
        """How it keeps its state: records or sums of records of a type, by pane."""
        assert self.alignment is not None
        content: PaneContent = "columns"
        if self.aggregate is not None:
            content = "partial sums" if self.aggregate.counted is None else "counts"
        return str(PaneLayout(content, str(self.type_info), self.alignment))


def columnar_window(node: KeyedNode, type_info: TypeInformation | None) -> ByColumn | None:
    """How a window operator over records of a type is computed by column, None if it cannot be."""
    spec: WindowSpec = node.function
    if type_info is None or spec.alignment is None or not _is_aligned(spec):
        return None
    if spec.counts:
        aggregate = _count(node, type_info)
    else:
        aggregate = _field_aggregate(node, type_info) if spec.emits_fold else None
    if aggregate is None:
        return None
    return ByColumn(type_info, aggregate.key, aggregate, Panes.of(spec.alignment), spec.alignment)


def kept_window(node: KeyedNode, type_info: TypeInformation | None) -> ByColumn | None:
    """How a window operator keeps its records by column, None if it cannot."""
    spec: WindowSpec = node.function
    if spec.fold is not None or node.second is not None or not _is_aligned(spec):
        return None
    key = _key_column(node, type_info)
    if key is None or type_info is None or spec.alignment is None:
        return None
    return ByColumn(type_info, key, None, Panes.of(spec.alignment), spec.alignment)


def session_aggregate(node: KeyedNode, type_info: TypeInformation | None) -> ByColumn | None:
    """How sessions add up runs of records by column, None if they cannot."""
    spec: WindowSpec = node.function
    if type_info is None or not spec.plain_sessions():
        return None
    aggregate = _field_aggregate(node, type_info)
    return None if aggregate is None else ByColumn(type_info, aggregate.key, aggregate)


def pane_equivalent(node: KeyedNode, type_info: TypeInformation | None) -> str | None:
    """The layout by column that the windows of an operator in pages have the content of.

    Only windows that do not overlap are like panes, and only records of a declared type surely fit.
    """
    spec: WindowSpec = node.function
    align = spec.alignment
    if align is None or align.size != align.slide or node.second is not None:
        return None
    if type_info is None or not is_declared(type_info) or not field_types(type_info):
        return None
    content: PaneContent = "columns"
    if spec.counts:
        content = "counts"
    elif spec.fold is not None:
        if not spec.emits_fold or _aggregated_field(spec, type_info) is None:
            return None
        content = "partial sums"
    return str(PaneLayout(content, str(type_info), align))


def _is_aligned(spec: WindowSpec) -> bool:
    """Whether windows are aligned, fire once by the default trigger, and only count late records."""
    if spec.alignment is None or spec.alignment.slide > spec.alignment.size:
        return False  # a record between two windows may be late too: the window operator knows
    return not spec.allowed_lateness_ms and spec.late_tag is None and spec.lateness == "channel"


def _count(node: KeyedNode, type_info: TypeInformation) -> FieldAggregate | None:
    """The number of records as an aggregate."""
    key = _key_column(node, type_info)
    if key is None:
        return None
    counts = Types.TUPLE([field_types(type_info)[key], Types.LONG()])
    return FieldAggregate("sum", 0, 1, counts, (type_info, key))


def _key_column(node: KeyedNode, type_info: TypeInformation | None) -> int | None:
    if type_info is not None and type_info.certainty is Certainty.GUESSED:
        return None  # a value that does not fit has no place in a column
    key = None if isinstance(node.selector, Place) else field_read_by(node.selector)
    place = None if key is None else field_index(type_info, key)
    return place if place is not None and field_types(type_info)[place].kind in KEYS else None


def _field_aggregate(node: KeyedNode, type_info: TypeInformation) -> FieldAggregate | None:
    """The aggregate of a field that a window operator computes, if the library declares it.

    Key and field have to be columns of the records' type.
    """
    spec: WindowSpec = node.function
    key, place = _key_column(node, type_info), _aggregated_field(spec, type_info)
    if key is None or place is None or place == key:
        return None
    return FieldAggregate(spec.fold.function.kind, key, place, type_info)  # type: ignore[union-attr]


def _aggregated_field(spec: WindowSpec, type_info: TypeInformation) -> int | None:
    """The column of whole numbers that a declared aggregate is of."""
    function: Any = spec.fold.function if isinstance(spec.fold, Reduced) else None
    if getattr(function, "kind", None) not in AGGREGATES:
        return None
    place = field_index(type_info, function.field)
    is_number = place is not None and field_types(type_info)[place].kind in WHOLE_NUMBERS
    return place if is_number else None
