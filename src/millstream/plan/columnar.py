"""Which windows can be computed by column, and how."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.common._type_certainty import Certainty
from millstream.common.recognition import field_read_by
from millstream.common.typeinfo import TypeInformation, Types
from millstream.kernel.columns import field_index, field_types
from millstream.kernel.places import Place
from millstream.kernel.windows.contents import Reduced
from millstream.kernel.windows.panes import FieldAggregate, Panes
from millstream.kernel.windows.spec import Alignment, WindowSpec
from millstream.plan.graph import KeyedNode

WHOLE_NUMBERS = frozenset({"BYTE", "SHORT", "INT", "LONG"})
KEYS = WHOLE_NUMBERS | {"STRING"}
AGGREGATES = frozenset({"sum", "min", "max", "min_by", "max_by"})
"""Of whole numbers only. A sum of floats depends on the order in which they are added, and partial
sums on how epochs are cut; and NaN is neither smaller nor larger than any other."""


@dataclass(frozen=True)
class ColumnarWindow:
    """An aggregate of a field over aligned windows of typed records."""

    aggregate: FieldAggregate
    panes: Panes


def columnar_window(node: KeyedNode, type_info: TypeInformation | None) -> ColumnarWindow | None:
    """How a window operator over records of a type is computed by column, None if it cannot be."""
    spec = node.function
    assert isinstance(spec, WindowSpec)
    if not _is_aligned(spec):
        return None
    assert spec.alignment is not None
    if spec.counts:
        aggregate = _count(node, type_info)
    else:
        aggregate = field_aggregate(node, type_info) if spec.emits_fold else None
    return None if aggregate is None else ColumnarWindow(aggregate, Panes.of(spec.alignment))


def _is_aligned(spec: WindowSpec) -> bool:
    """Whether windows are aligned, fire once by the default trigger, and only count late records."""
    if spec.alignment is None or spec.alignment.slide > spec.alignment.size:
        return False  # a record between two windows may be late too: the window operator knows
    return not spec.allowed_lateness_ms and spec.late_tag is None and spec.lateness == "channel"


def _count(node: KeyedNode, type_info: TypeInformation | None) -> FieldAggregate | None:
    """The number of records as an aggregate."""
    key = _key_column(node, type_info)
    if key is None or type_info is None:
        return None
    counts = Types.TUPLE([field_types(type_info)[key], Types.LONG()])
    return FieldAggregate("sum", 0, 1, counts, (type_info, key))


def kept_by(node: KeyedNode, type_info: TypeInformation | None) -> int | None:
    """The key field of records that a window operator keeps by column, None if it cannot."""
    spec = node.function
    if spec.fold is not None or node.second is not None or not _is_aligned(spec):
        return None
    return _key_column(node, type_info)


def _key_column(node: KeyedNode, type_info: TypeInformation | None) -> int | None:
    if type_info is not None and type_info.certainty is Certainty.GUESSED:
        return None  # a value that does not fit has no place in a column
    key = None if isinstance(node.selector, Place) else field_read_by(node.selector)
    place = None if key is None else field_index(type_info, key)
    return place if place is not None and field_types(type_info)[place].kind in KEYS else None


def field_aggregate(node: KeyedNode, type_info: TypeInformation | None) -> FieldAggregate | None:
    """What a window operator makes of a field, if it is an aggregate that the library declares.

    Key and field have to be columns of the records' type.
    """
    spec = node.function
    if not isinstance(spec.fold, Reduced):
        return None
    kind = getattr(spec.fold.function, "kind", None)
    key = _key_column(node, type_info)
    if kind not in AGGREGATES or key is None or type_info is None:
        return None
    place = field_index(type_info, spec.fold.function.field)  # type: ignore[attr-defined]
    if place is None or place == key or field_types(type_info)[place].kind not in WHOLE_NUMBERS:
        return None
    return FieldAggregate(kind, key, place, type_info)


def state_layout(node: KeyedNode, type_info: TypeInformation | None) -> str:
    """How an operator keeps its state; what was written in one way cannot be read in another."""
    if node.kind != "window":
        return _IN_PAGES.get(node.kind, "pages")
    align = node.function.alignment
    if columnar_window(node, type_info) is not None:
        what = "counts" if node.function.counts else "partial sums"
        return f"{what} of {type_info} {_spans(align)}"
    if kept_by(node, type_info) is not None:
        return f"columns of {type_info} {_spans(align)}"
    return "windows in pages"


_IN_PAGES = {"reduce": "reduced values in pages", "interval_join": "joined records in pages"}


def _spans(align: Alignment) -> str:
    """The windows that panes belong to."""
    offset = f" from {align.offset} ms on" if align.offset else ""
    return f"in windows of {align.size} ms every {align.slide} ms{offset}"
