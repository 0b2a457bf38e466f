"""PyFlink's module of `TimeDomain`."""

from __future__ import annotations

from millstream.common.time_domain import TimeDomain

__all__ = ["TimeDomain"]
