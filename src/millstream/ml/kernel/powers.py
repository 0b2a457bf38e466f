"""Polynomials of features."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

__all__ = ["powers"]


def powers(features: NDArray[np.float64], degree: int) -> NDArray[np.float64]:
    """All products of up to ``degree`` features, those of the most factors first, as in FlinkML.

    Examples
    --------
    >>> powers(np.array([[2.0, 3.0]]), 2).tolist()
    [[4.0, 6.0, 9.0, 2.0, 3.0]]
    """
    found = []
    for factors in range(degree, 0, -1):
        for places in combinations_with_replacement(range(features.shape[1]), factors):
            found.append(np.prod(features[:, places], axis=1))
    return np.column_stack(found) if found else np.zeros((len(features), 0))
