"""Versioned tables: the right side of a join FOR SYSTEM_TIME AS OF."""

from __future__ import annotations

from dataclasses import dataclass, replace

from millstream.common.errors import PlanError
from millstream.table.expressions.tree import Cast, Expression, InputRef, Literal
from millstream.table.logical.algebra import Project, Relation, Scan, TemporalJoin
from millstream.table.logical.typing_rules import references, time_kind
from millstream.table.physical.joins import JoinParts, join_parts
from millstream.table.physical.traits import Traits
from millstream.table.rules.nodes import Rank

__all__ = ["Versions", "versions_of"]


@dataclass(frozen=True)
class Versions:
    """A versioned table. ``time``: the place of its time.

    ``parts``: its key, and what else has to be true. ``table`` has all versions: of a view that shows
    the last row of each key, the rows below it; of a table that changes, each new row (``upserts``).
    """

    table: Relation
    time: int
    parts: JoinParts
    upserts: bool


def versions_of(join: TemporalJoin, traits: Traits) -> Versions:
    """The versions that a join asks for; an error if the table has no time, no key, or another key."""
    fields = join.right.row_type.fields
    times = [at for at, each in enumerate(fields) if time_kind(each.type) == "ROWTIME"]
    keys = traits.of(join.right).keys
    if not times or not keys:
        what = "time attribute" if not times else "primary key"
        raise PlanError(
            "VERSIONED_TABLE",
            f"a join with versions by event time needs a table with a primary key and a time, and this "
            f"one has no {what}",
            hint="add PRIMARY KEY (...) NOT ENFORCED and WATERMARK FOR ts AS ... to the table, or join "
            "with a view of its last rows: ROW_NUMBER() OVER (PARTITION BY key ORDER BY ts DESC) = 1",
        )
    width = len(join.left.row_type.fields)
    table = _all_versions(join.right, traits)
    if not _has_all_versions(table, traits):
        raise PlanError(
            "VERSIONED_TABLE",
            "a join with versions by event time asks for all rows that a key has had, and the view on "
            "its right shows only some of them: it filters or ranks a table that changes",
            hint="put the condition into ON; or filter below ROW_NUMBER(); or join with the table "
            "itself, if it has a primary key",
        )
    upserts = any(isinstance(each, Scan) and each.versions for each in table.walk())
    return Versions(table, times[0], _parts(join, keys, width), upserts)


def _parts(join: TemporalJoin, keys: tuple[frozenset[int], ...], width: int) -> JoinParts:
    """The equalities of the key, and all others as a condition."""
    found = join_parts(join.condition, width, lambda each: not each.null_safe)
    by_column = {_column(each.right): each for each in found.equalities}
    for key in sorted(keys, key=lambda key: (len(key), sorted(key))):
        if key <= by_column.keys():
            chosen = [by_column[column] for column in sorted(key)]
            return join_parts(join.condition, width, chosen.__contains__)
    names = [field.name for field in join.right.row_type.fields]
    shown = " or ".join(f"({', '.join(names[i] for i in sorted(key))})" for key in keys)
    raise PlanError(
        "VERSIONED_TABLE",
        f"a join with versions compares the whole primary key of the table: {shown}",
        hint="add what is missing to ON, as in ON o.id = r.id",
    )


def _column(expression: Expression) -> int | None:
    """The column that an expression is, perhaps in another type."""
    while isinstance(expression, Cast):
        expression = expression.operand
    return expression.index if isinstance(expression, InputRef) else None


def _all_versions(table: Relation, traits: Traits) -> Relation:
    """A view of the last row of each key as all rows that have been the last one.

    The view changes once in an epoch, and would not show versions in between; so does a
    table that changes.
    """
    if isinstance(table, Scan) and traits.has_versions(table):
        return replace(table, versions=True)
    if isinstance(table, Project):
        return replace(table, input=_all_versions(table.input, traits))
    if not isinstance(table, Rank) or not _is_last_row(table) or traits.of(table.input).updating:
        return table
    rank = table.row_type.fields[-1].type
    columns = (*references(table.input.row_type), Literal(rank, 1))
    return Project(table.row_type, table.input, columns)


def _has_all_versions(table: Relation, traits: Traits) -> bool:
    """Whether each change of a table comes: behind other operators an epoch has one change of a key."""
    while isinstance(table, Project):
        table = table.input
    return isinstance(table, Scan) or not traits.of(table).updating


def _is_last_row(rank: Rank) -> bool:
    if rank.kind != "ROW_NUMBER" or (rank.start, rank.end) != (1, 1) or len(rank.order) != 1:
        return False
    (key,) = rank.order
    return key.descending and time_kind(rank.input.row_type.fields[key.index].type) == "ROWTIME"
