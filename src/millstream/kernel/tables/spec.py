"""Descriptions of stateful operators of tables: what the plan knows of one, and how it is built."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from millstream.common.typeinfo import RowTypeInfo, TupleTypeInfo
from millstream.kernel.calls.context import OperatorInfo

if TYPE_CHECKING:
    from millstream.kernel.tables.operator import TableOperator

__all__ = ["ColumnKey", "OneTableSpec", "TableSpec", "TwoTableSpec"]


@dataclass(frozen=True)
class ColumnKey:
    """A key selector: the tuple of the columns at some places. A missing value is a part of a key.

    Examples
    --------
    >>> ColumnKey((0, 2))(("a", 1, None))
    ('a', None)
    """

    key_fields: tuple[int, ...]
    in_columns = True

    def __call__(self, row: Any) -> tuple[Any, ...]:
        return tuple(row[place] for place in self.key_fields)


class TableSpec(ABC):
    """A stateful operator of tables, without its state. It can be pickled and compared.

    Rows are columns of the types in ``inputs``, with a weight: 1 for a row that comes, -1 for one that
    is taken back. An operator is a function from differences to differences.
    """

    @property
    @abstractmethod
    def inputs(self) -> tuple[RowTypeInfo, ...]:
        """The type of the rows of each input: one input, or two."""

    @property
    @abstractmethod
    def output(self) -> RowTypeInfo:
        """The type of the rows that come out."""

    @property
    @abstractmethod
    def keys(self) -> tuple[tuple[int, ...], ...]:
        """Of each input the places of the columns that are the key; none: all rows are in one slot."""

    @property
    @abstractmethod
    def layout(self) -> str:
        """The name of the way state is kept. A name that was once stored never changes its meaning."""

    @property
    def takes_changes(self) -> tuple[bool, ...]:
        """Of each input, whether rows may be taken back."""
        return tuple(True for _ in self.inputs)

    @property
    def placed_by(self) -> tuple[int, ...] | None:
        """The columns of the output that are the key, in its order; None if they are not all there.

        An operator behind it with this key needs no exchange.
        """
        return None

    @property
    def delay(self) -> int:
        """How many milliseconds the times of rows that come out may be behind the clock.

        Clocks of the operators behind it go so much later, so that these rows are not late there.
        """
        return 0

    @property
    def key_type(self) -> TupleTypeInfo | None:
        """The type of the key, None if there is none."""
        places, kinds = self.keys[0], self.inputs[0].field_types
        return TupleTypeInfo([kinds[place] for place in places]) if places else None

    @abstractmethod
    def describe(self) -> str:
        """One line for the plan: what it does, by which key, and what it keeps."""

    @abstractmethod
    def operator(self, info: OperatorInfo, *, timed: bool, batch: bool) -> TableOperator:
        """The operator that runs in a stage.

        ``timed``: all its inputs have event times. ``batch``: there is one epoch only.
        """


class OneTableSpec(TableSpec):
    """An operator over the rows of one table, which are placed by some of their columns."""

    row: RowTypeInfo
    key: tuple[int, ...]
    changes: bool = True

    @property
    def inputs(self) -> tuple[RowTypeInfo, ...]:
        return (self.row,)

    @property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        return (self.key,)

    @property
    def takes_changes(self) -> tuple[bool, ...]:
        return (self.changes,)


class TwoTableSpec(TableSpec):
    """An operator over the rows of two tables; rows of equal keys come together."""

    left: RowTypeInfo
    right: RowTypeInfo
    left_key: tuple[int, ...]
    right_key: tuple[int, ...]
    changes: tuple[bool, bool] = (True, True)

    @property
    def inputs(self) -> tuple[RowTypeInfo, ...]:
        return self.left, self.right

    @property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        return self.left_key, self.right_key

    @property
    def takes_changes(self) -> tuple[bool, ...]:
        return self.changes
