"""Top-N, deduplication and LIMIT in the kernel's form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.common.errors import PlanError
from millstream.kernel.tables.materialize import MaterializeSpec
from millstream.kernel.tables.rank import RankKind, RankSpec
from millstream.plan.tables import add_table
from millstream.table.logical.algebra import Limit, Relation, Sort, SortKey
from millstream.table.physical.compiled import row_info
from millstream.table.physical.meaning import uid_of
from millstream.table.physical.sorts import sort_columns_of
from millstream.table.rules.nodes import Rank

if TYPE_CHECKING:
    from millstream.table.physical.lowering import Lowering

__all__ = ["add_limit", "add_rank"]

_ALL = 1 << 60
"""More rows than there are."""
_KINDS: dict[str, RankKind] = {
    "ROW_NUMBER": "row_number",
    "RANK": "rank",
    "DENSE_RANK": "dense_rank",
}


def add_rank(lowering: Lowering, relation: Rank) -> int:
    """Add the first rows of each partition; by processing time that is the order of arrival."""
    order = tuple(k for k in relation.order if not _is_processing(relation.input, k))
    last_wins = bool(relation.order) and not order and relation.order[0].descending
    info = row_info(relation.input.row_type)
    spec = RankSpec(
        info,
        relation.partition,
        sort_columns_of(order),
        relation.end,
        relation.start,
        _KINDS[relation.kind],
        relation.row_type.fields[-1].name,
        lowering.changes(relation)[0],
        last_wins,
    )
    node = lowering.stateful(relation, "Rank", spec)
    return lowering.named(node, spec.output, relation)


def add_limit(lowering: Lowering, relation: Limit) -> int:
    """Add the first rows of a table, in the order below it or in that of arrival."""
    source = relation.input
    keys: tuple[SortKey, ...] = ()
    if isinstance(source, Sort):
        keys, source = source.keys, source.input
    if relation.fetch is None and not lowering.batch:
        raise PlanError(
            "OFFSET_NEEDS_LIMIT",
            "OFFSET stands without LIMIT over a stream: all rows behind it would have to be kept",
            hint="add LIMIT n, or run in batch mode: SET 'execution.runtime-mode' = 'batch'",
        )
    row, order = row_info(source.row_type), sort_columns_of(keys)
    spec = RankSpec(
        row,
        (),
        order,
        _ALL if relation.fetch is None else relation.offset + relation.fetch,
        relation.offset + 1,
        changes=lowering.traits.of(source).updating,
    )
    before = lowering.node(source)
    node = add_table(lowering.graph, "Limit", [before], spec, uid=uid_of(relation)).id
    if lowering.batch and keys:
        # The rows of a batch come out in their order.
        uid = f"{uid_of(relation)}-sorted"
        node = add_table(lowering.graph, "Sort", [node], MaterializeSpec(row, order), uid=uid).id
    return lowering.named(node, spec.output, relation)


def _is_processing(source: Relation, key: SortKey) -> bool:
    return getattr(source.row_type.fields[key.index].type, "kind", None) == "PROCTIME"
