"""The context of an evaluation: the session's time zone, the time, the number of rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

from millstream.table.expressions.java.dates import zone_of

__all__ = ["Context", "EvaluationError"]


class EvaluationError(Exception):
    """A value that a function or cast refuses; it names both."""

    explains_itself = True
    what_to_do = (
        "leave such rows out with WHERE, or give NULL for them: TRY_CAST in place of CAST, "
        "NULLIF(x, 0) as a divisor, CASE"
    )


@dataclass(frozen=True)
class Context:
    """The session's settings for one batch."""

    zone_name: str = "UTC"
    now_nanos: int = 0  # since 1970 in UTC
    length: int = 0
    # The time of PROCTIME(), where it is not that of the machine.
    processing_nanos: int | None = None
    # Generators of RAND with a seed go on from batch to batch.
    generators: dict[Any, Any] = field(default_factory=dict, compare=False)

    @property
    def zone(self) -> tzinfo:
        """The session's time zone."""
        return zone_of(self.zone_name)
