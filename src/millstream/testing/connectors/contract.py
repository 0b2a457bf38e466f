"""The error of the kit."""

from __future__ import annotations

from millstream.common.errors import MillstreamError

__all__ = ["ContractError"]


class ContractError(MillstreamError, AssertionError):
    """A connector does not keep its contract; the message says in which scenario, and what is wrong."""
