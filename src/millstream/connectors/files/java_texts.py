"""Numbers and truth values in texts, as Java reads them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

WHITE = "".join(map(chr, range(33)))
"""What Java's trim takes away."""

_HALF_PAIR = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_INTEGER = re.compile(r"([+-]?)0*(\d{1,300})")
_DECIMAL = re.compile(
    r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)"
)
_HEXADECIMAL = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?"
)
_SPARKS_OWN = {"Inf": math.inf, "-Inf": -math.inf}


def valid_text(data: bytes) -> bytes:
    """Bytes as text, in which a mark stands for each sequence that is none, as Java has it.

    Examples
    --------
    >>> valid_text(b"a\\xffb\\xed\\xa0\\x80c").decode()
    'a\ufffdb\ufffdc'
    """
    # Of half a pair of surrogates, Python makes three marks.
    return _HALF_PAIR.sub("\ufffd".encode(), data).decode(errors="replace").encode()


def _integer(bits: int, text: str) -> int | None:
    found = _INTEGER.fullmatch(text)
    # Java looks at UTF-16 units: digits beyond the first plane are none.
    if found is None or max(text) > "\uffff":
        return None
    number = int(found[1] + found[2])
    return number if -1 << bits - 1 <= number < 1 << bits - 1 else None


def _double(text: str) -> float | None:
    if text in _SPARKS_OWN:
        return _SPARKS_OWN[text]
    text = text.strip(WHITE)
    if _DECIMAL.fullmatch(text):
        return float(text.rstrip("fFdD"))
    if _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(text.rstrip("fFdD"))
        except OverflowError:
            return -math.inf if text[0] == "-" else math.inf
    return None


def _boolean(text: str) -> bool | None:
    return {"TRUE": True, "FALSE": False}.get(text.upper())


@dataclass(frozen=True)
class FieldKind:
    """How texts become values of a type; of ``plain`` characters Arrow makes the same as Java."""

    arrow: pa.DataType
    plain: bytes
    value: Callable[[str], Any]

    def column(self, texts: pa.Array) -> pa.Array:
        """The values of some texts; those that are none are null."""
        if texts.type == self.arrow:
            return texts
        if not bytes(texts.buffers()[2] or b"").translate(None, self.plain):
            with suppress(pa.ArrowInvalid):
                return texts.cast(self.arrow)
        values = [None if text is None else self.value(text) for text in texts.to_pylist()]
        return pa.array(values, self.arrow)


def _integers(arrow: pa.DataType) -> FieldKind:
    return FieldKind(arrow, b"0123456789-", partial(_integer, arrow.bit_width))


KINDS = {
    "string": FieldKind(pa.string(), b"", str),
    "tinyint": _integers(pa.int8()),
    "smallint": _integers(pa.int16()),
    "int": _integers(pa.int32()),
    "bigint": _integers(pa.int64()),
    "double": FieldKind(pa.float64(), b"0123456789+-.eE", _double),
    "boolean": FieldKind(pa.bool_(), b"TRUEFALStruefals", _boolean),
}
"""The types of columns that are read here, by Spark's names."""
