"""OVER in the kernel's form: the way it is computed follows from the order, the frame and the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from millstream.common.errors import PlanError
from millstream.kernel.tables.aggregates.calls import AggregateCall as KernelCall
from millstream.kernel.tables.bags import SortColumn
from millstream.kernel.tables.timed.frames import Frame, WindowCall
from millstream.kernel.tables.timed.over import OverMode, OverSpec
from millstream.plan.tables import add_columns, add_table
from millstream.table.expressions.tree import Call, Cast, Expression, Literal
from millstream.table.logical.algebra import AggregateCall, Over, OverCall
from millstream.table.logical.typing_rules import references, time_kind
from millstream.table.physical.aggregates import arguments_of, kernel_call
from millstream.table.physical.compiled import row_info
from millstream.table.physical.meaning import uid_of
from millstream.table.types.arrow import arrow_type

if TYPE_CHECKING:
    from millstream.table.physical.lowering import Lowering

__all__ = ["add_over", "over_mode"]

_PLACES = ("ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE", "LAG", "LEAD")
# They need rows behind the current one, or the number of all rows.
_LOOK_AHEAD = ("LEAD", "PERCENT_RANK", "CUME_DIST", "NTILE")


def over_mode(relation: Over, *, changes: bool, batch: bool = False) -> OverMode:
    """How the rows of OVER are computed; only "updating" takes rows back that it has given.

    Over rows that only come, in the order of one time, with frames that end at the current row, a result
    is final. In batch mode all rows are there, and there is nothing to wait for.
    """
    names = [each.expression.function for each in relation.calls if _is_call(each)]  # type: ignore[attr-defined]
    ahead = any(name in _LOOK_AHEAD for name in names)
    end = 0 if relation.frame is None else relation.frame.end.offset
    if batch or changes or ahead or end is None or end > 0 or len(relation.order) != 1:
        return "updating"
    (key,) = relation.order
    kind = time_kind(relation.input.row_type.fields[key.index].type)
    if kind == "PROCTIME" and not key.descending:
        return "arrival"
    return "rowtime" if kind == "ROWTIME" and not key.descending else "updating"


def _is_call(each: OverCall) -> bool:
    return isinstance(each.expression, Call)


def add_over(lowering: Lowering, relation: Over) -> int:
    """Add the columns of all calls over one window."""
    own = references(relation.input.row_type)
    arguments = arguments_of(relation.calls, own, relation.input, _kernel_call)
    before = lowering.node(relation.input)
    if len(arguments.columns) > len(own):
        before = add_columns(lowering.graph, "Arguments", before, arguments.step(lowering.zone)).id
    (changes,) = lowering.changes(relation)
    mode = over_mode(relation, changes=changes, batch=lowering.batch)
    order = tuple(SortColumn(k.index, k.descending, k.nulls_first) for k in relation.order)
    spec = OverSpec(
        row_info(arguments.row_type),
        relation.partition,
        () if mode == "arrival" else order,
        arguments.calls,
        _frame(relation),
        mode,
        changes,
    )
    node = add_table(lowering.graph, "Over", [before], spec, uid=uid_of(relation)).id
    width = len(arguments.columns)
    places = [*range(len(own)), *range(width, width + len(relation.calls))]
    return lowering.picked(node, places, relation)


def _frame(relation: Over) -> Frame:
    frame = relation.frame
    if frame is None:
        return Frame()
    return Frame(frame.unit, frame.start.offset, frame.end.offset)


def _kernel_call(each: OverCall, place: Callable[[Expression], int]) -> KernelCall | WindowCall:
    call = each.expression
    if not isinstance(call, Call) or call.function not in _PLACES:
        return kernel_call(AggregateCall(call, each.distinct, each.filter), place)
    result = arrow_type(call.type)
    if call.function == "NTILE":
        return WindowCall("NTILE", (), result, _number(call, 0))
    if call.function not in ("LAG", "LEAD"):
        return WindowCall(call.function, (), result)
    offset = _number(call, 1) if len(call.arguments) > 1 else 1
    value, *default = call.arguments[:1] + call.arguments[2:]
    # The default may have another type than the value: both are as the result.
    columns = [value, *(Cast(call.type, each) for each in default)]
    return WindowCall(call.function, tuple(map(place, columns)), result, offset)


def _number(call: Call, at: int) -> int:
    """The value of an argument that has to be a whole number."""
    found = call.arguments[at]
    while isinstance(found, Cast):
        found = found.operand
    if isinstance(found, Literal) and isinstance(found.value, int):
        return found.value
    raise PlanError(
        "OVER_ARGUMENT",
        f"{call.function} needs a whole number as argument {at + 1}, and {found} is none",
        hint=f"write the number itself, as in {call.function}(v, 2)",
    )
