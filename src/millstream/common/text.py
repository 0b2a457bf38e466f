"""Records as text, as Flink's Java classes write them: ``(hi,1)``, ``+I[hi, 1, null]``, ``1.0E10``.

The texts are those of a live PyFlink 2.3 with three exceptions, where it writes what nobody can use: an
array on its own (``[I@348b3bdd``) is written as it is inside a tuple (``[1, 2]``), a pickled value as
Python writes it, and a map in the order of the Python dict.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal, get_args

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.java_text import java_double, java_float
from millstream.common.typeinfo import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from millstream.common.types import Row, RowKind
from millstream.common.typesystem.certainty import is_declared
from millstream.common.typesystem.composites import ChangesTypeInfo

__all__ = ["TextStyle", "checked_style", "encoded_text", "printed_text"]

TextStyle = Literal["flink", "python"]
TEXT_STYLES = get_args(TextStyle)
Text = Callable[[Any], str]

_LISTS = (ListTypeInfo, ObjectArrayTypeInfo, BasicArrayTypeInfo, PrimitiveArrayTypeInfo)


def checked_style(style: object) -> TextStyle:
    """The style, if there is one of that name."""
    if style in TEXT_STYLES:
        return style  # type: ignore[return-value]
    raise PlanError(
        "TEXT_STYLE",
        f"records cannot be written as text in the style {short_repr(style)}",
        location=user_location(),
        hint="use text='flink', as Flink writes them, or text='python', as str() does",
    )


def printed_text(type_info: TypeInformation | None, style: TextStyle = "flink") -> Text:
    """The function that writes records of a stream as PyFlink's ``print`` does.

    PyFlink prints records of no declared type as Python does, and the fields of a row, too.

    Examples
    --------
    >>> from millstream.common import Types
    >>> printed_text(Types.TUPLE([Types.STRING(), Types.INT()]))(("hi", 1))
    '(hi,1)'
    >>> printed_text(None)(("hi", 1))
    "('hi', 1)"
    >>> printed_text(Types.ROW([Types.STRING(), Types.INT(), Types.STRING()]))(Row("hi", 1, None))
    '+I[hi,1,None]'
    """
    if (
        style == "flink"
        and is_declared(type_info)
        and isinstance(type_info, RowTypeInfo | ChangesTypeInfo)
    ):
        return _printed_row
    return encoded_text(type_info, style)


def encoded_text(type_info: TypeInformation | None, style: TextStyle = "flink") -> Text:
    """The function that writes records of a stream as Flink's ``SimpleStringEncoder`` does.

    Examples
    --------
    >>> from millstream.common import Types
    >>> encoded_text(Types.ROW([Types.STRING(), Types.INT(), Types.STRING()]))(Row("hi", 1, None))
    '+I[hi, 1, null]'
    >>> encoded_text(Types.BOOLEAN())(True), encoded_text(Types.BOOLEAN(), "python")(True)
    ('true', 'True')
    """
    if style == "python" or not is_declared(type_info):
        return str
    assert type_info is not None
    return _text_of(type_info)


def _printed_row(value: Any) -> str:
    kind = value.get_row_kind() if isinstance(value, Row) else RowKind.INSERT
    return "None" if value is None else f"{kind}[{','.join(map(str, value))}]"


def _text_of(type_info: TypeInformation) -> Text:
    if isinstance(type_info, ChangesTypeInfo):
        return _text_of(type_info.row)
    if isinstance(type_info, PickledBytesTypeInfo):
        return str
    text = _of_a_value(type_info)
    return lambda value: "null" if value is None else text(value)


def _of_a_value(type_info: TypeInformation) -> Text:
    """The text of a value that is not None."""
    if isinstance(type_info, RowTypeInfo):
        return _row_text(type_info)
    if isinstance(type_info, TupleTypeInfo):
        fields = [_text_of(field) for field in type_info.field_types]
        return lambda value: f"({','.join(text(v) for text, v in zip(fields, value, strict=True))})"
    if isinstance(type_info, MapTypeInfo):
        key, item = _text_of(type_info.key_type), _text_of(type_info.value_type)
        return lambda value: f"{{{', '.join(f'{key(k)}={item(v)}' for k, v in value.items())}}}"
    if isinstance(type_info, _LISTS):
        element = _text_of(type_info.element_type)
        return lambda value: f"[{', '.join(map(element, _signed(value)))}]"
    return _ATOMS.get(type_info.kind, str)


def _row_text(type_info: RowTypeInfo) -> Text:
    fields = [_text_of(field) for field in type_info.field_types]

    def text(value: Any) -> str:
        kind = value.get_row_kind() if isinstance(value, Row) else RowKind.INSERT
        return f"{kind}[{', '.join(t(v) for t, v in zip(fields, value, strict=True))}]"

    return text


def _signed(value: Any) -> Any:
    """Java's bytes have a sign."""
    if isinstance(value, bytes | bytearray):
        return [byte - 256 if byte > 127 else byte for byte in value]
    return value


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _big_dec(value: Decimal) -> str:
    # Java has no negative zero.
    return str(value if value else abs(value))


def _timestamp(value: dt.datetime) -> str:
    fraction = f"{value.microsecond:06d}".rstrip("0") or "0"
    return f"{value.isoformat(' ', 'seconds')}.{fraction}"


def _time(value: dt.time) -> str:
    return value.isoformat("seconds")


def _instant(value: Any) -> str:
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=value.seconds)
    return f"{moment.isoformat()}{_fraction(value.nanos)}Z"


def _fraction(nanos: int) -> str:
    """Java writes three, six or nine digits, or none."""
    if not nanos:
        return ""
    text = f"{nanos:09d}"
    while text.endswith("000"):
        text = text[:-3]
    return f".{text}"


_ATOMS: dict[str, Callable[[Any], str]] = {
    "BOOLEAN": _boolean,
    "FLOAT": java_float,
    "DOUBLE": java_double,
    "BIG_DEC": _big_dec,
    "SQL_TIME": _time,
    "SQL_TIMESTAMP": _timestamp,
    "INSTANT": _instant,
}
