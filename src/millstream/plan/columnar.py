"""Which windows can be computed by column, and how."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.common.recognition import field_read_by
from millstream.common.typeinfo import TypeInformation
from millstream.kernel.columns import field_index, field_types
from millstream.kernel.places import Place
from millstream.kernel.windows.contents import Reduced
from millstream.kernel.windows.panes import FieldAggregate, Panes
from millstream.kernel.windows.spec import WindowSpec
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
    """How a window operator over records of a type is computed by column, None if it cannot be.

    The windows are aligned, fire once by the default trigger, and late records are only counted.
    """
    spec = node.function
    assert isinstance(spec, WindowSpec)
    if not spec.emits_fold or spec.alignment is None:
        return None
    if spec.alignment.slide > spec.alignment.size:
        return None  # a record between two windows may be late too: the window operator knows
    if spec.allowed_lateness_ms or spec.late_tag is not None or spec.lateness != "channel":
        return None
    aggregate = field_aggregate(node, type_info)
    return None if aggregate is None else ColumnarWindow(aggregate, Panes.of(spec.alignment))


def field_aggregate(node: KeyedNode, type_info: TypeInformation | None) -> FieldAggregate | None:
    """What a window operator makes of a field, if it is an aggregate that the library declares.

    Key and field have to be columns of the records' type.
    """
    spec = node.function
    if not isinstance(spec.fold, Reduced):
        return None
    kind = getattr(spec.fold.function, "kind", None)
    key = None if isinstance(node.selector, Place) else field_read_by(node.selector)
    if kind not in AGGREGATES or key is None:
        return None
    key_place = field_index(type_info, key)
    place = field_index(type_info, spec.fold.function.field)  # type: ignore[attr-defined]
    if key_place is None or place is None or type_info is None or key_place == place:
        return None
    types = field_types(type_info)
    if types[key_place].kind not in KEYS or types[place].kind not in WHOLE_NUMBERS:
        return None
    return FieldAggregate(kind, key_place, place, type_info)
