"""Windows in GROUP BY: TUMBLE, HOP, SESSION as in old Flink, and WINDOW(ts, ...) as in Spark."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from millstream.table.expressions import kinds
from millstream.table.expressions.tree import Expression, FieldAccess, InputRef, Literal
from millstream.table.logical.algebra import WindowKind
from millstream.table.logical.expression_binder import ExpressionBinder
from millstream.table.logical.typing_rules import time_kind
from millstream.table.logical.window_tables import check_time
from millstream.table.sql import expressions as sql
from millstream.table.types.logical import (
    LocalZonedTimestampType,
    LogicalType,
    RowField,
    RowType,
    TimestampType,
)

__all__ = ["GroupWindow", "auxiliary", "group_window"]

_LEGACY: dict[str, WindowKind] = {"TUMBLE": "TUMBLE", "HOP": "HOP", "SESSION": "SESSION"}
_SPARK = ("WINDOW", "SESSION_WINDOW")
_PARTS = ("START", "END", "ROWTIME", "PROCTIME")
_UNITS = {
    "millisecond": 1,
    "second": 1_000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
}


@dataclass(frozen=True)
class GroupWindow:
    """A window that rows are grouped by."""

    kind: WindowKind
    time: Expression
    size: int
    step: int | None
    offset: int
    arguments: tuple[sql.Expression, ...] = field(compare=False, default=())
    name: str = ""

    def column(self, node: Any, start: int, binder: ExpressionBinder) -> Expression | None:
        """The column of an expression such as TUMBLE_START(...) or WINDOW(...).start."""
        if isinstance(node, sql.ColumnRef) and self.name in _SPARK:
            return self._named(node, start)
        if isinstance(node, sql.Field):
            value = self.column(node.value, start, binder)
            if value is not None and isinstance(value.type, RowType):
                names = [each.name for each in value.type.fields]
                if node.name.text in names:
                    at = names.index(node.name.text)
                    return FieldAccess(value.type.fields[at].type, value, at)
        if not isinstance(node, sql.Call):
            return None
        name = node.name.names[-1].upper()
        if name == self.name and name in _SPARK:
            return self._row(start, binder, node)
        part = auxiliary(node)
        if part is None:
            return None
        if not name.startswith(self.name) or node.arguments != self.arguments:
            message = f"{name} does not belong to the window of GROUP BY"
            hint = f"write the same arguments as in {self.name}(...) of GROUP BY"
            raise binder.context.error("NOT_GROUPED", message, node, hint)
        return self._part(part, start, binder, node)

    def _part(self, part: str, start: int, binder: ExpressionBinder, node: Any) -> Expression:
        if part in ("START", "END"):
            at = start + _PARTS.index(part)
            name = f"window_{part.lower()}"
            return InputRef(TimestampType(3, nullable=False), at, name)
        if part == "PROCTIME":
            return InputRef(
                LocalZonedTimestampType(3, "PROCTIME", nullable=False), start + 2, "window_time"
            )
        if time_kind(self.time.type) == "PROCTIME":
            message = "a window over processing time has no row time"
            hint = f"use {self.name}_PROCTIME"
            raise binder.context.error("NO_TIME_ATTRIBUTE", message, node, hint)
        kind: LogicalType = TimestampType(3, "ROWTIME")
        if isinstance(self.time.type, LocalZonedTimestampType):
            kind = LocalZonedTimestampType(3, "ROWTIME")
        return InputRef(kind, start + 2, "window_time")

    def _row(self, start: int, binder: ExpressionBinder, node: Any) -> Expression:
        """The row of start and end that Spark gives."""
        parts = [self._part(part, start, binder, node) for part in ("START", "END")]
        found = binder.call("ROW", parts, node)
        names = zip(("start", "end"), parts, strict=True)
        kind = RowType(tuple(RowField(name, each.type) for name, each in names), nullable=False)
        from dataclasses import replace

        return replace(found, type=kind)

    def _named(self, node: sql.ColumnRef, start: int) -> Expression | None:
        names = tuple(each.lower() for each in node.name.names)
        if names[0] not in ("window", "session_window") or len(names) != 2:
            return None
        if names[1] not in ("start", "end"):
            return None
        at = start + ("start", "end").index(names[1])
        return InputRef(TimestampType(3, nullable=False), at, f"window_{names[1]}")


def auxiliary(node: sql.Call) -> str | None:
    """START, END, ROWTIME or PROCTIME for a call such as TUMBLE_START; None for other calls."""
    name = node.name.names[-1].upper()
    window, _, part = name.rpartition("_")
    return part if window in _LEGACY and part in _PARTS else None


def group_window(node: Any, binder: ExpressionBinder) -> GroupWindow | None:
    """The window of an item of GROUP BY; None if it is none."""
    if not isinstance(node, sql.Call) or len(node.name.parts) > 1:
        return None
    name = node.name.names[-1].upper()
    if name in _LEGACY:
        return _legacy(name, node, binder)
    return _spark(name, node, binder) if name in _SPARK else None


def _legacy(name: str, node: sql.Call, binder: ExpressionBinder) -> GroupWindow:
    least = 3 if name == "HOP" else 2
    if not least <= len(node.arguments) <= least + 1:
        form = "ts, slide, size" if name == "HOP" else "ts, size"
        message = f"{name} in GROUP BY has {least} arguments, not {len(node.arguments)}"
        raise binder.context.error("WRONG_ARGUMENTS", message, node, f"write {name}({form})")
    time = binder.bind(node.arguments[0])
    check_time(binder.context, time.type, node.arguments[0])
    spans = [_interval(each, binder) for each in node.arguments[1:]]
    step = spans.pop(0) if name == "HOP" else None
    offset = spans[1] if len(spans) > 1 else 0
    return GroupWindow(_LEGACY[name], time, spans[0], step, offset, node.arguments, name)


def _spark(name: str, node: sql.Call, binder: ExpressionBinder) -> GroupWindow:
    most = 4 if name == "WINDOW" else 2
    if not 2 <= len(node.arguments) <= most:
        message = f"{name} takes a time and a length"
        hint = f"write {name}(ts, '10 minutes')"
        raise binder.context.error("WRONG_ARGUMENTS", message, node, hint)
    time = binder.bind(node.arguments[0])
    check_time(binder.context, time.type, node.arguments[0])
    spans = [_duration(each, binder) for each in node.arguments[1:]]
    if name == "SESSION_WINDOW":
        return GroupWindow("SESSION", time, spans[0], None, 0, node.arguments, name)
    step = spans[1] if len(spans) > 1 and spans[1] != spans[0] else None
    offset = spans[2] if len(spans) > 2 else 0
    kind: WindowKind = "HOP" if step else "TUMBLE"
    return GroupWindow(kind, time, spans[0], step, offset, node.arguments, name)


def _interval(node: sql.Expression, binder: ExpressionBinder) -> int:
    found = binder.value(node)
    if isinstance(found, Literal) and kinds.root(found.type) == "INTERVAL_MILLIS":
        return int(found.value)
    message = f"the length of a window is an interval, and this is {found.type}"
    hint = "write INTERVAL '10' MINUTE"
    raise binder.context.error("WRONG_ARGUMENTS", message, node, hint)


def _duration(node: sql.Expression, binder: ExpressionBinder) -> int:
    if not isinstance(node, sql.StringLiteral):
        return _interval(node, binder)
    text = node.value.strip().lower().removeprefix("interval ")
    parts = re.findall(r"(\d+)\s*([a-z]+?)s?\b", text)
    if not parts or any(unit not in _UNITS for _, unit in parts):
        message = f"{node.value!r} is no length of time"
        raise binder.context.error("WRONG_ARGUMENTS", message, node, "write '10 minutes'")
    return sum(int(number) * _UNITS[unit] for number, unit in parts)
