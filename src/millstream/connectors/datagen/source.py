"""Generated rows as a source of channels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.common.time import MIN_TIMESTAMP
from millstream.common.typeinfo import TypeInformation, Types
from millstream.connectors.collection import CHUNK
from millstream.connectors.datagen.draws import Draws
from millstream.connectors.datagen.fields import FieldGenerator
from millstream.connectors.source import NO_LIMITS, ChannelName, ChannelSource, Chunk, Limits
from millstream.kernel.records.columns import Columns


@dataclass(frozen=True)
class FieldsSource(ChannelSource):
    """Rows 0..rows-1 (rows None: no end) dealt over ``count`` channels, made field by field.

    ``event_time``: the field with the event times.
    """

    fields: Mapping[str, FieldGenerator]
    rows: int | None
    seed: int = 0
    count: int = 1
    limited: Limits = NO_LIMITS
    event_time: str | None = None

    @property
    def bounded(self) -> bool:
        return self.rows is not None

    def channel_count(self) -> int:
        return self.count

    def latest(self) -> Mapping[ChannelName, int | None]:
        return {channel: self._end(channel) for channel in range(self.count)}

    def _end(self, channel: int) -> int | None:
        return None if self.rows is None else max(0, (self.rows - 1 - channel) // self.count + 1)

    def limits(self) -> Limits:
        return self.limited

    def get_produced_type(self) -> TypeInformation:
        types = [field.type_info for field in self.fields.values()]
        return Types.ROW_NAMED(list(self.fields), types)

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        assert isinstance(channel, int)
        for at in range(start, stop, CHUNK):
            numbers = np.arange(at, min(at + CHUNK, stop)) * self.count + channel
            yield self._chunk(numbers)

    def _chunk(self, numbers: Any) -> Chunk:
        columns: dict[str, pa.Array] = {}
        for name, field in self.fields.items():
            before = self._rows_so_far(columns) if columns else None
            columns[name] = field.column(Draws(self.seed, name, numbers), before)
        batch = pa.RecordBatch.from_pydict(columns)
        return Chunk(batch, None if self.event_time is None else _times(columns[self.event_time]))

    def _rows_so_far(self, columns: Mapping[str, pa.Array]) -> Columns:
        types = [self.fields[name].type_info for name in columns]
        return Columns(Types.ROW_NAMED(list(columns), types), list(columns.values()))


def _times(column: pa.Array) -> Any:
    """Event times in milliseconds, of numbers or of points in time."""
    micros = pa.types.is_timestamp(column.type)
    numbers = pc.fill_null(column.view(pa.int64()), MIN_TIMESTAMP).to_numpy()
    # What has no event time stays so.
    return np.where(numbers == MIN_TIMESTAMP, numbers, numbers // 1_000) if micros else numbers
