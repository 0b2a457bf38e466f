"""Tables that a stream is joined with: read into memory, found by key."""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.pickling import dumps
from millstream.common.typeinfo import RowTypeInfo, TypeInformation, infer_from_values
from millstream.common.types import Row
from millstream.common.typesystem.certainty import inferred
from millstream.kernel.keys.identity import map_identity

__all__ = ["MAX_BYTES", "Rows", "StaticTable", "read_table"]

MAX_BYTES = 64 << 20
"""How large a table may be that travels with a function."""

_ATOMS = (str, int, float, bytes, type(None), dt.date, dt.time, Decimal)


@dataclasses.dataclass(frozen=True)
class StaticTable:
    """Rows by their key, ready to travel.

    Examples
    --------
    >>> table = read_table([("ada", 36), ("bob", 41)]).by(lambda row: row.f0)
    >>> table.rows("bob"), table.rows("cyd")
    ([Row(f0='bob', f1=41)], [])
    """

    names: tuple[str, ...]
    values: Mapping[Any, list[tuple[Any, ...]]]
    is_flat: bool

    def rows(self, key: Any) -> list[Row]:
        """Return new copies of the rows with a key: a function may change them."""
        found = self.values.get(map_identity(key), ())
        return [
            named_row(self.names, values if self.is_flat else copy.deepcopy(values))
            for values in found
        ]


@dataclasses.dataclass(frozen=True)
class Rows:
    """A table as it was read."""

    names: tuple[str, ...]
    rows: list[Row]
    type_info: TypeInformation

    def by(self, key: Callable[[Any], Any]) -> StaticTable:
        """Return the rows by key; those whose key is None are left out, as they equal nothing."""
        found: dict[Any, list[tuple[Any, ...]]] = {}
        for row in self.rows:
            value = key(row)
            if value is None:
                continue
            try:
                same = found.setdefault(map_identity(value), [])
            except TypeError as error:
                raise _error(
                    "UNHASHABLE_KEY",
                    f"a key of the table cannot be hashed: {short_repr(value)}",
                    "select a string, a number or a tuple of such",
                ) from error
            same.append(tuple(row))
        return StaticTable(self.names, found, all(_is_flat(row) for row in self.rows))


def _is_flat(row: Row) -> bool:
    """Whether nothing in a row can be changed."""
    return all(isinstance(value, _ATOMS) for value in row)


# -- reading tables --------------------------------------------------------------------------------


def read_table(table: Any, max_bytes: int = MAX_BYTES) -> Rows:
    """Return the rows of a table.

    Parameters
    ----------
    table
        A Spark or pandas DataFrame, an Arrow table, or a list of rows, tuples or dicts.
    max_bytes : int
        Refuse more than this.

    Examples
    --------
    >>> read_table([{"id": 1, "name": "Ada"}, {"id": 2}]).rows
    [Row(id=1, name='Ada'), Row(id=2, name=None)]
    """
    arrow = _as_arrow(table)
    if arrow is not None:
        _check_size(arrow.nbytes, max_bytes)
        return _rows_of_arrow(arrow)
    rows = _rows_of_list(table)
    _check_size(len(dumps([tuple(row) for row in rows.rows])), max_bytes)
    return rows


def _as_arrow(table: Any) -> Any:
    """A table as an Arrow table; None if it has no columns."""
    import pyarrow as pa

    if isinstance(table, pa.Table):
        return table
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    if hasattr(table, "isStreaming") and hasattr(table, "toArrow"):
        if table.isStreaming:
            raise _error(
                "STREAMING_TABLE",
                "a table is read once, and this DataFrame is a stream",
                "join two streams: env.from_dataframe(df), and join, connect or interval_join",
            )
        return table.toArrow()
    if type(table).__module__.split(".")[0] == "pandas" and hasattr(table, "columns"):
        return pa.Table.from_pandas(table, preserve_index=False)
    return None


def _rows_of_arrow(table: Any) -> Rows:
    names = tuple(table.column_names)
    types = [TypeInformation.from_arrow(field.type) for field in table.schema]
    row_type = RowTypeInfo(types, names)
    return Rows(names, row_type.from_arrow_arrays(table.columns), row_type)


def _rows_of_list(table: Any) -> Rows:
    if isinstance(table, str | bytes | Mapping) or not isinstance(table, Iterable):
        raise _error(
            "NOT_A_TABLE",
            f"a table is needed, got {short_repr(table)}",
            "give a Spark or pandas DataFrame, an Arrow table, or a list of rows, tuples or dicts",
        )
    items = list(table)
    found = [_fields(item) for item in items]
    names = tuple(dict.fromkeys(name for fields in found for name in fields))
    for item, fields in zip(items, found, strict=True):
        if len(fields) < len(names) and not isinstance(item, Mapping):
            raise _error(
                "RAGGED_TABLE",
                f"the table has the fields {', '.join(names)}, and not all are in "
                f"{short_repr(item)}",
                "give all rows the same fields; only dicts may leave some out",
            )
    rows = [named_row(names, tuple(fields.get(name) for name in names)) for fields in found]
    return Rows(names, rows, inferred(infer_from_values(rows)))


def _fields(item: Any) -> dict[str, Any]:
    """The fields of one row of a list, by name; those without names are f0, f1 and so on."""
    if isinstance(item, Mapping):
        return {str(name): value for name, value in item.items()}
    if isinstance(item, Row):
        names = item._fields
    elif isinstance(item, tuple | list):
        # Of named tuples, and of the rows that Spark's collect() gives.
        names = getattr(item, "_fields", None) or getattr(item, "__fields__", None)
    elif dataclasses.is_dataclass(item) and not isinstance(item, type):
        return {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}
    else:
        raise _error(
            "NOT_A_ROW",
            f"{short_repr(item)} is no row of a table",
            "give rows, tuples, dicts or dataclasses",
        )
    values = list(item)
    return dict(zip(names or [f"f{i}" for i in range(len(values))], values, strict=True))


def named_row(names: tuple[str, ...], values: tuple[Any, ...]) -> Row:
    """Return a row with names."""
    row = Row(*values)
    row.set_field_names(names)
    return row


def _check_size(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise _error(
            "TABLE_TOO_LARGE",
            f"the table has {size / (1 << 20):,.1f} MB, and at most "
            f"{max_bytes / (1 << 20):,.1f} MB travel with a function",
            "keep fewer rows and columns, raise max_bytes=, or join it as a stream: "
            "env.from_dataframe(df), and join or connect",
        )


def _error(code: str, message: str, hint: str) -> PlanError:
    return PlanError(code, message, location=user_location(), hint=hint)
