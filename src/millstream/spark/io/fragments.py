"""Files that Spark only lists: the source stage opens them itself.

Spark's file stream finds new files, limits an epoch, and keeps its log, also of files that it does not
read. Here it gives one row for each file, with no content, of which one or more fragments are made.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F

from millstream.common.errors import Location
from millstream.common.sizes import bytes_of
from millstream.common.typeinfo import TypeInformation
from millstream.connectors.files.choice import LISTING_OPTIONS, STREAM_OPTIONS, FileReader
from millstream.connectors.files.opening import COMPRESSED, Fragment
from millstream.connectors.files.stored import unreadable
from millstream.kernel.records.columns import Columns
from millstream.kernel.stages.programs import Block
from millstream.plan.specs import FilesSpec
from millstream.spark.io.file_listing import file_channel
from millstream.spark.io.source_tasks import SourceTask
from millstream.spark.tasks.failures import file_gone
from millstream.spark.tasks.worker import ProgramRef

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LISTED = ["path", "modificationTime", "length", "content"]
"""The columns of a listing. It has more if the names of folders have values."""
LISTED_SCHEMA = "path STRING, modificationTime TIMESTAMP, length LONG, content BINARY"
FRAGMENT_BYTES = 16 << 20


def listing(reader: Any, spec: FilesSpec, path: str) -> DataFrame:
    """The files of a source, a row for each."""
    known = {*LISTING_OPTIONS, *STREAM_OPTIONS}
    options = {name: value for name, value in spec.options.items() if name.lower() in known}
    # Spark wants to be told the schema of a stream, also where there is only one.
    found = reader.format("binaryFile").schema(LISTED_SCHEMA).options(**options)
    frame: DataFrame = found.load(path)
    return frame


def fragment_bytes(spark: SparkSession) -> int:
    """How large fragments are: as Spark would cut files, but not so large that one task is left."""
    largest = bytes_of(str(spark.conf.get("spark.sql.files.maxPartitionBytes", "128mb")))
    return min(FRAGMENT_BYTES, largest or FRAGMENT_BYTES)


def fragments(
    files: DataFrame, reader: FileReader, size: int, tasks: int, *, local: bool
) -> DataFrame:
    """The fragments of listed files, spread over tasks; ``local``: the files are on this machine."""
    path, length = F.col("path"), F.col("length")
    listed = files.where("length > 0").select(path, length, file_channel().alias("ms_channel"))
    if local:
        # One task deals the fragments in turn: several would all begin with the same one. Elsewhere to
        # ask for a file takes long, so that several tasks ask.
        listed = listed.coalesce(1)
    whole = F.lit(not reader.by_ranges)
    for ending in COMPRESSED:
        whole |= path.endswith(ending)
    start = F.sequence(F.lit(0).cast("long"), length - 1, F.lit(size).cast("long"))
    starts = F.when(whole, F.array(F.lit(0).cast("long"))).otherwise(start)
    cut = listed.select(
        path, length, "ms_channel", F.explode(starts).alias("ms_frag"), whole.alias("whole")
    )
    stop = F.when(~F.col("whole"), F.col("ms_frag") + size)
    ends = F.when(stop < length, stop).alias("ms_stop")
    return cut.select(path, "ms_channel", "ms_frag", ends).repartition(tasks)


class FragmentTask(SourceTask):
    """A file is a channel, and so much of it as a task reads a fragment."""

    def __init__(
        self,
        ref: ProgramRef,
        slots: tuple[int, ...],
        value: TypeInformation,
        reader: FileReader,
        *,
        ignores_missing: bool,
        location: Location | None,
    ) -> None:
        super().__init__(ref, slots, value, [])
        self.reader = reader
        self.ignores_missing = ignores_missing
        self.location = location

    def blocks(self, batches: Iterator[pa.RecordBatch], task: int) -> Iterator[Block]:
        for batch in batches:
            for row in batch.to_pylist():
                yield from self._fragment(row)

    def _fragment(self, row: dict[str, Any]) -> Iterator[Block]:
        position = 0
        for arrays in self._read(Fragment(row["path"], row["ms_frag"], row["ms_stop"])):
            values = Columns(self.value, arrays)
            place = row["ms_channel"], row["ms_frag"]
            yield Block(values, None, *place, position, finished=True)
            position += len(values)

    def _read(self, fragment: Fragment) -> Iterator[list[pa.Array]]:
        try:
            yield from self.reader.read(fragment)
        except FileNotFoundError:
            if not self.ignores_missing:
                raise file_gone(fragment.path, self.location) from None
        except OSError as error:
            raise unreadable(
                fragment.path, os.strerror(error.errno) if error.errno else str(error)
            ) from error
