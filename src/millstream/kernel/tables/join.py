"""Regular joins: inner, outer, semi and anti, of two tables that both may change.

Both sides keep their rows with weights. What an epoch changes is the difference of two products: a pair
of rows counts as often as the product of their weights, before and after. Sides that keep rows without a
partner know for each row how many partners it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.common.typeinfo import RowTypeInfo
from millstream.common.typesystem.arrow_info import ArrowTypeInfo
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.keys.hashing import Hashes
from millstream.kernel.records.groups import Groups, in_order_of
from millstream.kernel.records.key_columns import row_codes
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.bags import places_of
from millstream.kernel.tables.functions import ColumnFunction, true_pairs
from millstream.kernel.tables.operator import (
    Delta,
    Emission,
    TableOperator,
    consolidated,
)
from millstream.kernel.tables.rows import Rows, concat_rows
from millstream.kernel.tables.sections import SectionForm, SectionVisit
from millstream.kernel.tables.spec import TableSpec

__all__ = ["JoinKind", "JoinOperator", "JoinSpec"]

JoinKind = Literal["inner", "left", "right", "full", "semi", "anti"]
Marks = npt.NDArray[np.bool_]
CHUNK = 1 << 18
"""A condition is asked about so many pairs at once."""


@dataclass(frozen=True)
class JoinSpec(TableSpec):
    """A join by equal columns, and perhaps a condition on the pairs.

    Parameters
    ----------
    left, right
        The types of the rows of both sides.
    kind
        ``semi`` and ``anti`` give the rows of the left side that have a partner, or have none.
    left_key, right_key
        The places of the columns that have to be equal, which are of the same Arrow types. None: each
        row meets each row of the other side, in one slot.
    names
        The names of the output's columns: those of the left side, then of the right side; of semi and
        anti joins those of the left side only.
    condition
        A function of the pairs' columns, first left, then right, that says which pairs count; where it
        is NULL they do not.
    null_safe
        Of each column of the key whether NULL equals NULL (IS NOT DISTINCT FROM); by default it does
        not, and a row with NULL in its key has no partner.
    changes
        Of each side whether rows may be taken back.
    """

    left: RowTypeInfo
    right: RowTypeInfo
    kind: JoinKind
    left_key: tuple[int, ...]
    right_key: tuple[int, ...]
    names: tuple[str, ...]
    condition: ColumnFunction | None = None
    null_safe: tuple[bool, ...] = ()
    changes: tuple[bool, bool] = (True, True)

    @property
    def inputs(self) -> tuple[RowTypeInfo, ...]:
        return (self.left, self.right)

    @property
    def output(self) -> RowTypeInfo:
        kinds = list(self.left.field_types)
        if self.kind not in ("semi", "anti"):
            kinds += self.right.field_types
        return RowTypeInfo(kinds, self.names)

    @property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        return (self.left_key, self.right_key)

    @property
    def takes_changes(self) -> tuple[bool, ...]:
        return self.changes

    @property
    def placed_by(self) -> tuple[int, ...] | None:
        if self.kind in ("right", "full") or not self.left_key:
            return None  # the left columns of a row without a partner are NULL
        return self.left_key

    @property
    def layout(self) -> str:
        return "both sides of a join"

    def describe(self) -> str:
        left, right = self.left.get_field_names(), self.right.get_field_names()
        pairs = zip(self.left_key, self.right_key, strict=True)
        equal = " and ".join(f"{left[one]} = {right[other]}" for one, other in pairs)
        more = "" if self.condition is None else " and a condition"
        return f"{self.kind} join on {equal or 'no columns'}{more}; it keeps the rows of both sides"

    def operator(self, info: OperatorInfo, *, timed: bool, batch: bool) -> TableOperator:
        return JoinOperator(info, self)


@dataclass
class _Side:
    """The rows of a side with those that have come: weights before and after, and partners before.

    ``causes``: of a row whose weight has changed the record that has changed it, else -1. ``kept``: the
    number of stored rows, which come first.
    """

    arrays: list[pa.Array]
    hashes: Hashes
    before: Ints
    after: Ints
    partners: Ints
    causes: Ints
    codes: Ints
    kept: int

    @property
    def touched(self) -> Marks:
        return self.causes >= 0

    @property
    def only_comes(self) -> bool:
        """Whether all rows are there once, and those that have changed were not there before."""
        return bool((self.after == 1).all() and not (self.before[self.touched] != 0).any())


@dataclass
class _Pairs:
    """Rows of the left side and their partners, at least one of which has changed."""

    left: Ints
    right: Ints

    def take(self, places: Ints | Marks) -> _Pairs:
        return _Pairs(self.left[places], self.right[places])


class JoinOperator(TableOperator):
    """Keeps the rows of both sides with their weights and, where needed, numbers of partners."""

    page_bytes = 1 << 18

    def __init__(self, info: OperatorInfo, spec: JoinSpec) -> None:
        number = ArrowTypeInfo(pa.int64())
        self.counts = (
            spec.kind in ("left", "full", "semi", "anti"),
            spec.kind in ("right", "full"),
        )
        forms = []
        for name, row, counts in zip(("left", "right"), spec.inputs, self.counts, strict=True):
            more = ["$weight", "$partners"] if counts else ["$weight"]
            kinds = [*row.field_types, *[number] * len(more)]
            forms.append(SectionForm(name, RowTypeInfo(kinds, [*row.get_field_names(), *more])))
        super().__init__(info, spec, forms)
        self.join = spec
        self.null_safe = spec.null_safe or (False,) * len(spec.left_key)

    def visit(self, visit: SectionVisit, deltas: list[Delta], emission: Emission) -> Sequence[Rows]:
        left, right = self._sides(visit, deltas)
        pairs = self._pairs(left, right)
        if self.join.condition is not None and len(pairs.left):
            pairs = pairs.take(self._meets(left, right, pairs))
        if self.join.kind not in ("semi", "anti"):
            self._emit_pairs(left, right, pairs, emission)
        partners = [left.partners, right.partners]
        if self.counts[0]:
            partners[0] = self._emit_lonely(left, right, pairs.left, pairs.right, emission, 0)
        if self.counts[1]:
            partners[1] = self._emit_lonely(right, left, pairs.right, pairs.left, emission, 1)
        sides = zip((left, right), partners, self.counts, strict=True)
        return [_rows(side, number, counts) for side, number, counts in sides]

    # -- sides -----------------------------------------------------------------------------------

    def _sides(self, visit: SectionVisit, deltas: list[Delta]) -> tuple[_Side, _Side]:
        found = []
        for i, (stored, delta) in enumerate(zip(visit.sections, deltas, strict=True)):
            if self.join.changes[i]:
                delta = consolidated(delta)
            if self.join.kind in ("inner", "semi") or not self.counts[i]:
                delta = self._with_key(delta, i)
            found.append((stored, delta, self._side(stored, delta, i)))
        left, right = (side for _, _, side in found)
        if self.join.left_key:
            keys = [
                pa.concat_arrays([left.arrays[one], right.arrays[other]])
                for one, other in zip(self.join.left_key, self.join.right_key, strict=True)
            ]
            codes = row_codes(keys)
            for i, key in enumerate(keys):
                if not self.null_safe[i] and key.null_count:
                    codes = np.where(key.is_null().to_numpy(zero_copy_only=False), -1, codes)
            left.codes, right.codes = codes[: len(left.before)], codes[len(left.before) :]
        return left, right

    def _with_key(self, delta: Delta, side: int) -> Delta:
        """The rows that can have a partner: the others would be kept for nothing."""
        gone = np.zeros(len(delta), np.bool_)
        for place, safe in zip(self.join.keys[side], self.null_safe, strict=True):
            if not safe and delta.arrays[place].null_count:
                gone |= delta.arrays[place].is_null().to_numpy(zero_copy_only=False)
        return delta.take(np.flatnonzero(~gone)) if gone.any() else delta

    def _side(self, stored: Rows, delta: Delta, number: int) -> _Side:
        width = len(self.join.inputs[number].field_types)
        own, kept = stored.arrays[:width], len(stored)
        weights = stored.arrays[width].to_numpy()
        partners = np.zeros(kept, np.int64)
        if self.counts[number]:
            partners = stored.arrays[width + 1].to_numpy()
        target = np.full(len(delta), -1)
        if self.join.changes[number] and kept and len(delta):
            target = places_of(own, delta.arrays, stored.hashes, delta.hashes)
        new = np.flatnonzero(target < 0)
        known = np.flatnonzero(target >= 0)
        added = delta if len(new) == len(delta) else delta.take(new)
        rows = Rows(own, stored.hashes)
        if len(new):
            rows = concat_rows([rows, Rows(added.arrays, added.hashes)])
        blank = np.zeros(len(new), np.int64)
        after = np.concatenate([weights, added.weights])
        after[target[known]] += delta.weights[known]
        causes = np.concatenate([np.full(kept, -1), added.causes])
        causes[target[known]] = delta.causes[known]
        return _Side(
            rows.arrays,
            rows.hashes,
            np.concatenate([weights, blank]),
            after,
            np.concatenate([partners, blank]),
            causes,
            np.zeros(len(rows), np.int64),
            kept,
        )

    # -- pairs -----------------------------------------------------------------------------------

    def _pairs(self, left: _Side, right: _Side) -> _Pairs:
        """The pairs with equal keys of which a row has changed, each once."""
        matched = [side.codes >= 0 for side in (left, right)]
        one = _matches(
            np.flatnonzero(left.touched & matched[0]), left.codes, np.flatnonzero(matched[1]), right
        )
        other = _matches(
            np.flatnonzero(right.touched & matched[1]),
            right.codes,
            np.flatnonzero(~left.touched & matched[0]),
            left,
        )
        return _Pairs(
            np.concatenate([one[0], other[1]]),
            np.concatenate([one[1], other[0]]),
        )

    def _meets(self, left: _Side, right: _Side, pairs: _Pairs) -> Marks:
        """Whether the condition holds for each pair."""
        assert self.join.condition is not None
        found = []
        for start in range(0, len(pairs.left), CHUNK):
            ones, others = (side[start : start + CHUNK] for side in (pairs.left, pairs.right))
            sides = (left.arrays, ones), (right.arrays, others)
            found.append(true_pairs(self.join.condition, *sides))
        return np.concatenate(found)

    def _emit_pairs(self, left: _Side, right: _Side, pairs: _Pairs, emission: Emission) -> None:
        if not len(pairs.left):
            return
        if left.only_comes and right.only_comes:
            # One row of each pair has just come, once, to a row that is there once.
            weights = np.ones(len(pairs.left), np.int64)
        else:
            weights = left.after[pairs.left] * right.after[pairs.right]
            weights -= left.before[pairs.left] * right.before[pairs.right]
            some = np.flatnonzero(weights)
            if len(some) < len(weights):
                pairs, weights = pairs.take(some), weights[some]
        causes = _later(emission, left.causes[pairs.left], right.causes[pairs.right])

        def columns(places: pa.Array) -> list[pa.Array]:
            ones = pa.array(pairs.left).take(places)
            others = pa.array(pairs.right).take(places)
            return [a.take(ones) for a in left.arrays] + [a.take(others) for a in right.arrays]

        emission.send_made(columns, weights, causes)

    def _emit_lonely(
        self,
        side: _Side,
        other: _Side,
        mine: Ints,
        theirs: Ints,
        emission: Emission,
        number: int,
    ) -> Ints:
        """Emit the rows of a side that have lost, or found, all partners; gives numbers of partners."""
        change = other.after[theirs] - other.before[theirs]
        # A row that has come has met all its partners just now.
        change = np.where(mine >= side.kept, other.after[theirs], change)
        partners = side.partners.copy()
        np.add.at(partners, mine, change)
        causes = side.causes.copy()
        known = np.flatnonzero((other.causes[theirs] >= 0) & ~side.touched[mine])
        if len(known):
            groups = Groups.by([mine[known]])
            causes[mine[known][groups.firsts]] = emission.last_of(
                groups, other.causes[theirs[known]]
            )
        wanted = (partners > 0, side.partners > 0)
        if self.join.kind != "semi":
            wanted = (~wanted[0], ~wanted[1])
        weights = np.where(wanted[0], side.after, 0) - np.where(wanted[1], side.before, 0)
        some = np.flatnonzero((weights != 0) & (causes >= 0))
        if len(some):
            rows = pa.array(some)
            arrays = [array.take(rows) for array in side.arrays]
            if self.join.kind not in ("semi", "anti"):
                blank = [pa.nulls(len(some), array.type) for array in other.arrays]
                arrays = [*arrays, *blank] if number == 0 else [*blank, *arrays]
            emission.send(arrays, weights[some], causes[some])
        return partners


def _matches(ones: Ints, codes: Ints, others: Ints, side: _Side) -> tuple[Ints, Ints]:
    """The pairs of some rows with the rows of a side that have the same number."""
    if not len(ones) or not len(others):
        none = np.empty(0, np.int64)
        return none, none
    wanted = codes[ones]
    of_others = side.codes[others]
    present = np.zeros(int(max(wanted.max(), of_others.max())) + 1, np.bool_)
    present[wanted] = True
    others = others[present[of_others]]
    of_others = side.codes[others]
    others = others[in_order_of(of_others, len(present))]
    lengths = np.bincount(of_others, minlength=len(present))
    counts = lengths[wanted]
    starts = (np.cumsum(lengths) - lengths)[wanted]
    total = int(counts.sum())
    ends = np.cumsum(counts)
    inside = np.arange(total) - np.repeat(ends - counts, counts)
    return np.repeat(ones, counts), others[np.repeat(starts, counts) + inside]


def _later(emission: Emission, one: Ints, other: Ints) -> Ints:
    """Of two causes the later one; -1 is none."""
    both = (one >= 0) & (other >= 0)
    found = np.maximum(one, other)
    if both.any():
        found[both] = emission.later(one[both], other[both])
    return found


def _rows(side: _Side, partners: Ints, counts: bool) -> Rows:
    """The rows of a side as they are kept."""
    arrays = [*side.arrays, pa.array(side.after)]
    if counts:
        arrays.append(pa.array(partners))
    rows = Rows(arrays, side.hashes)
    left = side.after != 0
    return rows if left.all() else rows.take(np.flatnonzero(left))
