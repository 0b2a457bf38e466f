"""JSON texts as rows of SQL types, and rows as JSON texts, by Flink's rules."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from millstream.common.errors import FormatError
from millstream.table.types.logical import (
    ArrayType,
    LogicalType,
    MapType,
    MultisetType,
    RowField,
    RowType,
)

__all__ = ["JsonRows"]

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
_TIMES = ("TIMESTAMP_WITHOUT_TIME_ZONE", "TIMESTAMP_WITH_LOCAL_TIME_ZONE")


@dataclass(frozen=True)
class JsonRows:
    """The format ``json`` for some columns.

    ``iso``: timestamps have the form of ISO-8601, else that of SQL. ``lenient``: a value that does not
    fit is NULL, and a text that is no object makes no row.
    """

    fields: tuple[RowField, ...]
    iso: bool = False
    lenient: bool = False
    fail_on_missing: bool = False

    def read(self, text: str | bytes) -> tuple[Any, ...] | None:
        """The values of the columns; None if the text makes no row."""
        try:
            found = json.loads(text, parse_float=Decimal)
            if not isinstance(found, dict):
                raise FormatError("JSON_ROW", f"a row is a JSON object, got {text!r:.200}")
            return self.values(found)
        except ValueError as error:
            if self.lenient:
                return None
            raise FormatError("JSON_ROW", f"no JSON: {text!r:.200} ({error})") from error
        except FormatError:
            if self.lenient:
                return None
            raise

    def values(self, found: dict[str, Any]) -> tuple[Any, ...]:
        """The values of the columns in a JSON object."""
        return tuple(self._field(found, each) for each in self.fields)

    def _field(self, found: dict[str, Any], field: RowField) -> Any:
        if self.fail_on_missing and field.name not in found:
            raise FormatError("JSON_ROW", f"the field {field.name!r} is missing")
        try:
            return self._value(found.get(field.name), field.type)
        except (ValueError, TypeError, ArithmeticError) as error:
            if self.lenient:
                return None
            raise FormatError(
                "JSON_ROW",
                f"field {field.name!r}: {found.get(field.name)!r:.200} is no {field.type}",
            ) from error

    def _value(self, value: Any, kind: LogicalType) -> Any:
        if value is None:
            return None
        root = kind.root
        if root in ("CHAR", "VARCHAR"):
            return value if isinstance(value, str) else _text(value)
        if root in _INTEGERS:
            return int(str(value).strip())
        if root in ("FLOAT", "DOUBLE"):
            return float(value)
        if root == "DECIMAL":
            scale = Decimal(1).scaleb(-kind.scale)  # type: ignore[attr-defined]
            return Decimal(str(value)).quantize(scale)
        if root == "BOOLEAN":
            return value if isinstance(value, bool) else str(value).lower() == "true"
        if root in ("BINARY", "VARBINARY"):
            return base64.b64decode(value)
        if root == "DATE":
            return datetime.date.fromisoformat(value)
        if root == "TIME_WITHOUT_TIME_ZONE":
            return datetime.time.fromisoformat(value.removesuffix("Z"))
        if root in _TIMES:
            return _timestamp(value, root == _TIMES[1])
        return self._nested(value, kind)

    def _nested(self, value: Any, kind: LogicalType) -> Any:
        if isinstance(kind, ArrayType):
            return [self._value(each, kind.element) for each in value]
        if isinstance(kind, MapType):
            return [
                (self._value(k, kind.key), self._value(v, kind.value)) for k, v in value.items()
            ]
        if isinstance(kind, MultisetType):
            return [(self._value(k, kind.element), int(v)) for k, v in value.items()]
        if isinstance(kind, RowType):
            return {each.name: self._value(value.get(each.name), each.type) for each in kind.fields}
        raise TypeError(kind)

    def write(self, row: Sequence[Any]) -> str:
        """The JSON text of a row."""
        return json.dumps(self.shown(row), separators=(",", ":"), ensure_ascii=False)

    def shown(self, row: Sequence[Any]) -> dict[str, Any]:
        """The JSON object of a row."""
        pairs = zip(self.fields, row, strict=True)
        return {each.name: self._shown(value, each.type) for each, value in pairs}

    def _shown(self, value: Any, kind: LogicalType) -> Any:
        if isinstance(kind, ArrayType) and value is not None:
            return [self._shown(each, kind.element) for each in value]
        if isinstance(kind, RowType) and value is not None:
            values = value.values() if isinstance(value, dict) else value
            pairs = zip(kind.fields, values, strict=True)
            return {each.name: self._shown(inner, each.type) for each, inner in pairs}
        if isinstance(kind, MapType | MultisetType) and value is not None:
            items = value.items() if isinstance(value, dict) else value
            inner = kind.value if isinstance(kind, MapType) else None
            return {_name(k): self._shown(v, inner) if inner else v for k, v in items}
        if isinstance(value, datetime.datetime):
            return self._time(value)
        if isinstance(value, Decimal):
            return float(value) if value % 1 else int(value)
        if isinstance(value, bytes):
            return base64.b64encode(value).decode()
        return str(value) if isinstance(value, datetime.date | datetime.time) else value

    def _time(self, value: datetime.datetime) -> str:
        text = value.replace(tzinfo=None).isoformat(sep="T" if self.iso else " ")
        text = text.rstrip("0") if "." in text else text
        return text + ("Z" if value.tzinfo is not None else "")


def _name(value: Any) -> str:
    return value if isinstance(value, str) else _text(value)


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), default=str)


def _timestamp(value: str, local: bool) -> datetime.datetime:
    text = value.strip().replace("T", " ")
    found = datetime.datetime.fromisoformat(text.removesuffix("Z"))
    return found.replace(tzinfo=datetime.UTC) if local else found.replace(tzinfo=None)
