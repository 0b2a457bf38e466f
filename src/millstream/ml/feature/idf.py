"""IDF: terms that occur in few documents count more."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from millstream.ml.common.param import HasInputCol, HasOutputCol
from millstream.ml.feature.elementwiseproduct import multiply_column
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch
from millstream.ml.kernel.statistics import first_of, same_length
from millstream.ml.kernel.vectors import nonzero_places, require_size
from millstream.ml.linalg import DenseVector
from millstream.ml.param import IntParam, ParamValidators
from millstream.ml.stages.base import Learner
from millstream.ml.stages.mapping import FeatureModel, Work

__all__ = ["IDF", "IDFModel"]


class _ModelParams(HasInputCol, HasOutputCol):
    pass


class IDFModel(FeatureModel, _ModelParams):
    """The model of `IDF`: the weight of each term, its number of documents, and that of all."""

    DATA: ClassVar[dict[str, str]] = {"idf": "vector", "docFreq": "array<long>", "numDocs": "long"}

    def work(self) -> Work:
        (row,) = self.rows
        return partial(
            multiply_column,
            column=self.input_col,
            made=self.output_col,
            factors=row["idf"].to_array(),
            who="IDF",
        )


class IDF(Learner, _ModelParams):
    """Weigh counts of terms by ``log((m + 1) / (d + 1))``, of m documents of which d have the term.

    A term in fewer than ``min_doc_freq`` documents counts 0. Sparse vectors stay sparse.

    Examples
    --------
    >>> counts = [[1.0, 0.0], [1.0, 2.0], [1.0, 0.0]]
    >>> IDF().fit(counts).transform(counts).round(3).tolist()
    [[0.0, 0.0], [0.0, 1.386], [0.0, 0.0]]
    """

    MODEL = IDFModel
    MIN_DOC_FREQ = IntParam(
        "min_doc_freq",
        "Minimum number of documents that a term should appear for filtering.",
        0,
        ParamValidators.gt_eq(0),
    )

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        column = self.input_col
        parts = frame.reduce(lambda batch: _documents_of(batch, column), [column])
        _, total = first_of(parts, "IDF")
        total = np.zeros_like(total)
        for _, part in parts:
            same_length(total, part)
            total = total + part
        documents = sum(count for count, _ in parts)
        weights = np.log((documents + 1.0) / (total + 1.0))
        weights[total < self.min_doc_freq] = 0.0
        return [{"idf": DenseVector(weights), "docFreq": total.tolist(), "numDocs": documents}]


def _documents_of(batch: Batch, column: str) -> tuple[int, Any]:
    """How many documents there are, and how many have each term."""
    given = batch.column(column)
    if isinstance(given, np.ndarray):
        return len(batch), (batch.finite(column) != 0).sum(axis=0).astype(np.int64)
    vectors = batch.vectors(column)
    require_size(vectors, column, vectors[0].size(), "IDF")
    found = np.zeros(vectors[0].size(), np.int64)
    for vector in vectors:
        found[nonzero_places(vector)] += 1
    return len(batch), found
