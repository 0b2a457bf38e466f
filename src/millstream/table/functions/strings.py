"""Functions of texts."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any
from urllib.parse import quote_plus, unquote_to_bytes

import numpy as np
import pyarrow as pa

from millstream.table.expressions import kinds
from millstream.table.expressions.context import Context
from millstream.table.expressions.java.hashes import number_hash, text_hash
from millstream.table.expressions.java.numbers import parse_double, wrap
from millstream.table.expressions.java.printf import java_format
from millstream.table.expressions.java.text import of_utf16, utf16
from millstream.table.expressions.kinds import LogicalType
from millstream.table.expressions.tree import Call, Expression, Literal
from millstream.table.expressions.vectors import Vector, build, each_value
from millstream.table.functions import quick_texts
from millstream.table.functions.cast_text import timestamp_text
from millstream.table.functions.registry import BindError, function, signature, vectorised

__all__: list[str] = []

STRING = "string"


def _joined(types: list[LogicalType]) -> LogicalType:
    nullable = any(kind.nullable for kind in types)
    if not all(kinds.is_string(kind) or kinds.root(kind) == "NULL" for kind in types):
        raise BindError("texts are concatenated")
    length = min(sum(kinds.width(kind) for kind in types), kinds.MAX_LENGTH)
    fixed = all(kinds.root(kind) == "CHAR" for kind in types)
    return kinds.with_nullability(kinds.char(length) if fixed else kinds.varchar(length), nullable)


def _same(types: list[LogicalType]) -> LogicalType:
    return types[0]


def _shorter(types: list[LogicalType]) -> LogicalType:
    """A text of at most the same length."""
    nullable = any(kind.nullable for kind in types)
    return kinds.with_nullability(kinds.varchar(kinds.width(types[0])), nullable)


def _translated(types: list[LogicalType]) -> LogicalType:
    return kinds.with_nullability(kinds.STRING, types[0].nullable)


def _trimmed(types: list[LogicalType]) -> LogicalType:
    return _shorter(types if len(types) == 1 else types[1:])


def _part_of(types: list[LogicalType]) -> LogicalType:
    return kinds.with_nullability(_shorter(types), True)


def _overlaid(types: list[LogicalType]) -> LogicalType:
    nullable = any(kind.nullable for kind in types)
    length = min(kinds.width(types[0]) + kinds.width(types[1]), kinds.MAX_LENGTH)
    return kinds.with_nullability(kinds.varchar(length), nullable)


@function("||", STRING, "string1 || string2", "STRING STRING", _joined, quick=quick_texts.joined)
def _concat_two(left: str, right: str) -> str:
    """Both texts in one."""
    return left + right


@function(
    "CONCAT",
    STRING,
    "CONCAT(string1, string2, ...)",
    "STRING STRING*",
    "STRING",
    quick=quick_texts.joined,
)
def _concat(*texts: str) -> str:
    """All texts in one; NULL if one of them is NULL."""
    return "".join(texts)


@function(
    "CONCAT_WS",
    STRING,
    "CONCAT_WS(separator, string1, ...)",
    "STRING STRING*",
    "STRING",
    strict=False,
)
def _concat_ws(separator: str | None, *texts: str | None) -> str | None:
    """All texts that are not NULL in one, with a separator between them."""
    if separator is None:
        return None
    return separator.join(text for text in texts if text is not None)


@function(
    ["CHAR_LENGTH", "CHARACTER_LENGTH"],
    STRING,
    "CHAR_LENGTH(string)",
    "STRING",
    "INT",
    quick=quick_texts.length,
)
def _length(text: str) -> int:
    """The number of characters."""
    return len(text)


@function("UPPER", STRING, "UPPER(string)", "STRING", _same, quick=quick_texts.upper)
def _upper(text: str) -> str:
    """The text in upper case."""
    return text.upper()


@function("LOWER", STRING, "LOWER(string)", "STRING", _same, quick=quick_texts.lower)
def _lower(text: str) -> str:
    """The text in lower case."""
    return text.lower()


@function("INITCAP", STRING, "INITCAP(string)", "STRING", _same)
def _initcap(text: str) -> str:
    """The first letter of each word in upper case, the others in lower case."""
    out: list[str] = []
    inside = False
    for character in text:
        if not (character.isascii() and character.isalnum()):
            out.append(character)
            inside = False
            continue
        out.append(character.lower() if inside else character.upper())
        inside = True
    return "".join(out)


@function("POSITION", STRING, "POSITION(string1 IN string2)", "STRING STRING", "INT")
def _position(part: str, text: str) -> int:
    """The place, from 1, where the first text begins in the second; 0 if it is not there."""
    return text.find(part) + 1


@function("LOCATE", STRING, "LOCATE(string1, string2 [, integer])", "STRING STRING INT?", "INT")
def _locate(part: str, text: str, start: int = 1) -> int:
    """The place, from 1, where the first text begins in the second, from a place on; 0 if it is not
    there.
    """
    return text.find(part, max(start - 1, 0)) + 1


@function(
    "INSTR",
    STRING,
    "INSTR(string1, string2 [, start [, number]])",
    "STRING STRING INT? INT?",
    "INT",
)
def _instr(text: str, part: str, start: int = 1, number: int = 1) -> int:
    """The place, from 1, where the second text begins in the first; 0 if it is not there."""
    if number <= 0:
        raise ValueError("nthAppearance must be positive!")
    if start == 0:
        return 0
    if not part:
        return 1 if start > 0 else max(len(text) + start + 2, 0)
    if start < 0:
        at = text.rfind(part, 0, len(text) + start + len(part))
        for _ in range(number - 1):
            at = text.rfind(part, 0, at + len(part) - 1) if at >= 0 else -1
        return at + 1
    at = start - 2
    for _ in range(number):
        at = text.find(part, at + 1)
        if at < 0:
            return 0
    return at + 1


@function(
    "TRIM",
    STRING,
    "TRIM([BOTH | LEADING | TRAILING] [string1 FROM] string2)",
    "STRING STRING? STRING?",
    _trimmed,
)
def _trim(first: str, text: str | None = None, characters: str = " ") -> str:
    """The text without some characters, by default blanks, at its ends."""
    if text is None:
        return first.strip(" ")
    if first == "LEADING":
        return text.lstrip(characters)
    return text.rstrip(characters) if first == "TRAILING" else text.strip(characters)


@function("LTRIM", STRING, "LTRIM(string [, characters])", "STRING STRING?", _shorter)
def _ltrim(text: str, characters: str = " ") -> str:
    """The text without some characters, by default blanks, at its beginning."""
    return text.lstrip(characters) if characters else text


@function("RTRIM", STRING, "RTRIM(string [, characters])", "STRING STRING?", _shorter)
def _rtrim(text: str, characters: str = " ") -> str:
    """The text without some characters, by default blanks, at its end."""
    return text.rstrip(characters) if characters else text


@function("BTRIM", STRING, "BTRIM(string [, characters])", "STRING STRING?", "STRING")
def _btrim(text: str, characters: str = " ") -> str:
    """The text without some characters, by default blanks, at both ends."""
    return text.strip(characters) if characters else text


@function("REPEAT", STRING, "REPEAT(string, integer)", "STRING INT", "STRING")
def _repeat(text: str, times: int) -> str:
    """The text so many times."""
    _bounded(len(text) * times)
    return text * times


@function(
    "REPLACE",
    STRING,
    "REPLACE(string1, string2, string3)",
    "STRING STRING STRING",
    "STRING",
    quick=quick_texts.replaced,
)
def _replace(text: str, old: str, new: str) -> str:
    """The first text, with the third instead of the second wherever it stands."""
    return text.replace(old, new)


@function(
    ["TRANSLATE", "TRANSLATE3"],
    STRING,
    "TRANSLATE(string, from, to)",
    "STRING STRING STRING",
    _translated,
    strict=False,
)
def _translate(text: str | None, old: str | None, new: str | None) -> str | None:
    """The text with each character of `from` replaced by the one at the same place of `to`, or left
    out.
    """
    if text is None or not old:
        return text
    table: dict[int, str | None] = {}
    for at, character in enumerate(old):
        table.setdefault(ord(character), (new or "")[at : at + 1] or None)
    return text.translate(table)


@function(
    "OVERLAY",
    STRING,
    "OVERLAY(string1 PLACING string2 FROM start [FOR length])",
    "STRING STRING INT INT?",
    _overlaid,
)
def _overlay(text: str, new: str, start: int, length: int | None = None) -> str:
    """The first text with the second in it, from a place on, instead of so many characters."""
    units, other = utf16(text), utf16(new)
    if start <= 0 or start > len(units):
        return text
    size = len(other) if length is None else length
    rest = units[start - 1 + size :] if size > 0 and start + size <= len(units) else ""
    return of_utf16(units[: start - 1] + other + rest)


@function(
    ["SUBSTRING", "SUBSTR"],
    STRING,
    "SUBSTRING(string, start [, length])",
    "STRING INT INT?",
    _part_of,
    quick=quick_texts.substring,
)
def _substring(text: str, start: int, length: int | None = None) -> str | None:
    """A part of the text, from a place (from 1, negative: from the end) on, to the end or of so
    many characters. Places before the text give nothing.
    """
    if length is not None and length < 0:
        return None
    if start > 0:
        begin = start - 1
    elif start < 0:
        begin = len(text) + start
    else:
        begin = 0
    if not 0 <= begin < len(text):
        return ""
    return text[begin:] if length is None else text[begin : begin + length]


@function("LEFT", STRING, "LEFT(string, integer)", "STRING INT", _part_of)
def _left(text: str, count: int) -> str:
    """The first characters; none of a negative number."""
    return text[: max(count, 0)]


@function("RIGHT", STRING, "RIGHT(string, integer)", "STRING INT", _part_of)
def _right(text: str, count: int) -> str:
    """The last characters; none of a negative number."""
    return text[-count:] if count > 0 else ""


_LONGEST = 1 << 28


def _bounded(length: int) -> None:
    """Refuse a text that would take the memory of the machine."""
    if length > _LONGEST:
        raise ValueError(f"a text of {length} characters is too long; {_LONGEST} are possible")


def _padding(text: str, length: int, pad: str) -> str | None:
    if length < 0 or pad == "":
        return None
    missing = max(length - len(text), 0)
    _bounded(missing)
    return (pad * (missing // len(pad) + 1))[:missing]


@function("LPAD", STRING, "LPAD(string1, integer, string2)", "STRING INT STRING", "STRING")
def _lpad(text: str, length: int, pad: str) -> str | None:
    """The text of exactly so many characters, cut, or filled at its beginning."""
    units = utf16(text)
    filling = _padding(units, length, utf16(pad))
    return None if filling is None else of_utf16(filling + units[:length])


@function("RPAD", STRING, "RPAD(string1, integer, string2)", "STRING INT STRING", "STRING")
def _rpad(text: str, length: int, pad: str) -> str | None:
    """The text of exactly so many characters, cut, or filled at its end."""
    units = utf16(text)
    filling = _padding(units, length, utf16(pad))
    return None if filling is None else of_utf16(units[:length] + filling)


@function("REVERSE", STRING, "REVERSE(string)", "STRING", "STRING?")
def _reverse(text: str) -> str:
    """The characters in the other order."""
    return text[::-1]


@function("ASCII", STRING, "ASCII(string)", "STRING", "INT")
def _ascii(text: str) -> int:
    """The number of the first byte; 0 of an empty text."""
    if not text:
        return 0
    first = text.encode()[0]
    return first if first < 128 else first - 256


@function("CHR", STRING, "CHR(integer)", "INTEGER", "STRING?")
def _chr(number: int) -> str:
    """The character of a number, modulo 256; nothing of a negative number."""
    if number < 0:
        return ""
    return chr(number & 0xFF)


@function("TO_BASE64", STRING, "TO_BASE64(value)", "TEXT_OR_BYTES", "STRING")
def _to_base64(value: str | bytes) -> str:
    """The text or binary in base 64."""
    return base64.b64encode(value if isinstance(value, bytes) else value.encode()).decode()


@function("FROM_BASE64", STRING, "FROM_BASE64(string)", "STRING", "STRING")
def _from_base64(text: str) -> str:
    """The text of base 64."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        raise ValueError("Illegal base64 character") from None
    return data.decode("utf-8", errors="replace")


_CHARSETS = {
    "US-ASCII": "ascii",
    "ISO-8859-1": "latin-1",
    "UTF-8": "utf-8",
    "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
    "UTF-16": "utf-16-be",
}


def _charset(name: str) -> str:
    if name.upper() not in _CHARSETS:
        raise ValueError(f"Unsupported encoding: {name}")
    return _CHARSETS[name.upper()]


@function("ENCODE", STRING, "ENCODE(string, charset)", "STRING STRING", "BYTES")
def _encode(text: str, charset: str) -> bytes:
    """The bytes of the text in a charset."""
    mark = b"\xfe\xff" if charset.upper() == "UTF-16" and text else b""
    return mark + text.encode(_charset(charset), errors="replace")


@function("DECODE", STRING, "DECODE(binary, charset)", "BINARY STRING", "STRING")
def _decode(data: bytes, charset: str) -> str:
    """The text of bytes in a charset."""
    if charset.upper() == "UTF-16" and data[:2] in (b"\xfe\xff", b"\xff\xfe"):
        return data.decode("utf-16", errors="replace")
    return data.decode(_charset(charset), errors="replace")


@function(
    "SPLIT_INDEX",
    STRING,
    "SPLIT_INDEX(string, delimiter, index)",
    "STRING TEXT_OR_INTEGER INT",
    "STRING?",
    quick=quick_texts.split_index,
)
def _split_index(text: str, delimiter: Any, index: int) -> str | None:
    """The part at a place, from 0, of a text that a delimiter splits; NULL if there is none."""
    sign = chr(delimiter) if isinstance(delimiter, int) else delimiter
    if index < 0:
        return None
    parts = text.split(sign) if sign else _blank_split(text)
    if not text:
        return None
    return parts[index] if index < len(parts) else None


def _blank_split(text: str) -> list[str]:
    """The parts between single blanks, which is what Flink splits at if the delimiter is empty."""
    return re.split(r"\s", text)


def _list_of_strings(types: list[LogicalType]) -> LogicalType:
    nullable = any(kind.nullable for kind in types)
    return kinds.with_nullability(kinds.array_of(kinds.STRING), nullable)


@function("SPLIT", STRING, "SPLIT(string, delimiter)", "STRING STRING", _list_of_strings)
def _split(text: str, delimiter: str) -> tuple[str, ...]:
    """The parts of a text between the delimiters; its characters if the delimiter is empty."""
    if not text:
        return ()
    return tuple(text.split(delimiter)) if delimiter else tuple(map(of_utf16, utf16(text)))


def _affix_result(types: list[LogicalType]) -> LogicalType:
    if any(map(kinds.is_string, types)) and any(map(kinds.is_binary, types)):
        raise BindError("two texts are needed, or two binaries")
    return kinds.with_nullability(kinds.BOOLEAN, any(kind.nullable for kind in types))


_AFFIX = "TEXT_OR_BYTES TEXT_OR_BYTES"


@function("STARTSWITH", STRING, "STARTSWITH(value, start)", _AFFIX, _affix_result)
def _starts(text: Any, start: Any) -> bool:
    """TRUE if the text or binary begins with another."""
    return bool(text.startswith(start))


@function("ENDSWITH", STRING, "ENDSWITH(value, end)", _AFFIX, _affix_result)
def _ends(text: Any, end: Any) -> bool:
    """TRUE if the text or binary ends with another."""
    return bool(text.endswith(end))


def _chosen(types: list[LogicalType]) -> LogicalType:
    return kinds.with_nullability(kinds.common_type(types[1:]), True)


_ELT = signature("INTEGER TEXT_OR_BYTES TEXT_OR_BYTES*", _chosen)


def _elt_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if arguments and isinstance(arguments[0], Literal) and (arguments[0].value or 0) < 0:
        raise BindError(f"the index must be 0 or more, and is {arguments[0].value}")
    return _ELT(arguments)


@vectorised("ELT", STRING, "ELT(index, value1, ...)", _elt_type)
def _elt(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """The value at a place, from 1; NULL if there is none."""

    def row(index: int | None, *values: Any) -> Any:
        return values[index - 1] if index is not None and 1 <= index <= len(values) else None

    return build(each_value(row, vectors, context.length, strict=False), call.type)


@function("IS_ALPHA", "conditional", "IS_ALPHA(string)", "ANY", "BOOLEAN!", strict=False)
def _is_alpha(text: Any) -> bool:
    """TRUE if all characters are letters, and there is one."""
    return isinstance(text, str) and bool(text) and all(map(str.isalpha, text))


@function("IS_DIGIT", "conditional", "IS_DIGIT(string)", "ANY", "BOOLEAN!", strict=False)
def _is_digit(text: Any) -> bool:
    """TRUE if all characters are digits, and there is one."""
    if isinstance(text, int):
        return text >= 0
    return isinstance(text, str) and bool(text) and all(map(str.isdecimal, text))


@function("IS_DECIMAL", "conditional", "IS_DECIMAL(string)", "ANY", "BOOLEAN!", strict=False)
def _is_decimal(text: Any) -> bool:
    """TRUE if the text is a number."""
    if text is None:
        return False
    return not isinstance(text, str) or parse_double(text) is not None


@function("URL_ENCODE", STRING, "URL_ENCODE(string)", "STRING", "STRING?")
def _url_encode(text: str) -> str:
    """The text as it stands in a form of a web page."""
    return quote_plus(text, safe="*").replace("~", "%7E")


@function("URL_DECODE", STRING, "URL_DECODE(string)", "STRING", "STRING?")
def _url_decode(text: str) -> str | None:
    """The text of a form of a web page; NULL if it is none."""
    if re.search(r"%(?![0-9a-fA-F]{2})", text):
        return None
    return unquote_to_bytes(text.replace("+", " ")).decode("utf-8", errors="replace")


_URL = re.compile(r"([A-Za-z][\w+.-]*):(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_PROTOCOLS = ("http", "https", "ftp", "file", "jar", "mailto")


@function("PARSE_URL", STRING, "PARSE_URL(url, part [, key])", "STRING STRING STRING?", "STRING?")
def _parse_url(url: str, part: str, key: str | None = None) -> str | None:
    """A part of a URL: PROTOCOL, HOST, PATH, QUERY, REF, AUTHORITY, FILE, USERINFO, or the value of
    a key of QUERY.
    """
    found = _URL.fullmatch(url)
    if found is None or found[1].lower() not in _PROTOCOLS:
        return None
    protocol, authority, path, query, fragment = found.groups()
    if key is not None:
        match = (
            re.search(rf"(?:&|^){re.escape(key)}=([^&]*)", query or "") if part == "QUERY" else None
        )
        return match[1] if match else None
    info, _, host = (authority or "").rpartition("@")
    file = path + (f"?{query}" if query is not None else "")
    parts = {
        "PROTOCOL": protocol,
        "HOST": re.sub(r":\d*$", "", host),
        "PATH": path,
        "QUERY": query,
        "REF": fragment,
        "AUTHORITY": authority or "",
        "FILE": file,
        "USERINFO": info or None,
    }
    return parts.get(part)


@function("HASH_CODE", STRING, "HASH_CODE(value)", "HASHED", "INT", pass_call=True)
def _hash_code(call: Call, value: Any) -> int:
    """Java's hash of a text, without its sign, or of a number, BOOLEAN or DATE."""
    if isinstance(value, str):
        return wrap(abs(text_hash(value)), 32)
    return number_hash(value, kinds.root(call.arguments[0].type))


@function(
    "PRINTF",
    STRING,
    "PRINTF(format, value1, ...)",
    "STRING ANY*",
    "STRING?",
    strict=False,
    pass_call=True,
)
def _printf(call: Call, pattern: str | None, *values: Any) -> str | None:
    """The values in a format as Java's String.format takes it; NULL if they do not fit."""
    if pattern is None:
        return None
    types = [each.type for each in call.arguments[1:]]
    return java_format(pattern, tuple(map(_for_java, values, types)), tuple(map(_bits, types)))


def _bits(kind: LogicalType) -> int:
    return {"TINYINT": 8, "SMALLINT": 16, "BIGINT": 64}.get(kinds.root(kind), 32)


def _for_java(value: Any, kind: LogicalType) -> Any:
    """A value whose text is that of the object that Java formats."""
    if value is None or kinds.root(kind) not in ("FLOAT", "TIMESTAMP"):
        return value
    if kinds.root(kind) == "FLOAT":
        return float(str(np.float32(value)))
    text = timestamp_text(value, 0).replace(" ", "T")
    head, point, digits = text.partition(".")
    groups = digits.ljust(-(-len(digits) // 3) * 3, "0")  # of three digits
    return head.removesuffix(":00") if not point else f"{head}.{groups}"


@function("INET_ATON", STRING, "INET_ATON(string)", "STRING", "BIGINT?")
def _inet_aton(text: str) -> int | None:
    """The number of an address such as 127.0.0.1; of fewer parts the last one fills the rest."""
    parts = text.split(".")
    if not 1 <= len(parts) <= 4 or not all(part.isascii() and part.isdigit() for part in parts):
        return None
    *heads, last = map(int, parts)
    room: int = 256 ** (4 - len(heads))
    if any(head > 255 for head in heads) or last >= room:
        return None
    number = 0
    for head in heads:
        number = number * 256 + head
    return number * room + last


@function("INET_NTOA", STRING, "INET_NTOA(integer)", "INTEGER", "STRING?")
def _inet_ntoa(number: int) -> str | None:
    """The address of a number; NULL if it is none."""
    if not 0 <= number < 2**32:
        return None
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))
