"""Which types can be cast to which: by themselves where no information is lost, or by CAST.

The tables are those of Flink 2.3. A NULL type becomes every type. A type that may hold NULL never
becomes one that may not.
"""

from __future__ import annotations

from millstream.table.types.logical import (
    DayTimeIntervalType,
    LogicalType,
    StructuredType,
    YearMonthIntervalType,
)

__all__ = ["can_avoid_cast", "can_cast", "can_cast_implicitly"]

_STAMP = "TIMESTAMP_WITHOUT_TIME_ZONE"
_LOCAL_STAMP = "TIMESTAMP_WITH_LOCAL_TIME_ZONE"
_ZONED_STAMP = "TIMESTAMP_WITH_TIME_ZONE"
_TIME = "TIME_WITHOUT_TIME_ZONE"
_NUMBER_SOURCES = ("BOOLEAN", _STAMP, _LOCAL_STAMP)
_TO_INTEGER = ("NUMERIC", "CHARACTER_STRING", "INTERVAL", *_NUMBER_SOURCES)
_TO_TEXT = ("PREDEFINED", "CONSTRUCTED", "RAW", "NULL", "STRUCTURED_TYPE")

# For each target: the roots and families of types that become it by themselves.
_IMPLICIT: dict[str, tuple[str, ...]] = {
    "CHAR": ("CHAR",),
    "VARCHAR": ("CHARACTER_STRING",),
    "BINARY": ("BINARY",),
    "VARBINARY": ("BINARY_STRING",),
    "TINYINT": ("TINYINT",),
    "SMALLINT": ("TINYINT", "SMALLINT"),
    "INTEGER": ("TINYINT", "SMALLINT", "INTEGER"),
    "BIGINT": ("INTEGER_NUMERIC",),
    "DECIMAL": ("NUMERIC",),
    "FLOAT": ("INTEGER_NUMERIC", "FLOAT", "DECIMAL"),
    "DOUBLE": ("NUMERIC",),
    "BOOLEAN": ("BOOLEAN",),
    "DATE": ("DATE", _STAMP),
    _TIME: (_TIME, _STAMP),
    _STAMP: (_STAMP, _LOCAL_STAMP),
    _ZONED_STAMP: (_ZONED_STAMP,),
    _LOCAL_STAMP: (_LOCAL_STAMP, _STAMP),
    "INTERVAL_YEAR_MONTH": ("INTERVAL_YEAR_MONTH",),
    "INTERVAL_DAY_TIME": ("INTERVAL_DAY_TIME",),
}

# For each target: the further roots and families that CAST takes.
_EXPLICIT: dict[str, tuple[str, ...]] = {
    "CHAR": _TO_TEXT,
    "VARCHAR": _TO_TEXT,
    "BINARY": ("CHARACTER_STRING", "VARBINARY", "RAW"),
    "VARBINARY": ("CHARACTER_STRING", "BINARY", "RAW"),
    "TINYINT": _TO_INTEGER,
    "SMALLINT": _TO_INTEGER,
    "INTEGER": _TO_INTEGER,
    "BIGINT": _TO_INTEGER,
    "DECIMAL": ("CHARACTER_STRING", "INTERVAL", *_NUMBER_SOURCES),
    "FLOAT": ("NUMERIC", "CHARACTER_STRING", *_NUMBER_SOURCES),
    "DOUBLE": ("CHARACTER_STRING", *_NUMBER_SOURCES),
    "BOOLEAN": ("CHARACTER_STRING", "INTEGER_NUMERIC"),
    "DATE": ("TIMESTAMP", "CHARACTER_STRING"),
    _TIME: ("TIME", "TIMESTAMP", "CHARACTER_STRING"),
    _STAMP: ("DATETIME", "CHARACTER_STRING", "NUMERIC"),
    _ZONED_STAMP: ("DATETIME", "CHARACTER_STRING"),
    _LOCAL_STAMP: ("DATETIME", "CHARACTER_STRING", "NUMERIC"),
    "INTERVAL_YEAR_MONTH": ("EXACT_NUMERIC", "CHARACTER_STRING"),
    "INTERVAL_DAY_TIME": ("EXACT_NUMERIC", "CHARACTER_STRING"),
}


def can_cast_implicitly(source: LogicalType, target: LogicalType) -> bool:
    """Whether values of a type become another type without a CAST.

    Examples
    --------
    >>> from millstream.table.types.logical import BigIntType, IntType
    >>> can_cast_implicitly(IntType(), BigIntType()), can_cast_implicitly(BigIntType(), IntType())
    (True, False)
    """
    return _can_cast(source, target, explicit=False)


def can_cast(source: LogicalType, target: LogicalType) -> bool:
    """Whether ``CAST(source AS target)`` makes sense.

    Examples
    --------
    >>> from millstream.table.types.logical import BigIntType, DateType, IntType
    >>> can_cast(BigIntType(), IntType()), can_cast(DateType(), IntType())
    (True, False)
    """
    return _can_cast(source, target, explicit=True)


def can_avoid_cast(source: LogicalType, target: LogicalType) -> bool:
    """Whether values of a type are already of another type: no cast is needed.

    Strings must fit, rows may have other names of fields, and the target may hold NULL in addition.
    """
    if source.nullable and not target.nullable:
        return False
    if _same(source, target):
        return True
    if target.is_("CHARACTER_STRING", "BINARY_STRING"):
        return _contains(source, target)
    if target.is_("CONSTRUCTED"):
        pairs = list(zip(source.children, target.children, strict=False))
        return (
            source.root == target.root
            and len(source.children) == len(target.children)
            and all(can_avoid_cast(*pair) for pair in pairs)
        )
    return False


def _same(source: LogicalType, target: LogicalType) -> bool:
    return source.with_nullability(True) == target.with_nullability(True)


def _contains(source: LogicalType, target: LogicalType) -> bool:
    fixed = {"VARCHAR": "CHAR", "VARBINARY": "BINARY"}.get(target.root)
    if source.root not in (target.root, fixed):
        return False
    own, other = source.length, target.length  # type: ignore[attr-defined]
    return bool(own == other if fixed is None else own <= other)


def _single_unit(type_: LogicalType) -> bool:
    assert isinstance(type_, (YearMonthIntervalType, DayTimeIntervalType))
    return type_.first == type_.last


def _can_cast(source: LogicalType, target: LogicalType, explicit: bool) -> bool:
    if source.nullable and not target.nullable:
        return False
    if _same(source, target) or source.root == "NULL":
        return True
    if source.is_("INTERVAL") and target.is_("EXACT_NUMERIC"):
        return _single_unit(source)
    if source.is_("EXACT_NUMERIC") and target.is_("INTERVAL"):
        return _single_unit(target)
    if _has_children(source) and _has_children(target):
        return _can_cast_children(source, target, explicit)
    if target.root == "RAW" or (source.root == "RAW" and not explicit):
        return False
    if _matches(source, _IMPLICIT.get(target.root, ())):
        return True
    return explicit and _matches(source, _EXPLICIT.get(target.root, ()))


def _has_children(type_: LogicalType) -> bool:
    return type_.is_("CONSTRUCTED") or isinstance(type_, StructuredType)


def _can_cast_children(source: LogicalType, target: LogicalType, explicit: bool) -> bool:
    roots = {source.root, target.root}
    if source.root != target.root and roots != {"ROW", "STRUCTURED_TYPE"}:
        return False
    if isinstance(source, StructuredType) and isinstance(target, StructuredType):
        if source.class_name != target.class_name:
            return False
    if len(source.children) != len(target.children):
        return False
    pairs = zip(source.children, target.children, strict=True)
    return all(_can_cast(inner, outer, explicit) for inner, outer in pairs)


def _matches(source: LogicalType, allowed: tuple[str, ...]) -> bool:
    return source.root in allowed or source.is_(*allowed)
