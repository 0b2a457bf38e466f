"""WATERMARK FOR: the watermark strategy of a table's source."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millstream.common.errors import PlanError
from millstream.common.time import MIN_TIMESTAMP
from millstream.common.watermark_strategy import (
    TimestampAssigner,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from millstream.table.expressions.tree import Call, Cast, Expression, InputRef, Literal
from millstream.table.physical.compiled import compiled

__all__ = ["RowTime", "row_millis", "strategy_of"]

_EPOCH = datetime.datetime(1970, 1, 1)
_MILLISECOND = datetime.timedelta(milliseconds=1)


def row_millis(value: Any) -> int:
    """The milliseconds of a timestamp since 1970-01-01 00:00:00; those of an instant in UTC."""
    return int((value.replace(tzinfo=None) - _EPOCH) // _MILLISECOND)


@dataclass(frozen=True)
class RowTime(TimestampAssigner):
    """The event time of a row: its time column."""

    place: int
    name: str

    @property
    def time_column(self) -> int:
        """The place of the column of timestamps: rows in columns stay columns."""
        return self.place

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        found = value[self.place]
        if found is None:
            raise PlanError(
                "NULL_ROWTIME",
                f"the time column {self.name!r} is NULL in {value!r:.200}",
                hint="filter such rows in the source, or make the column NOT NULL",
            )
        return row_millis(found)


def strategy_of(
    place: int, name: str, watermark: Expression | None, zone: str, idle_ms: int | None = None
) -> WatermarkStrategy:
    """The strategy of a watermark expression over the columns of the table; without one, no row is late.

    The column, or the column minus an interval, is bounded out-of-orderness: Flink's watermark is the
    value itself, so no row with this time comes any more. Other expressions are computed row by row.
    """
    assigner = RowTime(place, name)
    if watermark is None:
        return WatermarkStrategy("none", 0, assigner, idle_ms)
    delay = _delay(watermark, place)
    if delay is not None:
        # The strategy stays one millisecond behind, as Flink's DataStream API does.
        return WatermarkStrategy("bounded", delay - 1, assigner, idle_ms)
    make = _Generators(watermark, zone)
    return WatermarkStrategy("custom", 0, assigner, idle_ms, make)


def _delay(expression: Expression, place: int) -> int | None:
    if isinstance(expression, Cast):
        return _delay(expression.operand, place)
    if isinstance(expression, InputRef) and expression.index == place:
        return 0
    if not isinstance(expression, Call) or expression.function != "-":
        return None
    column, interval = expression.arguments
    if _delay(column, place) != 0 or not isinstance(interval, Literal):
        return None
    is_time = interval.type.root == "INTERVAL_DAY_TIME"
    return int(interval.value) if is_time and interval.value is not None else None


@dataclass(frozen=True)
class _Generators:
    """Makes the generator of a channel."""

    expression: Expression
    zone: str

    def __call__(self) -> WatermarkGenerator:
        return _Computed(self.expression, self.zone)


class _Computed(WatermarkGenerator):
    """Computes a watermark of each row; NULL moves nothing."""

    def __init__(self, expression: Expression, zone: str) -> None:
        self._function = compiled(expression, zone)
        self._latest = MIN_TIMESTAMP

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        arrays = [pa.array([each]) for each in event]
        batch = pa.RecordBatch.from_arrays(arrays, names=[str(i) for i in range(len(arrays))])
        found = self._function(batch)[0].as_py()
        if found is not None:
            self._latest = max(self._latest, row_millis(found))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        if self._latest > MIN_TIMESTAMP:
            output.emit_watermark(Watermark(self._latest))
