"""The guarantee of a checkpoint."""

from __future__ import annotations

from enum import Enum

__all__ = ["CheckpointingMode"]


class CheckpointingMode(Enum):
    """Flink's two promises. Millstream always keeps the stronger one, exactly once."""

    EXACTLY_ONCE = 0
    """After a failure, state is as if every record had been seen once."""

    AT_LEAST_ONCE = 1
    """Flink may count a record twice after a failure. Accepted here, and not made use of."""
