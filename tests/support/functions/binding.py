"""Cases as typed expressions, and values as Flink's answers write them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.table.expressions import (
    Call,
    Context,
    Expression,
    FieldAccess,
    InputRef,
    Literal,
    kinds,
)
from millstream.table.expressions import Symbol as SymbolExpression
from millstream.table.expressions.java.dates import civil
from millstream.table.expressions.kinds import LogicalType
from millstream.table.expressions.vectors import build, internal
from millstream.table.functions import (
    bind,
    bind_case,
    bind_cast,
    bind_json_query,
    bind_json_value,
    lookup,
)
from millstream.table.functions.aggregation import aggregate
from millstream.table.functions.cast_text import parse_date, parse_time, parse_timestamp
from millstream.table.functions.evaluate import evaluate
from millstream.table.functions.literals import interval_literal
from tests.support.functions.cases import ROWS, ROWS_TYPES
from tests.support.functions.language import Column, F, Symbol, Typed

__all__ = ["case_batch", "expression", "plain_values", "value_of"]

_EMPTY = pa.record_batch({"_": pa.array([0])})


def expression(case: Any) -> Expression:
    """The typed expression of a case, as the binder makes it of SQL."""
    if isinstance(case, F):
        return _call(case)
    if isinstance(case, Column):
        at = list(ROWS_TYPES).index(case.name)
        return InputRef(kinds.parse_type(ROWS_TYPES[case.name]), at, case.name)
    if isinstance(case, Symbol):
        return SymbolExpression(kinds.not_null(kinds.NULL), case.text)
    if isinstance(case, Typed):
        return _typed(case)
    return _literal(case)


def _literal(value: Any) -> Literal:
    if value is None:
        return Literal(kinds.NULL, None)
    if isinstance(value, bool):
        return Literal(kinds.not_null(kinds.BOOLEAN), value)
    if isinstance(value, str):
        return Literal(kinds.not_null(kinds.char(len(value.encode("utf-16-le")) // 2)), value)
    if isinstance(value, bytes):
        return Literal(kinds.not_null(kinds.parse_type(f"BINARY({len(value)})")), value)
    if isinstance(value, int):
        small = -(2**31) <= value < 2**31
        return Literal(kinds.not_null(kinds.INT if small else kinds.BIGINT), value)
    if isinstance(value, float):
        return Literal(kinds.not_null(kinds.DOUBLE), value)
    _, digits, exponent = value.as_tuple()
    scale = max(-int(exponent), 0)
    return Literal(kinds.not_null(kinds.decimal(max(len(digits), scale), scale)), value)


def _typed(case: Typed) -> Expression:
    head = case.type.split("(")[0].split(" ")[0]
    if case.value is None:
        return Literal(kinds.parse_type(case.type), None)
    if head == "INTERVAL":
        unit = case.type.removeprefix("INTERVAL ")
        special = unit if unit in ("WEEK", "QUARTER") else None
        return interval_literal(case.value, kinds.parse_type(case.type), special)
    if case.type == "DATE":
        return Literal(kinds.not_null(kinds.DATE), parse_date(case.value))
    fraction = len(case.value.partition(".")[2]) if isinstance(case.value, str) else 0
    if case.type == "TIME":
        return Literal(
            kinds.not_null(kinds.parse_type(f"TIME({fraction})")), parse_time(case.value)
        )
    if case.type == "TIMESTAMP" or case.type.startswith("TIMESTAMP_LTZ"):
        plain = Literal(kinds.not_null(kinds.timestamp(fraction)), parse_timestamp(case.value, 9))
        return plain if case.type == "TIMESTAMP" else bind_cast(plain, kinds.parse_type(case.type))
    return bind_cast(expression(case.value), kinds.parse_type(case.type))


def _call(case: F) -> Expression:
    arguments = [expression(each) for each in case.arguments]
    if case.name in ("CAST", "TRY_CAST"):
        kind = kinds.parse_type(case.type or "")
        return bind_cast(arguments[0], kind, lenient=case.name == "TRY_CAST")
    if case.name == "CASE":
        pairs = list(zip(arguments[:-1:2], arguments[1::2], strict=False))
        return bind_case(pairs, arguments[-1] if len(arguments) % 2 else None)
    if case.name == "JSON_VALUE":
        return bind_json_value(arguments, kinds.parse_type(case.type) if case.type else None)
    if case.name == "FIELD":
        names = [field.name for field in arguments[0].type.fields]  # type: ignore[attr-defined]
        at = names.index(case.arguments[1].text)
        return FieldAccess(arguments[0].type.children[at], arguments[0], at)
    if case.name == "JSON_QUERY":
        return bind_json_query(arguments, kinds.parse_type(case.type) if case.type else None)
    return bind(case.name, arguments)


def case_batch(columns: bool) -> pa.RecordBatch:
    """The rows of the cases with columns, or one row."""
    if not columns:
        return _EMPTY
    arrays = {}
    for at, (name, text) in enumerate(ROWS_TYPES.items()):
        kind = kinds.parse_type(text)
        cells = []
        for row in ROWS:
            cell = bind_cast(expression(row[at]), kind)
            cells += internal(evaluate(cell, _EMPTY), kind)
        arrays[name] = build(cells, kind)
    return pa.record_batch(arrays)


def value_of(case: Any, zone: str, batch: pa.RecordBatch) -> tuple[str, list[Any]]:
    """The type of a case, and its values as the answers have them."""
    found = expression(case)
    if isinstance(found, Call) and lookup(found.function).aggregate:
        context = Context(zone_name=zone)
        columns = [internal(evaluate(each, batch, context), each.type) for each in found.arguments]
        rows = [(row, 1) for row in zip(*columns, strict=True)]
        value = aggregate(found, rows, context)
        return found.type.as_summary(), [_plain(value, found.type)]
    array = evaluate(found, batch, Context(zone_name=zone))
    return found.type.as_summary(), plain_values(array, found.type)


def plain_values(array: pa.Array, kind: LogicalType) -> list[Any]:
    """The values of a column in the form of the answers."""
    return [_plain(value, kind) for value in internal(array, kind)]


def _plain(value: Any, kind: LogicalType) -> Any:
    root = kinds.root(kind)
    if value is None or isinstance(value, bool | str):
        return value
    if root == "FLOAT":
        return {"double": repr(float(str(np.float32(value))))}
    if root == "DOUBLE":
        return {"double": repr(value)}
    if isinstance(value, Decimal):
        return {"decimal": f"{value:f}"}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if root == "ARRAY":
        return [_plain(each, kind.children[0]) for each in value]
    if root in ("MAP", "MULTISET"):
        first, second = (*kind.children, kinds.INT)[:2]
        return {"map": [[_plain(key, first), _plain(each, second)] for key, each in value]}
    if root == "ROW":
        return {"row": [_plain(*pair) for pair in zip(value, kind.children, strict=True)]}
    if root in ("INTERVAL_MILLIS", "INTERVAL_MONTHS"):
        return {root.removeprefix("INTERVAL_").lower(): value}
    if root in ("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ"):
        return {"text": _time_text(value, root)}
    return value


def _time_text(value: int, root: str) -> str:
    """As `toString` of Java's LocalDate, LocalTime, LocalDateTime and Instant."""
    if root == "DATE":
        return "{:04}-{:02}-{:02}".format(*civil(value))
    if root == "TIME":
        return _clock(value * 1_000_000, always=False)
    days, rest = divmod(value, 86_400_000_000_000)
    date = "{:04}-{:02}-{:02}".format(*civil(days))
    zoned = root == "TIMESTAMP_LTZ"
    return f"{date}T{_clock(rest, always=zoned)}{'Z' if zoned else ''}"


def _clock(nanos: int, always: bool) -> str:
    second, fraction = divmod(nanos, 1_000_000_000)
    text = f"{second // 3600:02}:{second // 60 % 60:02}"
    if second % 60 or fraction or always:
        text += f":{second % 60:02}"
    if fraction:
        digits = f"{fraction:09}"
        while digits.endswith("000"):
            digits = digits[:-3]
        text += f".{digits}"
    return text
