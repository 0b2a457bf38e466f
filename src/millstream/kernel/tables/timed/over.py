"""OVER: each row with aggregates of the rows around it.

Three ways, by what the rows are ordered by. *rowtime*: a row waits for the watermark, and comes once
with its final values. *arrival*: a row comes at once, with aggregates of the rows before it.
*updating*: any order, rows may be taken back; the partitions that an epoch touches are computed again,
and the differences are emitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from millstream.common.errors import PlanError
from millstream.common.typeinfo import RowTypeInfo
from millstream.common.typesystem.arrow_info import ArrowTypeInfo
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.tables.aggregates.calls import AggregateCall, Aggregates
from millstream.kernel.tables.bags import SortColumn
from millstream.kernel.tables.operator import TableOperator
from millstream.kernel.tables.spec import OneTableSpec
from millstream.kernel.tables.timed.frames import Frame, WindowCall
from millstream.kernel.tables.timed.times import unique

__all__ = ["OverMode", "OverSpec"]

OverMode = Literal["rowtime", "arrival", "updating"]
_DEFAULT = Frame()


@dataclass(frozen=True)
class OverSpec(OneTableSpec):
    """OVER (PARTITION BY key ORDER BY order frame).

    Parameters
    ----------
    row
        The type of the rows.
    key
        The places of the columns of PARTITION BY.
    order
        The columns of ORDER BY. Of "rowtime" the first is the time; of "arrival" there are none.
    calls
        Aggregates, and functions of places. The result has one column for each, behind the row.
    frame
        What the aggregates see. Offsets of RANGE count in the first column of ``order``: in milliseconds
        of times, or in its own whole numbers; in "arrival" in milliseconds of the epochs' times.
    mode
        See the module.
    changes
        Whether rows may be taken back, which "updating" allows only.
    """

    row: RowTypeInfo
    key: tuple[int, ...]
    order: tuple[SortColumn, ...]
    calls: tuple[AggregateCall | WindowCall, ...]
    frame: Frame = _DEFAULT
    mode: OverMode = "rowtime"
    changes: bool = False

    def __post_init__(self) -> None:
        looks_ahead = self.frame.end is None or self.frame.end > 0
        if self.mode != "updating" and (looks_ahead or self.changes):
            raise PlanError(
                "BAD_FRAME",
                "OVER by time takes rows that only come, and frames that end with the current row or "
                "before it",
                hint="end the frame with CURRENT ROW",
            )

    @property
    def placed_by(self) -> tuple[int, ...]:
        return self.key

    @property
    def layout(self) -> str:
        if self.mode == "updating":
            return "rows of partitions"
        return "states of partitions" if self.keeps_states else "rows around rows"

    @cached_property
    def aggregates(self) -> Aggregates:
        """The calls that are aggregates."""
        calls = tuple(call for call in self.calls if isinstance(call, AggregateCall))
        return Aggregates(self.row, calls, changes=False)

    @property
    def keeps_states(self) -> bool:
        """Whether a state for each partition is enough: frames begin with the first row of all."""
        others = [call for call in self.calls if isinstance(call, WindowCall)]
        return self.frame.start is None and self.frame.end == 0 and not others

    @property
    def output(self) -> RowTypeInfo:
        kinds, aggregates = [], iter(self.aggregates.result_types)
        for call in self.calls:
            kinds.append(call.result if isinstance(call, WindowCall) else next(aggregates))
        names = [f"w0$o{i}" for i in range(len(kinds))]
        return RowTypeInfo(
            [*self.row.field_types, *map(ArrowTypeInfo, kinds)],
            unique([*self.row.get_field_names(), *names]),
        )

    def describe(self) -> str:
        names = self.row.get_field_names()
        by = ", ".join(names[i] for i in self.key) or "nothing"
        calls = ", ".join(call.function for call in self.calls)
        if self.mode == "updating":
            kept = "all rows"
        elif self.keeps_states:
            kept = "a state for each partition"
        else:
            kept = "the rows that frames may still see"
        return f"over aggregate of {calls} by {by}, {self.mode}; it keeps {kept}"

    def operator(self, info: OperatorInfo, *, timed: bool, batch: bool) -> TableOperator:
        # The operators know their spec, so they come after it.
        from millstream.kernel.tables.timed import over_operators

        if self.mode == "updating":
            return over_operators.UpdatingOverOperator(info, self)
        if self.mode == "arrival":
            return over_operators.ArrivalOverOperator(info, self)
        return over_operators.RowtimeOverOperator(info, self)
