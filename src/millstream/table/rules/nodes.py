"""Tables that only rules make: what a query means, said so that an operator fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from millstream.table.logical.algebra import Relation, SortKey

__all__ = ["Changes", "Rank"]


@dataclass(frozen=True)
class Changes(Relation):
    """The changes of a table as rows: its columns, and the kind of the change behind them."""

    input: Relation


@dataclass(frozen=True)
class Rank(Relation):
    """The rows of each partition whose rank is in a range, with the rank behind their columns."""

    input: Relation
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    kind: Literal["ROW_NUMBER", "RANK", "DENSE_RANK"]
    start: int
    end: int
