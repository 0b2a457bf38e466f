"""Ways from streams and tables to data sets, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.types import Row
from millstream.dataset.plan.records import field_names, has_fields, is_pickled

if TYPE_CHECKING:
    from millstream.dataset.data_set import DataSet

__all__ = ["records_of_stream", "records_of_table", "stream_of", "table_of_set"]


def records_of_stream(stream: Any) -> list[Any]:
    """The records of a bounded stream: its job runs now."""
    if not callable(getattr(stream, "execute_and_collect", None)):
        raise PlanError(
            "DATASET_STREAM",
            f"from_data_stream() needs a DataStream, got {short_repr(stream)}",
            location=user_location(),
        )
    with stream.execute_and_collect() as records:
        return list(records)


def records_of_table(table: Any) -> list[Any]:
    """The final rows of a table as Rows with its names: its query runs now."""
    if not callable(getattr(table, "get_schema", None)):
        raise PlanError(
            "DATASET_STREAM",
            f"from_table() needs a Table, got {short_repr(table)}",
            location=user_location(),
        )
    names = list(table.get_schema().get_field_names())
    kept: list[tuple[Any, ...]] = []
    with table.execute().collect() as rows:
        for row in rows:
            values = tuple(row)
            if str(row.get_row_kind()) in ("+I", "+U"):
                kept.append(values)
            else:
                kept.remove(values)
    return [Row(**dict(zip(names, values, strict=True))) for values in kept]


def stream_of(data: DataSet, env: Any) -> Any:
    """A bounded stream of the elements of a set, which is computed now."""
    kind = data.get_type()
    records = data.collect()
    return env.from_collection(records) if is_pickled(kind) else env.from_collection(records, kind)


def table_of_set(data: DataSet, t_env: Any) -> Any:
    """A table of the elements of a set, which is computed now."""
    kind = data.get_type()
    table = data.to_arrow()
    names = field_names(kind) if has_fields(kind) else table.column_names
    rows = [tuple(row.values()) for row in table.to_pylist()]
    return t_env.from_elements(rows, names)
