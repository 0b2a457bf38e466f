"""Options of sessions that have an effect, to warn of names that are nearly theirs."""

from __future__ import annotations

import warnings
from difflib import get_close_matches

__all__ = ["OPTIONS", "warn_of_name"]

OPTIONS = (
    "execution.runtime-mode",
    "parallelism.default",
    "pipeline.name",
    "table.display.max-column-width",
    "table.exec.batch.late-rows",
    "table.exec.emit.allow-lateness",
    "table.exec.emit.early-fire.delay",
    "table.exec.emit.early-fire.enabled",
    "table.exec.emit.late-fire.delay",
    "table.exec.emit.late-fire.enabled",
    "table.exec.mini-batch.enabled",
    "table.exec.sink.nested-constraint-enforcer",
    "table.exec.sink.not-null-enforcer",
    "table.exec.sink.type-length-enforcer",
    "table.exec.sink.upsert-materialize",
    "table.exec.source.cdc-events-duplicate",
    "table.exec.source.idle-timeout",
    "table.exec.state.ttl",
    "table.exec.unbounded-state",
    "table.local-time-zone",
    "table.sql-dialect",
)
# Flink has hundreds of options that Millstream leaves alone; only names with a slip of a letter or two
# are not among them.
_ALIKE = 0.93


def warn_of_name(key: str) -> None:
    """Warn of an option that has no effect, and nearly the name of one that has.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     warn_of_name("table.exec.stat.ttl")
    ...     warn_of_name("table.exec.mini-batch.size")
    >>> [str(each.message) for each in caught]
    ["SET 'table.exec.stat.ttl' has no effect: did you mean 'table.exec.state.ttl'?"]
    """
    if key in OPTIONS:
        return
    for close in get_close_matches(key, OPTIONS, n=1, cutoff=_ALIKE):
        message = f"SET '{key}' has no effect: did you mean '{close}'?"
        warnings.warn(message, UserWarning, stacklevel=2)
