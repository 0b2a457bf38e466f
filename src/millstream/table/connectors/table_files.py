"""Files of a table as channels of a source: lines or columns, with the values of their folders."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import unquote

import pyarrow as pa

from millstream.connectors.conditions import Bounds, Conditions, may_hold
from millstream.connectors.files.channels import FileChannels, Mark
from millstream.connectors.files.columns import Column
from millstream.connectors.files.listing import ListedFile, look
from millstream.connectors.files.opening import Fragment
from millstream.connectors.files.parquet import ParquetReader
from millstream.connectors.files.row_groups import groups_of
from millstream.connectors.files.text import TextReader
from millstream.connectors.source import ChannelName, Chunk, Position
from millstream.table.connectors.text_values import parsed
from millstream.table.types.logical import LogicalType

__all__ = ["ArrowColumn", "FileMetadata", "GrowingTableFiles", "PartitionValue", "TableFiles"]

DEFAULT_PARTITION = "__DEFAULT_PARTITION__"


@dataclass(frozen=True)
class ArrowColumn(Column):
    """A column of files whose type is any Arrow type."""

    kind: pa.DataType = field(default_factory=pa.null)

    @property
    def arrow(self) -> pa.DataType:
        return self.kind

    def takes(self, found: pa.DataType) -> bool:
        is_time = pa.types.is_timestamp(found) and pa.types.is_timestamp(self.kind)
        return is_time or pa.types.is_nested(found) or super().takes(found)


@dataclass(frozen=True)
class PartitionValue:
    """A column whose value is in the name of a folder: ``day=2024-01-31``."""

    name: str
    type: LogicalType
    null: str = DEFAULT_PARTITION

    def of(self, path: str) -> Any:
        """The value for the rows of a file."""
        folders = (part.partition("=") for part in path.split("/")[:-1])
        found = [
            value for name, is_value, value in folders if is_value and unquote(name) == self.name
        ]
        text = unquote(found[-1]) if found else self.null
        return (
            None if text in (self.null, "__HIVE_DEFAULT_PARTITION__") else parsed(text, self.type)
        )


@dataclass(frozen=True)
class FileMetadata:
    """A column about the file itself: ``file.path``, ``file.name``, ``file.size`` and so on."""

    name: str
    key: str

    def of(self, path: str) -> Any:
        """The value for the rows of a file."""
        if self.key == "file.path":
            return path
        if self.key == "file.name":
            return path.rpartition("/")[2]
        found = look(path)
        assert found is not None, "it is being read"
        return found.size if self.key == "file.size" else found.changed_ns // 1_000_000


@dataclass(frozen=True)
class TableFiles(FileChannels):
    """The files below a path, each a channel. What is read has a name for each column.

    ``names``: those of the columns that the reader gives. ``constants``: columns with one value for all
    rows of a file; their Arrow types are in ``kinds``. ``conditions``: files and row groups of Parquet
    without a row that fulfils them are not read. They stay channels, so that a job with other
    conditions can go on from a savepoint. ``pattern``: what the paths of files have to match.
    """

    names: tuple[str, ...] = ("value",)
    conditions: Conditions = ()
    constants: tuple[PartitionValue | FileMetadata, ...] = ()
    kinds: tuple[pa.DataType, ...] = ()
    pattern: re.Pattern[str] | None = None

    def _files(self) -> list[ListedFile]:
        found = super()._files()
        pattern = self.pattern
        return found if pattern is None else [one for one in found if pattern.fullmatch(one.path)]

    def read(self, channel: ChannelName, start: Position, stop: Position) -> Iterator[Chunk]:
        found = {each.name: each.of(str(channel)) for each in self.constants}
        if not may_hold(self.conditions, {name: Bounds.of(each) for name, each in found.items()}):
            return
        values = [
            pa.scalar(value, kind) for value, kind in zip(found.values(), self.kinds, strict=True)
        ]
        names = [*self.names, *(each.name for each in self.constants)]
        for chunk in super().read(channel, start, stop):
            read = chunk.values
            arrays = read.columns if isinstance(read, pa.RecordBatch) else [read]
            count = len(arrays[0])
            constants = [pa.repeat(value, count) for value in values]
            yield Chunk(pa.RecordBatch.from_arrays([*arrays, *constants], names))

    def _fragments(self, path: str, start: int) -> Iterator[tuple[Fragment, int]]:
        if not self.conditions or not isinstance(self.reader, ParquetReader):
            yield from super()._fragments(path, start)
            return
        for group in groups_of(path):
            wanted = may_hold(self.conditions, group.bounds(self.names))
            if wanted and group.begin + group.rows > start:
                yield group.fragment, group.begin

    def _chunk(self, arrays: list[pa.Array]) -> Chunk:
        if isinstance(self.reader, TextReader):
            return Chunk(arrays[0])
        return Chunk(pa.RecordBatch.from_arrays(arrays, list(self.names)))


@dataclass(frozen=True)
class GrowingTableFiles(TableFiles):
    """The same without an end: files that appear later are read too, each once."""

    bounded: ClassVar[bool] = False

    def latest_after(self, positions: Mapping[str, Position]) -> Mapping[ChannelName, Position]:
        self._refuse_elsewhere(positions)
        found: dict[ChannelName, Position] = {
            name: [Mark(*at).end, *at[1:]] for name, at in positions.items() if at != 0
        }
        files = self._files()
        for file in files:
            if file.path not in found:
                found[file.path] = self._listed(file, len(files))
        return found

    def is_final(self, channel: ChannelName) -> bool:
        return True

    def announces(self, channel: ChannelName) -> bool:
        # Files to come are unknown, and those that are there may be read in any order.
        return False
