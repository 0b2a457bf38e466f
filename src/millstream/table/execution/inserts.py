"""The rows of a query on their way into a table: constraints, output modes, upserts by its key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.common.errors import MillstreamError, PlanError
from millstream.connectors.sink import Changelog, Sink
from millstream.kernel.steps.columns import FilterStep, ProjectStep
from millstream.kernel.tables.conflicts import ConflictSpec
from millstream.kernel.tables.functions import Column
from millstream.kernel.tables.materialize import MaterializeSpec
from millstream.kernel.tables.spec import TableSpec
from millstream.kernel.tables.upsert import UpsertSpec
from millstream.plan.tables import add_columns, add_table, free_uid
from millstream.table.connectors.factory import connector_of
from millstream.table.connectors.simple import PrintedRows
from millstream.table.execution.planning import Planned, Planner, refuse_updates
from millstream.table.logical.entries import TableColumn, TableEntry
from millstream.table.physical.compiled import row_info

__all__ = ["OUTPUT_MODES", "add_insert"]

OUTPUT_MODES = ("append", "update", "complete")
NOT_NULL = "table.exec.sink.not-null-enforcer"
LENGTHS = "table.exec.sink.type-length-enforcer"
MATERIALIZE = "table.exec.sink.upsert-materialize"


def add_insert(
    planner: Planner,
    planned: Planned,
    entry: TableEntry,
    option: Callable[[str], str | None] = lambda _: None,
    output_mode: str | None = None,
    conflict: str | None = None,
) -> None:
    """Add a query and the table that takes its rows.

    Parameters
    ----------
    planner, planned
        The query, whose columns are the written ones of the table.
    entry
        The table.
    option
        The value of an option of the session.
    output_mode
        ``append``: rows that are never taken back, else it is refused. ``update``: what has changed.
        ``complete``: the whole table in each epoch with changes. By default what the table takes.
    conflict
        What becomes of several rows with the primary key of the table: ``DEDUPLICATE``, which is the
        default (the last one counts), ``NOTHING`` (the first one stays) or ``ERROR``.
    """
    connector, options = connector_of(entry)
    sink = connector.write(entry, options)
    name = entry.path.name
    _check_mode(planned, sink, name, output_mode)
    upserts = output_mode != "complete" and sink.changelog == "upsert" and bool(entry.primary_key)
    materialize = _materialize(option)
    if conflict is not None:
        _check_conflict(name, upserts, materialize)
    node = _enforced(planner, planner.add(planned), entry, option)
    updating = planned.traits.updating
    changelog: Changelog = "retract" if updating else "append"
    if output_mode == "complete":
        spec = MaterializeSpec(row_info(planned.relation.row_type), changes=updating)
        uid = free_uid(planner.env._graph, f"sql-complete-{entry.path}")
        node = add_table(planner.env._graph, "Whole Table", [node], spec, uid=uid).id
        changelog = "append"
    elif upserts:
        node = _as_upserts(planner, node, planned, entry, conflict, materialize)
        changelog = "upsert"
    elif isinstance(sink, PrintedRows):
        sink = replace(sink, key=planned.upsert_key)
    planner.connect(node, sink, name, changelog)


def _check_mode(planned: Planned, sink: Sink, name: str, mode: str | None) -> None:
    if mode is not None and mode not in OUTPUT_MODES:
        raise PlanError(
            "OUTPUT_MODE",
            f"there is no output mode {mode!r}",
            hint=f"use one of {', '.join(OUTPUT_MODES)}",
        )
    if mode == "complete":
        if not getattr(sink, "takes_complete", False):
            raise PlanError(
                "OUTPUT_MODE",
                f"table {name} cannot be replaced as a whole in each epoch",
                hint="use output_mode='update' with a table that has a primary key, or print it",
            )
        return
    if mode == "append" and planned.traits.updating:
        by = planned.traits.updated_by
        raise PlanError(
            "OUTPUT_MODE",
            f"the output mode is append, and {type(by).__name__} in the query changes rows that it "
            "has given",
            hint="use output_mode='update', or group by a window, whose results are final",
        )
    refuse_updates(planned, sink, name)


def _materialize(option: Callable[[str], str | None]) -> str:
    found = (option(MATERIALIZE) or "AUTO").upper()
    if found not in ("AUTO", "FORCE", "NONE"):
        hint = "use one of AUTO, FORCE, NONE"
        raise PlanError("TABLE_OPTION", f"{MATERIALIZE} cannot be {found!r}", hint=hint)
    return found


def _check_conflict(name: str, upserts: bool, materialize: str) -> None:
    """Refuse ON CONFLICT where it would have no effect."""
    if not upserts:
        raise PlanError(
            "ON_CONFLICT",
            f"ON CONFLICT is about rows with equal keys, and table {name} takes no upserts by a primary "
            "key",
            hint="leave it out, or declare PRIMARY KEY (...) NOT ENFORCED for a table of jdbc, delta or "
            "upsert-kafka",
        )
    if materialize == "NONE":
        raise PlanError(
            "ON_CONFLICT",
            f"ON CONFLICT needs to know the rows of table {name}, and {MATERIALIZE} is NONE",
            hint=f"RESET '{MATERIALIZE}', or leave ON CONFLICT out",
        )


def _as_upserts(
    planner: Planner,
    node: int,
    planned: Planned,
    entry: TableEntry,
    conflict: str | None,
    materialize: str,
) -> int:
    """One change of each key: where the query's own key is another one, rows are kept for it."""
    names = [each.name for each in entry.written]
    key = tuple(names.index(each) for each in entry.primary_key)
    traits = planned.traits
    unique = any(each <= set(key) for each in traits.keys)
    row = row_info(planned.relation.row_type)
    spec: TableSpec
    if conflict in ("NOTHING", "ERROR") and not unique:
        spec = ConflictSpec(row, key, conflict == "ERROR")
    else:
        keeps_none = unique or not traits.updating or materialize == "NONE"
        spec = UpsertSpec(row, key, keeps_none, traits.updating)
    uid = free_uid(planner.env._graph, f"sql-upserts-{entry.path}")
    return add_table(planner.env._graph, "Upserts", [node], spec, uid=uid).id


# -- constraints -----------------------------------------------------------------------------------


def _enforced(
    planner: Planner, node: int, entry: TableEntry, option: Callable[[str], str | None]
) -> int:
    info = planner.env._graph[node].output_type
    drops = (option(NOT_NULL) or "ERROR").upper() == "DROP"
    required = tuple(
        (place, each.name) for place, each in enumerate(entry.written) if not each.type.nullable
    )
    if required:
        step = FilterStep(_NotNull(required, drops), info, "NOT NULL")  # type: ignore[arg-type]
        node = add_columns(planner.env._graph, "Not Null", node, step).id
    mode = (option(LENGTHS) or "IGNORE").upper()
    if mode == "IGNORE" or not any(_length(each) for each in entry.written):
        return node
    functions = tuple(
        _Fitting(place, each.name, each.type.root, found, mode == "ERROR")
        if (found := _length(each)) is not None
        else Column(place)
        for place, each in enumerate(entry.written)
    )
    copied = tuple(n if isinstance(f, Column) else None for n, f in enumerate(functions))
    fitted = ProjectStep(functions, info, copied, "lengths")  # type: ignore[arg-type]
    return add_columns(planner.env._graph, "Lengths", node, fitted).id


def _length(column: TableColumn) -> int | None:
    found: int | None = getattr(column.type, "length", None)
    return None if found is None or found >= 2**31 - 1 else found


@dataclass(frozen=True)
class _NotNull:
    """The rows without NULL in some columns; if they are not to be dropped, others are an error."""

    columns: tuple[tuple[int, str], ...]
    drops: bool

    def __call__(self, batch: pa.RecordBatch) -> pa.Array:
        there = np.ones(batch.num_rows, np.bool_)
        for place, name in self.columns:
            column = batch.column(place)
            if not column.null_count:
                continue
            if not self.drops:
                raise MillstreamError(
                    "NOT_NULL_COLUMN",
                    f"column {name!r} is NOT NULL, and a row has NULL there",
                    hint=f"filter such rows, or SET '{NOT_NULL}' = 'DROP' to leave them out",
                )
            there &= column.is_valid().to_numpy(zero_copy_only=False)
        return pa.array(there)


@dataclass(frozen=True)
class _Fitting:
    """A text or bytes cut and padded to the length of the column, or an error if they do not fit."""

    place: int
    name: str
    root: str
    length: int
    fails: bool

    def __call__(self, batch: pa.RecordBatch) -> pa.Array:
        column = batch.column(self.place)
        is_text = pa.types.is_string(column.type)
        lengths = pc.utf8_length(column) if is_text else pc.binary_length(column)
        exact = self.root in ("CHAR", "BINARY")
        wrong = pc.not_equal(lengths, self.length) if exact else pc.greater(lengths, self.length)
        if not pc.any(wrong).as_py():
            return column
        if self.fails:
            value = column.filter(wrong.fill_null(False))[0].as_py()
            raise MillstreamError(
                "LENGTH_OF_COLUMN",
                f"column {self.name!r} is {self.root}({self.length}), and a row has {value!r:.99} there",
                hint=f"cut it in the query, or SET '{LENGTHS}' = 'TRIM_PAD'",
            )
        if not is_text:
            values = [None if v is None else self._bytes(v, exact) for v in column.to_pylist()]
            return pa.array(values, column.type)
        cut = pc.utf8_slice_codeunits(column, 0, self.length)
        return pc.utf8_rpad(cut, self.length, " ") if exact else cut

    def _bytes(self, value: bytes, exact: bool) -> bytes:
        return value[: self.length].ljust(self.length, b"\0") if exact else value[: self.length]
