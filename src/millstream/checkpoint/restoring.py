"""Whether a program can go on from a savepoint."""

from __future__ import annotations

from typing import Any

from millstream.checkpoint.folder import describe_swaps
from millstream.checkpoint.savepoints import Savepoint
from millstream.common.errors import CheckpointError
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
            hint="give the operators the uids that the savepoint has for them: uid('...')",
        )
    allowed = options.allow_non_restored_state
    sources = {uid for uid, detail in manifest["details"].items() if detail["kind"] == "source"}
    stored = {table.uid for table in savepoint.tables if table.uid}
    stored |= {uid for uid in savepoint.sources if uid not in sources}
    non_restored(stored, plan.components, allowed)
    layouts = {uid: o["layout"] for uid, o in savepoint.operators.items() if "layout" in o}
    refuse_other_layouts(layouts, plan.components)
    offsets: dict[str, dict[str, int]] = {}
    for uid, operator in savepoint.operators.items():
        for timeline, offset in operator.get("offsets", {}).items():
            offsets.setdefault(timeline, {})[uid] = offset
    refuse_other_offsets(offsets, plan.components)
    held = [table for table in savepoint.tables if not table.uid and table.rows]
    if held and options.channel_order != savepoint.channel_order:
        raise CheckpointError(
            "SAVEPOINT_MISMATCH",
            f"records of savepoint {savepoint.path} wait for other channels, as channel order "
            f"{savepoint.channel_order!r} wants it, and the program has {options.channel_order!r}",
            hint=f"call env.set_channel_order({savepoint.channel_order!r})",
        )
