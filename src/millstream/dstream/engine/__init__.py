"""The engine of a streaming context: it ends batches, logs them, and processes them in order."""

from millstream.dstream.engine.batches import BatchLoop
from millstream.dstream.engine.checkpoint import Checkpoint

__all__ = ["BatchLoop", "Checkpoint"]
