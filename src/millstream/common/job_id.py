"""PyFlink's place for `JobID`."""

from __future__ import annotations

from millstream.common.job import JobID

__all__ = ["JobID"]
