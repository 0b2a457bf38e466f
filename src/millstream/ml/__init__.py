"""Machine learning in pipelines, by the names of FlinkML, flink-ml and scikit-learn.

The names of FlinkML 1.x are here; those of flink-ml are in their modules, such as
`millstream.ml.classification.knn`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millstream.ml.builder import Pipeline, PipelineModel
    from millstream.ml.feature.minmaxscaler import MinMaxScaler
    from millstream.ml.feature.standardscaler import StandardScaler
    from millstream.ml.flinkml.als import ALS
    from millstream.ml.flinkml.knn import KNNJoin as KNN
    from millstream.ml.flinkml.ml_utils import MLUtils
    from millstream.ml.flinkml.outliers import StochasticOutlierSelection
    from millstream.ml.flinkml.parameters import ParameterMap
    from millstream.ml.flinkml.polynomial import PolynomialFeatures
    from millstream.ml.flinkml.regression import MultipleLinearRegression
    from millstream.ml.flinkml.splitter import Splitter
    from millstream.ml.flinkml.svm import SVM
    from millstream.ml.labeled import LabeledVector, WeightVector
    from millstream.ml.linalg import DenseVector, SparseVector, Vectors

__all__ = [
    "ALS",
    "KNN",
    "SVM",
    "DenseVector",
    "LabeledVector",
    "MLUtils",
    "MinMaxScaler",
    "MultipleLinearRegression",
    "ParameterMap",
    "Pipeline",
    "PipelineModel",
    "PolynomialFeatures",
    "SparseVector",
    "Splitter",
    "StandardScaler",
    "StochasticOutlierSelection",
    "Vectors",
    "WeightVector",
]

_PLACES = {
    "ALS": "flinkml.als",
    "KNN": "flinkml.knn",
    "SVM": "flinkml.svm",
    "DenseVector": "linalg",
    "LabeledVector": "labeled",
    "MLUtils": "flinkml.ml_utils",
    "MinMaxScaler": "feature.minmaxscaler",
    "MultipleLinearRegression": "flinkml.regression",
    "ParameterMap": "flinkml.parameters",
    "Pipeline": "builder",
    "PipelineModel": "builder",
    "PolynomialFeatures": "flinkml.polynomial",
    "SparseVector": "linalg",
    "Splitter": "flinkml.splitter",
    "StandardScaler": "feature.standardscaler",
    "StochasticOutlierSelection": "flinkml.outliers",
    "Vectors": "linalg",
    "WeightVector": "labeled",
}


def __getattr__(name: str) -> Any:
    # Stages import numpy and each other: they are imported when a program uses them.
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # FlinkML's KNN is a join; the classifier of this name is flink-ml's.
    own_name = "KNNJoin" if name == "KNN" else name
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), own_name)


def __dir__() -> list[str]:
    return __all__
