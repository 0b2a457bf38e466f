"""The base of all stateful operators of tables: differences in, differences out, state in sections."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.common.errors import PlanError
from millstream.common.typeinfo import RowTypeInfo
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.keys.hashing import Hashes
from millstream.kernel.operators.keyed import KeyedOperator
from millstream.kernel.records.buffers import Records
from millstream.kernel.records.columns import Columns
from millstream.kernel.records.groups import Groups, in_order_of
from millstream.kernel.records.key_columns import row_codes
from millstream.kernel.records.order import COLUMNS, Ints, OrderKeys, arrival_step, run_ordinals
from millstream.kernel.records.outputs import MAIN, Emit
from millstream.kernel.records.sides import Sides
from millstream.kernel.records.sorted_input import Arrivals, Incoming
from millstream.kernel.state.pages import Directory, PageStore
from millstream.kernel.tables.arrangement import PAGE_BYTES
from millstream.kernel.tables.expiry import EXPIRED, Expiry
from millstream.kernel.tables.rows import Rows
from millstream.kernel.tables.sections import (
    PageForm,
    SectionArrangement,
    SectionForm,
    SectionVisit,
)
from millstream.kernel.tables.spec import ColumnKey, TableSpec
from millstream.kernel.time.clock import Clock

__all__ = ["Delta", "Emission", "TableOperator", "consolidated", "rows_equal"]


@dataclass(slots=True)
class Delta:
    """Rows of one input in one epoch, in order: columns, weights, hashes of keys.

    ``causes``: the place of each row among all records of the epoch, which has its order key and time.
    """

    arrays: list[pa.Array]
    weights: Ints
    hashes: Hashes
    causes: Ints

    def __len__(self) -> int:
        return len(self.weights)

    def take(self, places: Ints) -> Delta:
        """The rows at some places."""
        taken = pa.array(places)
        arrays = [array.take(taken) for array in self.arrays]
        return Delta(arrays, self.weights[places], self.hashes[places], self.causes[places])

    def only(self, places: Ints | None) -> Delta:
        """The rows at some places; None: all."""
        return self if places is None else self.take(places)


class Emission:
    """Gathers the differences that an operator emits, and sends them in the order of their causes."""

    def __init__(self, records: Incoming, type_info: RowTypeInfo, emit: Emit) -> None:
        self._records = records
        self._type_info = type_info
        self._emit = emit
        order = records.keys.argsort()
        self._ranks = None
        if order is not None:
            self._ranks = np.empty(len(order), np.int64)
            self._ranks[order] = np.arange(len(order))
            self._order = order

    def later(self, one: Ints, other: Ints) -> Ints:
        """Of two causes the later one."""
        if self._ranks is None:
            return np.maximum(one, other)
        return np.where(self._ranks[one] >= self._ranks[other], one, other)

    def ranks(self, causes: Ints) -> Ints:
        """The places of causes in the order of the epoch."""
        return causes if self._ranks is None else self._ranks[causes]

    def at_ranks(self, ranks: Ints) -> Ints:
        """The causes at places in the order of the epoch; -1 stays -1."""
        if self._ranks is None:
            return ranks
        return np.where(ranks < 0, -1, self._order[np.maximum(ranks, 0)])

    def follow(self, one: Ints, other: Ints, turn: int) -> np.ndarray:
        """Whether causes are those that the operator before this one, whose turn it is, emitted next."""
        return self._records.keys.follow(one, other, arrival_step(turn, None))

    def times(self, causes: Ints) -> Ints:
        """The event times of causes."""
        found: Ints = self._records.ts[causes]
        return found

    def last_of(self, groups: Groups, causes: Ints) -> Ints:
        """The last cause among the rows of each group; -1 if none of them has one."""
        if not len(groups.starts):
            return np.empty(0, np.int64)
        ordered = causes[groups.order]
        ranks = np.where(ordered < 0, -1, self.ranks(np.maximum(ordered, 0)))
        return self.at_ranks(np.maximum.reduceat(ranks, groups.starts))

    def send(self, arrays: Sequence[pa.Array], weights: Ints, causes: Ints) -> None:
        """Emit rows with weights; of one cause those that are taken back come first."""
        self.send_made(lambda places: [array.take(places) for array in arrays], weights, causes)

    def send_made(
        self, make: Callable[[pa.Array], list[pa.Array]], weights: Ints, causes: Ints
    ) -> None:
        """Emit rows whose columns are made in the order in which they leave, given their places."""
        if not len(weights):
            return
        taken_back = weights < 0
        if taken_back.any():
            # A number for each cause and sign: what is taken back comes first.
            numbers = self.ranks(causes) * 2 + ~taken_back
            order = in_order_of(numbers, 2 * len(self._records))
        else:
            order = in_order_of(self.ranks(causes), len(self._records))
        causes, sent = causes[order], weights[order]
        records = self._records
        keys = _taken(records.keys, causes).extended(run_ordinals(causes))
        values = Columns(self._type_info, make(pa.array(order)))
        own = None if (sent == 1).all() else sent
        self._emit(MAIN, Records(values, records.ts[causes], keys, weights=own))


def _taken(keys: OrderKeys, rows: Ints) -> OrderKeys:
    """The keys at some rows, which may be many more: a column with one value needs no look-up."""
    if len(rows) < 2 * len(keys):
        return keys.take(rows)
    columns = {}
    for name in COLUMNS:
        column = getattr(keys, name)
        same = bool((column == column[0]).all())
        columns[name] = np.full(len(rows), column[0]) if same else column[rows]
    path = keys.path if isinstance(keys.path, bytes) else keys.path[rows]
    return OrderKeys(**columns, path=path)


class TableOperator(KeyedOperator):
    """An operator of a `TableSpec`. Subclasses say what an epoch makes of a visit's rows.

    ``forms``: the sections of its state.
    """

    wants_columns = True
    gives_columns = True
    keeps_sections = True
    takes_weights = True
    page_bytes = PAGE_BYTES

    def __init__(self, info: OperatorInfo, spec: TableSpec, forms: Sequence[SectionForm]) -> None:
        super().__init__(info, None, ColumnKey(spec.keys[0]), timed=False)
        self.spec = spec
        self.form = PageForm(tuple(forms))
        self.wants_sides = len(spec.inputs) > 1
        self.expiry: Expiry | None = None
        self.limits: Ints = np.empty(0, np.int64)

    def expire(self, expiry: Expiry) -> None:
        """Let the state of keys expire."""
        self.expiry = expiry
        self.form = PageForm((*self.form.sections, expiry.form))

    def count_expired(self, number: int) -> None:
        """Count rows of state that have expired."""
        if number and self.opened is not None:
            self.opened.get_metrics_group().counter(EXPIRED).inc(number)

    @property
    def in_one_slot(self) -> bool:
        return not self.spec.keys[0]

    def run(self, records: Incoming | None, pages: PageStore, clock: Clock, emit: Emit) -> None:
        self.clock = clock
        if records is None or not len(records):
            return
        deltas = self._deltas(records)
        emission = Emission(records, self.spec.output, emit)
        if self.expiry is not None:
            self.limits = limits_of(records, clock)
        arrangement = SectionArrangement(pages, self.form, self.page_bytes)
        hashes = records.hashes
        assert hashes is not None
        for visit in arrangement.section_visits(hashes):
            mine = [delta.only(visit.within(delta.hashes)) for delta in deltas]
            if self.expiry is None:
                sections = self.visit(visit, mine, emission)
            else:
                sections = self.expiry.visit(self, visit, mine, emission)
            arrangement.put(visit, sections)

    @abstractmethod
    def visit(self, visit: SectionVisit, deltas: list[Delta], emission: Emission) -> Sequence[Rows]:
        """The rows of each section after the differences of each input; emits what has changed."""

    def note_dues(self, directory: Directory, sections: Sequence[Rows]) -> None:
        """Note when rows from a savepoint are due; without a clock none is."""

    def _deltas(self, records: Incoming) -> list[Delta]:
        parts: Sequence[Arrivals | None]
        parts = records.parts if isinstance(records, Sides) else [records]  # type: ignore[list-item]
        found, first = [], 0
        for part, type_info, allowed in zip(
            parts, self.spec.inputs, self.spec.takes_changes, strict=True
        ):
            if part is None:
                found.append(_nothing(type_info))
                continue
            assert part.hashes is not None
            weights = part.weights
            if weights is None:
                weights = np.ones(len(part), np.int64)
            elif not allowed and (weights < 0).any():
                raise self._refused()
            arrays = part.in_columns().arrays
            causes = np.arange(first, first + len(part))
            found.append(Delta(arrays, weights.astype(np.int64), part.hashes, causes))
            first += len(part)
        return found

    def _refused(self) -> PlanError:
        return PlanError(
            "CHANGES_REFUSED",
            f"operator {self.info.name!r} gets a row that is taken back, and was planned for rows that "
            "only come",
            location=self.info.location,
            hint="this is a mistake of the planner: please report it",
        )


def limits_of(records: Incoming | None, clock: Clock) -> Ints:
    """The time that is over for each record of an epoch, by its cause."""
    if records is None:
        return np.empty(0, np.int64)
    if isinstance(records, Sides):
        # Stamps are in order within an input only.
        parts = [part for part in records.parts if part is not None]
        return np.concatenate([clock.limits(part.keys.stamp) for part in parts])
    return clock.limits(records.keys.stamp)


def _nothing(type_info: RowTypeInfo) -> Delta:
    arrays = [pa.array([], kind.to_arrow()) for kind in type_info.field_types]
    none = np.empty(0, np.int64)
    return Delta(arrays, none, np.empty(0, np.uint32), none)


def consolidated(delta: Delta) -> Delta:
    """Rows with their weights added up; a row comes where its last one was. Rows of weight 0 go."""
    if len(delta) < 2:
        return delta
    groups = Groups.of_codes(row_codes(delta.arrays))
    if len(groups.starts) == len(delta):
        return delta
    totals = groups.sizes(delta.weights)
    lasts = groups.order[groups.starts + groups.lengths - 1]
    left = totals != 0
    places = lasts[left]
    order = np.argsort(places, kind="stable")
    found = delta.take(places[order])
    found.weights = totals[left][order]
    return found


def rows_equal(one: Sequence[pa.Array], other: Sequence[pa.Array]) -> np.ndarray:
    """Whether rows at the same places are equal; a missing value is equal to a missing value."""
    number = len(one[0])
    if all(pa.types.is_integer(column.type) for column in one):
        return _numbers_equal(one, other)
    codes = row_codes([pa.concat_arrays([a, b]) for a, b in zip(one, other, strict=True)])
    same: np.ndarray = codes[:number] == codes[number:]
    return same


def _numbers_equal(one: Sequence[pa.Array], other: Sequence[pa.Array]) -> np.ndarray:
    """The same for whole numbers, which are compared as they are."""
    same = np.ones(len(one[0]), np.bool_)
    for a, b in zip(one, other, strict=True):
        missing, gone = (c.is_null().to_numpy(zero_copy_only=False) for c in (a, b))
        values = a.fill_null(0).to_numpy() == b.fill_null(0).to_numpy()
        same &= values & (missing == gone)
    return same
