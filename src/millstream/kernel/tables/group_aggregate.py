"""Group aggregates of a table: what an epoch changes, as rows that are taken back and rows that come.

An epoch's records of a group are added up, to each other and to what is stored, before anything is
emitted: for each group whose result has changed, the old result with weight -1 and the new one with 1.
Nothing but the table counts, so a record and the same record taken back in one epoch leave no trace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.common.errors import PlanError
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo
from millstream.kernel.operators.keyed import KeyedOperator
from millstream.kernel.operators.reduce import REDUCED
from millstream.kernel.records.buffers import Records
from millstream.kernel.records.columns import Columns
from millstream.kernel.records.groups import Groups
from millstream.kernel.records.order import Ints, run_ordinals
from millstream.kernel.records.outputs import MAIN, Emit
from millstream.kernel.records.sorted_input import Arrivals, Incoming
from millstream.kernel.state.info import StateInfo
from millstream.kernel.state.pages import PageStore
from millstream.kernel.tables.accumulators import GroupAggregates, SumOverflow
from millstream.kernel.tables.arrangement import PointArrangement, Visit
from millstream.kernel.tables.rows import RowForm, Rows, concat_rows
from millstream.kernel.tables.scans import Marks
from millstream.kernel.time.clock import Clock

GROUPS_IN_COLUMNS = "groups in columns"
"""The layout of the state: one row of accumulators for each group."""


class GroupAggregateOperator(KeyedOperator):
    """Aggregates of groups, folded by epoch: the differences of the result table are emitted.

    A difference has the place in the order, and the event time, of the last record of its group.
    """

    wants_columns = True
    gives_columns = True
    keeps_rows = True
    takes_weights = True
    own_states = (REDUCED,)

    def __init__(
        self, info: OperatorInfo, aggregates: GroupAggregates, selector: Callable[[Any], Any]
    ) -> None:
        super().__init__(info, None, selector, timed=False)
        self.aggregates = aggregates
        self.form = RowForm(aggregates.row_type, aggregates.row_key)

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        super().open(make_context)
        assert self.opened is not None
        self.opened.infos[REDUCED] = self.row_info

    @property
    def row_info(self) -> StateInfo:
        """The description of the state of a key."""
        return StateInfo(REDUCED, value=self.form.type_info, layout=GROUPS_IN_COLUMNS)

    def row_key(self, row: Any) -> Any:
        """The key of a stored row."""
        key = tuple(row)[: len(self.aggregates.key.places)]
        return key[0] if self.aggregates.key.alone else key

    def run(self, records: Incoming | None, pages: PageStore, clock: Clock, emit: Emit) -> None:
        if records is None or not len(records):
            return
        assert isinstance(records, Arrivals) and records.hashes is not None
        self._refuse_taken_back(records.weights)
        columns = records.in_columns().arrays
        arrangement = PointArrangement(pages, self.form)
        try:
            new = Rows(self.aggregates.rows(columns, records.weights, len(records)), records.hashes)
            for visit in arrangement.visits(records.hashes):
                self._visit(arrangement, visit, new, records, emit)
        except SumOverflow:
            raise self._overflow() from None

    def _visit(
        self,
        arrangement: PointArrangement,
        visit: Visit,
        new: Rows,
        records: Arrivals,
        emit: Emit,
    ) -> None:
        aggregates, stored, places = self.aggregates, visit.rows, visit.places
        new = new if places is None else new.take(places)
        table = concat_rows([stored, new])
        groups = Groups.of_codes(self.form.key.codes(table.arrays))
        folded = aggregates.added_up(table.arrays, groups)
        hashes = table.hashes[groups.firsts]
        # The last record of each group that has one.
        lasts = groups.order[groups.starts + groups.lengths - 1]
        touched = lasts >= len(stored)
        left = Rows(folded, hashes).take(np.flatnonzero(aggregates.is_left(folded)))
        arrangement.replace(visit, left)
        # Groups have the numbers of stored rows, in their order; the others are new.
        had = np.zeros(len(groups.starts), np.bool_)
        had[: len(stored)] = aggregates.exists(stored.arrays)
        rows = lasts - len(stored)
        self._emit(
            _Change(aggregates, stored.arrays, folded, had & touched, touched),
            rows if places is None else np.where(touched, places[np.maximum(rows, 0)], -1),
            records,
            emit,
        )

    def _emit(self, change: _Change, rows: Ints, records: Arrivals, emit: Emit) -> None:
        """Emit the differences in the order of the records that have caused them."""
        old, new = change.groups()
        groups = np.concatenate([old, new])
        if not len(groups):
            return
        weights = np.repeat(np.array([-1, 1]), [len(old), len(new)])
        arrays = change.results(old, new)
        causes = rows[groups]
        order = np.lexsort((weights, causes))
        causes, places = causes[order], pa.array(order)
        keys = records.keys.take(causes).extended(run_ordinals(causes))
        values = Columns(self.aggregates.result_type, [array.take(places) for array in arrays])
        emit(MAIN, Records(values, records.ts[causes], keys, weights=weights[order]))

    def _refuse_taken_back(self, weights: Ints | None) -> None:
        if weights is None or self.aggregates.takes_weights or (weights > 0).all():
            return
        raise PlanError(
            "CHANGES_REFUSED",
            f"operator {self.info.name!r} gets the changes of a changelog, and cannot take a record "
            "back: a smallest or largest value needs all other values of its group then",
            location=self.info.location,
            hint="use COUNT, SUM or AVG on a changelog, or MIN and MAX on records that only come",
        )

    def _overflow(self) -> PlanError:
        return PlanError(
            "SUM_OVERFLOW",
            f"operator {self.info.name!r}: a sum does not fit 64 bits",
            location=self.info.location,
            hint="add up smaller numbers, or numbers of type DOUBLE",
        )


class _Change:
    """The results of groups before and after an epoch.

    ``before``: accumulators of the groups with the lowest numbers; ``had``: the groups that had a
    result and may have another now; ``touched``: the groups that may have one now.
    """

    def __init__(
        self,
        aggregates: GroupAggregates,
        before: list[pa.Array],
        after: list[pa.Array],
        had: Marks,
        touched: Marks,
    ) -> None:
        self._before, self._after = aggregates.results(before), aggregates.results(after)
        self._had = had
        self._has = touched & aggregates.exists(after)

    def groups(self) -> tuple[Ints, Ints]:
        """The groups whose result is taken back, and those that have a new one."""
        both = np.flatnonzero(self._had & self._has)
        places = pa.array(both)
        same = np.ones(len(both), np.bool_)
        for old, new in zip(self._before, self._after, strict=True):
            same &= _equal(old.take(places), new.take(places))
        had, has = self._had.copy(), self._has.copy()
        had[both[same]] = has[both[same]] = False
        return np.flatnonzero(had), np.flatnonzero(has)

    def results(self, old: Ints, new: Ints) -> list[pa.Array]:
        """The columns of old results, and of new ones behind them."""
        return [
            pa.concat_arrays([before.take(pa.array(old)), after.take(pa.array(new))])
            for before, after in zip(self._before, self._after, strict=True)
        ]


def _equal(one: pa.Array, other: pa.Array) -> Marks:
    """Whether values are the same; none is the same as none."""
    same = pc.equal(one, other).fill_null(False)
    found: Marks = pc.or_(same, pc.and_(one.is_null(), other.is_null())).to_numpy(
        zero_copy_only=False
    )
    return found
