"""The file sink of tables: rows as lines or columns, in folders by the values of columns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from millstream.common.typeinfo import RowTypeInfo
from millstream.common.types import Row
from millstream.connectors.sink import Changelog
from millstream.datastream.connectors.file_system import FileSink
from millstream.table.connectors.formats import Codec
from millstream.table.connectors.text_values import time_text

__all__ = ["LineEncoder", "Partitions", "TableFileSink"]

_SPECIAL = re.compile(r'[\x00-\x1f"#%\'*/:=?\\\x7f{\[\]^]')


@dataclass(frozen=True)
class LineEncoder:
    """Makes a line of a row."""

    codec: Codec

    def __call__(self, row: Any) -> str:
        return self.codec.write(row).decode()


@dataclass(frozen=True)
class Partitions:
    """Folders by the values of columns, which are not in the files then.

    ``row``: the columns that the files have. ``null``: the name for NULL and the empty text.

    Examples
    --------
    >>> from millstream.common import Types
    >>> days = Partitions(("day",), Types.ROW_NAMED(["n"], [Types.INT()]), "none")
    >>> days(Row(n=1, day="a/b"))
    ('day=a%2Fb', False, Row(n=1))
    """

    names: tuple[str, ...]
    row: RowTypeInfo
    null: str

    def __call__(self, row: Any) -> tuple[str, bool, Row]:
        names = self.row.get_field_names()
        kept = Row(*[row[name] for name in names])
        kept.set_field_names(names)
        kept.set_row_kind(row.get_row_kind())
        return self.folder(row), False, kept

    def folder(self, row: Any) -> str:
        """The folder of a row."""
        return "/".join(f"{_escaped(name)}={self._text(row[name])}" for name in self.names)

    def _text(self, value: Any) -> str:
        if value is None:
            return self.null
        if isinstance(value, bool):
            return str(value).lower()
        text = time_text(value) if hasattr(value, "isoformat") else str(value)
        return _escaped(text) or self.null


def _escaped(text: str) -> str:
    """A text as a part of a path, as Hive and Flink name folders."""
    return _SPECIAL.sub(lambda found: f"%{ord(found[0]):02X}", text)


@dataclass(frozen=True)
class TableFileSink(FileSink):
    """Writes the rows of a table to files. ``changes``: what its format can say."""

    changes: Changelog = "append"

    @property
    def changelog(self) -> Changelog:  # type: ignore[override]
        return self.changes
