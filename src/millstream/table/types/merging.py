"""The common type of several types, and the types of decimal arithmetic and aggregates."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.table.types.casts import can_cast_implicitly
from millstream.table.types.logical import (
    MAX_PRECISION,
    ArrayType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    MultisetType,
    NullType,
    RowField,
    RowType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
    ZonedTimestampType,
)

__all__ = [
    "average_type",
    "common_type",
    "decimal_addition",
    "decimal_division",
    "decimal_modulo",
    "decimal_multiplication",
    "decimal_round",
    "sum_type",
]

_LEAST_SCALE = 6
_SIMILAR = ("CHARACTER_STRING", "BINARY_STRING", "NUMERIC", "TIME", "TIMESTAMP")
_UNITS = ("DAY", "HOUR", "MINUTE", "SECOND")


def common_type(types: Sequence[LogicalType]) -> LogicalType | None:
    """The least type that values of all types become by themselves, or None.

    It is NOT NULL only if all types are.

    Examples
    --------
    >>> from millstream.table.types.logical import BigIntType, IntType
    >>> str(common_type([IntType(), BigIntType(), DecimalType(2, 2)]))
    'DECIMAL(21, 2)'
    """
    plain = [type_.with_nullability(True) for type_ in types]
    found = _merged(plain) or _castable(plain)
    if found is None or isinstance(found, NullType):
        return None
    return found.with_nullability(any(type_.nullable for type_ in types))


def _castable(types: Sequence[LogicalType]) -> LogicalType | None:
    found = types[0]
    for type_ in types:
        if isinstance(type_, NullType):
            continue
        if can_cast_implicitly(found, type_):
            found = type_
        elif not can_cast_implicitly(type_, found):
            return None
    return found


def _merged(types: Sequence[LogicalType]) -> LogicalType | None:
    known = [type_ for type_ in types if not isinstance(type_, NullType)]
    if not known:
        return NullType()
    if any(type_.root == "RAW" for type_ in types):
        return types[0] if all(type_ == types[0] for type_ in types) else None
    found: LogicalType | None = known[0]
    for type_ in known:
        assert found is not None
        pattern = _with_interval(found, type_)
        if pattern is not None:
            found = pattern
        elif type_.root in ("ARRAY", "MULTISET", "MAP", "ROW"):
            return _of_children(types)
        elif _similar(found, type_):
            found = _of_two(found, type_)
        else:
            return None
        if found is None:
            return None
    return found


def _similar(left: LogicalType, right: LogicalType) -> bool:
    if left.root == right.root:
        return True
    return any(left.is_(family) and right.is_(family) for family in _SIMILAR)


def _with_interval(left: LogicalType, right: LogicalType) -> LogicalType | None:
    """A time with an interval is a time; so is a date or timestamp with a number of days."""
    for time, other in ((left, right), (right, left)):
        if time.is_("DATETIME") and other.is_("INTERVAL"):
            return time
        if (time.is_("TIMESTAMP") or isinstance(time, DateType)) and other.is_("EXACT_NUMERIC"):
            return time
    return None


def _of_two(found: LogicalType, type_: LogicalType) -> LogicalType | None:
    if type_.is_("CHARACTER_STRING", "BINARY_STRING"):
        return _common_string(found, type_)
    if type_.is_("NUMERIC"):
        return _common_number(found, type_)
    if isinstance(type_, DateType):
        return type_
    if isinstance(type_, TimeType) and isinstance(found, TimeType):
        return TimeType(max(found.precision, type_.precision))
    if type_.is_("TIMESTAMP"):
        return _common_timestamp(found, type_)
    if isinstance(type_, DayTimeIntervalType) and isinstance(found, DayTimeIntervalType):
        return _common_day_time(found, type_)
    if isinstance(type_, YearMonthIntervalType) and isinstance(found, YearMonthIntervalType):
        return _common_year_month(found, type_)
    return None


def _common_string(found: LogicalType, type_: LogicalType) -> LogicalType:
    own, other = found.length, type_.length  # type: ignore[attr-defined]
    length = max(own, other)
    if found.root == type_.root and own == other:
        return found
    text = type_.is_("CHARACTER_STRING")
    if found.root not in ("VARCHAR", "VARBINARY") and own == other:
        # Of a fixed and a variable type with one length, the later one is taken.
        return type(type_)(length)  # type: ignore[call-arg]
    return VarCharType(length) if text else VarBinaryType(length)


def _common_number(found: LogicalType, type_: LogicalType) -> LogicalType:
    if found == type_:
        return found
    if found.is_("APPROXIMATE_NUMERIC") or type_.is_("APPROXIMATE_NUMERIC"):
        if found.is_("APPROXIMATE_NUMERIC") and type_.is_("EXACT_NUMERIC"):
            return DoubleType() if isinstance(type_, DecimalType) else found
        if found.is_("EXACT_NUMERIC"):
            return type_
        return DoubleType() if "DOUBLE" in (found.root, type_.root) else found
    if not isinstance(found, DecimalType) and not isinstance(type_, DecimalType):
        return type_ if _digits(type_)[0] > _digits(found)[0] else found
    (precision, scale), (other_precision, other_scale) = _digits(found), _digits(type_)
    whole = min(max(precision - scale, other_precision - other_scale), MAX_PRECISION)
    fraction = min(max(scale, other_scale), MAX_PRECISION - whole)
    return DecimalType(whole + fraction, fraction)


def _digits(type_: LogicalType) -> tuple[int, int]:
    if isinstance(type_, DecimalType):
        return type_.precision, type_.scale
    return type_.precision, 0  # type: ignore[attr-defined]


def _common_timestamp(found: LogicalType, type_: LogicalType) -> LogicalType:
    if found == type_:
        return found
    precision = max(found.precision, type_.precision)  # type: ignore[attr-defined]
    for kind in (ZonedTimestampType, LocalZonedTimestampType, TimestampType):
        if isinstance(found, kind) or isinstance(type_, kind):
            return kind(precision)
    raise AssertionError(type_.root)


def _common_day_time(left: DayTimeIntervalType, right: DayTimeIntervalType) -> LogicalType:
    first = min(left.first, right.first, key=_UNITS.index)
    last = max(left.last, right.last, key=_UNITS.index)
    days = max(left.day_precision, right.day_precision)
    return DayTimeIntervalType(first, last, days, max(left.fraction, right.fraction))


def _common_year_month(left: YearMonthIntervalType, right: YearMonthIntervalType) -> LogicalType:
    first = "YEAR" if "YEAR" in (left.first, right.first) else "MONTH"
    last = "MONTH" if "MONTH" in (left.last, right.last) else "YEAR"
    return YearMonthIntervalType(first, last, max(left.year_precision, right.year_precision))


def _of_children(types: Sequence[LogicalType]) -> LogicalType | None:
    model = types[0]
    columns = [type_.children for type_ in types]
    if any(type_.root != model.root for type_ in types) or len({*map(len, columns)}) > 1:
        return None
    merged = [common_type(column) for column in zip(*columns, strict=True)]
    found = [type_ for type_ in merged if type_ is not None]
    if len(found) < len(merged):
        return None
    if isinstance(model, RowType):
        named = zip(model.fields, found, strict=True)
        return RowType(tuple(RowField(each.name, type_, each.comment) for each, type_ in named))
    if isinstance(model, MapType):
        return MapType(*found)
    return ArrayType(found[0]) if isinstance(model, ArrayType) else MultisetType(found[0])


# Decimals. If the digits do not suffice, the fraction gives up digits, but keeps six of them.


def _adjusted(precision: int, scale: int) -> DecimalType:
    if precision <= MAX_PRECISION:
        return DecimalType(precision, scale, nullable=False)
    least = min(scale, _LEAST_SCALE)
    adjusted = max(MAX_PRECISION - (precision - scale), least)
    return DecimalType(MAX_PRECISION, adjusted, nullable=False)


def decimal_addition(left: DecimalType, right: DecimalType) -> DecimalType:
    """The type of ``left + right`` and of ``left - right``, NOT NULL.

    Examples
    --------
    >>> str(decimal_addition(DecimalType(5, 2), DecimalType(4, 3)))
    'DECIMAL(7, 3) NOT NULL'
    """
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return _adjusted(whole + scale + 1, scale)


def decimal_multiplication(left: DecimalType, right: DecimalType) -> DecimalType:
    """The type of ``left * right``, NOT NULL."""
    return _adjusted(left.precision + right.precision + 1, left.scale + right.scale)


def decimal_division(left: DecimalType, right: DecimalType) -> DecimalType:
    """The type of ``left / right``, NOT NULL.

    Examples
    --------
    >>> str(decimal_division(DecimalType(2, 1), DecimalType(10, 0)))
    'DECIMAL(13, 12) NOT NULL'
    """
    scale = max(6, left.scale + right.precision + 1)
    return _adjusted(left.precision - left.scale + right.scale + scale, scale)


def decimal_modulo(left: DecimalType, right: DecimalType) -> DecimalType:
    """The type of ``left % right``, NOT NULL."""
    scale = max(left.scale, right.scale)
    whole = min(left.precision - left.scale, right.precision - right.scale)
    return _adjusted(whole + scale, scale)


def decimal_round(type_: DecimalType, digits: int) -> DecimalType:
    """The type of ``ROUND(value, digits)``, NOT NULL; rounding may add a digit."""
    whole = type_.precision - type_.scale
    if digits >= type_.scale:
        return DecimalType(type_.precision, type_.scale, nullable=False)
    if digits < 0:
        return DecimalType(min(MAX_PRECISION, 1 + whole), 0, nullable=False)
    return DecimalType(1 + whole + digits, digits, nullable=False)


def sum_type(type_: LogicalType) -> LogicalType:
    """The type of SUM: that of its argument, or the widest decimal of the same scale."""
    if isinstance(type_, DecimalType):
        return DecimalType(MAX_PRECISION, type_.scale, nullable=type_.nullable)
    return type_


def average_type(type_: LogicalType) -> LogicalType:
    """The type of AVG: that of its argument, so the average of INT is INT; decimals grow.

    Examples
    --------
    >>> str(average_type(DecimalType(10, 2)))
    'DECIMAL(38, 6)'
    """
    if isinstance(type_, DecimalType):
        widest = DecimalType(MAX_PRECISION, type_.scale)
        return decimal_division(widest, DecimalType(20, 0)).with_nullability(type_.nullable)
    return type_
