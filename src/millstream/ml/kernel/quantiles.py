"""Quantiles of columns, from summaries of parts of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["QuantileSummary", "quantiles_of", "summary_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class QuantileSummary:
    """Values in order, each of which stands for some values up to it."""

    values: Floats
    weights: Floats


def summary_of(values: Floats, error: float) -> QuantileSummary:
    """A summary of some values without NaN: all of them, or 1 / error of them.

    A quantile of what summaries are merged to is at a rank that is wrong by at most ``error * n``.

    Examples
    --------
    >>> summary_of(np.array([3.0, 1.0, 2.0]), 0.1).values.tolist()
    [1.0, 2.0, 3.0]
    """
    ordered = np.sort(values[~np.isnan(values)])
    kept = int(np.ceil(1 / error)) if error > 0 else len(ordered)
    if len(ordered) <= 2 * kept:
        return QuantileSummary(ordered, np.ones(len(ordered)))
    ends = np.linspace(0, len(ordered), kept + 1).astype(np.int64)[1:]
    return QuantileSummary(ordered[ends - 1], np.diff(ends, prepend=0).astype(np.float64))


def quantiles_of(parts: Sequence[QuantileSummary], chosen: Sequence[float]) -> Floats:
    """The values at some quantiles: at the rank ``ceil(q * n)``; NaN without any values.

    Examples
    --------
    >>> quantiles_of([summary_of(np.arange(9.0), 0.001)], [0.25, 0.5, 0.75]).tolist()
    [2.0, 4.0, 6.0]
    """
    values = np.concatenate([each.values for each in parts]) if parts else np.empty(0)
    if not len(values):
        return np.full(len(chosen), np.nan)
    order = np.argsort(values, kind="stable")
    ranks = np.cumsum(np.concatenate([each.weights for each in parts])[order])
    wanted = np.maximum(np.ceil(np.asarray(chosen) * ranks[-1]), 1)
    places = np.searchsorted(ranks, wanted - 1e-9, "left")
    return np.asarray(values[order][np.minimum(places, len(values) - 1)])
