"""The algorithms of pyspark.ml, for data that are DataFrames."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.ml.classification import LinearSVC, LogisticRegression
from pyspark.ml.clustering import KMeans
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import VectorUDT
from pyspark.ml.recommendation import ALS
from pyspark.sql import DataFrame
from pyspark.sql.functions import array, col
from pyspark.sql.types import ArrayType

from millstream.ml.kernel.examples import Columns

__all__ = ["factors", "hinge", "k_means", "log_loss"]

Floats = NDArray[np.float64]
_STEPS: dict[str, Any] = {
    "maxIter": 200,
    "tol": 1e-8,
    "standardization": False,
    "fitIntercept": False,
}


def _of_vectors(frame: DataFrame, name: str) -> DataFrame:
    """The data with a column as the vectors of Spark: it may have arrays or numbers."""
    kind = frame.schema[name].dataType
    if isinstance(kind, VectorUDT):
        return frame
    quoted = col("`" + name.replace("`", "``") + "`")
    numbers = quoted if isinstance(kind, ArrayType) else array(quoted)
    return frame.withColumn(name, array_to_vector(numbers.cast("array<double>")))


def _columns(columns: Columns) -> dict[str, Any]:
    weight = {} if columns.weight is None else {"weightCol": columns.weight}
    return {"featuresCol": columns.features, "labelCol": columns.label, **weight}


def log_loss(frame: DataFrame, columns: Columns, reg: float, elastic_net: float) -> Floats:
    """The coefficient of a logistic regression."""
    learner = LogisticRegression(
        regParam=reg, elasticNetParam=elastic_net, family="binomial", **_STEPS, **_columns(columns)
    )
    return np.asarray(learner.fit(_of_vectors(frame, columns.features)).coefficients.toArray())


def hinge(frame: DataFrame, columns: Columns, reg: float, signs: bool = False) -> Floats:
    """The coefficient of a support vector machine. ``signs``: labels are -1 and 1, and not 0 and 1."""
    if signs:
        label = col("`" + columns.label.replace("`", "``") + "`").cast("double")
        frame = frame.withColumn(columns.label, (label + 1) / 2)
    learner = LinearSVC(regParam=reg, **_STEPS, **_columns(columns))
    return np.asarray(learner.fit(_of_vectors(frame, columns.features)).coefficients.toArray())


def k_means(
    frame: DataFrame, features: str, k: int, measure: str, max_iter: int, seed: int
) -> tuple[Floats, Floats]:
    """Centroids, and how many rows are closest to each."""
    learner = KMeans(
        featuresCol=features, k=k, distanceMeasure=measure, maxIter=max_iter, seed=seed
    )
    model = learner.fit(_of_vectors(frame, features))
    sizes = np.asarray(model.summary.clusterSizes, np.float64)
    return np.stack(model.clusterCenters()), sizes


def factors(frame: DataFrame, **params: Any) -> list[dict[int, list[float]]]:
    """The factors of users and of items, by their ids."""
    model = ALS(**params).fit(frame)
    sides = (model.userFactors, model.itemFactors)
    return [{row.id: list(row.features) for row in side.collect()} for side in sides]
