"""Rows that a program has, as tables: their columns, and the values in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.common.errors import PlanError
from millstream.common.types import Row, RowKind
from millstream.table.types.arrow import logical_of_arrow
from millstream.table.types.data_types import DataType, logical_of
from millstream.table.types.logical import RowField, RowType
from millstream.table.types.values import column_of, infer_type, python_values

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["frame_of_rows", "rows_of_elements", "rows_of_frame"]


def rows_of_elements(
    elements: Iterable[Any], schema: Any = None, zone: str = "UTC"
) -> tuple[RowType, list[Row]]:
    """The columns and rows of elements; without types in the schema they are found from all rows.

    Examples
    --------
    >>> row_type, rows = rows_of_elements([{"n": 1, "word": "hi"}])
    >>> row_type.as_summary(), rows
    ('ROW<`n` BIGINT, `word` STRING>', [Row(n=1, word='hi')])
    """
    given = list(elements)
    if schema is None or isinstance(schema, (list, tuple)):
        row_type = _inferred(given, schema)
    else:
        found = logical_of(f"ROW<{schema}>" if isinstance(schema, str) else schema)
        if not isinstance(found, RowType):
            found, given = RowType((RowField("value", found),)), [(each,) for each in given]
        row_type = found
        _refuse_other_kinds(given, row_type)
    return row_type, _rows(given, row_type, zone)


_OTHER_KINDS = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), float),
    **dict.fromkeys(("BINARY", "VARBINARY"), str),
}
"""What Arrow would take for values of a type, and change."""


def _refuse_other_kinds(elements: list[Any], row_type: RowType) -> None:
    names = [field.name for field in row_type.fields]
    for element in elements:
        for value, field in zip(_values(element, names), row_type.fields, strict=True):
            if isinstance(value, _OTHER_KINDS.get(field.type.root, ())):
                shown = f"column {field.name} is {field.type.as_summary()}"
                message = f"{shown}, and a value is a {type(value).__name__}: {value!r:.60}"
                raise PlanError("ROWS_DIFFER", message, hint="change the value or the type")


def _inferred(elements: list[Any], names: Sequence[str] | None) -> RowType:
    if not elements:
        hint = "give the types: from_elements(rows, DataTypes.ROW([...]))"
        raise PlanError("ROWS_DIFFER", "no rows are given, so their types are not known", hint=hint)
    found = infer_type([_as_row(each, names) for each in elements])
    assert isinstance(found, RowType)
    for field in found.fields:
        if field.type.root == "NULL":
            message = f"all values of column {field.name} are None, so its type is not known"
            hint = "give the types: from_elements(rows, DataTypes.ROW([...]))"
            raise PlanError("ROWS_DIFFER", message, hint=hint)
    return found


def _as_row(element: Any, names: Sequence[str] | None) -> Row:
    """An element as a row with names; a dict and an object have sorted ones, as in PyFlink."""
    if isinstance(element, (Row, tuple, list)):
        values: list[Any] = list(element)
        own = list(getattr(element, "_fields", None) or names or [])
        labels = [*own, *(f"_{at + 1}" for at in range(len(own), len(values)))]
    elif isinstance(element, dict) or hasattr(element, "__dict__"):
        content = element if isinstance(element, dict) else vars(element)
        labels = sorted(content)
        values = [content[label] for label in labels]
    else:
        hint = "give tuples, (1,) for one column; or a type: from_elements([1, 2], DataTypes.INT())"
        raise PlanError("ROWS_DIFFER", f"{element!r:.60} is no row", hint=hint)
    row = Row(*values)
    row.set_field_names(labels[: len(values)])
    return row


def _rows(elements: list[Any], row_type: RowType, zone: str) -> list[Row]:
    """Rows whose values have been Arrow columns, so that each fits its type."""
    names = [field.name for field in row_type.fields]
    values = [_values(each, names) for each in elements]
    columns = [
        _column([row[at] for row in values], field, zone)
        for at, field in enumerate(row_type.fields)
    ]
    rows = []
    for at, element in enumerate(elements):
        row = Row(*(column[at] for column in columns))
        row.set_field_names(names)
        kind = element.get_row_kind() if isinstance(element, Row) else RowKind.INSERT
        row.set_row_kind(kind)
        rows.append(row)
    return rows


def _values(element: Any, names: list[str]) -> list[Any]:
    if isinstance(element, dict):
        return [element.get(name) for name in names]
    if not isinstance(element, (Row, tuple, list)):
        return [getattr(element, name, None) for name in names]
    found = list(element)
    if len(found) != len(names):
        message = f"a row of {len(found)} values is given for {len(names)} columns: {element!r:.60}"
        raise PlanError("ROWS_DIFFER", message, hint="give one value for each column")
    return found


def _column(values: list[Any], field: RowField, zone: str) -> list[Any]:
    if not field.type.nullable and None in values:
        shown = f"column {field.name} is {field.type.as_summary()}"
        message = f"{shown}, and row {values.index(None)} has None"
        raise PlanError("ROWS_DIFFER", message, hint="give a value, or let the column be NULL")
    try:
        return python_values(column_of(values, field.type, zone), field.type)
    except (pa.ArrowException, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        message = f"column {field.name} is {field.type.as_summary()}, and a value is not: {error}"
        raise PlanError("ROWS_DIFFER", message, hint="change the value or the type") from None


def rows_of_frame(
    frame: pd.DataFrame, schema: Any = None, zone: str = "UTC"
) -> tuple[RowType, list[Row]]:
    """The columns and rows of a pandas frame; ``schema``: names, types, or both."""
    arrow = pa.Schema.from_pandas(frame, preserve_index=False)
    names = [str(name) for name in arrow.names]
    types = [logical_of_arrow(kind) for kind in arrow.types]
    if isinstance(schema, (list, tuple)) and schema and isinstance(schema[0], str):
        names = [*schema]
    elif isinstance(schema, (list, tuple)) and schema:
        types = [logical_of(kind) for kind in schema]
    elif isinstance(schema, (DataType, str)):
        found = logical_of(f"ROW<{schema}>" if isinstance(schema, str) else schema)
        assert isinstance(found, RowType), "the schema of a frame is DataTypes.ROW([...])"
        names, types = [f.name for f in found.fields], [f.type for f in found.fields]
    row_type = RowType(tuple(RowField(n, t) for n, t in zip(names, types, strict=True)))
    columns = pa.Table.from_pandas(frame, preserve_index=False).columns
    values = zip(*(column.to_pylist() for column in columns), strict=True)
    return row_type, _rows(list(values), row_type, zone)


def frame_of_rows(rows: Iterable[Row], row_type: RowType, zone: str) -> pd.DataFrame:
    """A pandas frame with the columns of a table, in the types that Arrow columns have there."""
    import pandas as pd

    given = list(rows)
    columns = {}
    for at, field in enumerate(row_type.fields):
        column = column_of([row[at] for row in given], field.type, zone).to_pandas()
        if field.type.root == "TIMESTAMP_WITH_LOCAL_TIME_ZONE":
            column = column.dt.tz_convert(zone)
        columns[at] = column
    frame = pd.DataFrame(columns)
    frame.columns = pd.Index([field.name for field in row_type.fields])
    return frame
