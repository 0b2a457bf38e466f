"""Avro files as a source: a channel per file, positions are numbers of records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow.fs as pafs

from millstream.common.paths import absolute_path
from millstream.common.typeinfo import TypeInformation
from millstream.connectors.formats.avro import codec_of, fastavro, parsed_schema
from millstream.connectors.source import ChannelName, ChannelSource, Chunk

__all__ = ["AvroFiles"]

_CHUNK = 16_384


@dataclass(frozen=True)
class AvroFiles(ChannelSource):
    """Reads an Avro file, or those of a folder, as dicts of a schema; names with _ or . are left out."""

    path: str
    schema: str
    type_info: TypeInformation | None = field(default=None, compare=False)

    bounded = True

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "path": absolute_path(self.path)}

    def _place(self) -> tuple[pafs.FileSystem, str]:
        found: tuple[pafs.FileSystem, str] = pafs.FileSystem.from_uri(absolute_path(self.path))
        return found

    def latest(self) -> Mapping[ChannelName, int]:
        fs, root = self._place()
        info = fs.get_file_info(root)
        if info.type == pafs.FileType.File:
            return {"": _count(fs, root)}
        found = fs.get_file_info(pafs.FileSelector(root, recursive=True))
        names = {one.path[len(root) :].lstrip("/"): one for one in found}
        return {
            name: _count(fs, one.path)
            for name, one in sorted(names.items())
            if one.type == pafs.FileType.File
            and not any(part[0] in "._" for part in name.split("/"))
        }

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        fs, root = self._place()
        values: list[Any] = []
        at = 0
        with fs.open_input_file(f"{root}/{channel}" if channel else root) as file:
            reader_schema = parsed_schema(self.schema)
            for block in fastavro().block_reader(file, reader_schema):
                before, at = at, at + block.num_records
                if at <= start or before >= stop:
                    continue
                for number, record in enumerate(block, before):
                    if start <= number < stop:
                        values.append(record)
                if len(values) >= _CHUNK:
                    yield Chunk(values)
                    values = []
        yield Chunk(values)

    def get_produced_type(self) -> TypeInformation | None:
        return self.type_info or codec_of(parsed_schema(self.schema), rows=False).type_info


def _count(fs: pafs.FileSystem, path: str) -> int:
    with fs.open_input_file(path) as file:
        return sum(block.num_records for block in fastavro().block_reader(file))
