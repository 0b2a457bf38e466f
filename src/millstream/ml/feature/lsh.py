"""MinHashLSH: hashes that lead to similar sets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from millstream.ml.common.param import HasInputCol, HasOutputCol
from millstream.ml.errors import ml_type_error, ml_value_error
from millstream.ml.frames.base import Frame, Step
from millstream.ml.frames.local import ArrayFrame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.java_random import java_hash
from millstream.ml.kernel.minhash import PRIME, coefficients, jaccard_distance, min_hashes
from millstream.ml.kernel.statistics import first_of
from millstream.ml.kernel.vectors import require_size
from millstream.ml.linalg import Vector
from millstream.ml.param import IntParam, ParamValidators
from millstream.ml.stages.base import Learner
from millstream.ml.stages.entry import frame_of
from millstream.ml.stages.mapping import FeatureModel, Work

__all__ = ["MinHashLSH", "MinHashLSHModel"]


class _ModelParams(HasInputCol, HasOutputCol):
    pass


class MinHashLSHModel(FeatureModel, _ModelParams):
    """The model of `MinHashLSH`: the numbers of its hash functions.

    Examples
    --------
    >>> import pandas as pd
    >>> from millstream.ml.linalg import Vectors
    >>> frame = pd.DataFrame({"id": [0, 1], "input": [Vectors.dense(1, 1, 0), Vectors.dense(0, 1, 1)]})
    >>> model = MinHashLSH(num_hash_tables=9).fit(frame)
    >>> found = model.approx_nearest_neighbors(frame, Vectors.dense(1, 1, 0), 1)
    >>> found[["id", "distCol"]].values.tolist()
    [[0.0, 0.0]]
    """

    DATA: ClassVar[dict[str, str]] = {
        "numHashTables": "int",
        "numHashFunctionsPerTable": "int",
        "randCoefficientA": "array<long>",
        "randCoefficientB": "array<long>",
    }
    KIND: ClassVar[str] = "array<vector>"

    def _numbers(self) -> tuple[int, Sequence[int], Sequence[int]]:
        (row,) = self.rows
        return row["numHashTables"], row["randCoefficientA"], row["randCoefficientB"]

    def work(self) -> Work:
        return partial(
            _hashed, column=self.input_col, made=self.output_col, numbers=self._numbers()
        )

    def _with_hashes(self, frame: Frame) -> Frame:
        return frame if self.output_col in frame.names else self.applied(frame)

    def approx_nearest_neighbors(
        self, dataset: Any, key: Vector, k: int, dist_col: str = "distCol"
    ) -> Any:
        """At most k rows that are closest to a vector, of those that share a bucket with it.

        The result has the columns of the data, the hashes, and the distance.
        """
        if not isinstance(key, Vector):
            message = f"key {key!r:.60} must be an instance of Vector"
            raise ml_type_error("ML_PARAM_TYPE", message, "make it with Vectors.dense or sparse")
        frame = self._with_hashes(frame_of(dataset, [self.input_col]))
        function = partial(
            _distances,
            vectors=self.input_col,
            hashes=self.output_col,
            made=dist_col,
            key=key,
            buckets=min_hashes(key, *self._numbers()),
        )
        close = frame.transformed(Step(function, {dist_col: "double"}, drops=True))
        return close.smallest(dist_col, k).given(close.names)

    def approx_similarity_join(
        self,
        dataset_a: Any,
        dataset_b: Any,
        threshold: float,
        id_col: str,
        dist_col: str = "distCol",
    ) -> Any:
        """The pairs of rows of two data sets that share a bucket and are at most so far apart.

        The result has the columns ``datasetA.id``, ``datasetB.id`` and the distance. Ids, vectors and
        hashes of both data sets are collected to find the pairs.
        """
        frames = [frame_of(each, [self.input_col]) for each in (dataset_a, dataset_b)]
        if any(isinstance(each, ArrayFrame) for each in frames):
            message = "arrays have no column of ids to join them"
            raise ml_type_error("ML_INPUT_KIND", message, "give tables or frames")
        names = [id_col, self.input_col, self.output_col]
        left, right = (self._with_hashes(each).batch(names) for each in frames)
        pairs = _pairs(left, right, names)
        distances = ((a, b, jaccard_distance(x, y)) for a, x, b, y in pairs)
        kept = [each for each in distances if each[2] <= threshold]
        kind = frames[0].kind(id_col)
        kinds = {"datasetA.id": kind, "datasetB.id": kind, dist_col: "double"}
        columns = [list(each) for each in zip(*kept, strict=True)] or [[], [], []]
        batch = Batch(dict(zip(kinds, columns, strict=True)), len(kept))
        return frames[0].made(batch, kinds).given(list(kinds))


def _hashed(batch: Batch, column: str, made: str, numbers: tuple[Any, Any, Any]) -> Made:
    return Made({made: [min_hashes(each, *numbers) for each in batch.vectors(column)]})


def _distances(
    batch: Batch, vectors: str, hashes: str, made: str, key: Vector, buckets: Sequence[Vector]
) -> Made:
    same = [
        any(own == other for own, other in zip(row, buckets, strict=True))
        for row in batch.column(hashes)
    ]
    found = [
        jaccard_distance(key, each) if hit else np.nan
        for each, hit in zip(batch.vectors(vectors), same, strict=True)
    ]
    return Made({made: np.array(found)}, np.array(same, np.bool_))


def _pairs(left: Batch, right: Batch, names: Sequence[str]) -> list[tuple[Any, Any, Any, Any]]:
    """Ids and vectors of the rows that share a bucket, each pair of ids once."""
    buckets: dict[Any, list[int]] = defaultdict(list)
    ids, vectors, hashes = (right.values(names[0]), right.vectors(names[1]), right.column(names[2]))
    for at, row in enumerate(hashes):
        for table, bucket in enumerate(row):
            buckets[table, bucket.to_array().tobytes()].append(at)
    found: dict[tuple[Any, Any], tuple[Any, Any, Any, Any]] = {}
    own = zip(left.values(names[0]), left.vectors(names[1]), left.column(names[2]), strict=True)
    for key, vector, row in own:
        for table, bucket in enumerate(row):
            for at in buckets.get((table, bucket.to_array().tobytes()), ()):
                found.setdefault((key, ids[at]), (key, vector, ids[at], vectors[at]))
    return list(found.values())


class MinHashLSH(Learner, _ModelParams):
    """Hash vectors as sets of the places that are not 0, so that similar sets have equal hashes.

    Two vectors share a bucket if all ``num_hash_functions_per_table`` hashes of any of the
    ``num_hash_tables`` tables are equal. The distance is Jaccard's. Hashes are those of flink-ml for the
    same ``seed``. The model finds neighbours and joins: see `MinHashLSHModel`.

    Examples
    --------
    >>> model = MinHashLSH(seed=2022).fit([[1.0, 0.0, 1.0]])
    >>> model.transform([[1.0, 0.0, 1.0]]).tolist()
    [[DenseVector([173046954.0])]]
    """

    MODEL = MinHashLSHModel
    SEED = IntParam(
        "seed", "The random seed.", java_hash("org.apache.flink.ml.feature.lsh.MinHashLSH")
    )
    NUM_HASH_TABLES = IntParam(
        "num_hash_tables", "Number of hash tables.", 1, ParamValidators.gt_eq(1)
    )
    NUM_HASH_FUNCTIONS_PER_TABLE = IntParam(
        "num_hash_functions_per_table",
        "Number of hash functions per table.",
        1,
        ParamValidators.gt_eq(1),
    )

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        column = self.input_col

        def size_of(batch: Batch) -> int:
            size = batch.vectors(column)[0].size()
            require_size(batch.column(column), column, size, "MinHashLSH")
            return size

        size = first_of(frame.reduce(size_of, [column]), "MinHashLSH")
        if size > PRIME:
            message = f"the input vector dimension {size} exceeds the threshold {PRIME}"
            raise ml_value_error("ML_VECTOR_SIZE", message)
        tables, functions = self.num_hash_tables, self.num_hash_functions_per_table
        first, second = coefficients(tables * functions, self.seed)
        return [
            {
                "numHashTables": tables,
                "numHashFunctionsPerTable": functions,
                "randCoefficientA": first,
                "randCoefficientB": second,
            }
        ]
