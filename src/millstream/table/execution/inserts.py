"""The rows of a query on their way into a table: output modes, upserts by its key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from millstream.common.errors import PlanError
from millstream.connectors.sink import Changelog, Sink
from millstream.kernel.tables.conflicts import ConflictSpec
from millstream.kernel.tables.materialize import MaterializeSpec
from millstream.kernel.tables.spec import TableSpec
from millstream.kernel.tables.upsert import UpsertSpec
from millstream.plan.tables import add_table, free_uid
from millstream.table.connectors.factory import connector_of
from millstream.table.connectors.memory import KeptChanges
from millstream.table.connectors.simple import PrintedRows
from millstream.table.execution.constraints import add_constraints
from millstream.table.execution.planning import Planned, Planner, refuse_updates
from millstream.table.logical.entries import TableEntry
from millstream.table.physical.compiled import row_info

__all__ = ["OUTPUT_MODES", "add_insert"]

OUTPUT_MODES = ("append", "update", "complete")
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
    node = add_constraints(planner.env._graph, planner.add(planned), entry, option)
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
    elif isinstance(sink, PrintedRows | KeptChanges):
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
