"""Values as PyFlink sends them to Java: days, microseconds, tuples.

Nothing here sends them; programs and tests call `DataType.to_sql_type` and `DataType.from_sql_type`.
"""

from __future__ import annotations

import calendar
import datetime
import pickle
import time
from functools import singledispatch
from typing import Any

from millstream.common.types import Row, RowKind, _create_row
from millstream.table.types import data_types as types

__all__ = ["is_converted", "loaded", "stored"]

_FIRST_DAY = datetime.date(1970, 1, 1).toordinal()
_MICROS = 10**6
_SCALARS = (
    types.DateType,
    types.TimeType,
    types.TimestampType,
    types.LocalZonedTimestampType,
    types.ZonedTimestampType,
    types.DayTimeIntervalType,
    types.RowType,
    types.UserDefinedType,
)


def is_converted(kind: types.DataType) -> bool:
    """Whether values of a type are not sent as they are.

    Examples
    --------
    >>> is_converted(types.ArrayType(types.DateType())), is_converted(types.IntType())
    (True, False)
    """
    if isinstance(kind, types.MapType):
        return is_converted(kind.key_type) or is_converted(kind.value_type)
    if isinstance(kind, (types.ArrayType, types.MultisetType)):
        return is_converted(kind.element_type)
    return isinstance(kind, _SCALARS)


@singledispatch
def stored(kind: types.DataType, value: Any) -> Any:
    """A value as PyFlink sends it.

    Examples
    --------
    >>> stored(types.DateType(), datetime.date(1970, 1, 3))
    2
    """
    return value


@singledispatch
def loaded(kind: types.DataType, value: Any) -> Any:
    """The value of what was sent.

    Examples
    --------
    >>> loaded(types.DateType(), 2)
    datetime.date(1970, 1, 3)
    """
    return value


@stored.register
def _(kind: types.DateType, value: datetime.date) -> int:
    return value.toordinal() - _FIRST_DAY


@loaded.register
def _(kind: types.DateType, value: int) -> datetime.date:
    return datetime.date.fromordinal(value + _FIRST_DAY)


def _first_clock() -> int:
    """The time on the clock of the machine at the epoch, in microseconds."""
    return calendar.timegm(time.localtime(0)) * _MICROS


@stored.register
def _(kind: types.TimeType, value: datetime.time) -> int:
    offset = value.utcoffset()
    behind = _first_clock() if value.tzinfo is None else _micros(offset or datetime.timedelta())
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * _MICROS + value.microsecond - behind


@loaded.register
def _(kind: types.TimeType, value: int) -> datetime.time:
    since_midnight = datetime.timedelta(microseconds=value + _first_clock())
    return (datetime.datetime.min + since_midnight).time()


def _micros(span: datetime.timedelta) -> int:
    return span // datetime.timedelta(microseconds=1)


def _instant(value: datetime.datetime) -> int:
    """Seconds since the epoch; a time without a zone is one of the machine."""
    if value.tzinfo is not None:
        return calendar.timegm(value.utctimetuple())
    return int(time.mktime(value.timetuple()))


@stored.register
def _(kind: types.TimestampType, value: datetime.datetime) -> int:
    return _instant(value) * _MICROS + value.microsecond


@loaded.register
def _(kind: types.TimestampType, value: int) -> datetime.datetime:
    seconds, micros = divmod(value, _MICROS)
    return datetime.datetime.fromtimestamp(seconds).replace(microsecond=micros)


@stored.register
def _(kind: types.LocalZonedTimestampType, value: datetime.datetime) -> int:
    return _instant(value) * _MICROS + value.microsecond + _first_clock()


@loaded.register
def _(kind: types.LocalZonedTimestampType, value: int) -> datetime.datetime:
    seconds, micros = divmod(value - _first_clock(), _MICROS)
    return datetime.datetime.fromtimestamp(seconds).replace(microsecond=micros)


@stored.register
def _(kind: types.ZonedTimestampType, value: datetime.datetime) -> tuple[int, int]:
    zoned = value if value.tzinfo is not None else value.astimezone()
    offset = _micros(zoned.utcoffset() or datetime.timedelta()) // _MICROS
    return (_instant(value) + offset) * _MICROS + value.microsecond, offset


@loaded.register
def _(kind: types.ZonedTimestampType, value: tuple[int, int]) -> datetime.datetime:
    clock, offset = value
    seconds, micros = divmod(clock - offset * _MICROS, _MICROS)
    zone = datetime.timezone(datetime.timedelta(seconds=offset))
    return datetime.datetime.fromtimestamp(seconds, tz=zone).replace(microsecond=micros)


@stored.register
def _(kind: types.DayTimeIntervalType, value: datetime.timedelta) -> int:
    return _micros(value)


@loaded.register
def _(kind: types.DayTimeIntervalType, value: int) -> datetime.timedelta:
    return datetime.timedelta(microseconds=value)


@stored.register(types.ArrayType)
@stored.register(types.MultisetType)
def _(kind: Any, value: Any) -> Any:
    return [kind.element_type.to_sql_type(each) for each in value] if is_converted(kind) else value


@loaded.register(types.ArrayType)
@loaded.register(types.MultisetType)
def _(kind: Any, value: Any) -> Any:
    return (
        [kind.element_type.from_sql_type(each) for each in value] if is_converted(kind) else value
    )


@stored.register
def _(kind: types.MapType, value: dict[Any, Any]) -> dict[Any, Any]:
    key, inner = kind.key_type.to_sql_type, kind.value_type.to_sql_type
    return {key(name): inner(each) for name, each in value.items()}


@loaded.register
def _(kind: types.MapType, value: dict[Any, Any]) -> dict[Any, Any]:
    key, inner = kind.key_type.from_sql_type, kind.value_type.from_sql_type
    return {key(name): inner(each) for name, each in value.items()}


@stored.register
def _(kind: types.RowType, value: Any) -> tuple[Any, ...]:
    row_kind = value.get_row_kind() if isinstance(value, Row) else RowKind.INSERT
    typed = zip(kind.field_types(), _in_order(kind.names, value), strict=False)
    return (row_kind.value, *[inner.to_sql_type(each) for inner, each in typed])


def _in_order(names: list[str], value: Any) -> Any:
    """The values of a row in the order of its type."""
    if isinstance(value, dict):
        return [value.get(name) for name in names]
    if isinstance(value, Row):
        return value.get_fields_by_names(names)
    if isinstance(value, (tuple, list)):
        return value
    if hasattr(value, "__dict__"):
        return [vars(value).get(name) for name in names]
    raise ValueError(f"Unexpected tuple {value!r} with RowType")


@loaded.register
def _(kind: types.RowType, value: Any) -> Row:
    if isinstance(value, Row):
        return value
    typed = zip(kind.field_types(), value, strict=False)
    return _create_row(kind.names, [inner.from_sql_type(each) for inner, each in typed])


@loaded.register
def _(kind: types.RawType, value: bytes) -> Any:
    return pickle.loads(value)


@stored.register
def _(kind: types.UserDefinedType, value: Any) -> Any:
    return type(kind).sql_type().to_sql_type(kind.serialize(value))


@loaded.register
def _(kind: types.UserDefinedType, value: Any) -> Any:
    return kind.deserialize(type(kind).sql_type().from_sql_type(value))
