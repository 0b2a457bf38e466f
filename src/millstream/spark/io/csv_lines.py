"""CSV files as lines of text, which Python parses by column: that takes less than Spark's own reader.

The rows are those of Spark's reader. Whatever makes CSV difficult stays with Spark: it parses the lines
that have quotes, or bytes that are no text, and writes them again in one well-formed way. What is left
is to cut lines and to read numbers, and a number that Arrow and Java might read differently is read as
Java does.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from millstream.plan.specs import FilesSpec
from millstream.spark.io.file_listing import COMPRESSED, LISTING_OPTIONS, entries, plain_path

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

OPTIONS = {"header", "escape", "sep", "delimiter", "inferschema", *LISTING_OPTIONS}
SEPARATORS = ",;:|\t"
LOOK_BYTES = 16 << 10
WHITE = "".join(map(chr, range(33)))
"""What Java's trim takes away."""


# -- texts as Java reads them ----------------------------------------------------------------------

_INTEGER = re.compile(r"([+-]?)0*(\d{1,300})")
_DECIMAL = re.compile(
    r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)"
)
_HEXADECIMAL = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?"
)
_SPARKS_OWN = {"Inf": math.inf, "-Inf": -math.inf}


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
"""The types that are read this way, by Spark's names."""


# -- lines -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CsvLines:
    """How lines become rows: the names of the fields' types, what is between fields, a header or not.

    Examples
    --------
    >>> words = CsvLines(("string", "int"), ",", header=True)
    >>> lines = words.without_blanks(pa.array(["to,2", " ", '"to, be",x']))
    >>> [column.to_pylist() for column in words.columns(lines)]
    [['to', 'to, be'], [2, None]]
    """

    types: tuple[str, ...]
    separator: str
    header: bool

    def well_formed(self, line: Column) -> Column:
        """The line; if it is more than texts and separators, then what Spark read of it, quoted."""
        style = {"sep": self.separator, "escape": '"'}
        ddl = ", ".join(f"c{i} {name}" for i, name in enumerate(self.types))
        as_it_is = {"ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}
        written = F.to_csv(
            F.from_csv(line, F.lit(ddl), style), {**style, **as_it_is, "quoteAll": "true"}
        )
        return F.when(line.contains('"') | ~F.is_valid_utf8(line), written).otherwise(line)

    def without_blanks(self, lines: pa.Array) -> pa.Array:
        """The lines that are records, or a header."""
        if not pc.any(pc.less(lines, "!")).as_py():
            return lines
        return lines.filter(pc.not_equal(pc.ascii_trim(lines, WHITE), ""))

    def columns(self, lines: pa.Array) -> list[pa.Array]:
        """The fields of well-formed lines, column by column."""
        try:
            texts = self._texts(lines)
        except pa.ArrowInvalid:
            complete = [self._with_all_fields(line) for line in lines.to_pylist()]
            texts = self._texts(pa.array(complete, pa.string()))
        return [
            KINDS[name].column(column.combine_chunks())
            for name, column in zip(self.types, texts.columns, strict=True)
        ]

    def _texts(self, lines: pa.Array) -> pa.Table:
        names = [str(i) for i in range(len(self.types))]
        whole = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
        # The first line is there to be skipped: Arrow takes a mark away with which the input begins.
        data = b"\n%b\n" % pc.binary_join(whole, "\n")[0].as_buffer()
        return pa.csv.read_csv(
            pa.BufferReader(data),
            pa.csv.ReadOptions(
                use_threads=False, block_size=len(data), skip_rows=1, column_names=names
            ),
            pa.csv.ParseOptions(delimiter=self.separator, ignore_empty_lines=False),
            pa.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )

    def _with_all_fields(self, line: str) -> str:
        """Missing fields are null, and nobody asked for more; what Spark wrote has them all."""
        if '"' in line:
            return line
        wanted = len(self.types)
        fields = line.split(self.separator)[:wanted]
        return self.separator.join(fields + [""] * (wanted - len(fields)))


# -- whether to ------------------------------------------------------------------------------------


def csv_lines(spark: SparkSession, spec: FilesSpec) -> CsvLines | None:
    """How to read files as lines; None if they are no CSV or take Spark's reader."""
    options = {name.lower(): value for name, value in spec.options.items()}
    separator = options.get("sep", options.get("delimiter", ","))
    header = options.get("header", "false").lower()
    if (
        spec.format != "csv"
        or not OPTIONS.issuperset(options)
        or options.get("escape") != '"'
        or separator not in tuple(SEPARATORS)
        or header not in ("true", "false")
        or _mostly_quoted(spec)
    ):
        return None
    fields = spark_schema(spec).fields
    types = tuple(field.dataType.simpleString() for field in fields)
    names = {field.name.lower() for field in fields}
    corrupt = str(spark.conf.get("spark.sql.columnNameOfCorruptRecord")).lower()
    plain = set(types) <= KINDS.keys() and not any(field.metadata for field in fields)
    if not plain or not fields or len(names) < len(fields) or corrupt in names:
        return None
    return CsvLines(types, separator, header == "true")


def spark_schema(spec: FilesSpec) -> StructType:
    """The schema of a spec that has one, be it text."""
    schema = spec.schema
    return cast(StructType, StructType.fromDDL(schema) if isinstance(schema, str) else schema)


def _mostly_quoted(spec: FilesSpec) -> bool:
    """Whether most lines of a local file seem to have quotes: parsing those twice takes longer."""
    place = plain_path(spec.path)
    if place is None or not os.path.exists(place):
        return False
    path = next((entry for entry in entries(place) if entry.is_file()), None)
    if path is None or path.name.endswith(COMPRESSED):
        return False
    with path.open("rb") as file:
        lines = file.read(LOOK_BYTES).splitlines()
    return sum(b'"' in line for line in lines) * 2 > len(lines)
