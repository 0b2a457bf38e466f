"""More that an explanation shows."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["ExplainDetail", "detail_names"]


class ExplainDetail:
    """More that an explanation shows."""

    ESTIMATED_COST = 0
    CHANGELOG_MODE = 1
    JSON_EXECUTION_PLAN = 2
    PLAN_ADVICE = 3


def detail_names(details: Sequence[int]) -> list[str]:
    """The names of details, as EXPLAIN has them.

    Examples
    --------
    >>> detail_names([ExplainDetail.CHANGELOG_MODE])
    ['CHANGELOG_MODE']
    """
    names = {value: name for name, value in vars(ExplainDetail).items() if name.isupper()}
    return [names[detail] for detail in details]
