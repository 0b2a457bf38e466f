"""Taking a savepoint: what the state store holds after an epoch, written as tables.

The state of an epoch can be read while the job goes on with later ones, so that it need not wait. Tasks
write the files; the manifest is written last.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import uuid
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext

from millstream.checkpoint.durable import make_folder, sync_file
from millstream.checkpoint.folder import (
    CheckpointFolder,
    Run,
    folder_name,
    new_file,
    open_path,
    wall_clock_ms,
    write_whole,
)
from millstream.checkpoint.key_types import key_types_of
from millstream.checkpoint.lease import Lease
from millstream.checkpoint.savepoints import (
    OnProgress,
    Savepoint,
    SavepointTable,
    StateFile,
    new_folder,
)
from millstream.checkpoint.sinks import described_sink, take_back
from millstream.checkpoint.spark_files import QueryFiles, parsed_offset
from millstream.common.errors import CheckpointError
from millstream.kernel.snapshot.export import OperatorState, SlotExporter, TableName
from millstream.kernel.snapshot.job import JobTime, operator_states
from millstream.kernel.state.slot import SlotState, decoded_header, encoded_header
from millstream.spark.savepoint.progress import watched
from millstream.spark.session.session import session_beside
from millstream.spark.tasks.failures import readable_errors
from millstream.spark.tasks.memory import bytes_in_manifest
from millstream.spark.tasks.named_sources import source_name
from millstream.spark.tasks.rows import slot_values
from millstream.spark.tasks.worker import ProgramRef, errors_that_travel

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4096",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(32 << 20),
}
ROW_GROUP = 131_072
JOB_TASKS_BESIDE_ONE = 4
"""While the job runs, a savepoint has one task for so many of the job's, lest the job waits for it."""

BESIDE_A_JOB = {
    **SETTINGS,
    # Spark keeps one pool of Python workers for each value of this: those of a savepoint step back
    # for those of the job, and must not be given to the job afterwards.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "true",
}
NICENESS = 5

STATE_NAME = re.compile(r"pages_(\d+)_[0-9a-f]+")


@dataclass(frozen=True)
class _Stage:
    """A keyed stage of a query, and how Spark calls its state."""

    query: int
    stage: int
    operator: int
    variable: str


def take(
    spark: SparkSession,
    run: Run,
    manifest: Mapping[str, Any],
    directory: str,
    epochs: Mapping[int, int],
    *,
    taken_of: str,
    on_progress: OnProgress | None = None,
) -> str:
    """Write a savepoint of a run at one epoch of each of its queries; returns its folder."""
    path = new_folder(directory, run.job_id)
    try:
        return _Taking(spark, run, manifest, path, epochs, taken_of).write(on_progress)
    except BaseException:
        fs, inner = open_path(path)
        with suppress(OSError):
            fs.delete_dir(inner)
        raise


def take_offline(
    spark: SparkSession,
    run_directory: str,
    path: str,
    epoch: int | None = None,
    on_progress: OnProgress | None = None,
    *,
    only_to_read: bool = False,
) -> str:
    """Make a savepoint of the checkpoint of a job that does not run.

    ``only_to_read``: nobody goes on from it, so that the job may run, and its sinks are let alone.
    """
    run, manifest = CheckpointFolder.read_run(run_directory)
    takes_back = (
        epoch is None
        and not only_to_read
        and any(described_sink(detail) for detail in manifest["details"].values())
    )
    with _alone(run) if takes_back else nullcontext():
        # A driver may have committed epochs up to now.
        epochs = _epochs(run, manifest, epoch)
        if takes_back:
            take_back(manifest, run.job_id, run.first_epoch, epochs)
        return take(spark, run, manifest, path, epochs, taken_of="stopped", on_progress=on_progress)


@contextmanager
def _alone(run: Run) -> Iterator[None]:
    """Hold the lease of a run: what a driver publishes must not be taken back under it."""
    lease = Lease.take(run.path.rpartition("/")[0], uuid.uuid4().hex)
    try:
        yield
    finally:
        lease.release()


def _epochs(run: Run, manifest: Mapping[str, Any], epoch: int | None) -> dict[int, int]:
    """The epoch of each query that a savepoint is made of: the given one, or the last committed one."""
    epochs = {}
    for query in manifest["queries"]:
        files = QueryFiles(run.query_path(query))
        wanted = files.last_whole() if epoch is None else epoch
        if wanted is None or wanted not in files.committed():
            raise CheckpointError(
                "NO_SUCH_EPOCH",
                f"{run.path} has no committed epoch {'at all' if epoch is None else epoch}",
                hint="`millstream checkpoint list` shows those that there are",
            )
        epochs[query] = wanted
    return epochs


class _Taking:
    def __init__(
        self,
        spark: SparkSession,
        run: Run,
        manifest: Mapping[str, Any],
        path: str,
        epochs: Mapping[int, int],
        taken_of: str,
    ) -> None:
        self.beside_a_job = taken_of == "running"
        self.spark = session_beside(spark, BESIDE_A_JOB if self.beside_a_job else SETTINGS)
        self.run = run
        self.manifest = manifest
        self.path = path
        self.epochs = epochs
        self.taken_of = taken_of
        self.states = run.states()
        self.operators = operator_states(self.states, key_types_of(manifest["details"]))

    def write(self, on_progress: OnProgress | None) -> str:
        sources = self._sources()
        files: dict[TableName, list[StateFile]] = {}
        times: list[JobTime] = []
        sizes = {query: QueryFiles(self.run.query_path(query)).bytes() for query in self.epochs}
        with watched(self.path, sum(sizes.values()), on_progress):
            for query, epoch in self.epochs.items():
                stages = self._stages(query) if sizes[query] else []
                times.append(JobTime.of(self._export(stage, epoch, files) for stage in stages))
        savepoint = Savepoint(
            path=self.path,
            id=self.path.rsplit("-", 1)[1],
            job_id=self.run.job_id,
            name=self.manifest.get("name", ""),
            epoch=self.run.first_epoch + max(self.epochs.values()),
            created_ms=wall_clock_ms(),
            operators=self.manifest["details"],
            states=self.states,
            sources=sources,
            time=time_to_json(JobTime.of_queries(times)),
            tables=tuple(
                SavepointTable(*name, tuple(found)) for name, found in sorted(files.items())
            ),
            channel_order=self.manifest["mode"],
            versions=self.manifest["versions"],
            taken_of=self.taken_of,
        )
        savepoint.write()
        return self.path

    def _stages(self, query: int) -> list[_Stage]:
        """The stages of a query with keyed operators, the first one first."""
        found = self.spark.read.format("state-metadata").load(self.run.query_path(query))
        stages = []
        for row in found.select("operatorId", "operatorProperties").distinct().collect():
            for variable in json.loads(row["operatorProperties"])["stateVariables"]:
                match = STATE_NAME.fullmatch(variable["stateName"])
                if match is not None:
                    stages.append(_Stage(query, int(match[1]), row["operatorId"], match[0]))
        return sorted(stages, key=lambda stage: stage.stage)

    def _export(
        self, stage: _Stage, epoch: int, files: dict[TableName, list[StateFile]]
    ) -> SlotState:
        values = slot_values(self.manifest["slots"], self.manifest["parallelism"])
        rows = (
            self.spark.read.format("statestore")
            .option("operatorId", stage.operator)
            .option("stateVarName", stage.variable)
            .option("batchId", epoch)
            .load(self.run.query_path(stage.query))
            .selectExpr("key.slot", "user_map_key.name", "user_map_value.page")
        )
        if self.beside_a_job:
            rows = rows.coalesce(max(1, self.manifest["parallelism"] // JOB_TASKS_BESIDE_ONE))
        task = ExportTask(
            self.path,
            f"{stage.query}-{stage.stage}",
            tuple(self.operators.values()),
            values[0],
            NICENESS if self.beside_a_job else 0,
        )
        memory = bytes_in_manifest(self.manifest)
        ref = ProgramRef.of(f"{self.path}-{stage.query}-{stage.stage}", task, memory)
        header: SlotState | None = None
        with readable_errors():
            messages = rows.mapInArrow(_Travelling(ref), "message binary").collect()
        for message in messages:
            kind, *content = pickle.loads(message["message"])
            if kind == "header":
                header = decoded_header(content[0])
            else:
                name, file = content
                files.setdefault(name, []).append(file)
        return header or SlotState()

    def _sources(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for uid, detail in self.manifest["details"].items():
            if detail["kind"] != "source":
                continue
            if not detail.get("resumable", True):
                raise CheckpointError(
                    "SOURCE_NOT_RESTORABLE",
                    f"source {uid!r} is a streaming DataFrame, whose offsets only Spark understands",
                    hint="give from_dataframe(..., resume=...), which makes one that goes on",
                )
            query = QueryFiles(self.run.query_path(detail["query"]))
            offsets = query.offsets(self.epochs[detail["query"]])
            name = source_name(uid) if self.manifest["named_sources"] else str(detail["place"])
            offset = parsed_offset(offsets[name]) if name in offsets else None
            entry: dict[str, Any] = {"source": detail["source"], "offset": offset}
            if detail["source"] == "files":
                last = -1 if offset is None else offset["logOffset"]
                entry["files"] = self._files_read(uid, query.files_read(name, last))
            found[uid] = entry
        return found

    def _files_read(self, uid: str, files: list[str]) -> str:
        """Write down which files a source has read, with those of the runs before this one."""
        known = self.run.files_read(uid)
        place = f"sources/{folder_name(uid)}.json"
        fs, inner = open_path(self.path)
        make_folder(fs, f"{inner}/sources")
        write_whole(f"{self.path}/{place}", json.dumps(sorted({*known, *files})).encode())
        return place


def time_to_json(time: JobTime) -> dict[str, Any]:
    """Channels and clocks for the manifest; all of them are numbers."""
    table = time.table
    channels = [
        [*place, channel.watermark, channel.active_ms, channel.idle]
        for place, channel in sorted(table.channels.items())
    ]
    return {
        "channels": channels,
        "peaks": sorted(table.peaks.items()),
        "ended": sorted(table.ended),
        "now_ms": table.now_ms,
        "clocks": time.clocks,
    }


class _Travelling:
    """Runs a task so that its errors reach the driver."""

    def __init__(self, ref: ProgramRef) -> None:
        self.ref = ref

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with errors_that_travel(self.ref):
            context = TaskContext.get()
            number = context.partitionId() if context is not None else 0
            task: ExportTask = self.ref.get()
            for message in task.run(batches, number):
                data = pa.array([pickle.dumps(message, protocol=5)], pa.binary())
                yield pa.RecordBatch.from_pydict({"message": data})
            self.ref.forget()


@dataclass
class ExportTask:
    """Writes the state of some slots; ``first_slot`` is the one that speaks for all.

    ``niceness``: how far the process steps back for others.
    """

    path: str
    prefix: str
    operators: tuple[OperatorState, ...]
    first_slot: int
    niceness: int
    writers: dict[TableName, TableFile] = field(default_factory=dict)

    def run(self, batches: Iterator[pa.RecordBatch], partition: int) -> Iterator[Any]:
        if self.niceness:
            os.setpriority(os.PRIO_PROCESS, 0, self.niceness)
        # An earlier attempt in this process may have been stopped.
        self.writers.clear()
        current: int | None = None
        exporter: SlotExporter | None = None
        done: set[int] = set()
        for slot, name, page in _rows(batches):
            if slot != current:
                if exporter is not None:
                    yield from self._finish(exporter, current, partition)
                assert slot not in done, "the rows of a slot come one after the other"
                done.add(slot)
                current = slot
                exporter = SlotExporter(self.operators, whole=slot == self.first_slot)
            assert exporter is not None
            self._write(exporter.add(name, page), partition)
        if exporter is not None:
            yield from self._finish(exporter, current, partition)
        for table, writer in self.writers.items():
            yield "file", table, writer.close()
        self.writers.clear()

    def _finish(self, exporter: SlotExporter, slot: int | None, partition: int) -> Iterator[Any]:
        self._write(exporter.finish(), partition)
        if slot == self.first_slot and exporter.header is not None:
            yield "header", encoded_header(exporter.header)

    def _write(self, tables: Iterator[tuple[TableName, pa.Table]], partition: int) -> None:
        for name, table in tables:
            writer = self.writers.get(name)
            if writer is None:
                writer = self.writers[name] = TableFile(
                    self.path, self._place(name, partition), table.schema
                )
            writer.add(table)

    def _place(self, name: TableName, partition: int) -> str:
        """A new file for a table: another attempt of the task never writes to it."""
        folders = "/".join(map(folder_name, name))
        return f"state/{folders}/part-{self.prefix}-{partition:04d}-{uuid.uuid4().hex}.parquet"


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, str, bytes]]:
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in ("slot", "name", "page")]
        yield from zip(*columns, strict=True)


class TableFile:
    """A Parquet file on its way."""

    def __init__(self, root: str, place: str, schema: pa.Schema) -> None:
        self.place = place
        self.fs, inner = open_path(root)
        self.file = f"{inner}/{place}"
        self.stream = new_file(self.fs, self.file)
        self.writer = pq.ParquetWriter(self.stream, schema, compression="zstd", compression_level=1)
        self.rows = 0

    def add(self, table: pa.Table) -> None:
        self.writer.write_table(table, row_group_size=ROW_GROUP)
        self.rows += table.num_rows

    def close(self) -> StateFile:
        self.writer.close()
        self.stream.close()
        sync_file(self.fs, self.file)
        with self.fs.open_input_stream(self.file) as stream:
            data = bytes(stream.read())
        return StateFile(self.place, self.rows, len(data), zlib.crc32(data))


__all__ = ["ExportTask", "TableFile", "take", "take_offline", "time_to_json"]
