"""Changes of a table as rows: each with its kind, insertion, deletion, or a part of an update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from millstream.common.typeinfo import RowTypeInfo
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.records.groups import Groups
from millstream.kernel.records.key_columns import row_codes
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.bags import bag_form
from millstream.kernel.tables.kinds import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    kind_names,
    with_kind,
)
from millstream.kernel.tables.operator import Delta, Emission, TableOperator
from millstream.kernel.tables.rows import Rows
from millstream.kernel.tables.sections import SectionVisit
from millstream.kernel.tables.spec import OneTableSpec

__all__ = ["ChangelogSpec", "Updates"]

Updates = Literal["key", "cause", "none"]


@dataclass(frozen=True)
class ChangelogSpec(OneTableSpec):
    """Each change as a row that comes, with its kind in the last column. It keeps nothing.

    Parameters
    ----------
    row
        The type of the rows.
    key
        The columns by which rows are placed.
    updates
        ``key``: a row that goes and the next one of its key that comes are an update. ``cause``: if one
        record has caused both. ``none``: there are no updates.
    """

    row: RowTypeInfo
    key: tuple[int, ...]
    updates: Updates

    @property
    def output(self) -> RowTypeInfo:
        return with_kind(self.row)

    @property
    def placed_by(self) -> tuple[int, ...]:
        return self.key

    @property
    def layout(self) -> str:
        return "changes as rows"

    def describe(self) -> str:
        names = self.row.get_field_names()
        key = ", ".join(names[place] for place in self.key) or "the only row"
        return "changes as rows" if self.updates == "none" else f"changes as rows; updates by {key}"

    def operator(self, info: OperatorInfo, *, timed: bool, batch: bool) -> TableOperator:
        return ChangelogOperator(info, self)


class ChangelogOperator(TableOperator):
    """Finds the kinds of the changes of an epoch."""

    def __init__(self, info: OperatorInfo, spec: ChangelogSpec) -> None:
        super().__init__(info, spec, [bag_form("nothing", spec.row)])
        self.key = spec.key
        self.updates = spec.updates

    def visit(self, visit: SectionVisit, deltas: list[Delta], emission: Emission) -> Sequence[Rows]:
        (stored,), (delta,) = visit.sections, deltas
        if len(delta):
            order = np.argsort(emission.ranks(delta.causes), kind="stable")
            places = np.repeat(order, np.abs(delta.weights[order]))
            changes = delta.take(places)
            kinds = np.where(changes.weights > 0, INSERT, DELETE)
            if self.updates != "none":
                self._pair(changes, kinds, emission)
            rows = [*changes.arrays, kind_names(kinds)]
            emission.send(rows, np.ones(len(kinds), np.int64), changes.causes)
        return [stored]

    def _pair(self, changes: Delta, kinds: Ints, emission: Emission) -> None:
        """Make updates of rows that go and of the next rows of their keys, if these come."""
        codes = np.zeros(len(kinds), np.int64)
        if self.key:
            codes = row_codes([changes.arrays[place] for place in self.key])
        order = Groups.of_codes(codes).order
        one, other = order[:-1], order[1:]
        update = (codes[one] == codes[other]) & (kinds[one] == DELETE) & (kinds[other] == INSERT)
        one, other = one[update], other[update]
        if self.updates == "cause":
            causes = changes.causes
            together = emission.follow(causes[one], causes[other], self.info.turn)
            one, other = one[together], other[together]
        kinds[one], kinds[other] = UPDATE_BEFORE, UPDATE_AFTER
