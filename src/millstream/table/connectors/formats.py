"""Formats of messages: bytes as rows, and rows as bytes, by the options of a table.

A format is a `Format` in `FORMATS`, by the name of the option ``format``. Its options begin with its
name: ``'format' = 'csv', 'csv.field-delimiter' = ';'``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Protocol

import pyarrow as pa

from millstream.connectors.sink import Changelog
from millstream.table.connectors.options import Option, Options
from millstream.table.types.logical import LogicalType, RowType

__all__ = [
    "FORMATS",
    "Chosen",
    "Codec",
    "Format",
    "Message",
    "PlainRows",
    "chosen_format",
    "format_options",
]


class Message(tuple[Any, ...]):
    """The values of a row in a message; ``weight`` is -1 if the message takes the row back."""

    weight: int = 1
    metadata: Mapping[str, Any] = {}

    @staticmethod
    def of(
        values: Iterable[Any], weight: int = 1, metadata: Mapping[str, Any] | None = None
    ) -> Message:
        """The values with a weight."""
        found = Message(values)
        found.weight = weight
        found.metadata = metadata or {}
        return found


class Codec(Protocol):
    """Reads and writes messages of some columns."""

    def read_all(self, message: bytes) -> Sequence[Message]:
        """The rows of a message, in order."""

    def columns(self, messages: pa.Array) -> list[pa.Array] | None:
        """The columns of messages with one row each; None: they have to be read one by one."""

    def write(self, row: Sequence[Any]) -> bytes:
        """The message of a row; a row that is taken back has the kind DELETE."""


class _Rows(Protocol):
    def read(self, text: bytes) -> Sequence[Any] | None: ...

    def write(self, row: Sequence[Any]) -> str | bytes: ...


@dataclass(frozen=True)
class PlainRows:
    """A codec with at most one row in a message, which is never taken back."""

    rows: _Rows

    def read_all(self, message: bytes) -> Sequence[Message]:
        found = self.rows.read(message)
        return () if found is None else (Message(found),)

    def columns(self, messages: pa.Array) -> list[pa.Array] | None:
        read = getattr(self.rows, "columns", None)
        found: list[pa.Array] | None = None if read is None else read(messages)
        return found

    def write(self, row: Sequence[Any]) -> bytes:
        made = self.rows.write(row)
        return made.encode() if isinstance(made, str) else made


class Format(ABC):
    """A form of messages.

    ``several``: a message may have several rows. ``by_name``: columns are found by their names.
    """

    several: bool = False
    by_name: bool = False
    changes: Changelog = "append"
    """The changes that messages say."""

    @abstractmethod
    def options(self) -> tuple[Option, ...]:
        """The options, without the name of the format before them."""

    @abstractmethod
    def codec(self, row: RowType, options: Options) -> Codec:
        """The codec of some columns; ``options`` are those of the format."""

    def metadata(self) -> Mapping[str, LogicalType]:
        """The metadata that messages have besides their rows, by key."""
        return {}


FORMATS: dict[str, Format] = {}
_MODULES = {
    "avro": "avro_rows",
    "canal-json": "change_formats",
    "csv": "builtin_formats",
    "debezium-json": "change_formats",
    "json": "builtin_formats",
    "maxwell-json": "change_formats",
    "ogg-json": "change_formats",
    "raw": "builtin_formats",
}
"""Where formats are: what a job does not use is not imported."""


@dataclass(frozen=True)
class Chosen:
    """A format that a table names, and the options that it has there."""

    name: str
    format: Format
    options: Options

    def codec(self, row: RowType) -> Codec:
        """The codec of some columns."""
        return self.format.codec(row, self.options)

    @property
    def prunes(self) -> bool:
        """Whether columns can be left out, and nobody asks whether they are there."""
        return self.format.by_name and not self.options.flag("fail-on-missing-field")


def chosen_format(options: Options, key: str = "format", prefix: str = "") -> Chosen:
    """The format that an option names. ``prefix``: what stands before its options, as ``value.``."""
    name = options.text(key)
    found = _known(name)
    if found is None:
        names = {*FORMATS, *_MODULES}
        close = get_close_matches(name, names, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"formats: {', '.join(sorted(names))}"
        raise options.problem(f"has the unknown format {name!r}", hint)
    own = Options(options.table, options.below(f"{prefix}{name}."))
    return Chosen(name, found, own)


def _known(name: str) -> Format | None:
    if name not in FORMATS and name in _MODULES:
        import_module(f"millstream.table.connectors.{_MODULES[name]}")
    return FORMATS.get(name)


def format_options(given: Mapping[str, str], key: str, prefix: str = "") -> tuple[Option, ...]:
    """The options of the format that an option names; none if there is no such format."""
    name = given.get(key, "")
    found = _known(name)
    if found is None:
        return ()
    return tuple(
        Option(f"{prefix}{name}.{each.name}", each.required, each.choices, each.prefix)
        for each in found.options()
    )
