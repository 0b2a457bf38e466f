"""The windowing table functions TUMBLE, HOP and CUMULATE: arithmetic on a column of times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from millstream.common.errors import PlanError
from millstream.common.typeinfo import RowTypeInfo
from millstream.common.typesystem.arrow_info import ArrowTypeInfo
from millstream.kernel.records.order import Ints
from millstream.kernel.steps.columns import Made
from millstream.kernel.tables.timed.times import (
    LOCAL,
    as_local,
    as_utc,
    milliseconds,
    timestamps,
    unique,
)

__all__ = ["WINDOW_COLUMNS", "AlignedKind", "WindowStep", "with_windows"]

AlignedKind = Literal["TUMBLE", "HOP", "CUMULATE"]
WINDOW_COLUMNS = ("window_start", "window_end", "window_time")


def with_windows(row: RowTypeInfo, time: pa.DataType) -> RowTypeInfo:
    """The type of rows with the columns of their windows behind their own."""
    zone = time.tz if pa.types.is_timestamp(time) else None
    kinds = [LOCAL, LOCAL, pa.timestamp("ms", zone)]
    own = [*row.field_types, *(ArrowTypeInfo(kind) for kind in kinds)]
    return RowTypeInfo(own, unique([*row.get_field_names(), *WINDOW_COLUMNS]))


@dataclass(frozen=True)
class WindowStep:
    """Each row with each of its windows: window_start, window_end and window_time come behind it.

    Parameters
    ----------
    row
        The type of the rows.
    kind
        ``"TUMBLE"``, ``"HOP"`` or ``"CUMULATE"``.
    time
        The place of the time column, a timestamp. A row without a time has no window, and is dropped.
    size
        The length of a window in milliseconds; of CUMULATE that of the longest one.
    step
        Of HOP the slide, of CUMULATE by how much windows grow, in milliseconds.
    offset
        Where windows begin, in milliseconds.
    zone
        The time zone of the session, for a time column of type TIMESTAMP_LTZ: windows begin by the
        clock on the wall there.
    """

    row: RowTypeInfo
    kind: AlignedKind
    time: int
    size: int
    step: int | None = None
    offset: int = 0
    zone: str | None = None

    def __post_init__(self) -> None:
        step = self.size if self.step is None else self.step
        if self.size <= 0 or step <= 0 or (self.kind == "CUMULATE" and self.size % step):
            raise PlanError(
                "BAD_WINDOW",
                f"{self.kind} has a size of {self.size} ms and a step of {step} ms",
                hint="both have to be positive, and the size of CUMULATE a multiple of its step",
            )

    @property
    def output(self) -> RowTypeInfo:
        return with_windows(self.row, self.row.field_types[self.time].to_arrow())

    def kept(self, place: int) -> int | None:
        return place

    def describe(self) -> str:
        step = "" if self.step is None else f", {self.step} ms"
        name = self.row.get_field_names()[self.time]
        return f"{self.kind} windows of {self.size} ms{step} on {name}"

    def run(self, batch: pa.RecordBatch) -> Made:
        column = batch.column(self.time)
        has_time = column.is_valid().to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(has_time)
        times = as_local(milliseconds(column)[rows], self.zone)
        places, starts, ends = self.windows(times)
        rows = rows[places]
        zone = column.type.tz if pa.types.is_timestamp(column.type) else None
        lasts = as_utc(ends - 1, self.zone)
        own = batch.columns
        if len(rows) != batch.num_rows or self.kind != "TUMBLE":
            taken = pa.array(rows)
            own = [array.take(taken) for array in own]
        found = [*own, timestamps(starts), timestamps(ends)]
        found.append(timestamps(lasts, pa.timestamp("ms", zone)))
        return Made(found, rows, several=self.kind != "TUMBLE")

    def windows(self, times: Ints) -> tuple[Ints, Ints, Ints]:
        """For each time and window of it: the place of the time, and the window's start and end."""
        every = np.arange(len(times))
        if self.kind == "TUMBLE":
            starts = self._starts(times, self.size)
            return every, starts, starts + self.size
        step = self.step or self.size
        if self.kind == "HOP":
            lasts = self._starts(times, step)
            # Windows that begin at lasts - i * step and reach the time.
            counts = np.maximum((self.size - (times - lasts) - 1) // step + 1, 0)
            places, numbers = _repeated(counts)
            starts = lasts[places] - (counts[places] - 1 - numbers) * step
            return places, starts, starts + self.size
        begins = self._starts(times, self.size)
        passed = (times - begins) // step
        places, numbers = _repeated(self.size // step - passed)
        ends = begins[places] + (passed[places] + 1 + numbers) * step
        return places, begins[places], ends

    def _starts(self, times: Ints, length: int) -> Ints:
        # numpy's remainder is never negative, so this is right before 1970 too.
        starts: Ints = times - (times - self.offset) % length
        return starts


def _repeated(counts: Ints) -> tuple[Ints, Ints]:
    """Each place as often as its count says, and a number from 0 for each of them."""
    places: Ints = np.repeat(np.arange(len(counts)), counts)
    firsts = np.cumsum(counts) - counts
    return places, np.arange(len(places)) - firsts[places]
