"""PyFlink's place for `JobStatus`."""

from __future__ import annotations

from millstream.common.job import JobStatus

__all__ = ["JobStatus"]
