"""Lookup joins: rows of a table by key, at the time at which the left row is processed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from millstream.common.errors import PlanError
from millstream.common.time import to_millis
from millstream.common.types import Row
from millstream.kernel.records.order import Ints
from millstream.kernel.steps.columns import FlatStep, ProjectStep, RowFilterStep, TableStep
from millstream.kernel.tables.functions import ColumnFunction
from millstream.plan.tables import add_columns
from millstream.table.expressions.tree import Expression, InputRef
from millstream.table.logical.algebra import Filter, Project, Relation, Scan, TemporalJoin
from millstream.table.physical.compiled import compiled, copied_columns, row_info
from millstream.table.physical.correlate import Correlated
from millstream.table.physical.joins import JoinParts, join_parts
from millstream.table.types.arrow import arrow_type
from millstream.table.types.logical import LogicalType, RowType
from millstream.table.types.values import column_of, python_values

if TYPE_CHECKING:
    from millstream.table.physical.lowering import Lowering

__all__ = [
    "Key",
    "LookedUp",
    "LookupParts",
    "Retry",
    "RowLookup",
    "Values",
    "add_lookup_join",
    "retry_of",
]

Key = tuple[Any, ...]
Values = Row | Sequence[Any]
"""The values of a row."""


class RowLookup(Protocol):
    """Finds rows of a table. It can be pickled, and connects when it is first asked."""

    def find(self, keys: Sequence[Key]) -> Mapping[Key, Sequence[Values]]:
        """The rows of each key, as the values of the columns that were asked for; perhaps none."""


@dataclass(frozen=True)
class LookupParts:
    """The lookup of a table, the row type that it gives, and the step that makes columns of it."""

    lookup: RowLookup
    row: RowType
    step: TableStep


Finder = Callable[[Scan, tuple[str, ...]], LookupParts]
"""Gives the lookup of a table by some columns."""


@dataclass(frozen=True)
class Retry:
    """How often, and after how long, a key that was not found is looked up again."""

    attempts: int
    delay_ms: int

    def wait(self) -> None:
        """Wait until the next attempt."""
        threading.Event().wait(self.delay_ms / 1_000)


@dataclass(frozen=True)
class LookedUp:
    """The rows of a table that have the key of each row; NULL in a key finds nothing.

    ``row``: the columns that the lookup gives; ``steps``: what becomes of them.
    """

    lookup: RowLookup
    key: tuple[ColumnFunction, ...]
    types: tuple[LogicalType, ...]
    row: RowType
    steps: tuple[TableStep, ...] = ()
    retry: Retry | None = None

    def __call__(self, batch: pa.RecordBatch) -> tuple[Ints, list[pa.Array]]:
        columns = [python_values(f(batch), t) for f, t in zip(self.key, self.types, strict=True)]
        keys = list(zip(*columns, strict=True))
        found = self._found(list(dict.fromkeys(key for key in keys if None not in key)))
        matches = [(at, row) for at, key in enumerate(keys) for row in found.get(key, ())]
        rows = np.array([at for at, _ in matches], np.int64)
        arrays = [
            _column([row[place] for _, row in matches], field.type)
            for place, field in enumerate(self.row.fields)
        ]
        for step in self.steps:
            names = [str(i) for i in range(len(arrays))]
            made = step.run(pa.RecordBatch.from_arrays(arrays, names=names))
            arrays = list(made.arrays)
            rows = rows if made.rows is None else rows[made.rows]
        return rows, arrays

    def _found(self, keys: list[Key]) -> dict[Key, Sequence[Values]]:
        found = dict(self.lookup.find(keys)) if keys else {}
        for _ in range(0 if self.retry is None else self.retry.attempts):
            missing = [key for key in keys if not found.get(key)]
            if not missing:
                break
            assert self.retry is not None
            self.retry.wait()
            found.update(self.lookup.find(missing))
        return found


def _column(values: list[Any], kind: LogicalType) -> pa.Array:
    try:
        return column_of(values, kind)
    except (pa.ArrowException, TypeError, ValueError):
        # Databases without the type, as SQLite, give times and decimals as texts and numbers.
        return pa.array(values).cast(arrow_type(kind))


def add_lookup_join(lowering: Lowering, relation: TemporalJoin) -> int:
    """Add a join with the rows that a table has when the left row is processed."""
    steps: list[TableStep] = []
    scan = _scan_below(relation.right, steps, lowering.zone)
    width = len(relation.left.row_type.fields)
    parts, names = _key_parts(relation, scan, width)
    found = lowering.lookup(scan, names)
    looked_up = LookedUp(
        found.lookup,
        tuple(compiled(each.left, lowering.zone) for each in parts.equalities),
        tuple(each.left.type for each in parts.equalities),
        found.row,
        (found.step, *steps),
        retry_of(relation, scan),
    )
    types = tuple(arrow_type(each.type) for each in relation.right.row_type.fields)
    condition = None if parts.rest is None else compiled(parts.rest, lowering.zone)
    step = FlatStep(
        Correlated(looked_up, relation.kind == "left", condition, width, types),
        row_info(relation.row_type),
        (*range(width), *(None for _ in types)),
        f"look up {scan.table.name} by {', '.join(names)}",
    )
    return add_columns(lowering.graph, "Lookup Join", lowering.node(relation.left), step).id


def _scan_below(table: Relation, steps: list[TableStep], zone: str) -> Scan:
    """The table that is looked up, and the filters and projections between it and the join."""
    if isinstance(table, Scan):
        return table
    if isinstance(table, Project):
        found = _scan_below(table.input, steps, zone)
        functions = tuple(compiled(each, zone) for each in table.expressions)
        copied = copied_columns(table.expressions)
        steps.append(ProjectStep(functions, row_info(table.row_type), copied))
        return found
    if isinstance(table, Filter):
        found = _scan_below(table.input, steps, zone)
        steps.append(RowFilterStep(compiled(table.condition, zone), row_info(table.row_type)))
        return found
    raise PlanError(
        "LOOKUP_JOIN",
        "a join at processing time looks rows up in a table, and this is the result of a query",
        hint="join with a table of a connector with lookups (jdbc), or by event time",
    )


def _key_parts(relation: TemporalJoin, scan: Scan, width: int) -> tuple[JoinParts, tuple[str, ...]]:
    """The equalities with columns of the table, and the names of these columns."""
    found = join_parts(relation.condition, width, lambda each: not each.null_safe)
    by_name: dict[str, Any] = {}
    for each in found.equalities:
        place = _column_below(each.right, relation.right)
        if place is not None:
            by_name.setdefault(scan.row_type.fields[place].name, each)
    if not by_name:
        raise PlanError(
            "LOOKUP_JOIN",
            f"a lookup join needs a column of {scan.table.name} that is equal to something of the left "
            "table",
            hint="add it to ON, as in ON o.customer_id = c.id",
        )
    chosen = list(by_name.values())
    return join_parts(relation.condition, width, chosen.__contains__), tuple(by_name)


def _column_below(expression: Expression, table: Relation) -> int | None:
    """The column of the scan that an expression is."""
    if not isinstance(expression, InputRef):
        return None
    if isinstance(table, Project):
        return _column_below(table.expressions[expression.index], table.input)
    if isinstance(table, Filter):
        return _column_below(expression, table.input)
    return expression.index


def retry_of(relation: TemporalJoin, scan: Scan) -> Retry | None:
    """The retries that the LOOKUP hint asks for, of keys that are not found."""
    hints = [dict(options) for name, options in relation.hints if name == "LOOKUP"]
    named = [each for each in hints if each.get("table") == scan.table.name]
    options = (named or (hints if len(hints) == 1 else []) or [{}])[0]
    wanted = ("retry-predicate", "retry-strategy", "fixed-delay", "max-attempts")
    given = [each for each in wanted if each in options]
    if not given:
        return None
    right = options.get("retry-predicate") == "lookup_miss"
    right = right and options.get("retry-strategy") == "fixed_delay" and len(given) == len(wanted)
    if not right or not options["max-attempts"].isdigit():
        raise PlanError(
            "LOOKUP_HINT",
            f"the LOOKUP hint of {scan.table.name} does not say how to retry: "
            + ", ".join(f"{each}={options[each]!r}" for each in given),
            hint="give 'retry-predicate'='lookup_miss', 'retry-strategy'='fixed_delay', "
            "'fixed-delay'='10s' and 'max-attempts'='3'",
        )
    return Retry(int(options["max-attempts"]), to_millis(options["fixed-delay"], "fixed-delay"))
