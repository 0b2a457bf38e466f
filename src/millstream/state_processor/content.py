"""Content of a savepoint that is being made, besides its new rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.checkpoint.savepoints import Savepoint, SavepointTable
from millstream.common.errors import CheckpointError, PlanError, user_location
from millstream.common.typeinfo import TypeInformation, Types, type_from_dict
from millstream.kernel.snapshot.export import TableName
from millstream.kernel.snapshot.job import JobTime
from millstream.spark.savepoint.take import time_to_json

_COPIED = ("operators", "states", "sources", "time")


@dataclass
class Content:
    """Operators, sources and clocks by uid, and the tables that are copied.

    ``uids``: what has become of the uids of the savepoint that it begins from; None: it is gone.
    """

    operators: dict[str, dict[str, Any]] = field(default_factory=dict)
    states: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    sources: dict[str, dict[str, Any]] = field(default_factory=dict)
    time: dict[str, Any] = field(default_factory=lambda: time_to_json(JobTime()))
    kept: dict[TableName, SavepointTable] = field(default_factory=dict)
    uids: dict[str, str | None] = field(default_factory=dict)

    @staticmethod
    def of(savepoint: Savepoint) -> Content:
        copied = json.loads(json.dumps({name: getattr(savepoint, name) for name in _COPIED}))
        kept = {(table.uid, table.state): table for table in savepoint.tables}
        return Content(**copied, kept=kept, uids={uid: uid for uid in savepoint.operators})

    @property
    def changed_uids(self) -> dict[str, str | None]:
        return {old: new for old, new in self.uids.items() if old != new}

    # -- operators -------------------------------------------------------------------------------

    def add(self, uid: str, kind: str, **details: Any) -> None:
        """Add an operator, as the manifest of a program would describe it."""
        numbers = [operator["number"] for operator in self.operators.values()]
        self.operators[uid] = {
            "number": max(numbers, default=0) + 1,
            "kind": kind,
            "name": uid,
            "named": True,
            "query": 0,
            "hosted": kind == "keyed",
            "signature": "",
            **details,
        }

    def key_type(self, uid: str, found: TypeInformation | None) -> TypeInformation | None:
        """The type of an operator's keys; that of a new one is what was found."""
        if uid not in self.operators:
            self.add(uid, "keyed", **({} if found is None else {"key_type": found.to_dict()}))
        stored = self.operators[uid].get("key_type")
        return None if stored is None else type_from_dict(stored)

    def remove(self, uid: str) -> None:
        """Leave out an operator."""
        self.require(uid)
        self.kept = {name: table for name, table in self.kept.items() if name[0] != uid}
        for part in self._parts():
            part.pop(uid, None)
        self._note(uid, None)

    def rename(self, old: str, new: str) -> None:
        """Give an operator another uid."""
        self.require(old)
        if new in self.operators:
            raise PlanError(
                "DUPLICATE_UID",
                f"the savepoint has an operator {new!r} already",
                location=user_location(),
                hint="remove_operator first, if its state is not needed",
            )
        # A source says of each of its timelines how its channels are numbered.
        offsets = [o["offsets"] for o in self.operators.values() if "offsets" in o]
        for part in [*self._parts(), *offsets]:
            if old in part:
                part[new] = part.pop(old)
        self.kept = {(renamed(uid, old, new), s): t for (uid, s), t in self.kept.items()}
        self._note(old, new)

    def _parts(self) -> list[dict[str, Any]]:
        return [self.operators, self.states, self.sources, self.time["clocks"]]

    def _note(self, old: str, new: str | None) -> None:
        self.uids = {first: new if now == old else now for first, now in self.uids.items()}

    # -- sources ---------------------------------------------------------------------------------

    def place_source(self, uid: str, positions: Mapping[int, int]) -> None:
        """Set how much of its channels a source has read."""
        known = self.sources.get(uid)
        if known is not None and known["source"] != "channels":
            raise PlanError(
                "OTHER_SOURCE",
                f"source {uid!r} reads {known['source']}, it has no positions",
                location=user_location(),
            )
        offset = {str(channel): int(position) for channel, position in positions.items()}
        self.sources[uid] = {"source": "channels", "offset": offset}
        if uid not in self.operators:
            self.add(uid, "source", source="channels")

    # -- errors ----------------------------------------------------------------------------------

    def require(self, uid: str) -> None:
        """Refuse an operator that is not there."""
        if uid not in self.operators:
            known = ", ".join(map(repr, self.operators)) or "none"
            raise CheckpointError(
                "NO_SUCH_OPERATOR",
                f"the savepoint has no operator {uid!r}; it has {known}",
                location=user_location(),
            )

    def no_such_state(self, uid: str, name: str) -> CheckpointError:
        """The error of a state that is not there."""
        self.require(uid)
        states = [state for owner, state in self.kept if owner == uid]
        return CheckpointError(
            "NO_SUCH_STATE",
            f"operator {uid!r} has no state {name!r} in the savepoint; it has "
            f"{', '.join(map(repr, states)) or 'none'}",
            location=user_location(),
        )


def refuse_other_keys(uid: str, key: TypeInformation | None, asked: TypeInformation | None) -> None:
    """All states of an operator have keys of one type."""
    if asked not in (None, key, Types.PICKLED_BYTE_ARRAY()):
        raise PlanError(
            "KEY_TYPE_CHANGED",
            f"the keys of operator {uid!r} are {key or 'of no declared type'}, not {asked}",
            location=user_location(),
            hint="all states of an operator have the same keys; remove_operator to start again",
        )


def renamed(uid: str, old: str, new: str) -> str:
    """The uid after a change."""
    return new if uid == old else uid
