"""Whether a program can go on from a savepoint."""

from __future__ import annotations

from typing import Any

from millstream.checkpoint.differences import describe_swaps
from millstream.checkpoint.key_types import describe_key_types
from millstream.checkpoint.savepoints import Savepoint
from millstream.common.errors import CheckpointError
from millstream.kernel.state.compatibility import keys_changed
from millstream.plan.options import JobOptions
from millstream.plan.planner import JobPlan
from millstream.plan.restoring import (
    non_restored,
    refuse_ended,
    refuse_other_layouts,
    refuse_other_offsets,
)


def refuse_unfit(
    savepoint: Savepoint | None, plan: JobPlan, manifest: dict[str, Any], options: JobOptions
) -> None:
    """Refuse a savepoint that a program cannot go on from; nothing has been written then."""
    if savepoint is None:
        return
    refuse_ended(savepoint.time["ended"])
    swaps = describe_swaps(dict(savepoint.operators), manifest["details"])
    if swaps:
        raise CheckpointError(
            "SAVEPOINT_MISMATCH",
            f"the program does not fit savepoint {savepoint.path}:\n  " + "\n  ".join(swaps),
            hint="give the operators the uids that the savepoint has for them: uid('...'); a source of "
            "something else needs another uid, in SQL the table another name",
        )
    allowed = options.allow_non_restored_state
    sources = {uid for uid, detail in manifest["details"].items() if detail["kind"] == "source"}
    stored = {table.uid for table in savepoint.tables if table.uid}
    stored |= {uid for uid in savepoint.sources if uid not in sources}
    non_restored(stored, savepoint.with_waiting_records(), plan.components, allowed)
    refuse_other_layouts(savepoint.stored.layouts, plan.components)
    offsets: dict[str, dict[str, int]] = {}
    for uid, operator in savepoint.operators.items():
        for timeline, offset in operator.get("offsets", {}).items():
            offsets.setdefault(timeline, {})[uid] = offset
    refuse_other_offsets(offsets, plan.components)
    _refuse_other_keys(savepoint, manifest)


def _refuse_other_keys(savepoint: Savepoint, manifest: dict[str, Any]) -> None:
    """Refuse keys of another type: no record would find the state of its key."""
    changes = describe_key_types(savepoint.operators, manifest["details"])
    if changes:
        raise keys_changed(changes, f"savepoint {savepoint.path}")
