"""Stored plans, which are not here."""

from __future__ import annotations

from millstream.table.environment.absent import PLANS, absent

__all__ = ["CompiledPlan"]

CompiledPlan = absent(__name__, "CompiledPlan", PLANS)
