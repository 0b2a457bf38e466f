"""The choice between the workers and Spark's own reader, and its reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from millstream.connectors.files.columns import Columns
from millstream.connectors.files.csv import CsvReader
from millstream.connectors.files.java_texts import KINDS
from millstream.connectors.files.json_lines import ARROW as JSON_TYPES
from millstream.connectors.files.json_lines import JsonReader
from millstream.connectors.files.opening import Fragment
from millstream.connectors.files.orc import OrcReader
from millstream.connectors.files.parquet import ParquetReader
from millstream.connectors.files.text import TextReader

READER_KEY = "millstream.files.reader"
LISTING_OPTIONS = ("pathglobfilter", "recursivefilelookup", "modifiedbefore", "modifiedafter")
"""Options of Spark's that leave out files of a folder."""
STREAM_OPTIONS = (
    "maxfilespertrigger",
    "maxbytespertrigger",
    "latestfirst",
    "maxfileage",
    "maxcachedfiles",
    "discardcachedinputratio",
    "filenameonly",
    "cleansource",
    "sourcearchivedir",
    "ignoremissingfiles",
)
"""Options that choose files: Spark lists the files for both readers."""
_OPTIONS: Mapping[str, set[str]] = {
    "text": set(),
    "csv": {"header", "escape", "sep", "delimiter", "inferschema"},
    "json": set(),
    "parquet": {"mergeschema"},
    "orc": {"mergeschema"},
    "avro": set(),
}
SEPARATORS = tuple(",;:|\t")
CORRUPT = "_corrupt_record"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_SCHEMES = ("file", "hdfs", "viewfs", "s3", "s3a", "gs", "gcs", "abfs", "abfss")


class FileReader(Protocol):
    """Reads the records of fragments, as columns."""

    @property
    def by_ranges(self) -> bool:
        """Whether a file can have several fragments."""

    def read(self, fragment: Fragment) -> Iterator[list[pa.Array]]:
        """The records of a fragment, some at a time, in order."""


def refusal(
    path: str,
    name: str,
    options: Mapping[str, str],
    columns: Columns | None,
    corrupt: str = CORRUPT,
) -> str | None:
    """Why Spark's reader has to read files; None if the workers can.

    Parameters
    ----------
    path, name, options
        What is read, its format, and the options of Spark's reader.
    columns
        The columns, None if they are not known yet.
    corrupt
        The column in which Spark puts what it cannot read.

    Examples
    --------
    >>> refusal("/in", "csv", {"escape": '"', "header": "true"}, None) is None
    True
    >>> refusal("/in", "csv", {"escape": '"', "multiLine": "true"}, None)
    'option multiLine'
    """
    scheme = _SCHEME.match(path)
    if scheme is not None and scheme[1].lower() not in _SCHEMES:
        return f"Arrow has no file system for {scheme[1]}:"
    for option in options:
        if option.lower() not in {*_OPTIONS[name], *LISTING_OPTIONS, *STREAM_OPTIONS}:
            return f"option {option}"
    if name == "csv":
        found = _csv_refusal(_lowered(options))
        if found is not None:
            return found
    known = columns is not None and name not in ("text", "avro")
    return _column_refusal(name, columns or (), corrupt) if known else None


def _csv_refusal(options: Mapping[str, str]) -> str | None:
    if options.get("escape") != '"':
        return "quotes in quotes are not doubled: option escape"
    if _separator(options) not in SEPARATORS:
        return "option sep"
    if options.get("header", "false").lower() not in ("true", "false"):
        return "option header"
    return None


def _column_refusal(name: str, columns: Columns, corrupt: str) -> str | None:
    names = {column.name.lower() for column in columns}
    if not columns or len(names) < len(columns):
        return "there are no columns" if not columns else "two columns have one name"
    if name in ("csv", "json") and corrupt.lower() in names:
        return f"column {corrupt}"
    for column in columns:
        known = column.type in KINDS if name == "csv" else column.type in JSON_TYPES
        if name in ("parquet", "orc"):
            known = column.arrow is not None
        if name == "orc" and column.type.startswith("timestamp"):
            known = False
        if not known:
            what = "nested or special" if column.type == "other" else column.type.upper()
            return f"column {column.name} is {what}"
    return None


def reader_of(
    name: str,
    options: Mapping[str, str],
    columns: Columns,
    *,
    case_sensitive: bool = False,
    used: frozenset[int] | None = None,
) -> FileReader:
    """The reader of files of a format that the workers can read.

    ``used``: the places of the columns that anybody looks at; the others are null.
    """
    lowered = _lowered(options)
    if name == "text":
        return TextReader()
    if name == "csv":
        types = tuple(column.type for column in columns)
        header = lowered.get("header", "false").lower() == "true"
        return CsvReader(types, _separator(lowered), header, used)
    if used is not None and len(used) < len(columns):
        # Without any column, nobody would know how many rows there are.
        places = sorted(used) or [0]
        some = tuple(columns[place] for place in places)
        inner = reader_of(name, options, some, case_sensitive=case_sensitive)
        return SomeColumns(inner, tuple(places), columns)
    if name == "json":
        return JsonReader({column.name: column.type for column in columns})
    if name == "orc":
        return OrcReader(columns, case_sensitive)
    return ParquetReader(columns, case_sensitive)


@dataclass(frozen=True)
class SomeColumns:
    """Reads some columns only; the others are there, and null."""

    inner: FileReader
    places: tuple[int, ...]
    columns: Columns

    @property
    def by_ranges(self) -> bool:
        """Whether a file can have several fragments."""
        return self.inner.by_ranges

    def read(self, fragment: Fragment) -> Iterator[list[pa.Array]]:
        """The records of a fragment."""
        for arrays in self.inner.read(fragment):
            found = dict(zip(self.places, arrays, strict=True))
            count = len(arrays[0])
            yield [
                found[place] if place in found else pa.nulls(count, column.arrow)
                for place, column in enumerate(self.columns)
            ]


def _lowered(options: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in options.items()}


def _separator(options: Mapping[str, str]) -> str:
    return options.get("sep", options.get("delimiter", ","))
