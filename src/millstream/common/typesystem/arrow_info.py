"""Types of table columns: any Arrow type, whose values stay Arrow columns.

Tables have types that `Types` does not know, such as decimals with a scale, or timestamps in
milliseconds. `ArrowTypeInfo` names the Arrow type itself. Its description for savepoints and pages is
made of JSON values, not of bytes of Arrow, so that it is the same in all versions of Arrow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from millstream.common.typesystem.base import TypeInformation
from millstream.common.typesystem.composites import RowTypeInfo

__all__ = ["ArrowTypeInfo", "arrow_row"]

_PLAIN: dict[str, pa.DataType] = {
    str(kind): kind
    for kind in (
        pa.null(),
        pa.bool_(),
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.uint8(),
        pa.uint16(),
        pa.uint32(),
        pa.uint64(),
        pa.float16(),
        pa.float32(),
        pa.float64(),
        pa.string(),
        pa.large_string(),
        pa.binary(),
        pa.large_binary(),
        pa.date32(),
        pa.date64(),
    )
}


@dataclass(frozen=True, repr=False)
class ArrowTypeInfo(TypeInformation[Any]):
    """Values of an Arrow type. In Python they are what ``to_pylist`` gives.

    Parameters
    ----------
    arrow : pyarrow.DataType
        The type of the column.

    Examples
    --------
    >>> ArrowTypeInfo(pa.decimal128(10, 2))
    ARROW(decimal128(10, 2))
    >>> ArrowTypeInfo.of_dict(ArrowTypeInfo(pa.list_(pa.int32())).to_dict())
    ARROW(list<item: int32>)
    """

    arrow: pa.DataType

    @property
    def kind(self) -> str:
        return "ARROW"

    @property
    def is_immutable(self) -> bool:
        return not pa.types.is_nested(self.arrow)

    def _misfit(self, value: Any) -> str | None:
        try:
            pa.array([value], self.arrow)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            return f"Arrow does not take it as {self.arrow}: {error}"
        return None

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.kind, "arrow": _described(self.arrow)}

    @staticmethod
    def of_dict(data: Mapping[str, Any]) -> ArrowTypeInfo:
        """The type that `to_dict` described."""
        return ArrowTypeInfo(_read(data["arrow"]))

    def __repr__(self) -> str:
        return f"ARROW({self.arrow})"


def arrow_row(names: Sequence[str], types: Sequence[pa.DataType]) -> RowTypeInfo:
    """The type of a table's rows: named columns of Arrow types.

    Examples
    --------
    >>> arrow_row(["id", "price"], [pa.int64(), pa.decimal128(10, 2)])
    ROW_NAMED(id: ARROW(int64), price: ARROW(decimal128(10, 2)))
    """
    return RowTypeInfo([ArrowTypeInfo(kind) for kind in types], list(names))


def _described(kind: pa.DataType) -> Any:
    is_a = pa.types
    if str(kind) in _PLAIN:
        return str(kind)
    if is_a.is_timestamp(kind):
        return {"is": "timestamp", "unit": kind.unit, "zone": kind.tz}
    if is_a.is_time(kind) or is_a.is_duration(kind):
        return {"is": "duration" if is_a.is_duration(kind) else "time", "unit": kind.unit}
    if is_a.is_decimal(kind):
        return {"is": f"decimal{kind.bit_width}", "digits": kind.precision, "scale": kind.scale}
    if is_a.is_fixed_size_binary(kind):
        return {"is": "bytes", "width": kind.byte_width}
    if is_a.is_map(kind):
        return {"is": "map", "key": _described(kind.key_type), "value": _described(kind.item_type)}
    if is_a.is_list(kind) or is_a.is_large_list(kind):
        name = "list" if is_a.is_list(kind) else "large list"
        return {"is": name, "of": _described(kind.value_type)}
    if is_a.is_struct(kind):
        return {"is": "struct", "fields": [[f.name, _described(f.type)] for f in kind]}
    raise ValueError(f"a table has no columns of the Arrow type {kind}")


def _read(data: Any) -> pa.DataType:
    if isinstance(data, str):
        return _PLAIN[data]
    return _READERS[data["is"]](data)


def _time(data: Any) -> pa.DataType:
    unit = data["unit"]
    return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)


_READERS: dict[str, Callable[[Any], pa.DataType]] = {
    "timestamp": lambda data: pa.timestamp(data["unit"], data["zone"]),
    "time": _time,
    "duration": lambda data: pa.duration(data["unit"]),
    "decimal128": lambda data: pa.decimal128(data["digits"], data["scale"]),
    "decimal256": lambda data: pa.decimal256(data["digits"], data["scale"]),
    "bytes": lambda data: pa.binary(data["width"]),
    "map": lambda data: pa.map_(_read(data["key"]), _read(data["value"])),
    "list": lambda data: pa.list_(_read(data["of"])),
    "large list": lambda data: pa.large_list(_read(data["of"])),
    "struct": lambda data: pa.struct([pa.field(n, _read(kind)) for n, kind in data["fields"]]),
}
