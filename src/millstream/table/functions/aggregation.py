"""Aggregates as pure functions of rows with weights: the reference for the operators of tables.

A row of weight -1 takes one of weight 1 back; rows stand in their order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import reduce
from typing import Any

from millstream.table.expressions import kinds
from millstream.table.expressions.context import Context, EvaluationError
from millstream.table.expressions.java.numbers import wrap
from millstream.table.expressions.tree import Call
from millstream.table.functions.cast_text import EXACT, round_decimal
from millstream.table.functions.casts import cast_value
from millstream.table.functions.json_functions import to_json
from millstream.table.functions.json_text import json_object

__all__ = ["aggregate", "consolidate"]

Row = tuple[Any, ...]
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}


def consolidate(rows: Iterable[tuple[Row, int]]) -> list[Row]:
    """The rows that are left: a retraction takes the first equal row away.

    Examples
    --------
    >>> consolidate([((1,), 1), ((2,), 1), ((1,), -1)])
    [(2,)]
    """
    left: list[Row] = []
    for row, weight in rows:
        for _ in range(abs(weight)):
            if weight > 0:
                left.append(row)
            elif row in left:
                left.remove(row)
    return left


def aggregate(call: Call, rows: Iterable[tuple[Row, int]], context: Context) -> Any:
    """The internal value of an aggregate over the arguments of all rows.

    Examples
    --------
    >>> from millstream.table.expressions.tree import InputRef
    >>> from millstream.table.functions import bind
    >>> total = bind("SUM", [InputRef(kinds.INT, 0, "i")])
    >>> aggregate(total, [((1,), 1), ((5,), 1), ((1,), -1)], Context())
    5
    """
    compute = _AGGREGATES.get(call.function)
    if compute is None:
        raise EvaluationError(f"{call.function} is not computed by rows alone")
    return compute(call, consolidate(rows), context)


def _known(rows: list[Row]) -> list[Any]:
    return [row[0] for row in rows if row[0] is not None]


def _count(call: Call, rows: list[Row], context: Context) -> int:
    return sum(all(value is not None for value in row) for row in rows)


def _total(values: list[Any], call: Call) -> Any:
    root = kinds.root(call.type)
    if root == "DECIMAL":
        total = Decimal(0)
        for value in values:
            total = EXACT.add(total, Decimal(value))
        return round_decimal(total, kinds.width(call.type), kinds.scale(call.type))
    return wrap(sum(values), _BITS[root]) if root in _BITS else sum(values, 0.0)


def _sum(call: Call, rows: list[Row], context: Context) -> Any:
    values = _known(rows)
    return _total(values, call) if values else None


def _sum0(call: Call, rows: list[Row], context: Context) -> Any:
    return _total(_known(rows), call)


def _average(call: Call, rows: list[Row], context: Context) -> Any:
    values = _known(rows)
    if not values:
        return None
    if kinds.root(call.type) in _BITS:
        total = wrap(sum(values), _BITS[kinds.root(call.type)])
        return abs(total) // len(values) * (1 if total >= 0 else -1)
    if kinds.root(call.type) == "DECIMAL":
        mean = EXACT.divide(reduce(EXACT.add, values, Decimal(0)), Decimal(len(values)))
        return round_decimal(mean, kinds.width(call.type), kinds.scale(call.type))
    return sum(values, 0.0) / len(values)


def _extreme(choose: Callable[..., Any]) -> Callable[[Call, list[Row], Context], Any]:
    return lambda call, rows, context: choose(_known(rows), default=None)


def _spread(sample: bool, root: bool) -> Callable[[Call, list[Row], Context], Any]:
    def run(call: Call, rows: list[Row], context: Context) -> Any:
        values = [float(value) for value in _known(rows)]
        if len(values) <= sample:
            return None
        count, mean, squares = 0, 0.0, 0.0
        for value in values:  # Welford's way
            count += 1
            delta = value - mean
            mean += delta / count
            squares += delta * (value - mean)
        found = squares / (count - sample)
        found = math.sqrt(found) if root else found
        return cast_value(found, kinds.DOUBLE, call.type, context)

    return run


def _at(index: int) -> Callable[[Call, list[Row], Context], Any]:
    def run(call: Call, rows: list[Row], context: Context) -> Any:
        values = _known(rows)
        return values[index] if values else None

    return run


def _list(call: Call, rows: list[Row], context: Context) -> str | None:
    values = _known(rows)
    separator = rows[0][1] if rows and len(rows[0]) > 1 else ","
    return separator.join(values) if values else None


def _collect(call: Call, rows: list[Row], context: Context) -> tuple[tuple[Any, int], ...]:
    counts: dict[Any, int] = {}
    for value in _known(rows):
        counts[value] = counts.get(value, 0) + 1
    return tuple(counts.items())


def _array(call: Call, rows: list[Row], context: Context) -> tuple[Any, ...] | None:
    return tuple(row[0] for row in rows) if rows else None


def _percentile(call: Call, rows: list[Row], context: Context) -> Any:
    values: list[float] = []
    for row in rows:
        times = row[2] if len(row) > 2 else 1
        if row[0] is not None and times is not None and times > 0:
            values += [float(row[0])] * times
    if not values:
        return None
    values.sort()
    wanted = rows[0][1]
    if isinstance(wanted, tuple):
        return tuple(_interpolated(values, float(each)) for each in wanted)
    return _interpolated(values, float(wanted))


def _interpolated(values: list[float], percentage: float) -> float:
    place = (len(values) - 1) * percentage
    low, high = math.floor(place), math.ceil(place)
    if low == high:
        return values[low]
    return (high - place) * values[low] + (place - low) * values[high]


def _json_object(call: Call, rows: list[Row], context: Context) -> str:
    keep = len(call.arguments) < 3 or str(call.arguments[2]) == "NULL ON NULL"
    found: dict[str, str] = {}
    for key, value in (row[:2] for row in rows if keep or row[1] is not None):
        if key is None:
            raise EvaluationError("a key is NULL")
        if key in found:
            raise EvaluationError(f"several rows have the key {key!r}")
        found[key] = to_json(value, call.arguments[1].type, context)
    return json_object(found)


def _json_array(call: Call, rows: list[Row], context: Context) -> str:
    keep = len(call.arguments) > 1 and str(call.arguments[1]) == "NULL ON NULL"
    kind = call.arguments[0].type
    parts = [to_json(row[0], kind, context) for row in rows if row[0] is not None or keep]
    return "[" + ",".join(parts) + "]"


_AGGREGATES: dict[str, Callable[[Call, list[Row], Context], Any]] = {
    "COUNT": _count,
    "SUM": _sum,
    "SUM0": _sum0,
    "AVG": _average,
    "MIN": _extreme(min),
    "MAX": _extreme(max),
    "STDDEV_POP": _spread(sample=False, root=True),
    "STDDEV_SAMP": _spread(sample=True, root=True),
    "STDDEV": _spread(sample=True, root=True),
    "VAR_POP": _spread(sample=False, root=False),
    "VAR_SAMP": _spread(sample=True, root=False),
    "VARIANCE": _spread(sample=True, root=False),
    "FIRST_VALUE": _at(0),
    "LAST_VALUE": _at(-1),
    "LISTAGG": _list,
    "COLLECT": _collect,
    "ARRAY_AGG": _array,
    "PERCENTILE": _percentile,
    "JSON_OBJECTAGG": _json_object,
    "JSON_ARRAYAGG": _json_array,
}
