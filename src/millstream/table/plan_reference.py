"""Places of stored plans, which are not here."""

from __future__ import annotations

from millstream.table.environment.absent import PLANS, absent

__all__ = [
    "BytesContentPlanReference",
    "FilePlanReference",
    "JsonContentPlanReference",
    "PlanReference",
]

PlanReference = absent(__name__, "PlanReference", PLANS)
FilePlanReference = absent(__name__, "FilePlanReference", PLANS)
JsonContentPlanReference = absent(__name__, "JsonContentPlanReference", PLANS)
BytesContentPlanReference = absent(__name__, "BytesContentPlanReference", PLANS)
