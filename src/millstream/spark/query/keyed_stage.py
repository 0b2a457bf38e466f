"""A keyed stage on Spark: ``groupBy(slot).transformWithStateInPandas``, or a sorted partition."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby, repeat
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from millstream.checkpoint.value_files import read_values
from millstream.common.errors import MillstreamError
from millstream.kernel.records.buffers import STATE, BufferRow
from millstream.kernel.state.pages import MemoryStore, Store
from millstream.spark.tasks.rows import COLUMNS, SCHEMA, chunks, from_arrow, to_arrow
from millstream.spark.tasks.worker import ProgramRef, errors_that_travel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


MAX_VALUE_BYTES = 256 << 20
"""The JVM copies a value several times on its way into the store: more would fill its heap of 4 GB."""


class SlotStore:
    """A slot's pages in a Spark map state."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def get(self, name: str) -> bytes | None:
        found = self._state.getValue((name,))
        return None if found is None else bytes(found[0])

    def put(self, name: str, value: bytes) -> None:
        if len(value) > MAX_VALUE_BYTES:
            raise MillstreamError(
                "STATE_TOO_LARGE",
                f"operator {name.split('/')[0]!r} has {len(value) >> 20:,} MB in one value of its "
                f"state, and Spark's state store takes {MAX_VALUE_BYTES >> 20} MB at most",
                parameters={"bytes": len(value), "limit_bytes": MAX_VALUE_BYTES},
                hint="keep less in a value: list and map state are stored in parts, a value is not",
            )
        self._state.updateValue((name,), (value,))

    def remove(self, name: str) -> None:
        self._state.removeKey((name,))


class SlotProcessor(StatefulProcessor):
    """Hands a slot's rows of an epoch to the stage's program."""

    def __init__(self, ref: ProgramRef, values: tuple[int, ...], state_name: str) -> None:
        self._ref = ref
        self._values = values
        self._state_name = state_name

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        _hush_init_worker()

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._pages = handle.getMapState(self._state_name, "name string", "page binary")

    def handleInputRows(
        self, key: Any, rows: Iterator[Any], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        with errors_that_travel(self._ref):
            slot = self._values.index(int(key[0]))
            now_ms = 0
            mine: list[BufferRow] = []
            store, program = SlotStore(self._pages), self._ref.get()
            for frame in rows:
                now_ms = int(frame["now"].iloc[0])
                columns = [frame[name].tolist() for name in COLUMNS[1:]]
                mine += _begun(map(BufferRow, repeat(slot), *columns), store)
            for chunk in chunks(program.run(slot, mine, store, now_ms)):
                yield self._frame(chunk)
            if program.has_ended:
                program.close()

    def _frame(self, chunk: list[BufferRow]) -> pd.DataFrame:
        frame = pd.DataFrame.from_records(chunk, columns=list(COLUMNS))
        frame["slot"] = frame["slot"].map(self._values.__getitem__)
        return frame

    def close(self) -> None:
        pass


def _hush_init_worker() -> None:
    """PySpark starts a process to ask a processor for its state, and lets it print what it does."""
    main = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    if os.path.basename(main) == "transform_with_state_driver_worker.py":
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _begun(rows: Iterable[BufferRow], store: Store) -> Iterator[BufferRow]:
    """Load restored state into the store; yield the remaining rows."""
    for row in rows:
        if row.kind == STATE:
            for name, value in read_values(row.payload):
                store.put(name, value)
        else:
            yield row


def _with_now(rows: DataFrame) -> DataFrame:
    """The epoch's timestamp on every row: constant in an epoch, and the same when it is replayed.

    Spark writes a constant number into the code that it generates, and compiled that code again for
    each epoch, twice. It does not compile `zip_with`, nor what stands inside it.
    """
    now = F.array(F.unix_millis(F.current_timestamp()))
    return rows.withColumn("now", F.zip_with(now, now, lambda number, _: number)[0])


def streaming_stage(
    rows: DataFrame, ref: ProgramRef, values: tuple[int, ...], state_name: str
) -> DataFrame:
    """A keyed stage of a streaming query."""
    processor = SlotProcessor(ref, values, state_name)
    return (
        _with_now(rows)
        .groupBy("slot")
        .transformWithStateInPandas(processor, SCHEMA, "Append", "None")
    )


def batch_stage(
    rows: DataFrame, ref: ProgramRef, values: tuple[int, ...], partitions: int
) -> DataFrame:
    """A keyed stage of a batch job: the slots of a partition one after the other, state in memory."""
    slots = {value: index for index, value in enumerate(values)}

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with errors_that_travel(ref):
            program = ref.get()
            for slot, group in groupby(_rows(batches, slots), key=lambda row: row[0].slot):
                found = list(group)
                store, now_ms = MemoryStore(), found[0][1]
                mine = list(_begun((row for row, _ in found), store))
                yield from to_arrow(program.run(slot, mine, store, now_ms), values)
            program.close()

    arranged = _with_now(rows).repartition(partitions, "slot").sortWithinPartitions("slot", "kind")
    return arranged.mapInArrow(run, SCHEMA)


def _rows(
    batches: Iterator[pa.RecordBatch], slots: dict[int, int]
) -> Iterator[tuple[BufferRow, int]]:
    for batch in batches:
        if batch.num_rows:
            now_ms = batch.column("now")[0].as_py()
            for row in from_arrow(batch, slots):
                yield row, now_ms
