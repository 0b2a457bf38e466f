"""A task's part of an epoch, written as Parquet files that no reader sees yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from millstream.connectors.lake.columns import fitted, groups
from millstream.connectors.lake.ours import Ours, make_sure
from millstream.connectors.sink import PartContext, PartWriter
from millstream.kernel.records.columns import record_batch

__all__ = ["Folder", "ParquetWriter", "StagedFile"]

ROW_GROUP = 128 * 1024
"""Rows of a row group: a reader that begins in the middle of a file reads at most one in vain."""


@dataclass(frozen=True)
class Folder:
    """The folder of a table, on any file system.

    ``local``: its path on this machine, None if it is elsewhere.
    """

    fs: pafs.FileSystem
    path: str
    local: str | None

    def inner(self, name: str) -> str:
        """The path of something in the folder, for the file system."""
        return f"{self.path}/{name}" if self.path else name


@dataclass(frozen=True)
class StagedFile:
    """A file that a task has written. ``partition``: the values of the partition columns in it."""

    path: str
    bytes: int
    rows: int
    partition: tuple[Any, ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    stats: str = ""


class OpenFile:
    """A file that is being written."""

    def __init__(self, folder: Folder, name: str, schema: pa.Schema, partition: tuple[Any, ...]):
        self.folder = folder
        self.name = name
        self.schema = schema
        self.partition = partition
        self.rows = 0
        path = folder.inner(name)
        folder.fs.create_dir(path.rpartition("/")[0], recursive=True)
        self._stream = folder.fs.open_output_stream(path)
        self._metadata: list[Any] = []
        self._writer = pq.ParquetWriter(self._stream, schema, metadata_collector=self._metadata)

    def write(self, table: pa.Table) -> None:
        self._writer.write_table(table, row_group_size=ROW_GROUP)
        self.rows += len(table)

    def finish(self, stats: Callable[[Any], str]) -> StagedFile:
        self._writer.close()
        size = self._stream.tell()
        self._stream.close()
        if self.folder.local is not None:
            make_sure(f"{self.folder.local}/{self.name}")
        columns = tuple((field.name, str(field.type)) for field in self.schema)
        text = stats(self._metadata[0])
        return StagedFile(self.name, size, self.rows, self.partition, columns, text)

    def close(self) -> None:
        with suppress(Exception):
            self._writer.close()
        with suppress(Exception):
            self._stream.close()


class ParquetWriter(PartWriter):
    """Writes a part as files, one for each combination of values of the partition columns.

    Parameters
    ----------
    target
        The stream's columns in the types of the table.
    partition_by
        Columns that are not in the files: the log has their values.
    keys_of
        What divides the rows into files, as columns; by default the partition columns.
    stats
        Makes a text of the metadata of a file, for the log.
    """

    def __init__(
        self,
        folder: Folder,
        ours: Ours,
        context: PartContext,
        target: pa.Schema,
        *,
        partition_by: Sequence[str] = (),
        keys_of: Callable[[pa.Table], list[pa.Array]] | None = None,
        stats: Callable[[Any], str] = lambda metadata: "",
    ) -> None:
        self.folder = folder
        self.ours = ours
        self.context = context
        self.target = target
        self.partition_by = list(partition_by)
        self.keys_of = keys_of or self._partition_columns
        self.stats = stats
        kept = [field for field in target if field.name not in partition_by]
        self.written = pa.schema(kept)
        self.files: dict[tuple[Any, ...], OpenFile] = {}

    def write(self, batch: Any) -> None:
        if not isinstance(batch, pa.RecordBatch):
            assert self.context.type_info is not None
            batch = record_batch(batch, self.context.type_info)
        table = fitted(batch, self.target, self.context)
        for values, rows in groups(table, self.keys_of(table)):
            self._file(values).write(rows.drop_columns(self.partition_by))

    def _partition_columns(self, table: pa.Table) -> list[pa.Array]:
        return [table[name].combine_chunks() for name in self.partition_by]

    def _file(self, values: tuple[Any, ...]) -> OpenFile:
        if values not in self.files:
            name = self.ours.file(self.context, len(self.files))
            self.files[values] = OpenFile(self.folder, name, self.written, values)
        return self.files[values]

    def finish(self) -> list[StagedFile]:
        return [file.finish(self.stats) for file in self.files.values()]

    def close(self) -> None:
        for file in self.files.values():
            file.close()
