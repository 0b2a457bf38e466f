"""The file sink: exactly once, by files written aside and published after a manifest.

A task writes its part of an epoch under ``<folder>/_millstream/<job>/staging``; a plain reader skips
names that begin with an underscore. When all tasks are done the driver writes the epoch's manifest
(atomically: this is the commit) and moves the files up. A crash before the manifest leaves only
staged files, which the replayed epoch writes again; a crash after it leaves moves to be finished,
which the next start does. An epoch with a manifest is never written a second time.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from millstream.checkpoint.folder import open_path
from millstream.common.errors import CheckpointError, MillstreamError
from millstream.common.typeinfo import TypeInformation
from millstream.kernel.hashing import stable_hash
from millstream.plan.specs import FilesSinkSpec

KEPT_MANIFESTS = 100


@dataclass(frozen=True)
class StagedFile:
    """A file that a task has written aside, and the name it will have."""

    staged: str
    name: str
    records: int


class FileSink:
    """One folder, written by one job."""

    def __init__(
        self, spec: FilesSinkSpec, type_info: TypeInformation | None, job: str, sink: str
    ) -> None:
        self.spec = spec
        self.type_info = type_info
        self.job = job
        self.sink = sink
        self.fs, self.folder = open_path(spec.path)
        self.own = f"{self.folder}/_millstream/{job}-{sink}"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "fs"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self.fs, _ = open_path(self.spec.path)

    # -- in the tasks ----------------------------------------------------------------------------

    def stage(self, values: list[Any], epoch: int, task: int) -> StagedFile:
        """Write a task's records of an epoch aside."""
        extension = {"text": "txt"}.get(self.spec.format, self.spec.format)
        # Jobs and sinks may share a folder: each has names of its own.
        own = f"{self.job[:8]}-{stable_hash(self.sink):08x}"
        name = f"{self.spec.prefix}-{own}-{epoch:08d}-{task:04d}.{extension}"
        staged = f"{self.own}/staging/{name}"
        self.fs.create_dir(f"{self.own}/staging", recursive=True)
        data = encoder(self.spec, self.type_info)(values)
        with self.fs.open_output_stream(staged) as stream:
            stream.write(data)
        return StagedFile(staged, name, len(values))

    # -- on the driver ---------------------------------------------------------------------------

    def is_committed(self, epoch: int) -> bool:
        return self._exists(self._manifest(epoch))

    def commit(self, epoch: int, files: list[StagedFile]) -> None:
        """Publish an epoch: the manifest first, then the files it names."""
        self.fs.create_dir(self.own, recursive=True)
        listed = [[file.staged, file.name] for file in files]
        missing = [file.staged for file in files if not self._exists(file.staged)]
        if missing:
            raise CheckpointError(
                "STAGED_FILE_GONE",
                f"{missing[0]} was written by a task and is not there",
                hint="write to a path that driver and workers share",
            )
        manifest = self._manifest(epoch)
        with self.fs.open_output_stream(f"{manifest}.tmp") as stream:
            stream.write(json.dumps({"version": 1, "files": listed}).encode())
        self.fs.move(f"{manifest}.tmp", manifest)
        self._publish(manifest)
        self._prune(epoch)

    def discard(self, files: list[StagedFile]) -> None:
        """Remove what a replayed epoch has staged although it was committed before."""
        for file in files:
            self.fs.delete_file(file.staged)

    def recover(self) -> None:
        """Finish the moves of committed epochs, and forget what no commit names."""
        if not self._exists(self.own):
            return
        for info in self.fs.get_file_info(pafs.FileSelector(self.own)):
            if info.base_name.endswith(".json"):
                self._publish(info.path)
        if self._exists(f"{self.own}/staging"):
            self.fs.delete_dir_contents(f"{self.own}/staging")

    def _publish(self, manifest: str) -> None:
        with self.fs.open_input_stream(manifest) as stream:
            content = json.loads(stream.read())
        for staged, name in content["files"]:
            if self._exists(staged):
                self.fs.move(staged, f"{self.folder}/{name}")

    def _prune(self, epoch: int) -> None:
        old = self._manifest(epoch - KEPT_MANIFESTS)
        if epoch >= KEPT_MANIFESTS and self._exists(old):
            self.fs.delete_file(old)

    def _manifest(self, epoch: int) -> str:
        return f"{self.own}/{epoch:08d}.json"

    def _exists(self, path: str) -> bool:
        return bool(self.fs.get_file_info(path).type != pafs.FileType.NotFound)


# -- formats --------------------------------------------------------------------------------------


def encoder(spec: FilesSinkSpec, type_info: TypeInformation | None) -> Callable[[list[Any]], bytes]:
    """How records become the bytes of a file."""
    if spec.format == "text":
        to_text = spec.encoder or str
        return lambda values: "".join(f"{to_text(value)}\n" for value in values).encode()
    if spec.format == "csv":
        return lambda values: _csv(values, spec, type_info)
    if spec.format == "json":
        return lambda values: "".join(
            json.dumps(_plain(value), default=str) + "\n" for value in values
        ).encode()
    return lambda values: _parquet(values, type_info)


def _fields(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple | list) or hasattr(value, "as_dict") else [value]


def _plain(value: Any) -> Any:
    """A value as JSON knows it; rows with names become objects."""
    if hasattr(value, "as_dict"):
        return {name: _plain(part) for name, part in value.as_dict().items()}
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value


def _csv(values: list[Any], spec: FilesSinkSpec, type_info: TypeInformation | None) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=spec.options.get("sep", ","), lineterminator="\n")
    if spec.options.get("header", "false").lower() == "true":
        writer.writerow(_names(values, type_info))
    writer.writerows(_fields(value) for value in values)
    return text.getvalue().encode()


def _names(values: list[Any], type_info: TypeInformation | None) -> list[str]:
    names = getattr(type_info, "get_field_names", None)
    if names is not None:
        return list(names())
    first = values[0] if values else ()
    if hasattr(first, "as_dict"):
        return list(first.as_dict())
    return [f"f{index}" for index in range(len(_fields(first)))]


def _parquet(values: list[Any], type_info: TypeInformation | None) -> bytes:
    names = _names(values, type_info)
    columns = list(zip(*map(_fields, values), strict=True))
    try:
        if type_info is not None:
            arrays = list(type_info.to_arrow_arrays(values))[: len(names)]
        else:
            arrays = [pa.array(list(column)) for column in columns]
    except pa.ArrowException as error:
        raise MillstreamError(
            "PARQUET_TYPE",
            f"records cannot be written as Parquet columns: {error}",
            hint="declare the type of the stream: map(..., output_type=Types.ROW_NAMED(...))",
        ) from error
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(arrays, names=names), sink)
    data: bytes = sink.getvalue().to_pybytes()
    return data
