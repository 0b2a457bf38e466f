"""Records to bytes and back, for sources and sinks."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from millstream.common.absent import missing_name
from millstream.common.errors import FormatError, PlanError, short_repr, user_location
from millstream.common.text import TextStyle, checked_style, encoded_text
from millstream.common.typeinfo import TypeInformation, Types

__all__ = [
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
    "beginning",
]

T = TypeVar("T")
_SHOWN = 100


def beginning(message: bytes | str) -> str:
    """The first bytes of a message, as errors show them.

    Examples
    --------
    >>> beginning(b"abc"), beginning(b"a" * 300)[-15:]
    ("b'abc'", '... (300 bytes)')
    """
    if len(message) <= _SHOWN:
        return repr(message)
    unit = "characters" if isinstance(message, str) else "bytes"
    return f"{message[:_SHOWN]!r}... ({len(message)} {unit})"


class SerializationSchema(ABC, Generic[T]):
    """Turns records into bytes.

    Examples
    --------
    >>> class Csv(SerializationSchema):
    ...     def serialize(self, value):
    ...         return ",".join(map(str, value)).encode()
    >>> Csv().serialize((1, 2))
    b'1,2'
    """

    @abstractmethod
    def serialize(self, value: T) -> bytes:
        """The bytes of a record."""


class DeserializationSchema(ABC, Generic[T]):
    """Turns bytes into records.

    Examples
    --------
    >>> class Number(DeserializationSchema):
    ...     def deserialize(self, message):
    ...         return int(message)
    >>> Number().deserialize(b"12")
    12
    """

    @abstractmethod
    def deserialize(self, message: bytes) -> T:
        """The record of a message."""

    def is_end_of_stream(self, next_element: T) -> bool:
        """Whether the stream ends with this record; never, unless a subclass says so."""
        return False

    def get_produced_type(self) -> TypeInformation:
        """The type of the records."""
        return Types.PICKLED_BYTE_ARRAY()


def _charset(name: object) -> str:
    try:
        if isinstance(name, str):
            return codecs.lookup(name).name
    except LookupError:
        pass
    raise PlanError(
        "UNKNOWN_CHARSET",
        f"there is no charset {short_repr(name)}",
        location=user_location(),
        hint="use one that Python knows, such as 'UTF-8' or 'ISO-8859-1'",
    )


class SimpleStringSchema(SerializationSchema[str], DeserializationSchema[str]):
    """Text as bytes of a charset, in both directions.

    Parameters
    ----------
    charset : str
        The charset, UTF-8 if not given.

    Examples
    --------
    >>> SimpleStringSchema().serialize("né")
    b'n\\xc3\\xa9'
    >>> SimpleStringSchema("ISO-8859-1").deserialize(b"n\\xe9")
    'né'
    """

    def __init__(self, charset: str = "UTF-8") -> None:
        self._charset = _charset(charset)

    @property
    def charset(self) -> str:
        """The charset, as Python names it."""
        return self._charset

    def serialize(self, value: str) -> bytes:
        """The bytes of a text."""
        try:
            return value.encode(self._charset)
        except UnicodeEncodeError as error:
            raise FormatError(
                "FORMAT_VALUE", f"{short_repr(value)} cannot be written in {self._charset}: {error}"
            ) from error

    def deserialize(self, message: bytes) -> str:
        """The text of a message."""
        try:
            return message.decode(self._charset)
        except UnicodeDecodeError as error:
            raise FormatError(
                "BAD_TEXT", f"{beginning(message)} is no text in {self._charset}: {error}"
            ) from error

    def get_produced_type(self) -> TypeInformation:
        """STRING."""
        return Types.STRING()


class ByteArraySchema(SerializationSchema[bytes], DeserializationSchema[bytes]):
    """Bytes as they are, in both directions.

    Examples
    --------
    >>> ByteArraySchema().deserialize(b"abc")
    b'abc'
    """

    def serialize(self, value: bytes) -> bytes:
        """The bytes."""
        return value

    def deserialize(self, message: bytes) -> bytes:
        """The bytes."""
        return message

    def get_produced_type(self) -> TypeInformation:
        """PRIMITIVE_ARRAY(BYTE), the type of `bytes`."""
        return Types.PRIMITIVE_ARRAY(Types.BYTE())


class RowFieldExtractorSchema(SerializationSchema[Any]):
    """The bytes of one field of a row: for the key or the value of a message.

    Parameters
    ----------
    field_index : int
        The position of the field, whose values are `bytes`.

    Examples
    --------
    >>> RowFieldExtractorSchema(1).serialize((b"key", b"value"))
    b'value'
    """

    def __init__(self, field_index: int) -> None:
        if field_index < 0:
            raise ValueError(f"Field index must be non-negative, got: {field_index}")
        self._field_index = field_index

    def serialize(self, value: Any) -> bytes:
        """The bytes of the field; none if it is None."""
        found = None if value is None else value[self._field_index]
        if found is None:
            return b""
        if isinstance(found, bytes | bytearray):
            return bytes(found)
        raise FormatError(
            "NOT_BYTES",
            f"field {self._field_index} of {short_repr(value)} is a {type(found).__name__}, not bytes",
            "encode it before, as in map(lambda row: Row(row[0].encode(), row[1].encode()))",
        )


class Encoder:
    """Turns records into what a file sink writes for each of them.

    Parameters
    ----------
    encode : callable
        From a record to its bytes, with the line end if there is one.

    Examples
    --------
    >>> lines = Encoder.simple_string_encoder()
    >>> lines.of_type(Types.TUPLE([Types.STRING(), Types.INT()])).encode(("a", 1))
    b'(a,1)\\n'
    >>> lines.encode(("a", 1))
    b"('a', 1)\\n"
    """

    def __init__(self, encode: Callable[[Any], bytes]) -> None:
        self._encode = encode

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8", text: TextStyle = "flink") -> Encoder:
        """Writes each record on a line of its own.

        Parameters
        ----------
        charset_name
            The charset, UTF-8 if not given.
        text
            ``"flink"``: records of a declared type as Flink writes them, ``(hi,1)`` or
            ``+I[hi, 1, null]``, others as Python does. ``"python"``: all as ``str(record)``.
        """
        return Encoder(_LineEncoder(_charset(charset_name), checked_style(text)))

    def of_type(self, type_info: TypeInformation | None) -> Encoder:
        """The encoder for records of a type, if it makes a difference."""
        encode = self._encode
        return Encoder(encode.of_type(type_info)) if isinstance(encode, _LineEncoder) else self

    def encode(self, value: Any) -> bytes:
        """The bytes of a record."""
        return self._encode(value)


class _LineEncoder:
    """A class and not a lambda, so that encoders can be pickled."""

    def __init__(self, charset: str, style: TextStyle, to_text: Callable[[Any], str] = str) -> None:
        self._charset = charset
        self._style = style
        self._to_text = to_text

    def of_type(self, type_info: TypeInformation | None) -> _LineEncoder:
        return _LineEncoder(self._charset, self._style, encoded_text(type_info, self._style))

    def __call__(self, value: Any) -> bytes:
        return f"{self._to_text(value)}\n".encode(self._charset)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        # By name and late: this package knows nothing of the API above it.
        if name == "BulkWriterFactory":
            return import_module("millstream.datastream.connectors.file_formats").BulkWriterFactory
        return missing_name(__name__)(name)
