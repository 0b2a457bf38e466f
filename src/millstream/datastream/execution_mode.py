"""How a job runs: as a stream, as a batch, or as its sources suggest."""

from __future__ import annotations

from enum import Enum

__all__ = ["RuntimeExecutionMode"]


class RuntimeExecutionMode(Enum):
    """The three ways to run one program, STREAMING unless another is set.

    Its results are the same in all of them, except that rolling aggregations give every update in a
    stream and the last value of each key in a batch.
    """

    STREAMING = 0
    """Epoch by epoch, with checkpoints."""

    BATCH = 1
    """All input at once, one epoch, no checkpoints. Every source must be bounded."""

    AUTOMATIC = 2
    """Batch if every source is bounded, else streaming."""
