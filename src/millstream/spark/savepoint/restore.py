"""Restoring a savepoint: its tables made into values for the slots of another program.

Before a run begins, a Spark job divides the rows by slot and shelf and builds pages of them, in files
of the run; what Spark moves says only where the rows are. A stage then takes the values with its first
epoch, where rows say which files they are in: what Spark commits of that epoch it commits together
with the state.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from millstream.checkpoint.durable import make_folder
from millstream.checkpoint.folder import Run, open_path, write_whole
from millstream.checkpoint.key_types import key_types_of, record_types_of
from millstream.checkpoint.part_files import PartFile, PartFiles
from millstream.checkpoint.savepoints import OnProgress, Savepoint, StateFile, damaged
from millstream.checkpoint.small_files import MOST_MANIFEST_BYTES, BadFile, read_texts
from millstream.checkpoint.value_files import ValueFile
from millstream.kernel.records.buffers import STATE, BufferRow
from millstream.kernel.snapshot.births import Births
from millstream.kernel.snapshot.build import SlotBuilder, WaitingEdge, divided, shelf_bits
from millstream.kernel.snapshot.export import OperatorState
from millstream.kernel.snapshot.job import JobTime, first_header, operator_states
from millstream.kernel.snapshot.tables import HELD, is_broadcast
from millstream.kernel.stages.programs import KeyedProgram
from millstream.kernel.time.watermarks import Channel, TimeTable
from millstream.spark.savepoint.progress import watched
from millstream.spark.session.session import session_beside
from millstream.spark.tasks.failures import readable_errors
from millstream.spark.tasks.rows import SCHEMA, to_arrow
from millstream.spark.tasks.worker import ProgramRef, errors_that_travel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTS = "slot int, uid string, shelf int, state string, file string, part int"
PARTS_SCHEMA = pa.schema(
    [
        ("slot", pa.int32()),
        ("uid", pa.string()),
        ("shelf", pa.int32()),
        ("state", pa.string()),
        ("file", pa.string()),
        ("part", pa.int32()),
    ]
)
Part = tuple[int, str, int, str, str, int]
"""Where rows of a state are, for a shelf of a slot; shelf -1 only says that there is the slot."""

SETTINGS = {"spark.sql.adaptive.enabled": "false"}
DONE = "_SUCCESS"
"""What Spark writes when all files of a folder are there."""

VALUES, DIVIDED = "_values", "_divided"
"""Both lie beside the references to them, in folders that Spark does not look into."""


def time_from_json(data: Mapping[str, Any]) -> JobTime:
    """Channels and clocks of a savepoint's manifest."""
    table = TimeTable(
        {(line, c): Channel(watermark, active, idle)
         for line, c, watermark, active, idle in data["channels"]},
        dict(data["peaks"]),
        set(data["ended"]),
        data["now_ms"],
    )  # fmt: skip
    return JobTime(table, dict(data["clocks"]))


def note_sources(savepoint: Savepoint, run: Run) -> None:
    """Write down in a run where its sources begin: it needs the savepoint no more when it has begun."""
    fs, inner = open_path(savepoint.path)
    sources = {}
    for uid, source in savepoint.sources.items():
        entry = {"source": source["source"], "offset": source["offset"]}
        if "files" in source:
            entry["files_read"] = _files_read(fs, f"{inner}/{source['files']}")
        sources[uid] = entry
    local, path = open_path(f"{run.path}/restored")
    make_folder(local, path)
    write_whole(f"{run.path}/restored/sources.json", json.dumps(sources).encode())
    run.note_states(json.loads(json.dumps(savepoint.states)))


def _files_read(fs: pafs.FileSystem, path: str) -> list[str]:
    """The names of the files that a source has read, as a savepoint lists them."""
    try:
        found = read_texts(fs, path, most_bytes=MOST_MANIFEST_BYTES)
    except BadFile as error:
        raise damaged(path, str(error)) from error
    if found is None:
        raise damaged(path, "it is gone")
    return found


def forget_values(run: Run, component: int, stage: int) -> None:
    """Delete the values that a stage has begun with: its first epoch is committed."""
    _forget(f"{run.restored_path(component, stage)}/{VALUES}")


def _forget(folder: str) -> None:
    fs, inner = open_path(folder)
    with suppress(OSError):
        fs.delete_dir(inner)


class Restore:
    """Prepares the state that the stages of a run begin with; needs the savepoint until it is ready.

    ``memory``: how many bytes a worker may have, see `limited_memory`.
    """

    def __init__(
        self,
        spark: SparkSession,
        run: Run,
        on_progress: OnProgress | None = None,
        memory: int | None = None,
    ) -> None:
        self.spark = session_beside(spark, SETTINGS)
        self.run = run
        self.on_progress = on_progress
        self.memory = memory

    @cached_property
    def savepoint(self) -> Savepoint:
        assert self.run.savepoint is not None
        return Savepoint.load(self.run.savepoint)

    @cached_property
    def operators(self) -> dict[str, OperatorState]:
        return operator_states(
            self.savepoint.states,  # type: ignore[arg-type]
            key_types_of(self.savepoint.operators),
            self.savepoint.stored.layouts,
            record_types_of(self.savepoint.operators),
        )

    def is_ready(self, component: int, stage: int) -> bool:
        """Whether the values of a stage are all there."""
        fs, inner = open_path(f"{self.run.restored_path(component, stage)}/{DONE}")
        return bool(fs.get_file_info(inner).type != pafs.FileType.NotFound)

    def prepare(
        self,
        component: int,
        stage: int,
        program: KeyedProgram,
        edges: Sequence[WaitingEdge],
        births: Births,
        timelines: frozenset[int],
        values: tuple[int, ...],
        partitions: int,
    ) -> None:
        """Write the values that the slots of a stage begin with."""
        uids = [hosted.operator.info.uid for hosted in program.operators]
        files = self._files([*uids, ""])
        rows = {uid: sum(f.rows for u, _, f in files if u == uid) for uid in uids}
        bits = {uid: shelf_bits(rows[uid], program.slots) for uid in uids}
        time = time_from_json(self.savepoint.time)
        header = first_header(program, time, self.operators, timelines)
        path = self.run.restored_path(component, stage)
        task = BuildTask(
            self.savepoint,
            program,
            edges,
            births,
            values,
            self.operators,
            bits,
            header,
            files,
            path,
        )
        ref = ProgramRef.of(f"restore-{self.run.job_id}-{component}-{stage}", task, self.memory)
        seeds = self.spark.createDataFrame([(s, "", -1, "", "", 0) for s in values], PARTS)
        parts = seeds.coalesce(1)
        if files:
            parts = parts.union(self._divided(ref, len(files)))
        built = (
            parts.repartition(partitions, "slot")
            .sortWithinPartitions("slot", "uid", "shelf")
            .mapInArrow(_Building(ref), SCHEMA)
        )
        # Everything is written twice, divided and built, and takes about twice the room it does there.
        expected = 4 * sum(file.bytes for _, _, file in files)
        with readable_errors(), watched(path, expected, self.on_progress):
            built.write.mode("overwrite").parquet(path)
        _forget(f"{path}/{DIVIDED}")

    def _files(self, uids: list[str]) -> list[tuple[str, str, StateFile]]:
        return [
            (table.uid, table.state, file)
            for table in self.savepoint.tables
            if table.uid in uids
            for file in table.files
        ]

    def _divided(self, ref: ProgramRef, files: int) -> DataFrame:
        """The rows of files, divided by slot and shelf; each file has a task of its own."""
        return self.spark.range(0, files, 1, files).mapInArrow(_Dividing(ref), PARTS)


class _Dividing:
    def __init__(self, ref: ProgramRef) -> None:
        self.ref = ref

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with errors_that_travel(self.ref):
            task: BuildTask = self.ref.get()
            for batch in batches:
                for number in batch.column("id").to_pylist():
                    yield from task.divide(*task.files[number])


class _Building:
    def __init__(self, ref: ProgramRef) -> None:
        self.ref = ref

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with errors_that_travel(self.ref):
            task: BuildTask = self.ref.get()
            yield from to_arrow(task.build(_parts(batches)), task.values)


def _parts(batches: Iterator[pa.RecordBatch]) -> Iterator[Part]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


@dataclass
class BuildTask:
    """Work of the tasks of a restore: the savepoint, and the stage that takes it over."""

    savepoint: Savepoint
    program: KeyedProgram
    edges: Sequence[WaitingEdge]
    births: Births
    values: tuple[int, ...]
    operators: Mapping[str, OperatorState]
    bits: Mapping[str, int]
    header: Any
    files: list[tuple[str, str, StateFile]]
    place: str

    def close(self) -> None:
        """Nothing of the program was opened."""

    # -- a file of the savepoint -----------------------------------------------------------------

    def divide(self, uid: str, state: str, file: StateFile) -> Iterator[pa.RecordBatch]:
        """Where the rows of a file are when they are divided by slot and shelf."""
        source = pq.ParquetFile(pa.BufferReader(self.savepoint.read(file)))
        path = f"{self.place}/{DIVIDED}/{uuid.uuid4().hex}.arrow"
        places: list[Part] = []
        with PartFile(path, source.schema_arrow) as written:
            # Batches that span groups cost three times as much to read.
            for group in range(source.num_row_groups):
                table = source.read_row_group(group, use_threads=False)
                for slots, shelf, rows in self._spread(uid, state, table):
                    part = written.add(rows)
                    places += [(slot, uid, shelf, state, path, part) for slot in slots]
        if places:
            yield _batch(places)

    def _spread(
        self, uid: str, state: str, table: pa.Table
    ) -> Iterator[tuple[Sequence[int], int, pa.Table]]:
        """The rows of a table by the slots that have them and by shelf."""
        if state == HELD or is_broadcast(state):
            yield self.values, 0, table
            return
        operator = next(
            hosted.operator for hosted in self.program.operators if hosted.operator.info.uid == uid
        )
        known = self.operators[uid].table(state)
        slots, bits = self.program.slots, self.bits[uid]
        for slot, shelf, rows in divided(table, known, operator, slots, bits):
            yield (self.values[slot],), shelf, rows

    # -- the slots -------------------------------------------------------------------------------

    def build(self, parts: Iterator[Part]) -> Iterator[BufferRow]:
        """Where the values are of the slots whose rows come, sorted by slot, operator and shelf."""
        slots = {value: slot for slot, value in enumerate(self.values)}
        files = PartFiles()
        for value, of_slot in groupby(parts, key=itemgetter(0)):
            slot = slots[value]
            builder = SlotBuilder(
                slot,
                self.program,
                self.operators,
                self.bits,
                self.header,
                self.edges,
                self.births,
            )
            # A task that is tried again must not write what another one may have finished.
            file = ValueFile(f"{self.place}/{VALUES}/{slot:05d}-{uuid.uuid4().hex}.arrow")
            for (uid, shelf), of_shelf in groupby(of_slot, key=itemgetter(1, 2)):
                if shelf >= 0:
                    self._add(builder, uid, of_shelf, files)
                    _move(builder.take(), file)
            _move(builder.finish(), file)
            yield BufferRow(slot, STATE, 0, b"", file.close())

    def _add(self, builder: SlotBuilder, uid: str, parts: Iterator[Part], files: PartFiles) -> None:
        gathered: dict[str, list[pa.Table]] = {}
        for _, _, _, state, path, part in parts:
            gathered.setdefault(state, []).append(files.read(path, part))
        tables = {state: pa.concat_tables(found) for state, found in gathered.items()}
        if uid:
            builder.add(uid, tables)
        else:
            builder.add_held(tables[HELD])


def _move(values: Iterator[tuple[str, bytes]], file: ValueFile) -> None:
    for name, value in values:
        file.add(name, value)


def _batch(parts: list[Part]) -> pa.RecordBatch:
    columns = zip(*parts, strict=True)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, PARTS_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=PARTS_SCHEMA)


__all__ = ["Restore", "forget_values", "note_sources"]
