"""CURRENT_WATERMARK: rows with the watermark that their channel had before them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from millstream.common.time import MIN_TIMESTAMP
from millstream.common.typeinfo import RowTypeInfo
from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.records.outputs import Emit
from millstream.kernel.records.sorted_input import Incoming
from millstream.kernel.state.pages import PageStore
from millstream.kernel.tables.bags import bag_form
from millstream.kernel.tables.operator import Delta, Emission, TableOperator, limits_of
from millstream.kernel.tables.rows import Rows
from millstream.kernel.tables.sections import SectionVisit
from millstream.kernel.tables.spec import OneTableSpec
from millstream.kernel.time.clock import Clock

__all__ = ["WatermarkColumnsSpec"]


@dataclass(frozen=True)
class WatermarkColumnsSpec(OneTableSpec):
    """Rows with columns that have the watermark before them, NULL if there was none. It keeps nothing.

    The watermark is that of the row's channel, by which late rows are found too: it is the same for
    every cut into epochs. Only the stages of operators with a key know it.

    Parameters
    ----------
    row
        The type of the rows.
    key
        The columns by which rows are placed.
    kinds
        The types of the new columns.
    """

    row: RowTypeInfo
    key: tuple[int, ...]
    kinds: tuple[pa.DataType, ...]
    changes: bool = False

    @property
    def output(self) -> RowTypeInfo:
        names = [*self.row.get_field_names(), *(f"$watermark{n}" for n in range(len(self.kinds)))]
        return arrow_row(names, [*(t.to_arrow() for t in self.row.field_types), *self.kinds])

    @property
    def placed_by(self) -> tuple[int, ...]:
        return self.key

    @property
    def layout(self) -> str:
        return "rows with watermarks"

    def describe(self) -> str:
        return "the watermark that the channel of each row had before it"

    def operator(self, info: OperatorInfo, *, timed: bool, batch: bool) -> TableOperator:
        return WatermarkColumnsOperator(info, self)


class WatermarkColumnsOperator(TableOperator):
    """Adds the watermark of its channel to each row."""

    spec: WatermarkColumnsSpec

    def __init__(self, info: OperatorInfo, spec: WatermarkColumnsSpec) -> None:
        super().__init__(info, spec, [bag_form("nothing", spec.row)])

    def run(self, records: Incoming | None, pages: PageStore, clock: Clock, emit: Emit) -> None:
        self.limits = limits_of(records, clock)
        super().run(records, pages, clock, emit)

    def visit(self, visit: SectionVisit, deltas: list[Delta], emission: Emission) -> Sequence[Rows]:
        (stored,), (delta,) = visit.sections, deltas
        limits = self.limits[delta.causes]
        times = pa.array(limits, pa.timestamp("ms"), mask=limits <= MIN_TIMESTAMP)
        columns = [times.cast(kind) for kind in self.spec.kinds]
        emission.send([*delta.arrays, *columns], delta.weights, delta.causes)
        return [stored]
