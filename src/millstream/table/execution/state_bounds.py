"""``table.exec.unbounded-state``: whether queries whose state grows forever may run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from millstream.common.errors import PlanError
from millstream.common.time import to_millis
from millstream.table.logical.algebra import Relation
from millstream.table.physical.traits import Traits

__all__ = ["UNBOUNDED_STATE", "check_state_bounds", "unbounded"]

UNBOUNDED_STATE = "table.exec.unbounded-state"
_CHOICES = ("allow", "warn", "refuse")
_log = logging.getLogger("millstream")


def check_state_bounds(
    relation: Relation, traits: Traits, option: Callable[[str], str | None]
) -> None:
    """Warn of operators whose state has no bound, or refuse them; by default they are allowed."""
    choice = option(UNBOUNDED_STATE) or "allow"
    if choice not in _CHOICES:
        raise PlanError(
            "TABLE_OPTION",
            f"{UNBOUNDED_STATE} cannot be {choice!r}",
            hint=f"use one of {', '.join(_CHOICES)}",
        )
    if choice == "allow" or to_millis(option("table.exec.state.ttl") or 0):
        return
    found = [f"{type(each).__name__}: {state}" for each, state in unbounded(relation, traits)]
    if not found:
        return
    message = f"the state of this query has no bound ({'; '.join(found)})"
    if choice == "refuse":
        raise PlanError(
            "UNBOUNDED_STATE",
            message,
            hint="group by a window or join within a time range; or set table.exec.state.ttl; "
            f"or SET '{UNBOUNDED_STATE}' = 'allow'",
        )
    _log.warning("%s", message)


def unbounded(relation: Relation, traits: Traits) -> Iterator[tuple[Relation, str]]:
    """The operators whose state grows as long as the job runs, and with what."""
    for each in relation.walk():
        state = traits.of(each).state
        if state is not None and state.startswith("grows"):
            yield each, state
