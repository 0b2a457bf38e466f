"""Which rolling aggregates can be computed by column, and why others cannot."""

from __future__ import annotations

from typing import Any

from millstream.common.recognition import fields_read_by
from millstream.common.typeinfo import TypeInformation
from millstream.common.typesystem.certainty import is_declared
from millstream.kernel.records.columns import field_index, field_types
from millstream.kernel.records.key_columns import KeyColumns
from millstream.kernel.steps.routing import Place
from millstream.kernel.tables.rolling import IN_COLUMNS
from millstream.plan.columnar import AGGREGATES, KEYS, WHOLE_NUMBERS, ByColumn
from millstream.plan.graph import KeyedNode

SUMMED = WHOLE_NUMBERS | {"DOUBLE"}
"""FLOAT is left out: functions behind it see its sums with all the digits that Python computes."""
COMPARED = SUMMED | {"FLOAT", "STRING", "BOOLEAN", "SQL_DATE", "SQL_TIMESTAMP"}


def is_rolling(node: KeyedNode) -> bool:
    """Whether an operator is a declared aggregate of a field, each update of which is emitted."""
    return node.kind == "reduce" and getattr(node.function, "kind", None) in AGGREGATES


def rolling_columns(node: KeyedNode, type_info: TypeInformation | None) -> ByColumn | str:
    """The columns that a rolling aggregate works on; a text if it cannot, which says why."""
    if type_info is None or not is_declared(type_info):
        return "nobody declares the type of its records"
    if not field_types(type_info):
        return f"its records, of type {type_info}, have no fields"
    fields = None if isinstance(node.selector, Place) else fields_read_by(node.selector)
    key = KeyColumns.of(fields, type_info)
    if key is None:
        return "its key is computed by a function, and is no field of the record"
    if not all(kind.kind in KEYS for kind in key.kinds):
        return f"its key is a {', '.join(map(str, key.kinds))}"
    function: Any = node.function
    place = field_index(type_info, function.field)
    if place is None:
        return f"the planner does not know field {function.field!r}"
    if place in key.places:
        return "the field is a part of the key"
    kind = field_types(type_info)[place]
    if kind.kind not in (SUMMED if function.kind == "sum" else COMPARED):
        return f"the field is a {kind}"
    return ByColumn(type_info, key, layout=IN_COLUMNS, place=place)
