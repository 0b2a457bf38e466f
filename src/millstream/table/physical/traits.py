"""Properties of tables that decide how they are computed and where they may go.

They are found from the algebra, inputs first: whether rows are only added or also taken back, which
columns are a key, and whether the result depends on the order or the time of arrival.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import singledispatchmethod
from typing import Literal

from millstream.kernel.tables.timed.over import OverMode
from millstream.table.expressions.tree import Call, Expression, InputRef
from millstream.table.logical.algebra import (
    Aggregate,
    Correlate,
    Distinct,
    Filter,
    FromChangelog,
    Join,
    Limit,
    Over,
    Project,
    Relation,
    Scan,
    SetOperation,
    Sort,
    TemporalJoin,
    ToChangelog,
    Values,
    WindowTable,
)
from millstream.table.logical.intervals import interval_of
from millstream.table.physical.over import over_mode
from millstream.table.physical.window_columns import (
    distinct_windows,
    rank_windows,
    window_join,
    window_of,
)
from millstream.table.rules.conditions import is_deterministic, replaced
from millstream.table.rules.nodes import Rank

__all__ = ["OrderClass", "ScanTraits", "TableTraits", "Traits"]

OrderClass = Literal["D", "O", "P"]
"""D: the same for every schedule; O: it depends on the order of arrival; P: on the time."""
_UNTIL_OVER = "bounded by the watermark"
_ROWS_KEPT = "bounded by the rows kept"
_OVER_STATE: dict[OverMode, str] = {
    "rowtime": "bounded by the watermark and the frames",
    "arrival": "grows with the partitions",
    "updating": "grows with the rows",
}
_ARRIVAL = {"FIRST_VALUE", "LAST_VALUE", "LISTAGG", "ARRAY_AGG"}


@dataclass(frozen=True)
class ScanTraits:
    """Properties of a table in the catalog: whether rows are taken back, and the places of its key.

    ``versions``: it can be read without the old rows of updates.
    """

    updating: bool = False
    key: tuple[int, ...] = ()
    versions: bool = False


@dataclass(frozen=True)
class TableTraits:
    """The properties of a table.

    ``updating``: rows are taken back too. ``keys``: sets of columns of which no two rows have the same
    values. ``updated_by``: the operator that takes rows back. ``state``: what bounds the state of the
    operator, None if it has none. ``by_order``: the operator itself depends on the order of rows.
    """

    updating: bool = False
    keys: tuple[frozenset[int], ...] = ()
    order: OrderClass = "D"
    state: str | None = None
    updated_by: Relation | None = None
    by_order: bool = False


class Traits:
    """Finds the properties of tables. ``scan``: asks the catalog for those of a table."""

    def __init__(self, scan: Callable[[Scan], ScanTraits] = lambda _: ScanTraits()) -> None:
        self._scan = scan
        self._found: dict[int, tuple[Relation, TableTraits]] = {}

    def of(self, relation: Relation) -> TableTraits:
        """The properties of a table."""
        known = self._found.get(id(relation))
        if known is None:
            # The relation is kept: its id is not given to another one as long as this lives.
            known = self._found[id(relation)] = relation, self._of(relation)
        return known[1]

    def has_versions(self, scan: Scan) -> bool:
        """Whether a table can be read as versions: without the old rows of updates."""
        return self._scan(scan).versions

    @singledispatchmethod
    def _of(self, relation: Relation) -> TableTraits:
        inputs = [self.of(each) for each in relation.inputs()]
        return TableTraits(
            updating=any(each.updating for each in inputs),
            order=_latest(*(each.order for each in inputs)),
            updated_by=next((each.updated_by for each in inputs if each.updating), None),
        )

    @_of.register
    def _(self, relation: Scan) -> TableTraits:
        found = self._scan(relation)
        keys = (frozenset(found.key),) if found.key else ()
        return TableTraits(found.updating, keys, updated_by=relation if found.updating else None)

    @_of.register
    def _(self, relation: Values) -> TableTraits:
        return TableTraits()

    @_of.register
    def _(self, relation: Filter) -> TableTraits:
        found = self.of(relation.input)
        order = _latest(found.order, *_class_of(relation.condition))
        return TableTraits(found.updating, found.keys, order, updated_by=found.updated_by)

    @_of.register
    def _(self, relation: Project) -> TableTraits:
        found = self.of(relation.input)
        places: dict[int, int] = {}
        for at, each in enumerate(relation.expressions):
            if isinstance(each, InputRef):
                places.setdefault(each.index, at)
        keys = tuple(
            frozenset(places[column] for column in key)
            for key in found.keys
            if key <= places.keys()
        )
        order = _latest(found.order, *(c for e in relation.expressions for c in _class_of(e)))
        return TableTraits(found.updating, keys, order, updated_by=found.updated_by)

    @_of.register
    def _(self, relation: WindowTable) -> TableTraits:
        found = self.of(relation.input)
        if relation.kind == "SESSION":
            return TableTraits(False, found.keys, found.order, _UNTIL_OVER)
        width = len(relation.input.row_type.fields)
        # A row may be in several windows.
        keys = tuple(key | {width, width + 1} for key in found.keys)
        return replace(found, keys=found.keys if relation.kind == "TUMBLE" else keys, state=None)

    @_of.register
    def _(self, relation: Sort) -> TableTraits:
        return self.of(relation.input)

    @_of.register
    def _(self, relation: Correlate) -> TableTraits:
        found = self.of(relation.input)
        return TableTraits(found.updating, (), found.order, updated_by=found.updated_by)

    @_of.register
    def _(self, relation: Distinct) -> TableTraits:
        groups = distinct_windows(relation)
        if window_of(groups) is not None:
            return self.of(groups)
        found = self.of(relation.input)
        everything = frozenset(range(len(relation.row_type.fields)))
        return TableTraits(
            found.updating, (everything,), found.order, "grows with the rows", found.updated_by
        )

    @_of.register
    def _(self, relation: Aggregate) -> TableTraits:
        found = self.of(relation.input)
        calls = [getattr(each.expression, "function", "") for each in relation.calls]
        arrival: list[OrderClass] = ["O" for name in calls if name in _ARRIVAL]
        order = _latest(found.order, *arrival)
        # Of several grouping sets two may have the same keys: NULL stands for those of other sets.
        keys = () if relation.sets is not None else (frozenset(range(len(relation.keys))),)
        windows = window_of(relation)
        if windows is not None:
            updating = windows.table.emit is not None
            by = relation if updating else None
            return TableTraits(updating, keys, order, _UNTIL_OVER, by, bool(arrival))
        return TableTraits(True, keys, order, "grows with the groups", relation, bool(arrival))

    @_of.register
    def _(self, relation: Over) -> TableTraits:
        found = self.of(relation.input)
        mode = over_mode(relation, changes=found.updating)
        order: OrderClass = "D"
        if mode == "arrival":
            in_time = relation.frame is not None and relation.frame.unit == "RANGE"
            order = "P" if in_time and relation.frame.start.offset is not None else "O"  # type: ignore[union-attr]
        elif not relation.order:
            order = "O"
        by = found.updated_by or (relation if mode == "updating" else None)
        latest = _latest(found.order, order)
        return TableTraits(
            mode == "updating", found.keys, latest, _OVER_STATE[mode], by, by_order=order == "O"
        )

    @_of.register
    def _(self, relation: Rank) -> TableTraits:
        found = self.of(relation.input)
        if rank_windows(relation) is not None:
            return TableTraits(False, found.keys, found.order, _UNTIL_OVER)
        keys: tuple[frozenset[int], ...] = ()
        if relation.kind == "ROW_NUMBER":
            alone = relation.start == relation.end
            number = () if alone else (len(relation.row_type.fields) - 1,)
            keys = (frozenset((*relation.partition, *number)),)
        by = found.updated_by or relation
        order = found.order if relation.order else _latest(found.order, "O")
        return TableTraits(
            True, (*keys, *found.keys), order, _ROWS_KEPT, by, by_order=not relation.order
        )

    @_of.register
    def _(self, relation: Limit) -> TableTraits:
        found = self.of(relation.input)
        sorted_too = isinstance(relation.input, Sort)
        order = found.order if sorted_too else _latest(found.order, "O")
        return TableTraits(True, found.keys, order, _ROWS_KEPT, relation, by_order=not sorted_too)

    @_of.register
    def _(self, relation: Join) -> TableTraits:
        left, right = self.of(relation.left), self.of(relation.right)
        keys = left.keys if relation.kind in ("semi", "anti") else _joined(relation, left, right)
        order = _latest(left.order, right.order)
        if window_join(relation) is not None:
            # Pairs come when their window is over, and stay.
            return TableTraits(False, keys, order, _UNTIL_OVER)
        if not left.updating and not right.updating and interval_of(relation) is not None:
            # A row without a partner is final when it comes.
            return TableTraits(False, (), order, _UNTIL_OVER)
        outer = relation.kind in ("left", "right", "full", "anti")
        updating = outer or left.updating or right.updating
        if relation.kind == "semi":
            updating = left.updating or right.updating
        by = left.updated_by or right.updated_by
        return TableTraits(
            updating,
            keys,
            order,
            "grows with the rows of both sides",
            by or (relation if updating else None),
        )

    @_of.register
    def _(self, relation: TemporalJoin) -> TableTraits:
        left = self.of(relation.left)
        return TableTraits(left.updating, left.keys, left.order, _UNTIL_OVER, left.updated_by)

    @_of.register
    def _(self, relation: ToChangelog) -> TableTraits:
        found = self.of(relation.input)
        order = _latest(found.order, "O") if found.updating else found.order
        return TableTraits(order=order, by_order=found.updating)

    @_of.register
    def _(self, relation: FromChangelog) -> TableTraits:
        return TableTraits(True, order=self.of(relation.input).order, updated_by=relation)

    @_of.register
    def _(self, relation: SetOperation) -> TableTraits:
        left, right = self.of(relation.left), self.of(relation.right)
        by = left.updated_by or right.updated_by
        order = _latest(left.order, right.order)
        if relation.kind == "UNION" and relation.all:
            return TableTraits(left.updating or right.updating, (), order, updated_by=by)
        everything = frozenset(range(len(relation.row_type.fields)))
        takes_back = relation.kind == "EXCEPT" or left.updating or right.updating
        return TableTraits(
            takes_back,
            () if relation.all else (everything,),
            order,
            "grows with the rows",
            by or (relation if takes_back else None),
        )


def _joined(join: Join, left: TableTraits, right: TableTraits) -> tuple[frozenset[int], ...]:
    width = len(join.left.row_type.fields)
    return tuple(
        one | frozenset(width + column for column in other)
        for one in left.keys
        for other in right.keys
    )


def _class_of(expression: Expression) -> tuple[OrderClass, ...]:
    # The watermark before a row is that of its channel, the same for every schedule.
    rest = replaced(expression, lambda each: each.children()[0] if _is_watermark(each) else None)
    return () if is_deterministic(rest) else ("P",)


def _is_watermark(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.function == "CURRENT_WATERMARK"


def _latest(*classes: OrderClass) -> OrderClass:
    return max(classes, default="D", key=("D", "O", "P").index)
