"""Protobuf: messages as rows.

One walk through the descriptor of a message makes its `MessageCodec`: the type of its rows, and the
functions between rows and messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.made_once import Convert
from millstream.common.typeinfo import RowTypeInfo, TypeInformation, Types
from millstream.common.types import Row, row_maker

__all__ = ["MessageCodec", "MessageType", "codec_of_message", "files_of"]


class MessageType:
    """The class of a message; it travels as its descriptor, so a worker does not need its module.

    Examples
    --------
    >>> from google.protobuf.duration_pb2 import Duration
    >>> MessageType(Duration).message_class.DESCRIPTOR.full_name
    'google.protobuf.Duration'
    """

    def __init__(self, message_class: Any) -> None:
        if not (isinstance(message_class, type) and issubclass(message_class, Message)):
            raise PlanError(
                "BAD_MESSAGE_CLASS",
                f"a class that protoc has generated is needed, got {short_repr(message_class)}",
                location=user_location(),
                hint="run protoc --python_out=. on the .proto file, and import the class from the "
                "module whose name ends in _pb2",
            )
        self.message_class: type[Message] = message_class

    @property
    def descriptor(self) -> Any:
        """The descriptor of the message."""
        return self.message_class.DESCRIPTOR

    def __reduce__(self) -> tuple[Any, ...]:
        files = [file.serialized_pb for file in files_of(self.descriptor.file)]
        return _rebuilt, (self.descriptor.full_name, files)


def _rebuilt(name: str, files: list[bytes]) -> MessageType:
    pool = descriptor_pool.DescriptorPool()
    for file in files:
        pool.Add(descriptor_pb2.FileDescriptorProto.FromString(file))
    return MessageType(message_factory.GetMessageClass(pool.FindMessageTypeByName(name)))


def files_of(file: Any) -> list[Any]:
    """Return a file and all that it imports, those first that others import."""
    found: dict[str, Any] = {}

    def visit(one: Any) -> None:
        for needed in one.dependencies:
            visit(needed)
        found.setdefault(one.name, one)

    visit(file)
    return list(found.values())


@dataclass(frozen=True)
class MessageCodec:
    """The type of the rows of a message, and the ways from a message to a row and back."""

    type_info: RowTypeInfo
    decode: Convert
    encode: Convert


@dataclass(frozen=True)
class _Field:
    """A field: its type, and the ways between what a message and what a row holds."""

    type_info: TypeInformation
    decode: Convert | None = None
    encode: Convert | None = None


def codec_of_message(message_class: type[Message]) -> MessageCodec:
    """Return the codec of a message.

    Examples
    --------
    >>> from google.protobuf.duration_pb2 import Duration
    >>> codec = codec_of_message(Duration)
    >>> codec.type_info
    ROW_NAMED(seconds: LONG, nanos: INT)
    >>> codec.decode(Duration(seconds=3))
    Row(seconds=3, nanos=0)
    """
    return _codec(message_class.DESCRIPTOR, ())


def _codec(descriptor: Any, outer: tuple[str, ...]) -> MessageCodec:
    if descriptor.full_name in outer:
        raise PlanError(
            "RECURSIVE_SCHEMA",
            f"message {descriptor.full_name} contains messages of its own kind, so its rows have no "
            "type",
            location=user_location(),
            hint="read and write the messages themselves: ProtobufDeserializationSchema(...)",
        )
    inner = (*outer, descriptor.full_name)
    fields = {field.name: _field(field, inner) for field in descriptor.fields}
    type_info = Types.ROW_NAMED(list(fields), [field.type_info for field in fields.values()])
    readers = [_reader(field, fields[field.name].decode) for field in descriptor.fields]
    make = row_maker(tuple(fields))

    def decode(message: Any) -> Row:
        return make([read(message) for read in readers])

    return MessageCodec(type_info, decode, _encoder(descriptor, type_info, fields))


# -- fields ----------------------------------------------------------------------------------------


def _field(field: Any, outer: tuple[str, ...]) -> _Field:
    if _is_map(field):
        entry = field.message_type.fields_by_name
        key, value = _single(entry["key"], outer), _single(entry["value"], outer)
        return _Field(
            Types.MAP(key.type_info, value.type_info),
            _of_map(value.decode),
            _of_map(value.encode),
        )
    single = _single(field, outer)
    if not field.is_repeated:
        return single
    return _Field(Types.LIST(single.type_info), _of_list(single.decode), _of_list(single.encode))


def _single(field: Any, outer: tuple[str, ...]) -> _Field:
    if field.message_type is not None:
        codec = _codec(field.message_type, outer)
        return _Field(codec.type_info, codec.decode, codec.encode)
    if field.enum_type is not None:
        return _enum(field.enum_type)
    return _Field(_TYPES[field.type])


def _enum(enum: Any) -> _Field:
    """Enums are their names; a number without a name is its digits."""
    names = {value.number: value.name for value in enum.values}
    numbers = {value.name: value.number for value in enum.values}

    def encode(name: Any) -> int:
        return numbers[name] if name in numbers else int(name)

    return _Field(Types.STRING(), lambda number: names.get(number) or str(number), encode)


def _is_map(field: Any) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _of_list(convert: Convert | None) -> Convert:
    if convert is None:
        return list
    return lambda items: [convert(item) for item in items]


def _of_map(convert: Convert | None) -> Convert:
    if convert is None:
        return dict
    return lambda items: {key: convert(item) for key, item in items.items()}


def _reader(field: Any, convert: Convert | None) -> Convert:
    """The function that reads a field of a message; None where it is not set."""
    name, get = field.name, attrgetter(field.name)
    if field.has_presence and not field.is_repeated:
        if convert is None:
            return lambda message: get(message) if message.HasField(name) else None
        return lambda message: convert(get(message)) if message.HasField(name) else None
    return get if convert is None else lambda message: convert(get(message))


# -- writing ---------------------------------------------------------------------------------------


def _encoder(descriptor: Any, type_info: RowTypeInfo, fields: dict[str, _Field]) -> Convert:
    build: Callable[..., Message] = message_factory.GetMessageClass(descriptor)
    choices = [
        [field.name for field in choice.fields]
        for choice in descriptor.oneofs
        if len(choice.fields) > 1
    ]

    def encode(value: Any) -> Message:
        given = {name: found for name, found in _items(type_info, value) if found is not None}
        for names in choices:
            if sum(name in given for name in names) > 1:
                raise ValueError(f"only one of {', '.join(names)} can be set")
        for name, found in given.items():
            convert = fields[name].encode
            if convert is not None:
                given[name] = convert(found)
        return build(**given)

    return encode


def _items(type_info: RowTypeInfo, value: Any) -> Iterator[tuple[str, Any]]:
    values = type_info.positional(value)
    if isinstance(values, str):
        raise TypeError(values)
    return zip(type_info.get_field_names(), values, strict=True)


_P = descriptor_pb2.FieldDescriptorProto
_TYPES: dict[int, TypeInformation] = {
    **dict.fromkeys((_P.TYPE_INT32, _P.TYPE_SINT32, _P.TYPE_SFIXED32), Types.INT()),
    **dict.fromkeys((_P.TYPE_INT64, _P.TYPE_SINT64, _P.TYPE_SFIXED64), Types.LONG()),
    # Numbers without a sign need a bit more than those of the same size with one.
    **dict.fromkeys((_P.TYPE_UINT32, _P.TYPE_FIXED32), Types.LONG()),
    **dict.fromkeys((_P.TYPE_UINT64, _P.TYPE_FIXED64), Types.BIG_INT()),
    _P.TYPE_FLOAT: Types.FLOAT(),
    _P.TYPE_DOUBLE: Types.DOUBLE(),
    _P.TYPE_BOOL: Types.BOOLEAN(),
    _P.TYPE_STRING: Types.STRING(),
    _P.TYPE_BYTES: Types.PRIMITIVE_ARRAY(Types.BYTE()),
}
