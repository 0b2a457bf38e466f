"""Spark tasks over the files of savepoints. Each is sent to the workers whole, and keeps nothing."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.checkpoint.durable import sync_file
from millstream.checkpoint.folder import folder_name, new_file, open_path
from millstream.checkpoint.savepoints import Savepoint, SavepointTable, StateFile, damaged
from millstream.kernel.snapshot.tables import StateTable
from millstream.spark.savepoint.take import TableFile
from millstream.spark.tasks.memory import limited_memory, out_of_memory, session_bytes
from millstream.spark.tasks.worker import ProgramRef, errors_that_travel
from millstream.state_processor.encoders import RowEncoder, Uniqueness, gathered, renamed_edges
from millstream.state_processor.views import Identity, View, ddl, reshaped, spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH = 65_536
FILES = "side int, state int, file string"
Batches = Iterator[pa.RecordBatch]


class Task(Protocol):
    """Work over the record batches of a partition."""

    def run(self, batches: Batches) -> Batches: ...


class Call:
    """Runs a task with the memory that the session gives to workers.

    ``travels``: its errors are read again on the driver.
    """

    def __init__(self, task: Task, spark: SparkSession, *, travels: bool) -> None:
        # Classes of the user's script come along: pickled values may be of them.
        key = f"state_processor-{uuid.uuid4().hex}"
        self.ref = ProgramRef.of(key, task, session_bytes(spark))
        self.travels = travels

    def __call__(self, batches: Batches) -> Batches:
        around = errors_that_travel if self.travels else _errors_to_read
        with around(self.ref):
            yield from self._run(batches)

    def _run(self, batches: Batches) -> Batches:
        task: Task = self.ref.get()
        self.ref.forget()
        yield from task.run(batches)


@contextmanager
def _errors_to_read(ref: ProgramRef) -> Iterator[None]:
    """Run a task whose errors Spark shows to the user as they are."""
    try:
        with limited_memory(ref.memory):
            yield
    except MemoryError as error:
        raise out_of_memory(error, ref.memory) or error from None


@dataclass(frozen=True)
class Files:
    """Files of a savepoint, which a task reads; they must be what was written."""

    savepoint: Savepoint

    @staticmethod
    def of(savepoint: Savepoint) -> Files:
        return Files(replace(savepoint, tables=(), operators={}, states={}))

    def batches(self, file: StateFile) -> Batches:
        yield from self.parquet(file).iter_batches(batch_size=BATCH)

    def parquet(self, file: StateFile) -> pq.ParquetFile:
        data = self.savepoint.read(file)
        return pq.ParquetFile(pa.BufferReader(data))


def listed(spark: SparkSession, files: Sequence[tuple[int, int, StateFile]]) -> DataFrame:
    """A row for each file, a task for each row."""
    rows = [(side, state, json.dumps(vars(file))) for side, state, file in files]
    return spark.createDataFrame(rows, FILES).repartition(max(1, len(rows)))


def files_in(batches: Batches) -> Iterator[tuple[int, int, StateFile]]:
    """The files of a task's partition."""
    for batch in batches:
        for row in batch.to_pylist():
            yield row["side"], row["state"], StateFile(**json.loads(row["file"]))


def footer(savepoint: Savepoint, file: StateFile) -> Any:
    """The description of its columns in a file."""
    fs, inner = open_path(savepoint.path)
    try:
        with fs.open_input_file(f"{inner}/{file.path}") as stream:
            return pq.read_metadata(stream)
    except (OSError, pa.ArrowException) as error:
        raise damaged(f"{savepoint.path}/{file.path}", str(error)) from error


# -- reading --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """The rows of a table as users see them."""

    files: Files
    view: View

    def run(self, batches: Batches) -> Batches:
        for _, _, file in files_in(batches):
            for rows in self.files.batches(file):
                yield self.view.convert(rows)


def read_frame(
    spark: SparkSession, savepoint: Savepoint, table: SavepointTable | None, view: View
) -> DataFrame:
    """The rows of a table; none if there is no table."""
    files = [] if table is None else [(0, 0, file) for file in table.files]
    call = Call(Reading(Files.of(savepoint), view), spark, travels=False)
    return listed(spark, files).mapInArrow(call, ddl(view.schema))


# -- writing --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Encoding:
    """Rows as they are stored, in types that Spark has."""

    encoder: RowEncoder

    def run(self, batches: Batches) -> Batches:
        schema = stored_in_spark(self.encoder.table)
        for batch in batches:
            if batch.num_rows:
                rows = self.encoder.encode(batch)
                columns = zip(rows.columns, schema, strict=True)
                arrays = [reshaped(column, field.type) for column, field in columns]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def stored_in_spark(table: StateTable) -> pa.Schema:
    """The columns of a table on their way through Spark."""
    return pa.schema([pa.field(f.name, spark_type(f.type)) for f in table.schema()])


@dataclass(frozen=True)
class Writing:
    """Writes the rows of a partition, sorted by hash, to a file."""

    root: str
    folder: str
    table: StateTable

    def run(self, batches: Batches) -> Batches:
        writer: TableFile | None = None
        for rows in gathered(self._checked(batches)):
            if writer is None:
                place = f"{self.folder}/part-{uuid.uuid4().hex}.parquet"
                writer = TableFile(self.root, place, rows.schema)
            writer.add(rows)
        if writer is not None:
            yield _reported([(0, writer.close())])

    def _checked(self, batches: Batches) -> Batches:
        unique = Uniqueness(self.table)
        schema = self.table.schema()
        for batch in batches:
            columns = zip(batch.columns, schema, strict=True)
            arrays = [reshaped(column, field.type) for column, field in columns]
            rows = pa.RecordBatch.from_arrays(arrays, schema=schema)
            unique.check(rows)
            yield rows


def write_table(frame: DataFrame, encoder: RowEncoder, root: str) -> list[StateFile]:
    """Write the rows of a DataFrame as a table of a savepoint."""
    table = encoder.table
    names = [folder_name(name) for name in (table.uid, table.state.name)]
    spark = frame.sparkSession
    encode = Call(Encoding(encoder), spark, travels=True)
    write = Call(Writing(root, f"state/{'/'.join(names)}", table), spark, travels=True)
    encoded = frame.mapInArrow(encode, ddl(stored_in_spark(table)))
    order = ["hash", *(f.name for f in table.numbers if f.name == "position")]
    sorted_rows = encoded.repartition("hash").sortWithinPartitions(*order)
    written = sorted_rows.mapInArrow(write, FILES)
    return [file for _, file in _files_written(written)]


@dataclass(frozen=True)
class Copying:
    """Copies files of one savepoint to another; ``held``: the tables of records that wait."""

    files: Files
    root: str
    held: frozenset[int]
    uids: dict[str, str | None]

    def run(self, batches: Batches) -> Batches:
        for _, state, file in files_in(batches):
            copied = self._renamed if state in self.held and self.uids else self._copy
            yield _reported([(state, copied(file))])

    def _copy(self, file: StateFile) -> StateFile:
        data = self.files.savepoint.read(file)
        copy = replace(file, path=_beside(file.path))
        fs, path = open_path(f"{self.root}/{copy.path}")
        with new_file(fs, path) as stream:
            stream.write(data)
        sync_file(fs, path)
        return copy

    def _renamed(self, file: StateFile) -> StateFile:
        source = self.files.parquet(file)
        writer = TableFile(self.root, _beside(file.path), source.schema_arrow)
        for rows in source.iter_batches():
            writer.add(renamed_edges(pa.Table.from_batches([rows]), self.uids))
        return writer.close()


def _beside(path: str) -> str:
    """A new name in the folder of a file: another attempt of the task never writes to it."""
    return f"{path.rpartition('/')[0]}/part-{uuid.uuid4().hex}.parquet"


def copy_tables(
    spark: SparkSession,
    savepoint: Savepoint,
    root: str,
    tables: Sequence[SavepointTable],
    uids: dict[str, str | None],
) -> dict[int, list[StateFile]]:
    """Copy tables; returns the files of each by its place."""
    files = [(0, i, file) for i, table in enumerate(tables) for file in table.files]
    if not files:
        return {}
    held = frozenset(i for i, table in enumerate(tables) if not table.uid)
    call = Call(Copying(Files.of(savepoint), root, held, uids), spark, travels=True)
    found: dict[int, list[StateFile]] = {}
    for place, file in _files_written(listed(spark, files).mapInArrow(call, FILES)):
        found.setdefault(place, []).append(file)
    return found


_FILES_SCHEMA = pa.schema([("side", pa.int32()), ("state", pa.int32()), ("file", pa.string())])


def _reported(files: Iterable[tuple[int, StateFile]]) -> pa.RecordBatch:
    rows = [{"side": 0, "state": i, "file": json.dumps(vars(file))} for i, file in files]
    return pa.RecordBatch.from_pylist(rows, schema=_FILES_SCHEMA)


def _files_written(frame: DataFrame) -> list[tuple[int, StateFile]]:
    found = [(row["state"], StateFile(**json.loads(row["file"]))) for row in frame.collect()]
    return sorted(found, key=lambda entry: entry[1].path)


# -- comparing ------------------------------------------------------------------------------------

MARKS = "state int, side int, key binary, mark bigint"
TEXTS = f"{MARKS}, key_text string, position bigint, text string"


@dataclass(frozen=True)
class Marking:
    """Digests of the rows of two savepoints, and their texts if ``with_text``."""

    sides: tuple[Files, Files]
    tables: tuple[tuple[Identity, Identity], ...]
    with_text: bool

    def run(self, batches: Batches) -> Batches:
        for side, state, file in files_in(batches):
            for rows in self.sides[side].batches(file):
                yield self._marked(side, state, self.tables[state][side], rows)

    def _marked(
        self, side: int, state: int, identity: Identity, rows: pa.RecordBatch
    ) -> pa.RecordBatch:
        found = identity.rows(rows)
        n = len(found)
        columns = {
            "state": pa.array([state] * n, pa.int32()),
            "side": pa.array([side] * n, pa.int32()),
            "key": pa.array([_digest(key, 16) for key, _ in found], pa.binary()),
            "mark": pa.array([_mark(content) for _, content in found], pa.int64()),
        }
        if self.with_text:
            texts = list(zip(*identity.texts(rows), strict=True)) if n else [(), (), ()]
            kinds = {"key_text": pa.string(), "position": pa.int64(), "text": pa.string()}
            for (name, kind), values in zip(kinds.items(), texts, strict=True):
                columns[name] = pa.array(values, kind)
        return pa.RecordBatch.from_pydict(columns)


def _digest(value: Any, size: int) -> bytes:
    return blake2b(repr(value).encode("utf-8", "backslashreplace"), digest_size=size).digest()


def _mark(value: Any) -> int:
    return int.from_bytes(_digest(value, 8), "big", signed=True)
