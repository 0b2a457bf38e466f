"""A query with a time of its own: `Table.with_watermark`."""

from __future__ import annotations

from dataclasses import replace

from millstream.common.errors import PlanError
from millstream.common.time import to_millis
from millstream.common.type_aliases import DurationLike
from millstream.table.catalog.manager import CatalogManager
from millstream.table.environment.inserting import entry_of_descriptor
from millstream.table.expression import Expression
from millstream.table.fluent.expression_base import interval_text, quoted, sql_text
from millstream.table.logical.algebra import Relation, TablePath
from millstream.table.logical.entries import TableEntry
from millstream.table.logical.problems import nearest
from millstream.table.logical.typing_rules import plain_type
from millstream.table.schema import Schema
from millstream.table.table_descriptor import TableDescriptor
from millstream.table.types.data_types import data_type
from millstream.table.types.logical import LocalZonedTimestampType, TimestampType

__all__ = ["time_items", "watermarked_entry"]


def time_items(relation: Relation, column: str) -> list[str]:
    """The columns of a query as SQL, in which the time has at most three digits of its seconds."""
    kinds = {each.name: plain_type(each.type) for each in relation.row_type.fields}
    if column not in kinds:
        close = nearest(column, kinds)
        hint = f"did you mean {close[0]}?" if close else f"the table has {', '.join(kinds)}"
        raise PlanError("UNKNOWN_COLUMN", f"there is no column {column}", hint=hint)
    kind = kinds[column]
    if not isinstance(kind, TimestampType | LocalZonedTimestampType):
        message = f"the time of a table is a timestamp, and {column} is {kind}"
        hint = "cast it before: to_timestamp(col), or TO_TIMESTAMP_LTZ(millis, 3) in SQL"
        raise PlanError("WATERMARK_TYPE", message, hint=hint)
    items = {name: quoted(name) for name in kinds}
    if kind.precision > 3:
        wanted = replace(kind, precision=3).with_nullability(True).as_serializable()
        items[column] = f"CAST({quoted(column)} AS {wanted}) AS {quoted(column)}"
    return list(items.values())


def watermarked_entry(
    relation: Relation,
    column: str,
    delay: Expression | DurationLike,
    names: CatalogManager,
    path: TablePath,
) -> TableEntry:
    """The table of a query whose column is its time; the caller gives it its rows."""
    builder = Schema.new_builder()
    for each in relation.row_type.fields:
        builder.column(each.name, data_type(plain_type(each.type)))
    builder.watermark(column, f"{quoted(column)} - {_interval(delay)}")
    return entry_of_descriptor(
        TableDescriptor(builder.build(), {"connector": "query"}), names, path
    )


def _interval(delay: Expression | DurationLike) -> str:
    """A delay as an interval of SQL."""
    if isinstance(delay, Expression):
        return sql_text(delay)
    if isinstance(delay, str) and delay.strip().upper().startswith("INTERVAL"):
        return delay.strip()
    millis = to_millis(delay, "the delay of a watermark")
    if millis % 1_000:
        return interval_text(millis, "MILLISECOND")
    return interval_text(millis // 1_000, "SECOND")
