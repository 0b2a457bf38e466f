"""Tasks of the source stage over the rows that Spark reads: files, DataFrames, sockets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from millstream.common.errors import PlanError
from millstream.common.typeinfo import TypeInformation
from millstream.connectors.reading import channel_number
from millstream.kernel.records.columns import Columns, concat_columns_of
from millstream.kernel.stages.programs import Block
from millstream.spark.tasks.rows import to_arrow
from millstream.spark.tasks.worker import ProgramRef, errors_that_travel

BLOCK = 16_384


class SourceTask:
    """A task of the source stage over Spark's record batches."""

    def __init__(
        self, ref: ProgramRef, slots: tuple[int, ...], value: TypeInformation, names: list[str]
    ) -> None:
        self.ref = ref
        self.slots = slots
        self.value = value
        self.names = names
        self.closes = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with errors_that_travel(self.ref):
            context = TaskContext.get()
            task = context.partitionId() if context is not None else 0
            program = self.ref.get()
            yield from to_arrow(program.run(self.blocks(batches, task), task), self.slots)
            if self.closes:
                program.close()

    def blocks(self, batches: Iterator[pa.RecordBatch], task: int) -> Iterator[Block]:
        raise NotImplementedError

    def values(self, batch: pa.RecordBatch) -> Columns:
        return Columns(self.value, [batch.column(name) for name in self.names])


class FrameTask(SourceTask):
    """One channel for the whole DataFrame; a partition is a fragment of it."""

    def __init__(
        self,
        ref: ProgramRef,
        slots: tuple[int, ...],
        value: TypeInformation,
        names: list[str],
        source_id: int,
    ) -> None:
        super().__init__(ref, slots, value, names)
        self.channel = channel_number(source_id, 0)

    def blocks(self, batches: Iterator[pa.RecordBatch], task: int) -> Iterator[Block]:
        position = 0
        for batch in batches:
            if batch.num_rows:
                yield Block(self.values(batch), None, self.channel, task, position)
                position += batch.num_rows


def _runs(*columns: Any) -> Iterator[tuple[int, int]]:
    """Ranges of rows in which all columns keep their values."""
    n = len(columns[0])
    changes = np.zeros(n, bool)
    changes[0] = True
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    starts = np.flatnonzero(changes).tolist()
    yield from zip(starts, [*starts[1:], n], strict=True)


class FileTask(SourceTask):
    """A file is a channel, a split of it a fragment; Spark reads a file whole in one epoch."""

    def blocks(self, batches: Iterator[pa.RecordBatch], task: int) -> Iterator[Block]:
        positions: dict[tuple[int, int], int] = {}
        gathered: list[Columns] = []
        place = (0, 0)
        for found, values in self._runs_of_fragments(batches):
            # Spark's batches may be small; a block of many records costs less a record.
            if gathered and (found != place or sum(map(len, gathered)) >= BLOCK):
                yield from self._block(place, gathered, positions)
                gathered = []
            place = found
            gathered.append(values)
        if gathered:
            yield from self._block(place, gathered, positions)

    def _runs_of_fragments(
        self, batches: Iterator[pa.RecordBatch]
    ) -> Iterator[tuple[tuple[int, int], Columns]]:
        for batch in batches:
            if batch.num_rows:
                values = self.values(batch)
                channels = batch.column("ms_channel").to_numpy()
                frags = batch.column("ms_frag").to_numpy()
                for start, end in _runs(channels, frags):
                    place = int(channels[start]), int(frags[start])
                    yield place, values.slice(start, end - start)

    def _block(
        self, place: tuple[int, int], parts: list[Columns], positions: dict[tuple[int, int], int]
    ) -> Iterator[Block]:
        values = concat_columns_of(parts)
        position = positions.get(place, 0)
        positions[place] = position + len(values)
        yield Block(values, None, *place, position, finished=True)


class PositionTask(SourceTask):
    """Channels and positions given by columns; a channel's first position in a task is its fragment."""

    def __init__(
        self,
        ref: ProgramRef,
        slots: tuple[int, ...],
        value: TypeInformation,
        names: list[str],
        location: Any,
    ) -> None:
        super().__init__(ref, slots, value, names)
        self.location = location

    def blocks(self, batches: Iterator[pa.RecordBatch], task: int) -> Iterator[Block]:
        firsts: dict[int, int] = {}
        lasts: dict[int, int] = {}
        for batch in batches:
            if not batch.num_rows:
                continue
            values = self.values(batch)
            channels = batch.column("ms_channel").to_numpy()
            positions = batch.column("ms_pos").to_numpy(zero_copy_only=False)
            # Consecutive positions form a block; a gap in them begins the next one.
            expected = positions - np.arange(len(positions))
            for start, end in _runs(channels, expected):
                channel, position = int(channels[start]), int(positions[start])
                if position <= lasts.get(channel, position - 1):
                    raise self._disorder(channel, position)
                lasts[channel] = int(positions[end - 1])
                frag = firsts.setdefault(channel, position)
                part = values.slice(start, end - start)
                yield Block(part, None, channel, frag, position)

    def _disorder(self, channel: int, position: int) -> PlanError:
        return PlanError(
            "CHANNEL_DISORDER",
            f"position {position} of channel {channel} comes after a higher one in its partition",
            location=self.location,
            hint="give a position= column that grows along each channel within a partition",
        )
