"""PyFlink's place for `JobExecutionResult`."""

from __future__ import annotations

from millstream.common.job import JobExecutionResult

__all__ = ["JobExecutionResult"]
