"""Protobuf messages."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import DecodeError, EncodeError, Message

from millstream.common.errors import FormatError
from millstream.common.made_once import Convert, MadeOnce
from millstream.common.serialization import DeserializationSchema, SerializationSchema, beginning
from millstream.common.typeinfo import TypeInformation, Types
from millstream.common.types import Row
from millstream.connectors.formats.protobuf import MessageType, codec_of_message

__all__ = [
    "ProtobufDeserializationSchema",
    "ProtobufRowDeserializationSchema",
    "ProtobufRowSerializationSchema",
    "ProtobufSerializationSchema",
]


class ProtobufRowDeserializationSchema(DeserializationSchema[Row | None]):
    r"""Makes rows of Protobuf messages.

    A field that can be absent and is absent is None; any other field that is not set has its default.
    Repeated fields are lists, maps are dicts, messages in messages are rows, and enums are their
    names.

    Parameters
    ----------
    message_class
        The class that protoc has generated.
    ignore_parse_errors
        Make None of what cannot be read; by default the job fails.

    Examples
    --------
    >>> from google.protobuf.duration_pb2 import Duration
    >>> ProtobufRowDeserializationSchema(Duration).deserialize(b"\x08\x03")
    Row(seconds=3, nanos=0)
    """

    def __init__(self, message_class: type[Message], ignore_parse_errors: bool = False) -> None:
        self._message = MessageType(message_class)
        self._ignore_errors = ignore_parse_errors
        self._type = codec_of_message(message_class).type_info
        self._decode = MadeOnce(_row_decoder, self._message)

    def deserialize(self, message: bytes) -> Row | None:
        """Return the row of a message, None if it cannot be read and errors are ignored."""
        try:
            row: Row = self._decode(message)
        except (DecodeError, ValueError) as error:
            if self._ignore_errors:
                return None
            raise bad_protobuf(message, self._message, error) from error
        return row

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the rows."""
        return self._type


class ProtobufRowSerializationSchema(SerializationSchema[Any]):
    r"""Makes Protobuf messages of rows; a field that is None is not set.

    Parameters
    ----------
    message_class
        The class that protoc has generated.

    Examples
    --------
    >>> from google.protobuf.duration_pb2 import Duration
    >>> ProtobufRowSerializationSchema(Duration).serialize((3, None))
    b'\x08\x03'
    """

    def __init__(self, message_class: type[Message]) -> None:
        self._message = MessageType(message_class)
        self._type = codec_of_message(message_class).type_info
        self._encode = MadeOnce(_row_encoder, self._message)

    def serialize(self, value: Any) -> bytes:
        """Return the message of a row."""
        reason = "a row is needed" if value is None else self._type.check(value)
        if reason is not None:
            raise FormatError("FORMAT_VALUE", f"{value!r:.200} is not a {self._type}: {reason}")
        try:
            message: bytes = self._encode(value)
        except (EncodeError, ValueError, TypeError) as error:
            raise FormatError(
                "FORMAT_VALUE",
                f"{value!r:.200} is no {self._message.descriptor.full_name}: {error}",
            ) from error
        return message


class ProtobufDeserializationSchema(DeserializationSchema[Message]):
    r"""Makes messages of bytes: objects of the generated class.

    The workers need the module of the class, see ``env.add_python_file``.

    Examples
    --------
    >>> from google.protobuf.duration_pb2 import Duration
    >>> ProtobufDeserializationSchema(Duration).deserialize(b"\x08\x03").seconds
    3
    """

    def __init__(self, message_class: type[Message]) -> None:
        self._class = MessageType(message_class).message_class

    def deserialize(self, message: bytes) -> Message:
        """Return the message."""
        try:
            return parsed_message(self._class, message)
        except (DecodeError, ValueError) as error:
            raise bad_protobuf(message, MessageType(self._class), error) from error

    def get_produced_type(self) -> TypeInformation:
        """Return the type of any Python object."""
        return Types.PICKLED_BYTE_ARRAY()


class ProtobufSerializationSchema(SerializationSchema[Message]):
    r"""Makes bytes of messages, the same bytes of equal ones.

    Examples
    --------
    >>> from google.protobuf.duration_pb2 import Duration
    >>> ProtobufSerializationSchema().serialize(Duration(seconds=3))
    b'\x08\x03'
    """

    def serialize(self, value: Message) -> bytes:
        """Return the bytes of a message."""
        try:
            return bytes(value.SerializeToString(deterministic=True))
        except (EncodeError, AttributeError) as error:
            raise FormatError(
                "FORMAT_VALUE", f"{value!r:.200} is no message that can be written: {error}"
            ) from error


def parsed_message(message_class: type[Message], message: bytes) -> Message:
    """Return the message of some bytes; protobuf itself does not look for required fields."""
    found = message_class.FromString(message)
    if not found.IsInitialized():
        raise DecodeError(f"no {', '.join(found.FindInitializationErrors())}")
    return found


def bad_protobuf(message: bytes, kind: MessageType, error: Exception) -> FormatError:
    """Return the error of a message that cannot be read."""
    return FormatError(
        "BAD_PROTOBUF", f"{beginning(message)} is no {kind.descriptor.full_name}: {error}"
    )


def _row_decoder(kind: MessageType) -> Convert:
    message_class, decode = kind.message_class, codec_of_message(kind.message_class).decode
    return lambda message: decode(parsed_message(message_class, message))


def _row_encoder(kind: MessageType) -> Convert:
    encode = codec_of_message(kind.message_class).encode
    return lambda value: encode(value).SerializeToString(deterministic=True)
