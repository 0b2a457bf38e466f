"""Files as channels of a source: a list that is made once, when the job begins.

A file is a channel, and its name is the path. A position is a list: how far the file is read, where it
ends, its size, the time of its last change, and how far an epoch goes. So a checkpoint has the whole
list, and a job that starts again neither looks for files nor touches those that it has read. Files of
lines are counted in bytes, others in records.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.common.errors import CheckpointError, Location, PlanError
from millstream.common.paths import absolute_path
from millstream.common.typeinfo import TypeInformation, Types
from millstream.connectors.files.avro import AvroReader, schema_of_file
from millstream.connectors.files.choice import (
    LISTING_OPTIONS,
    STREAM_OPTIONS,
    FileReader,
    reader_of,
    refusal,
)
from millstream.connectors.files.columns import columns_of, columns_of_file
from millstream.connectors.files.csv import CsvReader
from millstream.connectors.files.json_lines import JsonReader
from millstream.connectors.files.lines import border_after
from millstream.connectors.files.listing import ListedFile, files_of, is_below, look
from millstream.connectors.files.opening import COMPRESSED, Fragment, opened, unreachable
from millstream.connectors.files.orc import OrcReader
from millstream.connectors.files.parquet import ParquetReader
from millstream.connectors.files.stored import changed, gone, unreadable
from millstream.connectors.files.text import TextReader
from millstream.connectors.formats.avro import codec_of, parsed_schema
from millstream.connectors.source import ChannelName, ChannelSource, Chunk, Position
from millstream.kernel.records.columns import Columns, as_list

__all__ = ["FileChannels", "file_channels"]

EPOCH_BYTES = 256 << 20
"""How much of all files together an epoch reads, where files can be cut."""
SMALLEST_STEP = 1 << 20
MOST_RECORDS_PER_BYTE = 1 << 20
"""No compressed file has more records: nobody knows how many there are before it is read."""
_LINES = (TextReader, CsvReader, JsonReader)


class Mark(NamedTuple):
    """A position: how far a file is read, and what the file was when it was listed."""

    at: int
    end: int
    size: int
    changed_ns: int
    step: int
    """How far an epoch goes; 0: to the end."""


@dataclass(frozen=True)
class FileChannels(ChannelSource):
    """The files of a path, each a channel. Make one with `file_channels`."""

    positions_in: ClassVar[str | None] = "files"
    bounded: ClassVar[bool] = True

    path: str
    options: Mapping[str, str]
    reader: FileReader
    value: TypeInformation
    location: Location | None = field(default=None, compare=False, repr=False)

    def get_produced_type(self) -> TypeInformation:
        return self.value

    # -- the list --------------------------------------------------------------------------------

    def latest(self) -> Mapping[ChannelName, Position]:
        return self.latest_after({})

    def latest_after(self, positions: Mapping[str, Position]) -> Mapping[ChannelName, Position]:
        self._refuse_elsewhere(positions)
        if not positions:
            files = self._files()
            return {file.path: self._listed(file, len(files)) for file in files}
        # The list was made when the job began.
        return {
            name: self._listed(self._look(name), len(positions)) if at == 0 else [at[1], *at[1:]]
            for name, at in positions.items()
        }

    def _files(self) -> list[ListedFile]:
        """The files that are there."""
        return files_of(self.path, self.options)

    def _refuse_elsewhere(self, names: Iterable[str]) -> None:
        """Refuse to go on with files of another folder, or of this one by another path."""
        elsewhere = [name for name in names if not is_below(name, self.path)]
        if elsewhere:
            raise CheckpointError(
                "FILES_ELSEWHERE",
                f"the job has begun to read {elsewhere[0]}, and its source is {self.path} now",
                location=self.location,
                hint="files are known by their paths, so those that are read would be read again: "
                "give the source the old path, or the job another checkpoint directory",
            )

    def _listed(self, file: ListedFile, files: int) -> list[int]:
        """Where a file ends, one of so many."""
        step = max(EPOCH_BYTES // files, SMALLEST_STEP)
        if self._has_lines(file.path):
            end = file.size
        else:
            with self._named(file.path):
                end, step = self._counted(file, step)
        return list(Mark(end, end, file.size, file.changed_ns, step))

    def _counted(self, file: ListedFile, step: int) -> tuple[int, int]:
        """How many records a file has at most, and how many of them an epoch reads."""
        if isinstance(self.reader, ParquetReader):
            groups = _groups(file.path)
            rows = sum(groups)
            # Whole row groups: a row group that is cut has to be read twice.
            some = -(-step * len(groups) // file.size)
            return rows, groups[0] * max(some, 1) if groups else 0
        if isinstance(self.reader, OrcReader):
            return _orc_rows(file.path), 0
        return file.size * MOST_RECORDS_PER_BYTE, 0

    def _has_lines(self, path: str) -> bool:
        return isinstance(self.reader, _LINES) and not path.endswith(COMPRESSED)

    # -- positions -------------------------------------------------------------------------------

    def number(self, position: Position) -> int:
        return position if isinstance(position, int) else int(position[0])

    def advance(
        self, channel: ChannelName, start: Position, stop: Position, records: int | None
    ) -> Position:
        at, mark = self.number(start), Mark(*stop)
        found = min(at + mark.step, mark.at) if mark.step else mark.at
        if records is not None:
            with self._named(str(channel)):
                found = min(found, self._limited(str(channel), at, records, mark))
        return list(mark._replace(at=found))

    def _limited(self, path: str, at: int, records: int, mark: Mark) -> int:
        """How far some records go."""
        if self._has_lines(path):
            header = isinstance(self.reader, CsvReader) and self.reader.header
            border = border_after(path, at, records, header=header)
            return mark.at if border is None else border
        more = at + records
        if isinstance(self.reader, ParquetReader | OrcReader):
            return more
        # Only reading it tells whether the file has so many.
        return more if any(self._records(path, more, more + 1)) else mark.at

    # -- reading ---------------------------------------------------------------------------------

    def read(self, channel: ChannelName, start: Position, stop: Position) -> Iterator[Chunk]:
        path, at, mark = str(channel), self.number(start), Mark(*stop)
        found = self._look(path)
        if (found.size, found.changed_ns) != (mark.size, mark.changed_ns):
            raise changed(path, self.location)
        with self._named(path):
            if self._has_lines(path):
                border = None if mark.at == mark.end else mark.at
                arrays = self.reader.read(Fragment(path, at, border))
            else:
                arrays = self._records(path, at, mark.at)
            for some in arrays:
                yield self._chunk(some)

    def _records(self, path: str, start: int, stop: int) -> Iterator[list[pa.Array]]:
        """The records from one number to another, of a file that is read from its beginning."""
        for fragment, at in self._fragments(path, start):
            for arrays in self.reader.read(fragment):
                first, last = max(start - at, 0), min(stop - at, len(arrays[0]))
                if first < last:
                    yield [array.slice(first, last - first) for array in arrays]
                at += len(arrays[0])
                if at >= stop:
                    return

    def _fragments(self, path: str, start: int) -> Iterator[tuple[Fragment, int]]:
        """The parts of a file to read from a record on, each with the number of its first record."""
        if isinstance(self.reader, ParquetReader) and start:
            yield _from_group(path, start)
        else:
            yield Fragment(path), 0

    def _chunk(self, arrays: list[pa.Array]) -> Chunk:
        if isinstance(self.reader, TextReader):
            return Chunk(arrays[0])
        if self._is_plain:
            return Chunk(pa.RecordBatch.from_arrays(arrays, self._names))
        return Chunk(as_list(Columns(self.value, arrays)))

    @cached_property
    def _names(self) -> list[str]:
        return self.value.get_field_names()  # type: ignore[attr-defined, no-any-return]

    @cached_property
    def _is_plain(self) -> bool:
        """Whether the types of the columns in Arrow say all about them."""
        types: list[TypeInformation] = self.value.get_field_types()  # type: ignore[attr-defined]
        return all(TypeInformation.from_arrow(one.to_arrow()) == one for one in types)

    def _look(self, path: str) -> ListedFile:
        with self._named(path):
            found = look(path)
        if found is None:
            raise gone(path, self.location)
        return found

    @contextmanager
    def _named(self, path: str) -> Iterator[None]:
        """Say which file cannot be read."""
        try:
            yield
        except FileNotFoundError:
            raise gone(path, self.location) from None
        except (OSError, pa.ArrowInvalid) as error:
            number = getattr(error, "errno", None)
            raise unreadable(path, os.strerror(number) if number else str(error)) from error

    # -- what the plan asks ----------------------------------------------------------------------

    def describe_channels(self) -> str:
        return "one a file"

    def signature(self) -> str:
        return f"files {self.path}"


def _groups(path: str) -> list[int]:
    """The rows of each row group of a Parquet file."""
    with opened(path) as file:
        metadata = pq.ParquetFile(file).metadata
        return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]


def _from_group(path: str, row: int) -> tuple[Fragment, int]:
    """The rest of a Parquet file from the row group that has a row, and the first row of the rest."""
    groups = _groups(path)
    begins = [0, *accumulate(groups)]
    group = next((n for n in range(len(groups)) if begins[n + 1] > row), len(groups) - 1)
    with opened(path) as file:
        # As `parts_of_range` divides the bytes.
        return Fragment(path, group * file.size() // len(groups)), begins[group]


def _orc_rows(path: str) -> int:
    from pyarrow.orc import ORCFile

    with opened(path) as file:
        return int(ORCFile(file).nrows)


# -- from what a program says ----------------------------------------------------------------------


def file_channels(
    path: str,
    name: str,
    options: Mapping[str, str],
    schema: Any,
    location: Location | None = None,
) -> FileChannels:
    """Files as channels, or an error that says why only Spark can read them.

    Parameters
    ----------
    path, name, options
        What is read, its format, and the options of Spark's reader.
    schema
        The columns, as `FileSource` has them. Without them, files that have columns of their own are
        looked at now.
    location
        The line of the program, for errors.
    """
    path = absolute_path(path)
    if name == "avro":
        _refuse(refusal(path, name, options, None), path, options, location)
        text = schema or schema_of_file(_first_file(path, options, location))
        value = codec_of(parsed_schema(text)).type_info
        return FileChannels(path, options, AvroReader(text), value, location)
    columns = columns_of(schema)
    _refuse(refusal(path, name, options, columns), path, options, location)
    if name == "text":
        return FileChannels(path, options, TextReader(), Types.STRING(), location)
    if columns is None:
        if name not in ("parquet", "orc") or schema is not None:
            raise _refusal(path, "Spark has to find its columns", location)
        columns = columns_of_file(_file_schema(name, _first_file(path, options, location)))
        _refuse(refusal(path, name, options, columns), path, options, location)
    types = [TypeInformation.from_arrow(column.arrow) for column in columns]
    value = Types.ROW_NAMED([column.name for column in columns], types)
    return FileChannels(path, options, reader_of(name, options, columns), value, location)


def _refuse(
    reason: str | None, path: str, options: Mapping[str, str], location: Location | None
) -> None:
    ours = ("pathglobfilter", "recursivefilelookup")
    for option in options:
        if option.lower() in {*LISTING_OPTIONS, *STREAM_OPTIONS} and option.lower() not in ours:
            reason = reason or f"option {option}"
    reason = reason or unreachable(path)
    if reason is not None:
        raise _refusal(path, reason, location)


def _refusal(path: str, reason: str, location: Location | None) -> PlanError:
    return PlanError(
        "BAD_HYBRID",
        f"only Spark can read {path}, so it cannot be a part of a hybrid source: {reason}",
        location=location,
        hint="give the file source a schema of plain columns and no special options",
    )


def _first_file(path: str, options: Mapping[str, str], location: Location | None) -> str:
    files = files_of(path, options)
    if not files:
        raise _refusal(path, "there is no file to take the columns from", location)
    return files[0].path


def _file_schema(name: str, path: str) -> pa.Schema:
    from pyarrow.orc import ORCFile

    with opened(path) as file:
        try:
            return pq.read_schema(file) if name == "parquet" else ORCFile(file).schema
        except (OSError, pa.ArrowInvalid) as error:
            raise unreadable(path, str(error)) from error
