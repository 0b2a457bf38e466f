"""The task's side of the file sink: files that are written aside, by bucket and size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millstream.checkpoint.durable import sync_file
from millstream.checkpoint.folder import open_path
from millstream.common.typeinfo import TupleTypeInfo, TypeInformation
from millstream.connectors.sink import PartContext, PartWriter
from millstream.plan.specs import FilesSinkSpec
from millstream.spark.io.file_formats import LINES, FileEncoder, extension
from millstream.spark.io.file_sink import StagedFile, StagedPart, readable_errors
from millstream.spark.io.sink_folder import SinkFolder

MOST_OPEN = 100
"""How many buckets have a file open at once."""

# Columns and blocks of Avro need many records to be small.
_RECORDS_BETWEEN_LOOKS = {True: 1_000, False: 50_000}


@dataclass
class _OpenFile:
    """A file that a task writes."""

    staged: str
    name: str
    encoder: FileEncoder
    records: int = 0


class FileWriter(PartWriter):
    """Writes a part of an epoch aside, under names that no other attempt of a task has."""

    def __init__(self, spec: FilesSinkSpec, context: PartContext) -> None:
        self.spec = spec
        self.context = context
        self.place = SinkFolder(*open_path(spec.path), context.job_id, context.sink)
        self.open: dict[str, _OpenFile] = {}
        self.begun: dict[str, int] = {}
        self.files: list[StagedFile] = []
        self.complete: set[str] = set()

    @property
    def type_info(self) -> TypeInformation | None:
        """The type of the records, without their buckets."""
        found = self.context.type_info
        if self.spec.bucketed and isinstance(found, TupleTypeInfo):
            return found.field_types[2]
        return None if self.spec.bucketed else found

    def write(self, batch: list[Any] | pa.RecordBatch) -> None:
        with readable_errors(self.place, self.context.location):
            for bucket, values in self._by_bucket(batch):
                for some in self._some(values):
                    self._write(bucket, some)

    def _by_bucket(self, batch: list[Any] | pa.RecordBatch) -> Iterator[tuple[str, Any]]:
        if not self.spec.bucketed:
            yield "", batch
            return
        found: dict[str, list[Any]] = {}
        for bucket, is_complete, value in batch:
            if is_complete:
                self.complete.add(bucket)
            else:
                found.setdefault(bucket, []).append(value)
        yield from found.items()

    def _some(self, values: Any) -> Iterator[Any]:
        """The records in runs; the size of a file is looked at behind each."""
        if self.spec.part_size is None:
            yield values
            return
        run = _RECORDS_BETWEEN_LOOKS[self.spec.format in LINES]
        for start in range(0, len(values), run):
            yield values[start : start + run]

    def _write(self, bucket: str, values: Any) -> None:
        file = self.open.get(bucket) or self._begin(bucket)
        file.encoder.write(values)
        file.records += len(values)
        if self.spec.part_size is not None and file.encoder.size() >= self.spec.part_size:
            self._end(bucket)

    def _begin(self, bucket: str) -> _OpenFile:
        if len(self.open) >= MOST_OPEN:
            self._end(next(iter(self.open)))
        context, fs = self.context, self.place.fs
        number = self.begun.get(bucket, 0)
        ending = extension(self.spec)
        name = self.place.name(self.spec.prefix, context.epoch, context.part, ending, number)
        nth = len(self.files) + len(self.open)
        attempt = f"{context.task_attempt}-{nth}" if nth else str(context.task_attempt)
        staged = f"staging/{context.attempt:08d}/{name}.{attempt}"
        path = f"{self.place.own}/{staged}"
        fs.create_dir(path.rpartition("/")[0], recursive=True)
        stream = fs.open_output_stream(path, compression=None)
        encoder = FileEncoder(self.spec, self.type_info, stream)
        self.begun[bucket] = number + 1
        self.open[bucket] = _OpenFile(staged, f"{bucket}/{name}" if bucket else name, encoder)
        return self.open[bucket]

    def _end(self, bucket: str) -> None:
        file = self.open.pop(bucket)
        file.encoder.close()
        sync_file(self.place.fs, f"{self.place.own}/{file.staged}")
        self.files.append(StagedFile(file.staged, file.name, file.records))

    def finish(self) -> StagedPart:
        with readable_errors(self.place, self.context.location):
            for bucket in list(self.open):
                self._end(bucket)
        return StagedPart(tuple(self.files), tuple(sorted(self.complete)))
