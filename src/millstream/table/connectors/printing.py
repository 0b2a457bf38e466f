"""Values as the connector ``print`` shows them: as Java's ``toString`` does."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from millstream.table.connectors.text_values import number_text
from millstream.table.types.logical import ArrayType, LogicalType, MapType, MultisetType, RowType

__all__ = ["printed_row"]


def printed_row(row: Iterable[Any], kind: RowType) -> str:
    """The values of a row in brackets.

    Examples
    --------
    >>> from millstream.table.types.parsing import parse_logical_type
    >>> kind = parse_logical_type("ROW<s STRING, d DOUBLE, m MAP<STRING, INT>, t TIMESTAMP(3)>")
    >>> printed_row(("a", 1e10, {"k": None}, datetime.datetime(2024, 1, 2, 3, 4)), kind)
    '[a, 1.0E10, {k=null}, 2024-01-02T03:04]'
    """
    pairs = zip(row, kind.fields, strict=True)
    return f"[{', '.join(_shown(value, each.type) for value, each in pairs)}]"


def _shown(value: Any, kind: LogicalType) -> str:
    if value is None:
        return "null"
    if isinstance(kind, RowType):
        return "+I" + printed_row(list(value.values()) if isinstance(value, dict) else value, kind)
    if isinstance(kind, ArrayType):
        return f"[{', '.join(_shown(each, kind.element) for each in value)}]"
    if isinstance(kind, MapType | MultisetType):
        return _map(value, kind)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes | bytearray):
        return f"[{', '.join(str(each - 256 if each > 127 else each) for each in value)}]"
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, datetime.datetime | datetime.time):
        return _time(value)
    return number_text(value, kind) if isinstance(value, int | float) else str(value)


def _map(value: Any, kind: MapType | MultisetType) -> str:
    key = kind.key if isinstance(kind, MapType) else kind.element
    pairs = value.items() if isinstance(value, dict) else value
    texts = (
        f"{_shown(k, key)}={_shown(v, kind.value) if isinstance(kind, MapType) else v}"
        for k, v in pairs
    )
    return "{" + ", ".join(texts) + "}"


def _time(value: datetime.datetime | datetime.time) -> str:
    """A time with as many groups of digits as it needs; an instant always has its seconds."""
    text = value.replace(tzinfo=None).isoformat(timespec="microseconds")
    whole, fraction = text.split(".")
    if fraction != "000000":
        return f"{whole}.{fraction.removesuffix('000')}{'Z' if value.tzinfo else ''}"
    if value.tzinfo:
        return f"{whole}Z"
    return whole.removesuffix(":00") if whole.count(":") == 2 else whole
