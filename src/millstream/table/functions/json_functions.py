"""JSON: search in texts, and texts from values."""

from __future__ import annotations

import base64
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from millstream.table.expressions import kinds
from millstream.table.expressions.context import Context
from millstream.table.expressions.java.numbers import double_text
from millstream.table.expressions.kinds import LogicalType
from millstream.table.expressions.tree import Call, Expression, Symbol
from millstream.table.expressions.vectors import Vector, build, each_value
from millstream.table.functions.cast_text import text_of, timestamp_text
from millstream.table.functions.casts import cast_value
from millstream.table.functions.json_path import PathResult, read_path
from millstream.table.functions.json_text import (
    JsonError,
    json_object,
    json_quote,
    json_text,
    parse_json,
)
from millstream.table.functions.registry import BindError, function, vectorised

__all__ = ["bind_json_query", "bind_json_value"]

JSON = "json"


def _read(text: str, path: str) -> PathResult:
    try:
        document, problem = parse_json(text), None
    except JsonError as error:
        document, problem = None, str(error)
    return read_path(document, path, problem)


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, dict | list)


def _declare_is_json(form: str, negated: bool) -> None:
    accepted: Callable[[Any], bool] = {
        "": lambda value: True,
        " VALUE": lambda value: True,
        " SCALAR": _is_scalar,
        " ARRAY": lambda value: isinstance(value, list),
        " OBJECT": lambda value: isinstance(value, dict),
    }[form]

    def run(text: str | None) -> bool:
        if text is None:
            return negated
        try:
            found = bool(accepted(parse_json(text)))
        except JsonError:
            found = False
        return found != negated

    name = f"IS {'NOT ' if negated else ''}JSON{form}"
    run.__doc__ = f"TRUE if the text is {'no' if negated else 'a'} JSON{form.lower() or ' value'}."
    function(name, JSON, f"string {name}", "STRING", "BOOLEAN!", strict=False)(run)


for _form in ("", " VALUE", " SCALAR", " ARRAY", " OBJECT"):
    _declare_is_json(_form, False)
    _declare_is_json(_form, True)


def _check_text(arguments: list[Expression], most: int) -> None:
    if not 2 <= len(arguments) <= most or not all(
        kinds.is_string(each.type) for each in arguments[:2]
    ):
        raise BindError("a text and a path are needed")


def _exists_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    _check_text(arguments, 3)
    return arguments, kinds.BOOLEAN


@vectorised(
    "JSON_EXISTS",
    JSON,
    "JSON_EXISTS(string, path [{TRUE | FALSE | UNKNOWN | ERROR} ON ERROR])",
    _exists_type,
)
def _exists(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """TRUE if the path finds something in the JSON text."""

    def row(text: str, path: str, on_error: str = "FALSE") -> bool | None:
        found = _read(text, path)
        if found.error is None:
            return found.value is not None
        if on_error == "ERROR":
            raise ValueError(found.error)
        return {"TRUE": True, "FALSE": False, "UNKNOWN": None}[on_error]

    return build(each_value(row, vectors, context.length), call.type)


def _value_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    _check_text(arguments, 6)
    return arguments, kinds.STRING


def bind_json_value(arguments: list[Expression], returning: LogicalType | None) -> Call:
    """``JSON_VALUE(text, path RETURNING type ...)``: text, path, ON EMPTY, its default, ON ERROR,
    its default.
    """
    _check_text(arguments, 6)
    return Call(
        kinds.with_nullability(returning or kinds.STRING, True), "JSON_VALUE", tuple(arguments)
    )


@vectorised(
    "JSON_VALUE",
    JSON,
    "JSON_VALUE(string, path [RETURNING type] [{NULL | ERROR | DEFAULT value} ON EMPTY] [... ON ERROR])",
    _value_type,
)
def _value(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """The value that a path finds in a JSON text, if it is no array or object."""
    defaults = {at: vectors[at].type for at in (3, 5) if len(vectors) > at}

    def fallback(choice: str, default: Any, at: int, message: str) -> Any:
        if choice == "ERROR":
            raise ValueError(message)
        if choice == "NULL" or default is None:
            return None
        return cast_value(default, defaults[at], call.type, context)

    def row(
        text: Any,
        path: Any,
        on_empty: str = "NULL",
        empty: Any = None,
        on_error: str = "NULL",
        error: Any = None,
    ) -> Any:
        if text is None or path is None:
            return None
        found = _read(text, path)
        problem = found.error
        if problem is None:
            if found.value is None or (not found.strict and not _is_scalar(found.value)):
                return fallback(
                    on_empty, empty, 3, "Empty result of JSON_VALUE function is not allowed"
                )
            elif _is_scalar(found.value):
                return _converted(found.value, call.type)
            else:
                problem = "strict mode requires a scalar value"
        return fallback(on_error, error, 5, problem)

    return build(each_value(row, vectors, context.length, strict=False), call.type)


def _converted(value: Any, target: LogicalType) -> Any:
    """A JSON value as RETURNING asks for it; as in Flink, other types fail whatever ON ERROR says."""
    if kinds.is_string(target):
        return value if isinstance(value, str) else json_text(value)
    root = kinds.root(target)
    if root == "BOOLEAN" and isinstance(value, bool):
        return value
    if (
        root == "INT"
        and isinstance(value, int)
        and not isinstance(value, bool)
        and abs(value) < 2**31
    ):
        return value
    if root == "DOUBLE" and isinstance(value, Decimal):
        return float(value)
    raise ValueError(f"{json_text(value)} is no {target}")


def _query_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    _check_text(arguments, 5)
    return arguments, kinds.STRING


def bind_json_query(arguments: list[Expression], returning: LogicalType | None) -> Call:
    """``JSON_QUERY(text, path RETURNING type ...)``: text, path, wrapper, ON EMPTY, ON ERROR."""
    _check_text(arguments, 5)
    kind = returning or kinds.STRING
    if not kinds.is_string(kind) and not (
        kinds.root(kind) == "ARRAY" and kinds.is_string(kind.children[0])
    ):
        raise BindError(f"JSON_QUERY returns STRING or ARRAY<STRING>, not {kind}")
    return Call(kinds.with_nullability(kind, True), "JSON_QUERY", tuple(arguments))


def _elements(value: Any) -> tuple[str | None, ...]:
    return tuple(
        each if each is None or isinstance(each, str) else json_text(each) for each in value
    )


_EMPTY: dict[str, Any] = {"NULL": None, "EMPTY ARRAY": "[]", "EMPTY OBJECT": "{}"}


@vectorised(
    "JSON_QUERY",
    JSON,
    "JSON_QUERY(string, path [{WITHOUT | WITH CONDITIONAL | WITH UNCONDITIONAL} ARRAY WRAPPER]"
    " [{NULL | EMPTY ARRAY | EMPTY OBJECT | ERROR} ON EMPTY] [... ON ERROR])",
    _query_type,
)
def _query(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """The array or object that a path finds in a JSON text, as JSON or as an array of texts."""
    listed = kinds.root(call.type) == "ARRAY"

    def fallback(choice: str, message: str) -> Any:
        if choice == "ERROR":
            raise ValueError(message)
        if listed:
            return () if choice == "EMPTY ARRAY" else None
        return _EMPTY[choice]

    def row(
        text: str,
        path: str,
        wrapper: str = "WITHOUT",
        on_empty: str = "NULL",
        on_error: str = "NULL",
    ) -> Any:
        found = _read(text, path)
        if found.error is not None:
            return fallback(on_error, found.error)
        value = found.value
        if value is not None and (
            wrapper == "WITH UNCONDITIONAL"
            or (wrapper == "WITH CONDITIONAL" and not isinstance(value, list))
        ):
            value = [value]
        if value is None or (not found.strict and _is_scalar(value)):
            return fallback(on_empty, "Empty result of JSON_QUERY function is not allowed")
        if _is_scalar(value):
            return fallback(on_error, "strict mode requires an array or object")
        if listed:
            return _elements(value) if isinstance(value, list) else fallback(on_error, "no array")
        return json_text(value)

    return build(each_value(row, vectors, context.length), call.type)


_QUOTED = {
    '"': '\\"',
    "\\": "\\\\",
    "/": "\\/",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}


@function("JSON_QUOTE", JSON, "JSON_QUOTE(string)", "STRING", "STRING")
def _quote(text: str) -> str:
    """The text as a JSON string; other than ASCII characters are escaped."""
    out = []
    for unit in text:
        code = ord(unit)
        if code < 128:
            out.append(_QUOTED.get(unit, unit))
        elif code < 0x10000:
            out.append(f"\\u{code:04x}")
        else:  # Flink writes the whole code, and then the second half of it
            out.append(f"\\u{code:04x}\\u{0xDC00 + (code - 0x10000 & 0x3FF):04x}")
    return '"' + "".join(out) + '"'


@function("JSON_UNQUOTE", JSON, "JSON_UNQUOTE(string)", "STRING", "STRING")
def _unquote(text: str) -> str:
    """The text of a JSON string; other texts stay as they are."""
    try:
        value = parse_json(text, trailing=False)
    except JsonError:
        return text
    return value if isinstance(value, str) and text.startswith('"') else text


def _json_call(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.function in (
        "JSON_OBJECT",
        "JSON_ARRAY",
        "JSON",
        "JSON_QUERY_",
    )


def to_json(value: Any, kind: LogicalType, context: Context) -> str:
    """A value of a type as JSON."""
    root = kinds.root(kind)
    if value is None:
        return "null"
    if root == "BOOLEAN":
        return "true" if value else "false"
    if root in ("FLOAT", "DOUBLE"):
        text = double_text(value)
        return json_quote(text) if text in ("NaN", "Infinity", "-Infinity") else str(Decimal(text))
    if kinds.is_numeric(kind):
        return str(value)
    if kinds.is_binary(kind):
        return json_quote(base64.b64encode(value).decode())
    if root == "ARRAY":
        return "[" + ",".join(to_json(each, kind.children[0], context) for each in value) + "]"
    if root in ("MAP", "MULTISET"):
        second = kind.children[1] if root == "MAP" else kinds.INT
        return json_object({str(key): to_json(each, second, context) for key, each in value})
    if root == "ROW":
        names = [field.name for field in kind.fields]  # type: ignore[attr-defined]
        parts = zip(names, value, kind.children, strict=True)
        return json_object({name: to_json(each, k, context) for name, each, k in parts})
    if root in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        ending = "Z" if root == "TIMESTAMP_LTZ" else ""
        return json_quote(timestamp_text(value, 0).replace(" ", "T", 1) + ending)
    return json_quote(text_of(value, kind, context.zone))


def _string_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if len(arguments) != 1:
        raise BindError("one value is needed")
    _check_json(arguments)
    if isinstance(arguments[0], Call) and arguments[0].function == "JSON":
        raise BindError("JSON() stands only in JSON_ARRAY() and JSON_OBJECT()")
    return arguments, kinds.with_nullability(kinds.STRING, arguments[0].type.nullable)


@vectorised("JSON_STRING", JSON, "JSON_STRING(value)", _string_type)
def _json_string(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """The value as JSON; NULL stays NULL."""

    def row(value: Any) -> str:
        return _part(value, call.arguments[0], context)

    return build(each_value(row, vectors, context.length), call.type)


@function("JSON", JSON, "JSON(string)", "STRING", "STRING")
def _json(text: str) -> str:
    """A JSON text that JSON_OBJECT and JSON_ARRAY take as it is."""
    return json_text(parse_json(text))


def _object_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if len(arguments) % 2 == 0 or not isinstance(arguments[0], Symbol):
        raise BindError("keys and values are needed, and what happens to NULL")
    if not all(kinds.is_string(each.type) for each in arguments[1::2]):
        raise BindError("a key must be a text")
    _check_json(arguments[2::2])
    return arguments, kinds.not_null(kinds.STRING)


def _check_json(arguments: list[Expression]) -> None:
    for each in arguments:
        if kinds.root(each.type) in ("DATE", "TIME") or kinds.is_interval(each.type):
            raise BindError(f"Type '{each.type}' is not scalar or cannot be converted into JSON")
        _check_keys(each.type)


def _check_keys(kind: LogicalType) -> None:
    """Refuse maps whose keys are no texts, wherever they are in a value."""
    if kinds.root(kind) in ("MAP", "MULTISET") and not kinds.is_string(kind.children[0]):
        raise BindError(f"the keys of {kind} must be texts for JSON")
    for child in kind.children:
        _check_keys(child)


def _part(value: Any, expression: Expression, context: Context) -> str:
    if _json_call(expression) and value is not None:
        return str(value)
    return to_json(value, expression.type, context)


@vectorised(
    "JSON_OBJECT",
    JSON,
    "JSON_OBJECT([KEY key VALUE value]* [{NULL | ABSENT} ON NULL])",
    _object_type,
)
def _object(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """A JSON object of keys and values."""
    keep = vectors[0].scalar == "NULL ON NULL"

    def row(*values: Any) -> str:
        found: dict[str, str] = {}
        for at in range(0, len(values), 2):
            if values[at + 1] is not None or keep:
                found[values[at]] = _part(values[at + 1], call.arguments[at + 2], context)
        return json_object(found)

    return build(each_value(row, vectors[1:], context.length, strict=False), call.type)


def _array_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if not arguments or not isinstance(arguments[0], Symbol):
        raise BindError("what happens to NULL comes first")
    _check_json(arguments[1:])
    return arguments, kinds.not_null(kinds.STRING)


@vectorised("JSON_ARRAY", JSON, "JSON_ARRAY([value]* [{NULL | ABSENT} ON NULL])", _array_type)
def _array(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """A JSON array of values."""
    keep = vectors[0].scalar == "NULL ON NULL"

    def row(*values: Any) -> str:
        pairs = zip(values, call.arguments[1:], strict=True)
        parts = [_part(value, each, context) for value, each in pairs if value is not None or keep]
        return "[" + ",".join(parts) + "]"

    return build(each_value(row, vectors[1:], context.length, strict=False), call.type)
