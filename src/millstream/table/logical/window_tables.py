"""Windowing table functions: TUMBLE, HOP, CUMULATE and SESSION of a table."""

from __future__ import annotations

from typing import Any

from millstream.table.expressions import kinds
from millstream.table.expressions.tree import InputRef, Literal
from millstream.table.logical.algebra import Relation, WindowTable
from millstream.table.logical.context import BinderContext
from millstream.table.logical.expression_binder import ExpressionBinder
from millstream.table.logical.problems import shown_list
from millstream.table.logical.scopes import Scope
from millstream.table.logical.typing_rules import is_time_attribute, plain_type, row_type
from millstream.table.sql import expressions as sql
from millstream.table.types.logical import LogicalType, RowType, TimestampType

__all__ = ["WINDOW_FUNCTIONS", "bind_window_table", "window_row"]

# The parameters behind the table and the time column.
WINDOW_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "TUMBLE": ("SIZE", "OFFSET"),
    "HOP": ("SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("STEP", "SIZE", "OFFSET"),
    "SESSION": ("GAP",),
}
_OPTIONAL = ("OFFSET",)


def window_row(row: RowType, time: LogicalType) -> RowType:
    """The columns of a table and those of its windows.

    Start and end are TIMESTAMP(3) whatever the time is; ``window_time`` is a time attribute as it is.
    """
    stamp = TimestampType(3, nullable=False)
    moment = time.with_nullability(False)
    if isinstance(moment, TimestampType):
        moment = TimestampType(3, moment.kind, nullable=False)
    names = [each.name for each in row.fields]
    types = [each.type for each in row.fields]
    extra = ["window_start", "window_end", "window_time"]
    return row_type([*names, *extra], [*types, stamp, stamp, moment])


def bind_window_table(
    context: BinderContext, call: sql.Call, table: Any, outer: ExpressionBinder | None
) -> Relation:
    """``TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR)``, or with a query in brackets.

    ``table`` binds the table argument.
    """
    name = call.name.names[-1].upper()
    given = _by_name(context, call, name)
    source = given["DATA"]
    if isinstance(source, sql.ScalarQuery):
        source = sql.TableArgument(source.query, span=source.span)
    if not isinstance(source, sql.TableArgument):
        message = f"the first argument of {name} is a table"
        hint = f"write {name}(TABLE t, DESCRIPTOR(ts), ...)"
        raise context.error("WRONG_ARGUMENTS", message, source, hint)
    relation: Relation = table(source.table)
    time = _time_column(context, given["TIMECOL"], relation, name)
    partition = tuple(_column(context, each, relation) for each in source.partition_by)
    if partition and name != "SESSION":
        message = f"{name} takes no PARTITION BY"
        raise context.error("WRONG_ARGUMENTS", message, source, "leave it away, and group later")
    binder = ExpressionBinder(context, Scope(()), outer)
    spans = {
        each: _millis(context, binder, given[each], each)
        for each in WINDOW_FUNCTIONS[name]
        if each in given
    }
    size = spans.get("SIZE", spans.get("GAP", 0))
    step = spans.get("SLIDE", spans.get("STEP"))
    _check_sizes(context, name, size, step, call)
    row = window_row(relation.row_type, relation.row_type.fields[time].type)
    offset = spans.get("OFFSET", 0)
    return WindowTable(row, relation, name, time, size, step, offset, partition)  # type: ignore[arg-type]


def _by_name(context: BinderContext, call: sql.Call, name: str) -> dict[str, sql.Expression]:
    parameters = ("DATA", "TIMECOL", *WINDOW_FUNCTIONS[name])
    found: dict[str, sql.Expression] = {}
    for at, each in enumerate(call.arguments):
        if isinstance(each, sql.NamedArgument):
            key = each.name.text.upper()
            if key not in parameters:
                message = f"{name} has no parameter {each.name.text}"
                hint = f"its parameters are {shown_list(parameters)}"
                raise context.error("NAMED_ARGUMENT", message, each, hint)
            found[key] = each.value
        elif at < len(parameters):
            found[parameters[at]] = each
    missing = [each for each in parameters if each not in found and each not in _OPTIONAL]
    if missing or len(call.arguments) > len(parameters):
        shown = {"DATA": "TABLE t", "TIMECOL": "DESCRIPTOR(ts)"}
        needed = [shown.get(e, e.lower()) for e in parameters if e not in _OPTIONAL]
        hint = f"write {name}({', '.join(needed)})"
        count = len(call.arguments)
        message = f"{name} has {count} arguments, and needs {len(needed)}"
        raise context.error("WRONG_ARGUMENTS", message, call, hint)
    return found


def _column(context: BinderContext, node: sql.Expression, relation: Relation) -> int:
    binder = ExpressionBinder(context, Scope.of(relation.row_type))
    found = binder.bind(node)
    if not isinstance(found, InputRef):
        raise context.error("WRONG_ARGUMENTS", "a column is needed here", node, "name a column")
    return found.index


def _time_column(
    context: BinderContext, node: sql.Expression, relation: Relation, name: str
) -> int:
    is_descriptor = isinstance(node, sql.Call) and node.name.names[-1].upper() == "DESCRIPTOR"
    if not is_descriptor or len(node.arguments) != 1:  # type: ignore[attr-defined]
        hint = f"write {name}(TABLE t, DESCRIPTOR(ts), ...)"
        message = f"the second argument of {name} is a DESCRIPTOR with one column"
        raise context.error("WRONG_ARGUMENTS", message, node, hint)
    column = node.arguments[0]  # type: ignore[attr-defined]
    at = _column(context, column, relation)
    check_time(context, relation.row_type.fields[at].type, column)
    return at


def check_time(context: BinderContext, kind: LogicalType, node: Any) -> None:
    """Refuse a column that windows cannot be made of."""
    shown = context.problems.text(node)
    if kinds.root(kind) not in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        message = f"windows need a timestamp, and {shown} is {kind}"
        hint = "add a computed column to the table, as in ts AS TO_TIMESTAMP_LTZ(millis, 3)"
        raise context.error("NO_TIME_ATTRIBUTE", message, node, hint)
    batch = (context.names.option("execution.runtime-mode") or "").upper() == "BATCH"
    if not is_time_attribute(kind) and not batch:
        message = f"windows need the time of a table, and {shown} is plain data: {plain_type(kind)}"
        hint = f"add WATERMARK FOR {shown} AS {shown} - INTERVAL '5' SECOND to the table"
        raise context.error("NO_TIME_ATTRIBUTE", message, node, hint)


def _millis(
    context: BinderContext, binder: ExpressionBinder, node: sql.Expression, what: str
) -> int:
    found = binder.bind(node)
    if not isinstance(found, Literal) or kinds.root(found.type) != "INTERVAL_MILLIS":
        message = f"{what.lower()} of a window is an interval, and this is {found.type}"
        hint = "write INTERVAL '10' MINUTE; months and years have no fixed length"
        raise context.error("WRONG_ARGUMENTS", message, node, hint)
    return int(found.value)


def _check_sizes(context: BinderContext, name: str, size: int, step: int | None, node: Any) -> None:
    if size <= 0 or (step is not None and step <= 0):
        message = f"{name} needs intervals above zero"
        raise context.error("WINDOW_SIZE", message, node, "choose longer ones")
    if name == "CUMULATE" and step is not None and size % step:
        message = f"the size of CUMULATE must be a multiple of the step: {size} ms and {step} ms"
        raise context.error("WINDOW_SIZE", message, node, "the step comes before the size")
    if name == "CUMULATE" and step is not None and step > size:
        message = "the step of CUMULATE is longer than the size"
        raise context.error("WINDOW_SIZE", message, node, "the step comes before the size")
