"""More that an explanation shows."""

from __future__ import annotations

__all__ = ["ExplainDetail"]


class ExplainDetail:
    """More that an explanation shows."""

    ESTIMATED_COST = 0
    CHANGELOG_MODE = 1
    JSON_EXECUTION_PLAN = 2
    PLAN_ADVICE = 3
