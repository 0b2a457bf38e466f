"""KBinsDiscretizer: numbers become the numbers of learned bins."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from millstream.ml.common.param import HasInputCol, HasOutputCol
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.bins import STRATEGIES, bin_edges, bins_of
from millstream.ml.kernel.statistics import first_of, merged_statistics, same_length, statistics_of
from millstream.ml.kernel.vectors import require_size
from millstream.ml.param import IntParam, ParamValidators, StringParam
from millstream.ml.stages.base import Learner
from millstream.ml.stages.mapping import FeatureModel, Work

__all__ = ["KBinsDiscretizer", "KBinsDiscretizerModel"]

Floats = NDArray[np.float64]


class _ModelParams(HasInputCol, HasOutputCol):
    pass


class KBinsDiscretizerModel(FeatureModel, _ModelParams):
    """The model of `KBinsDiscretizer`: the edges of the bins of each element."""

    DATA: ClassVar[dict[str, str]] = {"binEdges": "array<array<double>>"}

    def work(self) -> Work:
        (row,) = self.rows
        edges = [np.asarray(each, np.float64) for each in row["binEdges"]]
        return partial(_binned, column=self.input_col, made=self.output_col, edges=edges)


def _binned(batch: Batch, column: str, made: str, edges: Sequence[Floats]) -> Made:
    require_size(batch.column(column), column, len(edges), "KBinsDiscretizer")
    return Made({made: bins_of(batch.matrix(column), edges)})


class KBinsDiscretizer(Learner, _ModelParams):
    """Learn bins for each element of vectors, and turn elements into the numbers of their bins.

    ``strategy``: ``uniform`` bins have the same width, ``quantile`` bins as many values, and the bins
    of ``kmeans`` lie around means. The last two learn from at most ``sub_samples`` rows. A bin is
    ``[left, right)``; values outside belong to the closest bin. An element that does not vary has one
    bin, and bins without width are left out.

    Examples
    --------
    >>> bins = KBinsDiscretizer(strategy="uniform", num_bins=3).fit([[1.0], [13.0]])
    >>> bins.transform([[-1.0], [5.0], [12.0]]).ravel().tolist()
    [0.0, 1.0, 2.0]
    """

    MODEL = KBinsDiscretizerModel
    STRATEGY = StringParam(
        "strategy",
        "Strategy used to define the width of the bin.",
        "quantile",
        ParamValidators.in_array(STRATEGIES),
    )
    NUM_BINS = IntParam("num_bins", "Number of bins to produce.", 5, ParamValidators.gt_eq(2))
    SUB_SAMPLES = IntParam(
        "sub_samples",
        "Maximum number of samples used to fit the model.",
        200000,
        ParamValidators.gt_eq(2),
    )

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        column = self.input_col
        if self.strategy == "uniform":
            parts = frame.reduce(lambda batch: statistics_of(batch.finite(column)), [column])
            found = merged_statistics(parts, "KBinsDiscretizer")
            points = np.array([found.low, found.high])
        else:
            most = self.sub_samples
            samples = frame.reduce(lambda batch: _sample(batch.finite(column), most), [column])
            points = _merged(samples, most)
        edges = bin_edges(points, self.num_bins, self.strategy)
        return [{"binEdges": [each.tolist() for each in edges]}]


def _sample(rows: Floats, most: int) -> tuple[Floats, Floats]:
    """Some of the rows, and a random number of each: those with the smallest ones are the sample."""
    numbers = np.random.default_rng(crc32(rows.tobytes())).random(len(rows))
    kept = np.sort(np.argsort(numbers)[:most])
    return numbers[kept], rows[kept]


def _merged(parts: Sequence[tuple[Floats, Floats]], most: int) -> Floats:
    _, first = first_of(parts, "KBinsDiscretizer")
    for _, rows in parts:
        same_length(first[0], rows[0])
    numbers = np.concatenate([each for each, _ in parts])
    rows = np.concatenate([each for _, each in parts])
    return np.asarray(rows[np.argsort(numbers, kind="stable")[:most]])
