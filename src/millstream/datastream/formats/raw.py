"""Single values as plain bytes: Flink's format ``raw``."""

from __future__ import annotations

import struct
from typing import Any

from millstream.common.errors import FormatError, PlanError, short_repr, user_location
from millstream.common.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    SerializationSchema,
    SimpleStringSchema,
    beginning,
)
from millstream.common.typeinfo import PrimitiveArrayTypeInfo, TypeInformation, Types

__all__ = ["RawSchema"]

_LAYOUTS = {
    "BOOLEAN": "?",
    "BYTE": "b",
    "SHORT": "h",
    "INT": "i",
    "LONG": "q",
    "FLOAT": "f",
    "DOUBLE": "d",
}
_ORDERS = {"big-endian": ">", "little-endian": "<"}


class RawSchema(SerializationSchema[Any], DeserializationSchema[Any]):
    r"""One number, text, truth value or sequence of bytes, as its plain bytes, in both directions.

    Parameters
    ----------
    type_info
        The type of the values: STRING, BOOLEAN, BYTE, SHORT, INT, LONG, FLOAT, DOUBLE, or
        PRIMITIVE_ARRAY(BYTE).
    charset
        That of text, UTF-8 if not given.
    endianness
        The order of the bytes of a number: ``"big-endian"`` or ``"little-endian"``.

    Examples
    --------
    >>> RawSchema(Types.INT()).serialize(258)
    b'\x00\x00\x01\x02'
    >>> RawSchema(Types.INT(), endianness="little-endian").deserialize(b"\x02\x01\x00\x00")
    258
    """

    def __init__(
        self, type_info: TypeInformation, charset: str = "UTF-8", endianness: str = "big-endian"
    ) -> None:
        self._type = type_info
        self._bytes: SimpleStringSchema | ByteArraySchema | None = None
        self._layout = ""
        if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.holds_bytes:
            self._bytes = ByteArraySchema()
        elif type_info == Types.STRING():
            self._bytes = SimpleStringSchema(charset)
        elif endianness not in _ORDERS or type_info.kind not in _LAYOUTS:
            raise PlanError(
                "BAD_RAW_FORMAT",
                f"there are no raw bytes of {type_info} in {endianness!r} order",
                location=user_location(),
                hint=f"use STRING, PRIMITIVE_ARRAY(BYTE) or one of {', '.join(_LAYOUTS)}, in order "
                f"{' or '.join(_ORDERS)}",
            )
        else:
            self._layout = _ORDERS[endianness] + _LAYOUTS[type_info.kind]

    def serialize(self, value: Any) -> bytes:
        """Return the bytes of a value."""
        reason = "a value is needed" if value is None else self._type.check(value)
        if reason is not None:
            raise FormatError(
                "FORMAT_VALUE", f"{short_repr(value)} is not a {self._type}: {reason}"
            )
        if self._bytes is not None:
            return self._bytes.serialize(value)
        return struct.pack(self._layout, value)

    def deserialize(self, message: bytes) -> Any:
        """Return the value of a message."""
        if self._bytes is not None:
            return self._bytes.deserialize(message)
        try:
            return struct.unpack(self._layout, message)[0]
        except struct.error as error:
            raise FormatError(
                "BAD_RAW", f"{beginning(message)} is not a {self._type}: {error}"
            ) from error

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the values."""
        return self._type
