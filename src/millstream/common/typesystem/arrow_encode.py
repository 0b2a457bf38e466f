"""Python values to Arrow columns.

This runs for every batch between two tasks, so columns are built whole: what touches each value is
C code (`map`, `zip`, numpy, Arrow). Arrow takes some values for what they are not (1.5 for an
integer, bytes for text); the classes of a column are therefore looked at first, and a value is
looked at by itself only after something is known to be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from itertools import chain
from operator import attrgetter
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from millstream.common.errors import TypeMismatchError, short_repr
from millstream.common.pickling import dumps
from millstream.common.time import Instant
from millstream.common.types import Row, RowKind
from millstream.common.typesystem.arrow_types import arrow_type, field_names
from millstream.common.typesystem.base import TypeInformation
from millstream.common.typesystem.composites import (
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    _ItemsTypeInfo,
)

_NONE = type(None)
_row_fields = attrgetter("_fields")
_row_values = attrgetter("_values")
_row_kind = attrgetter("_row_kind")


class _Misfit(Exception):
    """Some value does not fit; which one is found out afterwards."""


def encode_columns(type_info: TypeInformation, values: Sequence[Any]) -> list[pa.Array]:
    """The columns of `TypeInformation.to_arrow_arrays`."""
    try:
        if isinstance(type_info, (TupleTypeInfo, RowTypeInfo)):
            return _encode_fields(type_info, values)
        return [encode(type_info, values)]
    except TypeMismatchError:
        raise
    except Exception as exc:
        _explain(type_info, values, exc)


def _explain(type_info: TypeInformation, values: Sequence[Any], cause: Exception) -> NoReturn:
    found = ((i, v, type_info.check(v)) for i, v in enumerate(values))
    wrong = next((entry for entry in found if entry[2] is not None), None)
    index, value, reason = wrong or (None, None, f"Arrow refuses the column: {cause}")
    text = short_repr(value)
    place = "the values do" if index is None else f"{text} at index {index} does"
    raise TypeMismatchError(
        "TYPE_MISMATCH",
        f"{place} not fit {type_info}: {reason}",
        parameters={"index": index, "value": text, "type": str(type_info), "reason": reason},
        hint="declare the type that the values have, or change the function that makes them",
    ) from cause


def encode(type_info: TypeInformation, values: Sequence[Any]) -> pa.Array:
    """One column, whatever the type; None becomes null."""
    return _ENCODERS[type_info.kind](type_info, values)


def _classes(values: Sequence[Any], exact: type) -> set[type]:
    # Counting is twice as fast as collecting a set, and nearly every column has one class.
    classes = list(map(type, values))
    return {exact} if classes.count(exact) == len(classes) else set(classes)


def _screen(
    type_info: TypeInformation, values: Sequence[Any], exact: type, but_not: tuple[type, ...] = ()
) -> set[type]:
    """The classes of a column, all of whose values are known to be of a fitting class."""
    classes = _classes(values, exact)
    for cls in classes - {exact, _NONE}:
        if not issubclass(cls, exact) or issubclass(cls, but_not):
            _check_each(type_info, values)
            break
    return classes


def _check_each(type_info: TypeInformation, values: Sequence[Any]) -> None:
    if any(type_info.check(value) is not None for value in values):
        raise _Misfit


def _string(type_info: TypeInformation, values: Sequence[Any]) -> pa.Array:
    # What Arrow infers to be text is text, so that this column needs no look at its classes.
    array = pa.array(values)
    if array.type == pa.string():
        return array
    _screen(type_info, values, str)
    return pa.array(values, type=pa.string())


def _char(type_info: TypeInformation, values: Sequence[Any]) -> pa.Array:
    array = _string(type_info, values)
    if not {len(value) for value in values if value is not None} <= {1}:
        raise _Misfit
    return array


def _boolean(type_info: TypeInformation, values: Sequence[Any]) -> pa.Array:
    return pa.array(values, type=pa.bool_())


def _integer(type_info: TypeInformation, values: Sequence[Any]) -> pa.Array:
    target = arrow_type(type_info)
    if _screen(type_info, values, int, but_not=(bool,)) != {int}:
        return pa.array(values, type=target)
    array = pa.array(np.fromiter(values, np.int64, len(values)))
    return array if target == pa.int64() else array.cast(target)


def _float(type_info: TypeInformation, values: Sequence[Any]) -> pa.Array:
    classes = _screen(type_info, values, float)
    if classes == {float}:
        array = pa.array(np.fromiter(values, np.float64, len(values)))
    elif classes <= {float, _NONE}:
        array = pa.array(values, type=pa.float64())
    else:
        # Arrow refuses integers above 2**53 even where a double represents them exactly.
        array = pa.array([None if v is None else float(v) for v in values], type=pa.float64())
    return array if type_info.kind == "DOUBLE" else _single(array)


def _single(array: pa.Array) -> pa.Array:
    import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

    single = array.cast(pa.float32())
    if not pc.is_inf(single).equals(pc.is_inf(array)):
        raise _Misfit
    return single


def _big_int(type_info: TypeInformation, values: Sequence[Any]) -> pa.Array:
    if _screen(type_info, values, int, but_not=(bool,)) == {int}:
        return pa.array(list(map(str, values)), type=pa.string())
    return pa.array([None if v is None else str(int(v)) for v in values], type=pa.string())


def _big_dec(type_info: TypeInformation, values: Sequence[Any]) -> pa.Array:
    if _screen(type_info, values, Decimal) == {Decimal}:
        return pa.array(list(map(str, values)), type=pa.string())
    return pa.array([None if v is None else str(v) for v in values], type=pa.string())


def _instant(type_info: TypeInformation, values: Sequence[Any]) -> pa.Array:
    _screen(type_info, values, Instant)
    if any(v is not None and v.nanos % 1_000 for v in values):
        raise _Misfit
    micros = [None if v is None else v.seconds * 1_000_000 + v.nanos // 1_000 for v in values]
    return pa.array(micros, type=pa.int64()).cast(arrow_type(type_info))


def _date(type_info: TypeInformation, values: Sequence[Any]) -> pa.Array:
    _screen(type_info, values, date, but_not=(datetime,))
    return pa.array(values, type=pa.date32())


def _without_zone(type_info: TypeInformation, values: Sequence[Any], exact: type) -> pa.Array:
    # pandas.Timestamp is a datetime with nanoseconds: subclasses are looked at one by one.
    if _classes(values, exact) - {exact, _NONE}:
        _check_each(type_info, values)
    if {value.tzinfo for value in values if value is not None} - {None}:
        raise _Misfit
    return pa.array(values, type=arrow_type(type_info))


def _time(type_info: TypeInformation, values: Sequence[Any]) -> pa.Array:
    return _without_zone(type_info, values, time)


def _timestamp(type_info: TypeInformation, values: Sequence[Any]) -> pa.Array:
    return _without_zone(type_info, values, datetime)


def _pickled(type_info: TypeInformation, values: Sequence[Any]) -> pa.Array:
    try:
        return pa.array([None if v is None else dumps(v) for v in values], type=pa.binary())
    except TypeMismatchError as error:
        raise ValueError(error.message) from error  # which of the values it is, is found out next


def _mask(values: Sequence[Any]) -> pa.Array:
    """True where a value is missing, as Arrow's constructors want it."""
    return pa.array([value is None for value in values], type=pa.bool_())


def _flat(values: Sequence[Any], empty: Any) -> tuple[Sequence[Any], pa.Array, dict[str, Any]]:
    """Containers without None, where each of them starts, and the mask if one is needed."""
    mask = {}
    if _NONE in set(map(type, values)):
        mask["mask"] = _mask(values)
        values = [empty if value is None else value for value in values]
    offsets = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, values), np.int64, len(values)), out=offsets[1:])
    return values, pa.array(offsets).cast(pa.int32()), mask


def _items(type_info: TypeInformation, values: Sequence[Any]) -> pa.Array:
    assert isinstance(type_info, _ItemsTypeInfo)
    if not _classes(values, list) <= {list, tuple, _NONE}:
        _check_each(type_info, values)
    parts, offsets, mask = _flat(values, ())
    items = encode(type_info.element_type, list(chain.from_iterable(parts)))
    if items.null_count and type_info.kind == "PRIMITIVE_ARRAY":
        raise _Misfit
    return pa.ListArray.from_arrays(offsets, items, **mask)


def _primitive_array(type_info: TypeInformation, values: Sequence[Any]) -> pa.Array:
    assert isinstance(type_info, PrimitiveArrayTypeInfo)
    if not type_info.holds_bytes:
        return _items(type_info, values)
    _screen(type_info, values, bytes)
    return pa.array(values, type=pa.binary())


def _map(type_info: TypeInformation, values: Sequence[Any]) -> pa.Array:
    assert isinstance(type_info, MapTypeInfo)
    _screen(type_info, values, dict)
    parts, offsets, mask = _flat(values, {})
    keys = encode(type_info.key_type, list(chain.from_iterable(parts)))
    items = encode(type_info.value_type, list(chain.from_iterable(map(dict.values, parts))))
    if keys.null_count:
        raise _Misfit
    return pa.MapArray.from_arrays(offsets, keys, items, **mask)


def _are_in_order(type_info: RowTypeInfo, rows: Sequence[Row]) -> bool:
    """Whether all rows are inserts whose fields have the names of the type, or none."""
    # Counting compares by identity first; a set would call the hash of an enum for each row.
    if list(map(_row_kind, rows)).count(RowKind.INSERT) != len(rows):
        return False
    if type_info.field_names is None:
        return True
    names = list(map(_row_fields, rows))
    return names.count(type_info.field_names) + names.count(None) == len(rows)


def _row_parts(
    type_info: RowTypeInfo, values: Sequence[Any]
) -> tuple[Sequence[Sequence[Any]], bool]:
    """The values of each row, in the order of the type's fields, and whether a row is None."""
    classes = _classes(values, Row)
    if classes == {Row} and _are_in_order(type_info, values):
        return list(map(_row_values, values)), False
    missing = (None,) * len(type_info.field_types)
    parts = [missing if value is None else type_info.positional(value) for value in values]
    if str in set(map(type, parts)):
        raise _Misfit
    return parts, _NONE in classes


def _tuple_parts(
    type_info: TupleTypeInfo, values: Sequence[Any]
) -> tuple[Sequence[Sequence[Any]], bool]:
    # Lists and rows are checked one by one; a row can be of a kind that does not fit.
    if _NONE not in _screen(type_info, values, tuple):
        return values, False
    missing = (None,) * len(type_info.field_types)
    return [missing if value is None else value for value in values], True


def _field_arrays(
    type_info: TupleTypeInfo | RowTypeInfo, values: Sequence[Any]
) -> tuple[list[pa.Array], bool]:
    """A column per field, and whether a tuple or row is None."""
    types = type_info.field_types
    if isinstance(type_info, RowTypeInfo):
        parts, has_none = _row_parts(type_info, values)
    else:
        parts, has_none = _tuple_parts(type_info, values)
    columns: list[tuple[Any, ...]] = list(zip(*parts, strict=True)) if parts else [()] * len(types)
    if len(columns) != len(types):
        raise _Misfit
    arrays = [encode(field, column) for field, column in zip(types, columns, strict=True)]
    return arrays, has_none


def _encode_fields(type_info: TupleTypeInfo | RowTypeInfo, values: Sequence[Any]) -> list[pa.Array]:
    arrays, has_none = _field_arrays(type_info, values)
    if has_none or not arrays:
        arrays.append(pa.array([value is not None for value in values], type=pa.bool_()))
    return arrays


def _struct(type_info: TypeInformation, values: Sequence[Any]) -> pa.Array:
    assert isinstance(type_info, (TupleTypeInfo, RowTypeInfo))
    arrays, has_none = _field_arrays(type_info, values)
    if not arrays:
        return pa.array([None if v is None else {} for v in values], type=pa.struct([]))
    mask = _mask(values) if has_none else None
    return pa.StructArray.from_arrays(arrays, names=field_names(type_info), mask=mask)


def _arrow(type_info: TypeInformation, values: Sequence[Any]) -> pa.Array:
    return pa.array(values, type=arrow_type(type_info))


_ENCODERS: dict[str, Callable[[TypeInformation, Sequence[Any]], pa.Array]] = {
    "STRING": _string,
    "BYTE": _integer,
    "BOOLEAN": _boolean,
    "SHORT": _integer,
    "INT": _integer,
    "LONG": _integer,
    "FLOAT": _float,
    "DOUBLE": _float,
    "CHAR": _char,
    "BIG_INT": _big_int,
    "BIG_DEC": _big_dec,
    "INSTANT": _instant,
    "SQL_DATE": _date,
    "SQL_TIME": _time,
    "SQL_TIMESTAMP": _timestamp,
    "PICKLED_BYTE_ARRAY": _pickled,
    "PRIMITIVE_ARRAY": _primitive_array,
    "BASIC_ARRAY": _items,
    "OBJECT_ARRAY": _items,
    "LIST": _items,
    "MAP": _map,
    "TUPLE": _struct,
    "ROW": _struct,
    "ARROW": _arrow,
}
