"""When an algorithm of scores ends: after some iterations, or when the scores hardly change."""

from __future__ import annotations

from typing import Any

from millstream.common.errors import PlanError, user_location
from millstream.graph.library.base import ENDLESS, checked_iterations

__all__ = ["limits_of"]


def limits_of(iterations: Any, threshold: Any) -> tuple[int, float | None]:
    """The most iterations, and the change at which an algorithm ends; None: it does not.

    A fraction in place of the iterations is a threshold, as in Gelly's constructors.

    Examples
    --------
    >>> limits_of(10, None)
    (10, None)
    >>> limits_of(0.001, None) == (ENDLESS, 0.001)
    True
    """
    if isinstance(iterations, float) and threshold is None:
        iterations, threshold = None, iterations
    if iterations is None and threshold is None:
        raise PlanError(
            "GRAPH_ARGUMENTS",
            "the algorithm needs a number of iterations or a threshold",
            location=user_location(),
        )
    if threshold is not None and not threshold > 0:
        raise PlanError(
            "GRAPH_ARGUMENTS",
            f"convergence_threshold must be greater than 0, got {threshold!r}",
            location=user_location(),
        )
    most = ENDLESS if iterations is None else checked_iterations("iterations", iterations)
    return most, None if threshold is None else float(threshold)
