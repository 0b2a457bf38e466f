"""Differences between the program that wrote a checkpoint and the program that resumes it."""

from __future__ import annotations

from typing import Any


def describe_difference(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[str]:
    """The changes between two lists of operators, one line per change.

    Examples
    --------
    >>> describe_difference([{"uid": "a", "kind": "map"}], [{"uid": "b", "kind": "map"}])
    ["- operator 'a' (map) is gone", "+ operator 'b' (map) is new"]
    """
    before = {operator["uid"]: operator for operator in old}
    after = {operator["uid"]: operator for operator in new}
    lines = [f"- operator {uid!r} ({before[uid]['kind']}) is gone" for uid in before.keys() - after]
    lines += [f"+ operator {uid!r} ({after[uid]['kind']}) is new" for uid in after.keys() - before]
    for uid in before.keys() & after.keys():
        for name in sorted(before[uid].keys() | after[uid].keys()):
            was, now = before[uid].get(name), after[uid].get(name)
            if was != now:
                lines.append(f"~ operator {uid!r}: {name} {was} -> {now}")
    return sorted(lines, key=lambda line: line[2:])


def describe_swaps(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Operators whose place another one has now that cannot go on from their state, a line each.

    Those without a uid are known by their signature; sources, with or without one, by their positions.

    Examples
    --------
    >>> one = {"kind": "keyed", "named": False, "hosted": True, "signature": "process Count"}
    >>> describe_swaps({"keyed-process-1": one},
    ...                {"keyed-process-1": one | {"signature": "process Sum"}})
    ["~ operator 'keyed-process-1' has no uid, and where 'process Count' was, there is 'process Sum'"]
    """
    lines = []
    for uid in sorted(old.keys() & new.keys()):
        was, now = old[uid], new[uid]
        stateful = was["hosted"] or was["kind"] == "source"
        if stateful and not was["named"] and was["signature"] != now["signature"]:
            lines.append(
                f"~ operator {uid!r} has no uid, and where {was['signature']!r} was, there is "
                f"{now['signature']!r}"
            )
        elif was["kind"] == now["kind"] == "source":
            lines += _other_positions(uid, was, now)
    return lines


def _other_positions(uid: str, was: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """A line if a source cannot go on where another one stood: it would read all again."""
    pairs = ((was.get(name), now.get(name)) for name in ("positions", "source"))
    before, after = next(((a, b) for a, b in pairs if None not in (a, b)), (None, None))
    if before == after:
        return []
    return [f"~ source {uid!r} had positions in {before}, and reads {after} now"]
