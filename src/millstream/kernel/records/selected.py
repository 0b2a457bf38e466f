"""Keys that selectors have given, on their way with the records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from typing import Any

import numpy as np

from millstream.common.pickling import dumps_apart, loads_apart
from millstream.kernel.keys.identity import identities
from millstream.kernel.records.order import Ints

_ALIKE = frozenset({str, int, bytes})
"""Equal keys of one of these classes look the same."""


class NotSelected(Enum):
    """Stands for a key: the selector has not been asked for it, or has failed."""

    UNASKED = "unasked"
    FAILED = "failed"


@dataclass(slots=True)
class Selected:
    """The keys of records, each kept once: record ``i`` has the key ``distinct[codes[i]]``.

    ``is_whole``: none has to be asked for, or has failed.
    """

    distinct: list[Any]
    codes: Ints
    is_whole: bool = True

    @staticmethod
    def of(keys: list[Any]) -> Selected:
        """The keys of records in their order.

        Examples
        --------
        >>> Selected.of(["a", "b", "a"])
        Selected(distinct=['a', 'b'], codes=array([0, 1, 0]), is_whole=True)
        >>> Selected.of([1, True]).distinct  # equal, and not the same
        [1, True]
        """
        n = len(keys)
        if not _are_alike(keys):
            return Selected(keys, np.arange(n))
        first: dict[Any, int] = {}
        # The row of each key's first record, without a step of Python for a record.
        rows = np.fromiter(map(first.setdefault, keys, range(n)), np.int64, n)
        number_of = np.empty(n, np.int64)
        number_of[list(first.values())] = np.arange(len(first))
        return Selected(list(first), number_of[rows])

    @staticmethod
    def unasked(count: int) -> Selected:
        """The keys of records whose selector has not been asked."""
        return Selected([NotSelected.UNASKED], np.zeros(count, np.int64), is_whole=False)

    def spread(self, places: Sequence[int] | None, count: int) -> Selected:
        """These keys at some places of ``count`` records; the selector has failed on the others."""
        if places is None:
            return self
        codes = np.full(count, len(self.distinct))
        codes[places] = self.codes
        return Selected([*self.distinct, NotSelected.FAILED], codes, is_whole=False)

    def take(self, rows: Ints) -> Selected:
        """The keys of some of the records."""
        return Selected(self.distinct, self.codes[rows], self.is_whole)

    def tolist(self) -> list[Any]:
        return list(map(self.distinct.__getitem__, self.codes.tolist()))

    def to_bytes(self) -> tuple[bytes, bytes]:
        """The keys that some record has, and the records' codes; no codes if no key is there twice."""
        is_used = np.zeros(len(self.distinct), np.bool_)
        is_used[self.codes] = True
        used = np.flatnonzero(is_used)
        if len(used) == len(self.codes):
            return dumps_apart(self.tolist()), b""
        codes = (np.cumsum(is_used) - 1)[self.codes].astype(np.uint32)
        return dumps_apart(list(map(self.distinct.__getitem__, used.tolist()))), codes.tobytes()

    @staticmethod
    def from_bytes(keys: bytes | memoryview, codes: bytes | memoryview) -> Selected:
        """The identities of keys that have travelled, see `identity`."""
        distinct = loads_apart(keys)
        is_whole = NotSelected not in set(map(type, distinct))
        if is_whole:
            distinct = identities(distinct)
        if not codes:
            return Selected(distinct, np.arange(len(distinct)), is_whole)
        return Selected(distinct, np.frombuffer(codes, np.uint32).astype(np.int64), is_whole)


def _are_alike(keys: list[Any]) -> bool:
    """Whether equal keys among these look the same, so that one can stand for the others."""
    kinds = set(map(type, keys))
    if kinds == {tuple}:
        return set(map(type, chain.from_iterable(keys))) <= _ALIKE
    return len(kinds) == 1 and kinds <= _ALIKE


def concat_selected(parts: Sequence[Selected | None], lengths: Sequence[int]) -> Selected | None:
    """The keys of several blocks of records; blocks without keys have to ask for theirs."""
    if all(part is None for part in parts):
        return None
    found = [
        Selected.unasked(length) if part is None else part
        for part, length in zip(parts, lengths, strict=True)
    ]
    distinct: list[Any] = []
    codes = []
    for part in found:
        codes.append(part.codes + len(distinct))
        distinct += part.distinct
    return Selected(distinct, np.concatenate(codes), all(part.is_whole for part in found))
