"""Rolling aggregates of a field by column: every update is emitted, and no Python object is made.

The rows of all keys of an epoch, stored ones first, and the records in their order form one table.
Sorted by key, each key is a run of rows, and a running sum or minimum over the run gives the results of
all its records at once. A result has the place of its record in the order.

Keys with anything unusual are taken record by record, by the function itself: those with a sum that
64 bits may not hold, those whose stored value does not fit the columns, and those with a record without
a value in the field, which the function fails on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.errors import MillstreamError
from millstream.common.typeinfo import RowTypeInfo, TypeInformation, Types
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo
from millstream.kernel.operators.keyed import KeyedOperator
from millstream.kernel.operators.reduce import REDUCED
from millstream.kernel.records.buffers import Records
from millstream.kernel.records.columns import Columns, Values, field_types
from millstream.kernel.records.copying import frozen
from millstream.kernel.records.groups import Groups
from millstream.kernel.records.key_columns import KeyColumns
from millstream.kernel.records.order import Ints
from millstream.kernel.records.outputs import MAIN, Emit
from millstream.kernel.records.sorted_input import Arrivals, Incoming
from millstream.kernel.state.info import StateInfo
from millstream.kernel.state.pages import PageStore
from millstream.kernel.tables.arrangement import PointArrangement
from millstream.kernel.tables.rows import RowForm, Rows, concat_rows
from millstream.kernel.tables.scans import (
    Marks,
    Numbers,
    best_places,
    comparable,
    float_sums,
    overflows,
    whole_sums,
)
from millstream.kernel.time.clock import Clock

IN_COLUMNS = "reduced values in columns"
"""The layout of the state: one row of columns for each key."""
EMITTED = 65_536
"""So many results leave at once."""


class RollingAggregateOperator(KeyedOperator):
    """A declared aggregate of a field of each key, every update emitted, or the last in batch mode.

    ``function``: what adds a record to the result so far; its ``kind`` says what it does. ``place``: the
    field that it is of.
    """

    wants_columns = True
    gives_columns = True
    keeps_rows = True
    own_states = (REDUCED,)

    def __init__(
        self,
        info: OperatorInfo,
        function: Any,
        selector: Callable[[Any], Any],
        *,
        type_info: TypeInformation,
        key: KeyColumns,
        place: int,
        last_only: bool,
    ) -> None:
        super().__init__(info, function, selector, timed=False)
        self.type_info = type_info
        self.place = place
        self.last_only = last_only
        self.form = RowForm(_wide(type_info, place) if function.kind == "sum" else type_info, key)

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        super().open(make_context)
        assert self.opened is not None
        self.opened.infos[REDUCED] = self.row_info

    @property
    def row_info(self) -> StateInfo:
        """The description of the state of a key."""
        return StateInfo(REDUCED, value=self.type_info, layout=IN_COLUMNS)

    def row_key(self, row: Any) -> Any:
        """The key of a stored row, which is a record."""
        return self.selector(row)

    def run(self, records: Incoming | None, pages: PageStore, clock: Clock, emit: Emit) -> None:
        if records is None or not len(records):
            return
        assert isinstance(records, Arrivals) and records.hashes is not None
        columns = records.in_columns().arrays
        columns[self.place] = columns[self.place].cast(self.form.types[self.place])
        arrangement = PointArrangement(pages, self.form)
        for visit in arrangement.visits(records.hashes):
            new, places = Rows(columns, records.hashes), visit.places
            if places is not None:
                new = new.take(places)
            run = _Run(self, visit.rows, new)
            arrangement.replace(visit, run.rows())
            for rows, values in run.results():
                self._emit(records, rows if places is None else places[rows], values, emit)

    def _emit(self, records: Arrivals, rows: Ints, values: Values, emit: Emit) -> None:
        """Send on the results of some records."""
        for start in range(0, len(rows), EMITTED):
            some = rows[start : start + EMITTED]
            part: Values = values
            if len(some) < len(rows):
                part = _slice(values, start, len(some))
            keys = records.keys.take(some).extended(None)
            emit(MAIN, Records(part, records.ts[some], keys))

    def one_by_one(self, values: Sequence[Any]) -> list[Any]:
        """The results after each of some values of a key."""
        found = [values[0]]
        for value in values[1:]:
            try:
                found.append(self.function(found[-1], value))
            except MillstreamError:
                raise
            except Exception as error:
                raise self._failure(error, value) from error
        return found


def _slice(values: Values, start: int, length: int) -> Values:
    if isinstance(values, Columns):
        return values.slice(start, length)
    return values[start : start + length]


def _wide(type_info: TypeInformation, place: int) -> TypeInformation:
    """A type of records whose field is as wide as a sum may get."""
    fields = field_types(type_info)
    if fields[place].kind != "DOUBLE":
        fields[place] = Types.LONG()
    if isinstance(type_info, RowTypeInfo):
        return RowTypeInfo(fields, type_info.field_names)
    return Types.TUPLE(fields)


@dataclass
class _Special:
    """A key that was taken record by record: its results by record, and what it has come to."""

    rows: list[int]
    results: list[Any]
    last: Any


class _Run:
    """Stored rows and records together, sorted by key, and the aggregate along each key."""

    def __init__(self, operator: RollingAggregateOperator, stored: Rows, new: Rows) -> None:
        self.operator = operator
        self.form = operator.form
        self.stored = len(stored)
        self.table = concat_rows([stored, new])
        self.groups = groups = Groups.of_codes(self.form.key.codes(self.table.arrays))
        self.lengths = groups.lengths
        self.ends = groups.starts + self.lengths - 1
        column = self.table.arrays[operator.place]
        self.missing = None
        if column.null_count:
            self.missing = column.is_null().to_numpy(zero_copy_only=False)[groups.order]
        self.numbers: Numbers | None = None
        self.apart = self._apart()
        self.special = [self._special(g) for g in np.flatnonzero(self.apart).tolist()]
        self._scan(column)

    def _apart(self) -> Marks:
        """The keys that are taken record by record."""
        operator, groups = self.operator, self.groups
        apart = np.zeros(len(groups.starts), np.bool_)
        if self.missing is not None:
            apart |= np.logical_or.reduceat(self.missing, groups.starts) & (self.lengths > 1)
        if self.table.others is not None:
            other = self.table.others.is_valid().to_numpy(zero_copy_only=False)[groups.order]
            apart |= np.logical_or.reduceat(other, groups.starts)
        if operator.function.kind == "sum":
            column = self.table.arrays[operator.place]
            self.numbers = comparable(column)[groups.order]
            if self.numbers.dtype.kind != "f":
                apart |= overflows(self.numbers, groups.starts)
        return apart

    def _special(self, group: int) -> _Special:
        start, end = int(self.groups.starts[group]), int(self.ends[group]) + 1
        rows = self.groups.order[start:end]
        found = self.operator.one_by_one(self.form.values(self.table.take(rows)))
        kept = [place for place, row in enumerate(rows.tolist()) if row >= self.stored]
        if self.operator.last_only:
            kept = kept[-1:]
        new = [int(rows[place]) - self.stored for place in kept]
        return _Special(new, [found[place] for place in kept], found[-1])

    def _scan(self, column: pa.Array) -> None:
        """The running aggregate at each row, sorted by key."""
        groups, kind = self.groups, self.operator.function.kind
        if kind == "sum":
            assert self.numbers is not None
            sums = float_sums if self.numbers.dtype.kind == "f" else whole_sums
            self.numbers = sums(self.numbers, groups.starts, self.lengths)
            return
        numbers = comparable(column)[groups.order]
        self.best = best_places(
            numbers, groups.starts, self.lengths, largest=kind.startswith("max")
        )

    # -- what comes of it ------------------------------------------------------------------------

    def rows(self) -> Rows:
        """The rows of all keys after the records."""
        kept = ~self.apart
        ends = self.ends[kept]
        columns = self._columns(ends, np.flatnonzero(kept))
        found = Rows(columns, self.table.hashes[self.groups.firsts[kept]])
        if not self.special:
            return found
        values = [special.last for special in self.special]
        firsts = self.table.take(self.groups.firsts[self.apart])
        fits = [self.form.holds(value) for value in values]
        return concat_rows([found, self.form.rows(self.form.keys(firsts), values, fits)])

    def results(self) -> list[tuple[Ints, Values]]:
        """Records, by place, and their results."""
        rows, places, groups = self._emitting()
        found: list[tuple[Ints, Values]] = []
        if len(rows):
            found.append((rows, self._emitted(self._columns(places, groups))))
        if self.special:
            several = np.array([row for special in self.special for row in special.rows], np.int64)
            # A function behind may change its record, and one may be the result of several.
            found.append((several, [frozen(value) for s in self.special for value in s.results]))
        return found

    def _emitting(self) -> tuple[Ints, Ints, Ints]:
        """The records with a result, in their order; where in the sorted table that is; the key."""
        order, number = self.groups.order, len(self.groups.starts)
        if self.operator.last_only:
            groups = np.flatnonzero(~self.apart & (order[self.ends] >= self.stored))
            places = self.ends[groups]
        else:
            every = np.repeat(np.arange(number), self.lengths)
            wanted = order >= self.stored
            if self.special:
                wanted &= ~self.apart[every]
            places = np.flatnonzero(wanted)
            groups = every[places]
        rows = order[places] - self.stored
        if not self.operator.last_only and not self.special:
            # All records have a result: put each where its record is.
            back = np.empty(len(rows), np.int64)
            back[rows] = np.arange(len(rows))
        else:
            back = np.argsort(rows, kind="stable")
        return rows[back], places[back], groups[back]

    def _columns(self, places: Ints, groups: Ints) -> list[pa.Array]:
        """The columns of the results at some places of the sorted table, which belong to some keys."""
        kind, place, arrays = self.operator.function.kind, self.operator.place, self.table.arrays
        order = self.groups.order
        if kind in ("min_by", "max_by"):
            chosen = pa.array(order[self.best[places]])
            return [array.take(chosen) for array in arrays]
        firsts = pa.array(order[self.groups.starts[groups]])
        found = [array.take(firsts) for i, array in enumerate(arrays) if i != place]
        found.insert(place, self._aggregated(places))
        return found

    def _aggregated(self, places: Ints) -> pa.Array:
        """The field that the aggregate is of."""
        column = self.table.arrays[self.operator.place]
        if self.operator.function.kind != "sum":
            return column.take(pa.array(self.groups.order[self.best[places]]))
        assert self.numbers is not None
        # A key with a missing number has one row only here, which stays as it is.
        mask = None if self.missing is None else self.missing[places]
        return pa.array(self.numbers[places], column.type, mask=mask)

    def _emitted(self, arrays: list[pa.Array]) -> Values:
        """Results as columns of the records' own type; as objects if one is too large for it.

        What they do then is up to those that take them: only a declared type is enforced.
        """
        operator = self.operator
        own = field_types(operator.type_info)[operator.place].to_arrow()
        try:
            arrays[operator.place] = arrays[operator.place].cast(own)
        except pa.ArrowInvalid:
            return Columns(self.form.type_info, arrays).tolist()
        return Columns(operator.type_info, arrays)
