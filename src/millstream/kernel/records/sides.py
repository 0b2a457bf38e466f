"""The records of both inputs of an operator, as columns, each side in its order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from millstream.kernel.keys.hashing import Hashes
from millstream.kernel.records.buffers import Records, weights_of
from millstream.kernel.records.order import Ints, OrderKeys, concat
from millstream.kernel.records.selected import Selected
from millstream.kernel.records.sorted_input import Arrivals

__all__ = ["Sides"]


@dataclass
class Sides:
    """The records of an epoch by input; None stands for an input that has none.

    What concerns all records has those of the first input first.
    """

    parts: Sequence[Arrivals | None]

    @cached_property
    def _there(self) -> list[Arrivals]:
        return [part for part in self.parts if part is not None]

    def __len__(self) -> int:
        return sum(map(len, self._there))

    @cached_property
    def ts(self) -> Ints:
        return np.concatenate([part.ts for part in self._there])

    @cached_property
    def keys(self) -> OrderKeys:
        return concat([part.keys for part in self._there])

    @cached_property
    def hashes(self) -> Hashes | None:
        found = [part.hashes for part in self._there if part.hashes is not None]
        return np.concatenate(found) if len(found) == len(self._there) else None

    @cached_property
    def weights(self) -> Ints | None:
        return weights_of(self._there)  # type: ignore[arg-type]

    def values_at(self, rows: Ints) -> list[Any]:
        raise NotImplementedError("records of two inputs have no common type")

    def take(self, rows: Ints) -> Records:
        raise NotImplementedError("records of two inputs have no common type")

    def selected_at(self, rows: Ints) -> Selected | None:
        return None
