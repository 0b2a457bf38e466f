"""Types without parts: numbers, text, dates, pickled objects."""

from __future__ import annotations

import numbers
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, ClassVar

from millstream.common.errors import TypeMismatchError, short_repr
from millstream.common.time import Instant
from millstream.common.typesystem.base import TypeInformation, got

_RANGES = {
    "BYTE": (-(2**7), 2**7 - 1),
    "SHORT": (-(2**15), 2**15 - 1),
    "INT": (-(2**31), 2**31 - 1),
    "LONG": (-(2**63), 2**63 - 1),
}


class BasicType(Enum):
    """The names of the basic types.

    Examples
    --------
    >>> BasicType.LONG.name
    'LONG'
    """

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


def _is_integer(value: object) -> bool:
    # numpy's integers are registered as Integral and become int on their way through Arrow.
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _integer(name: str) -> Callable[[Any], str | None]:
    low, high = _RANGES[name]

    def misfit(value: Any) -> str | None:
        if not _is_integer(value):
            return got(value, "int")
        if not low <= value <= high:
            return f"{short_repr(value)} is outside the range of {name}, {low} to {high}"
        return None

    return misfit


def _number_misfit(value: Any) -> str | None:
    is_float = isinstance(value, numbers.Real) and not isinstance(value, numbers.Rational)
    return None if is_float or _is_integer(value) else got(value, "float")


def _double(value: Any) -> str | None:
    reason = _number_misfit(value)
    if reason is None and _is_integer(value):
        try:
            exact = int(float(value)) == value
        except OverflowError:
            exact = False
        return None if exact else f"{short_repr(value)} has no exact DOUBLE"
    return reason


def _float(value: Any) -> str | None:
    reason = _number_misfit(value)
    if reason is None:
        try:
            struct.pack("<f", float(value))
        except OverflowError:
            return f"{short_repr(value)} is outside the range of FLOAT"
    return reason


def _string(value: Any) -> str | None:
    if not isinstance(value, str):
        return got(value, "str")
    try:
        value.encode()
    except UnicodeEncodeError:
        return "the text holds half of a surrogate pair, which UTF-8 cannot store"
    return None


def _char(value: Any) -> str | None:
    reason = _string(value)
    if reason is None and len(value) != 1:
        return f"expected one character, got {len(value)}"
    return reason


def _boolean(value: Any) -> str | None:
    kind = type(value)
    is_numpy_bool = kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_")
    return None if kind is bool or is_numpy_bool else got(value, "bool")


def _big_int(value: Any) -> str | None:
    if not _is_integer(value):
        return got(value, "int")
    try:
        str(value)
    except ValueError:
        return "the number has more digits than Python turns into text"
    return None


def _big_dec(value: Any) -> str | None:
    return None if isinstance(value, Decimal) else got(value, "Decimal")


def _instant(value: Any) -> str | None:
    if not isinstance(value, Instant):
        return got(value, "Instant")
    if value.nanos % 1_000:
        return "an INSTANT is stored in microseconds; this one has finer nanoseconds"
    if not -(2**63) < value.seconds * 1_000_000 + value.nanos // 1_000 < 2**63:
        return "the instant is outside the range of 64 bits of microseconds"
    return None


def _date(value: Any) -> str | None:
    # A datetime is a date to isinstance, but its time of day would be lost.
    fits = isinstance(value, date) and not isinstance(value, datetime)
    return None if fits else got(value, "date")


def _time(value: Any) -> str | None:
    if not isinstance(value, time):
        return got(value, "time")
    return None if value.tzinfo is None else "the time has a timezone, which SQL_TIME cannot store"


def _timestamp(value: Any) -> str | None:
    if not isinstance(value, datetime):
        return got(value, "datetime")
    if value.tzinfo is not None:
        return "the datetime has a timezone, which SQL_TIMESTAMP cannot store"
    if getattr(value, "nanosecond", 0):
        return "a SQL_TIMESTAMP is stored in microseconds; this one has nanoseconds"
    return None


_MISFITS: dict[str, Callable[[Any], str | None]] = {
    "STRING": _string,
    "BYTE": _integer("BYTE"),
    "BOOLEAN": _boolean,
    "SHORT": _integer("SHORT"),
    "INT": _integer("INT"),
    "LONG": _integer("LONG"),
    "FLOAT": _float,
    "DOUBLE": _double,
    "CHAR": _char,
    "BIG_INT": _big_int,
    "BIG_DEC": _big_dec,
    "INSTANT": _instant,
    "SQL_DATE": _date,
    "SQL_TIME": _time,
    "SQL_TIMESTAMP": _timestamp,
}


class AtomTypeInfo(TypeInformation):
    """A type without parts whose values cannot change.

    Examples
    --------
    >>> from millstream.common.typeinfo import Types
    >>> isinstance(Types.LONG(), AtomTypeInfo)
    True
    """

    @property
    def is_immutable(self) -> bool:
        return True

    def _misfit(self, value: Any) -> str | None:
        return _MISFITS[self.kind](value)

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.kind}


@dataclass(frozen=True, repr=False)
class BasicTypeInfo(AtomTypeInfo):
    """Numbers, text and points in time.

    ``FLOAT`` rounds to single precision. Ints are welcome in ``FLOAT`` and ``DOUBLE`` and come back
    as floats. ``BIG_INT`` and ``BIG_DEC`` are stored as text, so that nothing is lost.

    Parameters
    ----------
    basic_type : BasicType
        Which of them.

    Examples
    --------
    >>> BasicTypeInfo(BasicType.LONG)
    LONG
    """

    basic_type: BasicType

    @property
    def kind(self) -> str:
        return self.basic_type.name


@dataclass(frozen=True, repr=False)
class DateTypeInfo(AtomTypeInfo):
    """`datetime.date` values.

    Examples
    --------
    >>> DateTypeInfo()
    SQL_DATE
    """

    @property
    def kind(self) -> str:
        return "SQL_DATE"


@dataclass(frozen=True, repr=False)
class TimeTypeInfo(AtomTypeInfo):
    """`datetime.time` values without a timezone; ``fold`` is not kept.

    Examples
    --------
    >>> TimeTypeInfo()
    SQL_TIME
    """

    @property
    def kind(self) -> str:
        return "SQL_TIME"


@dataclass(frozen=True, repr=False)
class TimestampTypeInfo(AtomTypeInfo):
    """`datetime.datetime` values without a timezone; points in time are `Instant`.

    ``fold`` is not kept.

    Examples
    --------
    >>> TimestampTypeInfo()
    SQL_TIMESTAMP
    """

    @property
    def kind(self) -> str:
        return "SQL_TIMESTAMP"


@dataclass(frozen=True, repr=False)
class PickledBytesTypeInfo(TypeInformation):
    """Any Python object that can be pickled.

    Examples
    --------
    >>> PickledBytesTypeInfo()
    PICKLED_BYTE_ARRAY
    """

    class_name: ClassVar[str] = ""
    """The class in ``RAW('class', ...)``, the type of columns of tables; "": tables do not take it."""

    @property
    def kind(self) -> str:
        return "PICKLED_BYTE_ARRAY"

    @property
    def is_immutable(self) -> bool:
        return False

    def _misfit(self, value: Any) -> str | None:
        from millstream.common.pickling import dumps

        try:
            dumps(value)
        except TypeMismatchError as error:
            return error.message
        return None

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.kind}
