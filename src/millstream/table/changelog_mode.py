"""Which kinds of changes a stream has."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.common.types import RowKind

__all__ = ["ChangelogMode"]


@dataclass(frozen=True)
class ChangelogMode:
    """A set of row kinds.

    Examples
    --------
    >>> ChangelogMode.upsert().contains(RowKind.UPDATE_BEFORE)
    False
    """

    kinds: frozenset[RowKind]

    def contains(self, kind: RowKind) -> bool:
        """Whether rows of this kind may come."""
        return kind in self.kinds

    @staticmethod
    def insert_only() -> ChangelogMode:
        """Insertions only."""
        return ChangelogMode(frozenset({RowKind.INSERT}))

    @staticmethod
    def upsert() -> ChangelogMode:
        """Insertions, new rows of a key, and deletions."""
        return ChangelogMode(frozenset(RowKind) - {RowKind.UPDATE_BEFORE})

    @staticmethod
    def all() -> ChangelogMode:
        """All kinds."""
        return ChangelogMode(frozenset(RowKind))
