"""Reading, writing, changing and comparing savepoints with DataFrames, apart from any job."""

from __future__ import annotations

from millstream.checkpoint.savepoints import describe
from millstream.state_processor.compare import diff, diff_state
from millstream.state_processor.reader import SavepointReader
from millstream.state_processor.writer import SavepointWriter

__all__ = ["SavepointReader", "SavepointWriter", "describe", "diff", "diff_state"]
