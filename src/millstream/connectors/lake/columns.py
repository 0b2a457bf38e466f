"""Do the columns of a stream fit a table, and which types do they take there?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.errors import Location, PlanError
from millstream.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation
from millstream.connectors.sink import SinkContext
from millstream.kernel.records.columns import column_schema

__all__ = [
    "column_kinds",
    "fitted",
    "fitting_schema",
    "groups",
    "new_schema",
    "plain_schema",
    "stream_schema",
]

_NUMBERS_AS_TEXT = ("BIG_DEC", "BIG_INT")
"""Types whose values have no bounds, and travel as text; a table may have decimals for them."""
_WIDER = {
    "int8": ("int16", "int32", "int64"),
    "int16": ("int32", "int64"),
    "int32": ("int64",),
    "float": ("double",),
}


def stream_schema(context: SinkContext, sink: str) -> pa.Schema:
    """The columns of the stream that comes to a sink."""
    if context.type_info is None:
        raise PlanError(
            "UNTYPED_COLUMNS",
            f"sink {context.sink!r} writes columns, and the type of the stream is unknown",
            location=context.location,
            hint="declare it: map(..., output_type=Types.ROW_NAMED([...], [...])), or a type hint; "
            f"{sink} of a changelog: changelog(Types.ROW_NAMED([...], [...]))",
        )
    return column_schema(context.type_info)


def column_kinds(type_info: TypeInformation | None) -> dict[str, str]:
    """The kind of each column's type, by its name."""
    assert type_info is not None
    if isinstance(type_info, RowTypeInfo):
        names = type_info.get_field_names()
    elif isinstance(type_info, TupleTypeInfo):
        names = [f"f{i}" for i in range(len(type_info.field_types))]
    else:
        return {"value": type_info.kind}
    return {n: t.kind for n, t in zip(names, type_info.field_types, strict=True)}


def new_schema(
    schema: pa.Schema,
    column_types: Mapping[str, pa.DataType],
    needed: Iterable[str],
    location: Location | None,
) -> pa.Schema:
    """The columns of a table that is made for a stream.

    ``needed``: columns that the sink names, as keys or for partitions.
    """
    for name in (*column_types, *needed):
        if name not in schema.names:
            raise PlanError(
                "UNKNOWN_FIELD",
                f"the stream has no column {name!r}; it has {', '.join(schema.names)}",
                location=location,
                hint="name columns of the stream in partition_by, keys and column_types",
            )
    same = [name for name, n in Counter(map(str.lower, schema.names)).items() if n > 1]
    if same:
        raise PlanError(
            "LAKE_SCHEMA",
            f"the stream has several columns {same[0]!r}, if small and capital letters are the same",
            location=location,
            hint="many programs that read tables do not tell them apart: rename a column",
        )
    return pa.schema([pa.field(f.name, column_types.get(f.name, f.type)) for f in schema])


def fitting_schema(
    schema: pa.Schema, table: pa.Schema, context: SinkContext, where: str
) -> pa.Schema:
    """The columns of a stream in the types that the table has for them.

    Raises
    ------
    PlanError
        ``LAKE_SCHEMA``: they do not fit.
    """
    kinds = column_kinds(context.type_info)
    wrong = [*_misfits(schema, table, kinds)]
    if wrong:
        raise PlanError(
            "LAKE_SCHEMA",
            f"the stream of sink {context.sink!r} does not fit {where}: {'; '.join(wrong)}",
            location=context.location,
            hint="map the records to the columns of the table; a Delta sink with evolve=True adds "
            "columns that the table does not have",
        )
    return pa.schema([table.field(name) for name in schema.names])


def _misfits(schema: pa.Schema, table: pa.Schema, kinds: Mapping[str, str]) -> Iterator[str]:
    for field in schema:
        if field.name not in table.names:
            yield f"the table has no column {field.name!r}"
        elif not _fits(field.type, table.field(field.name).type, kinds[field.name]):
            there = table.field(field.name).type
            yield f"column {field.name!r} is {field.type}, and {there} in the table"
    for field in table:
        if not field.nullable and field.name not in schema.names:
            yield f"column {field.name!r} of the table must not be null, and the stream has none"


def _fits(given: pa.DataType, there: pa.DataType, kind: str) -> bool:
    if kind in _NUMBERS_AS_TEXT and pa.types.is_decimal(there):
        return True
    return _is_same(given, there)


def _is_same(given: pa.DataType, there: pa.DataType) -> bool:
    """Whether values keep what they are; names of the items of lists and maps do not matter."""
    is_a = pa.types
    if is_a.is_struct(given) and is_a.is_struct(there):
        return [f.name for f in given] == [f.name for f in there] and all(
            _is_same(a.type, b.type) for a, b in zip(given, there, strict=True)
        )
    if is_a.is_map(given) and is_a.is_map(there):
        keys = _is_same(given.key_type, there.key_type)
        return keys and _is_same(given.item_type, there.item_type)
    if _is_list(given) and _is_list(there):
        return _is_same(given.value_type, there.value_type)
    same = str(given).removeprefix("large_") == str(there).removeprefix("large_")
    return same or str(there) in _WIDER.get(str(given), ())


def _is_list(type_: pa.DataType) -> bool:
    return bool(pa.types.is_list(type_) or pa.types.is_large_list(type_))


def fitted(batch: pa.RecordBatch, target: pa.Schema, context: SinkContext) -> pa.Table:
    """A batch of a stream in the types of the table."""
    columns = []
    for array, field in zip(batch.columns, target, strict=True):
        try:
            columns.append(array if array.type == field.type else array.cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            told = f"a value of column {field.name!r} is no {field.type}: {error}"
            raise _misfit(context, told) from None
        if not field.nullable and array.null_count:
            raise _misfit(context, f"column {field.name!r} must not be null, and {_nulls(array)}")
    return pa.Table.from_arrays(columns, schema=target)


def _nulls(array: pa.Array) -> str:
    return f"{array.null_count} of {len(array)} records have None there"


def _misfit(context: SinkContext, message: str) -> PlanError:
    return PlanError(
        "LAKE_SCHEMA",
        f"sink {context.sink!r}: {message}",
        location=context.location,
        hint="map the records to values that the column can hold",
    )


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """A schema without notes, with the types that Millstream has for text, bytes and lists."""
    return pa.schema([pa.field(f.name, _plain(f.type), f.nullable) for f in schema])


def _plain(type_: pa.DataType) -> pa.DataType:
    is_a = pa.types
    if is_a.is_large_string(type_):
        return pa.string()
    if is_a.is_large_binary(type_):
        return pa.binary()
    if is_a.is_struct(type_):
        return pa.struct([pa.field(f.name, _plain(f.type), f.nullable) for f in type_])
    if is_a.is_map(type_):
        return pa.map_(_plain(type_.key_type), _plain(type_.item_type))
    return pa.list_(_plain(type_.value_type)) if _is_list(type_) else type_


def groups(
    table: pa.Table, columns: Sequence[pa.Array]
) -> Iterator[tuple[tuple[Any, ...], pa.Table]]:
    """The rows for each different combination of some columns' values, in their order."""
    if not columns:
        yield (), table
        return
    codes = np.zeros(len(table), np.int64)
    dictionaries = []
    for column in columns:
        encoded = column.dictionary_encode(null_encoding="encode")
        dictionaries.append(encoded.dictionary)
        codes = codes * len(encoded.dictionary) + encoded.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    borders = np.flatnonzero(np.diff(codes[order], prepend=-1))
    for start, stop in zip(borders, [*borders[1:], len(order)], strict=True):
        rest, values = int(codes[order[start]]), []
        for dictionary in reversed(dictionaries):
            rest, at = divmod(rest, len(dictionary))
            values.append(dictionary[at].as_py())
        yield tuple(reversed(values)), table.take(pa.array(order[start:stop]))
