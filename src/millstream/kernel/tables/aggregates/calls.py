"""Calls of aggregate functions in a query, and all those of one operator together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.errors import PlanError
from millstream.common.typeinfo import RowTypeInfo
from millstream.kernel.records.groups import Groups
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.aggregates.base import Accumulator, Marks, by_group
from millstream.kernel.tables.aggregates.best import Best, BestKind
from millstream.kernel.tables.aggregates.linear import Average, Count, Sum
from millstream.kernel.tables.aggregates.multisets import (
    ArrayAgg,
    BestOfAll,
    Collect,
    Distinct,
    ListAgg,
    OfRows,
)
from millstream.kernel.tables.aggregates.single import SingleValue
from millstream.kernel.tables.aggregates.spread import Spread
from millstream.kernel.tables.aggregates.user import UserAggregate

__all__ = ["AggregateCall", "Aggregates"]

_BEST: dict[str, BestKind] = {
    "MIN": "min",
    "MAX": "max",
    "FIRST_VALUE": "first",
    "LAST_VALUE": "last",
}
_SPREADS = {
    "STDDEV_POP": (False, True),
    "STDDEV_SAMP": (True, True),
    "STDDEV": (True, True),
    "VAR_POP": (False, False),
    "VAR_SAMP": (True, False),
    "VARIANCE": (True, False),
}


@dataclass(frozen=True)
class AggregateCall:
    """One aggregate of a query.

    Parameters
    ----------
    function
        The name as in SQL: COUNT, SUM, SUM0, AVG, MIN, MAX, FIRST_VALUE, LAST_VALUE, STDDEV_POP and so
        on, LISTAGG, COLLECT, ARRAY_AGG. ``"ROWS"``: ``compute`` makes the value of the list of all rows
        of arguments, as JSON_OBJECTAGG, JSON_ARRAYAGG and PERCENTILE do. ``"USER"``: ``compute`` is an
        object with PyFlink's methods, see `UserAggregate`. ``"SINGLE_VALUE"``: ``compute`` is the text
        of the query that has to have one row.
    arguments
        The places of the argument columns; of COUNT(*) there are none.
    result
        The Arrow type of the result. Sums and means of whole numbers wrap around in it.
    distinct
        Only distinct rows of arguments count.
    filter
        The place of a column of truth values: only records where it is true count.
    compute
        See ``function``. It can be pickled.
    convert
        Of ``"USER"``: makes a value of the column of what ``get_value`` returns.
    label
        What the state is found by in a savepoint; by default the place among the aggregates.
    """

    function: str
    arguments: tuple[int, ...]
    result: pa.DataType
    distinct: bool = False
    filter: int | None = None
    compute: Any = None
    convert: Callable[[Any], Any] | None = None
    label: str = ""

    def accumulator(self, types: Sequence[pa.DataType], *, changes: bool) -> Accumulator:
        """The aggregate by column. ``types``: those of the arguments; ``changes``: of records that can
        be taken back.
        """
        # Of distinct values there is one of each, and none is ever taken back.
        found = self._plain(types, changes=changes and not self.distinct)
        if self.distinct and self.function not in ("MIN", "MAX"):
            return Distinct(types, found)
        if self.distinct and changes:
            return BestOfAll(_BEST[self.function], types[0])
        return found

    def _plain(self, types: Sequence[pa.DataType], *, changes: bool) -> Accumulator:
        name, result = self.function, self.result
        if name == "COUNT":
            return Count()
        if name in ("SUM", "SUM0"):
            return Sum(types[0], result, zero=name == "SUM0")
        if name == "AVG":
            return Average(types[0], result)
        if name in _BEST:
            kind = _BEST[name]
            return BestOfAll(kind, types[0]) if changes else Best(kind, types[0])
        if name in _SPREADS:
            sample, root = _SPREADS[name]
            return Spread(types[0], result, sample=sample, root=root)
        if name == "LISTAGG":
            return ListAgg(types)
        if name == "COLLECT":
            return Collect(types[0])
        if name == "ARRAY_AGG":
            return ArrayAgg(types[0])
        if name == "ROWS":
            return OfRows(types, result, self.compute)
        if name == "SINGLE_VALUE":
            return SingleValue(types[0], self.compute or "")
        if name == "USER":
            return UserAggregate(self.compute, result, self.convert)
        raise PlanError(
            "UNKNOWN_AGGREGATE",
            f"there is no aggregate function {name!r} for operators of tables",
            hint="use COUNT, SUM, AVG, MIN, MAX, FIRST_VALUE, LAST_VALUE, LISTAGG, COLLECT or ARRAY_AGG",
        )


@dataclass(frozen=True)
class Aggregates:
    """All aggregates of an operator: their states side by side, behind the number of records.

    Windows, OVER and groups use it in the same way: `rows` makes states of records, `fold` one state of
    those of each group, `results` the columns of values.
    """

    row: RowTypeInfo
    calls: tuple[AggregateCall, ...]
    changes: bool

    @cached_property
    def accumulators(self) -> list[Accumulator]:
        kinds = [kind.to_arrow() for kind in self.row.field_types]
        return [
            call.accumulator([kinds[place] for place in call.arguments], changes=self.changes)
            for call in self.calls
        ]

    @cached_property
    def state_types(self) -> list[pa.DataType]:
        """The types of the state columns; the first is the number of records."""
        found = [pa.int64()]
        for accumulator in self.accumulators:
            found += accumulator.state_types
        return found

    @cached_property
    def state_names(self) -> list[str]:
        """Names of the state columns: they say which aggregate it is, and stay when others come."""
        found, known = ["$number"], set[str]()
        for i, (call, accumulator) in enumerate(zip(self.calls, self.accumulators, strict=True)):
            name = f"{call.label or i}.{type(accumulator).__name__.lower()}"
            name = f"{i}.{name}" if name in known else name
            known.add(name)
            found += [f"${name}.{part}" for part in range(len(accumulator.state_types))]
        return found

    @property
    def result_types(self) -> list[pa.DataType]:
        return [accumulator.result_type for accumulator in self.accumulators]

    def rows(self, arrays: Sequence[pa.Array], weights: Ints) -> list[pa.Array]:
        """The states of records, whose columns are given."""
        found = [pa.array(weights)]
        for call, accumulator in zip(self.calls, self.accumulators, strict=True):
            times = weights
            if call.filter is not None:
                verdicts = arrays[call.filter].fill_null(False).to_numpy(zero_copy_only=False)
                times = np.where(verdicts, weights, 0)
            found += accumulator.rows([arrays[place] for place in call.arguments], times)
        return found

    def fold(self, state: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        """One state for each group."""
        found = [pa.array(by_group(state[0].to_numpy(), groups))]
        for accumulator, part in self._parts(state):
            found += accumulator.fold(part, groups)
        return found

    def prefixes(self, state: Sequence[pa.Array], firsts: Ints) -> list[pa.Array]:
        """Of each row the state of all rows from the first one of its group on, whose place is given."""
        totals = np.cumsum(state[0].to_numpy())
        before = np.append(0, totals)[firsts]
        found = [pa.array(totals - before)]
        for accumulator, part in self._parts(state):
            found += accumulator.prefixes(part, firsts)
        return found

    def results(self, state: Sequence[pa.Array]) -> list[pa.Array]:
        """The values of groups, a column for each aggregate."""
        return [accumulator.results(part) for accumulator, part in self._parts(state)]

    def numbers(self, state: Sequence[pa.Array]) -> Ints:
        """How many records each group has."""
        found: Ints = state[0].to_numpy()
        return found

    def is_empty(self, state: Sequence[pa.Array]) -> Marks:
        """The groups in which nothing is left."""
        found: Marks = self.numbers(state) == 0
        for accumulator, part in self._parts(state):
            found = found & accumulator.is_empty(part)
        return found

    def nothing(self, number: int) -> list[pa.Array]:
        """The states of groups without records."""
        blank = [pa.nulls(number, kind.to_arrow()) for kind in self.row.field_types]
        state = self.rows(blank, np.zeros(number, np.int64))
        groups = Groups(np.arange(number), np.arange(number))
        return self.fold(state, groups) if number else state

    def _parts(self, state: Sequence[pa.Array]) -> list[tuple[Accumulator, Sequence[pa.Array]]]:
        found, at = [], 1
        for accumulator in self.accumulators:
            width = len(accumulator.state_types)
            found.append((accumulator, state[at : at + width]))
            at += width
        return found
