"""``table.exec.emit``: group windows that give results before their end, and after it."""

from __future__ import annotations

from typing import Any

from millstream.common.time import to_millis
from millstream.table.logical.algebra import EmitStrategy
from millstream.table.logical.context import BinderContext
from millstream.table.logical.group_windows import GroupWindow
from millstream.table.logical.typing_rules import time_kind

__all__ = ["emit_strategy", "refuse_emit"]

_PREFIX = "table.exec.emit"
EARLY, LATE = f"{_PREFIX}.early-fire", f"{_PREFIX}.late-fire"
LATENESS = f"{_PREFIX}.allow-lateness"
TTL = "table.exec.state.ttl"


def emit_strategy(context: BinderContext, window: GroupWindow, node: Any) -> EmitStrategy | None:
    """The strategy of a group window by the options of the session; None: results at its end only."""
    early, late = _enabled(context, EARLY), _enabled(context, LATE)
    in_event_time = time_kind(window.time.type) != "PROCTIME"
    if _is_batch(context) or not (early or late):
        return None
    if window.kind == "SESSION":
        message = f"sessions give results at their end only, and {_PREFIX} asks for others"
        raise context.error("EMIT_STRATEGY", message, node, _reset(early, late))
    if early:
        _delay(context, EARLY, node)
    if not late or not in_event_time:
        # In processing time no row is late.
        return EmitStrategy(early, 0) if early else None
    lateness = _lateness(context)
    if lateness <= 0:
        message = f"{LATE} needs to know for how long windows take late rows"
        hint = f"SET '{LATENESS}' = '1 min'"
        raise context.error("EMIT_STRATEGY", message, node, hint)
    delay = _delay(context, LATE, node)
    if delay > lateness:
        message = f"{LATE}.delay is {delay} ms, and windows take late rows for {lateness} ms only"
        raise context.error("EMIT_STRATEGY", message, node, f"choose a longer {LATENESS}")
    return EmitStrategy(early, lateness)


def refuse_emit(context: BinderContext, node: Any) -> None:
    """Refuse a windowing table function if windows are to give results besides at their end."""
    early, late = _enabled(context, EARLY), _enabled(context, LATE)
    if (early or late) and not _is_batch(context):
        message = (
            f"windowing table functions give final results only, and {_PREFIX} asks for others"
        )
        hint = f"{_reset(early, late)}, or group by TUMBLE(ts, ...) or HOP(ts, ...)"
        raise context.error("EMIT_STRATEGY", message, node, hint)


def _reset(early: bool, late: bool) -> str:
    names = [f"'{EARLY}.enabled'"] * early + [f"'{LATE}.enabled'"] * late
    return f"RESET {' and '.join(names)}"


def _enabled(context: BinderContext, option: str) -> bool:
    return (context.names.option(f"{option}.enabled") or "").lower() == "true"


def _lateness(context: BinderContext) -> int:
    """For how many milliseconds windows take late rows: by default as long as state lives."""
    option = next(
        (each for each in (LATENESS, TTL) if context.names.option(each) is not None), None
    )
    return 0 if option is None else to_millis(context.names.option(option), option)


def _is_batch(context: BinderContext) -> bool:
    return (context.names.option("execution.runtime-mode") or "").upper() == "BATCH"


def _delay(context: BinderContext, option: str, node: Any) -> int:
    found = context.names.option(f"{option}.delay")
    delay = -1 if found is None else to_millis(found, f"{option}.delay")
    if delay < 0:
        message = f"{option} needs a delay from 0 on"
        hint = f"SET '{option}.delay' = '0 s': results come with each epoch"
        raise context.error("EMIT_STRATEGY", message, node, hint)
    return delay
