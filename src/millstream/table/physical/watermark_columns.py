"""CURRENT_WATERMARK in the kernel's form: a column that an operator below adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from millstream.common.errors import PlanError
from millstream.common.typeinfo import RowTypeInfo
from millstream.kernel.tables.timed.watermark_columns import WatermarkColumnsSpec
from millstream.plan.tables import add_table
from millstream.table.expressions.tree import Call, Expression, InputRef, Literal
from millstream.table.logical.algebra import Filter, Project
from millstream.table.physical.compiled import row_info
from millstream.table.physical.meaning import uid_of
from millstream.table.rules.conditions import replaced
from millstream.table.types.arrow import arrow_type

if TYPE_CHECKING:
    from millstream.table.physical.lowering import Lowering

__all__ = ["add_watermarks"]


def add_watermarks(
    lowering: Lowering, relation: Project | Filter, expressions: Sequence[Expression]
) -> tuple[int, RowTypeInfo, list[Expression]]:
    """The node below a table, its rows, and the expressions of the table over their columns.

    Each watermark that they ask for is a column there. In batch mode there is none.
    """
    calls = [each for part in expressions for each in part.walk() if _asks(each)]
    node, row = lowering.node(relation.input), row_info(relation.input.row_type)
    if not calls:
        return node, row, list(expressions)
    if lowering.batch:
        nulls = {each: Literal(each.type, None) for each in calls}
        return node, row, [replaced(each, nulls) for each in expressions]
    if any(lowering.changes(relation)):
        raise PlanError(
            "SQL_NOT_SUPPORTED",
            "CURRENT_WATERMARK over rows that change: a row is taken back under another watermark",
            hint="ask for it above the table whose rows only come, before they are grouped or joined",
        )
    types = list(dict.fromkeys(each.type for each in calls))
    width = len(relation.input.row_type.fields)
    columns = {each: _column(width + types.index(each.type), each) for each in calls}
    key = sorted({a.index for each in calls for a in each.walk() if isinstance(a, InputRef)})
    spec = WatermarkColumnsSpec(row, tuple(key), tuple(map(arrow_type, types)))
    uid = f"{uid_of(relation)}-watermark"
    found = add_table(lowering.graph, "Watermarks", [node], spec, uid=uid)
    return found.id, spec.output, [replaced(each, columns) for each in expressions]


def _asks(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.function == "CURRENT_WATERMARK"


def _column(place: int, call: Expression) -> InputRef:
    return InputRef(call.type, place, str(call))
