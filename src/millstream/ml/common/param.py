"""Parameters that several stages share, by flink-ml's names."""

from __future__ import annotations

from typing import Any

from millstream.ml.common.window import GlobalWindows
from millstream.ml.param import (
    BooleanParam,
    FloatParam,
    IntParam,
    ParamValidators,
    StringArrayParam,
    StringParam,
    WindowsParam,
    WithParams,
)

__all__ = [
    "HasBatchStrategy",
    "HasCategoricalCols",
    "HasDecayFactor",
    "HasDistanceMeasure",
    "HasElasticNet",
    "HasFeaturesCol",
    "HasFlatten",
    "HasGlobalBatchSize",
    "HasHandleInvalid",
    "HasInputCol",
    "HasInputCols",
    "HasLabelCol",
    "HasLearningRate",
    "HasMaxAllowedModelDelayMs",
    "HasMaxIter",
    "HasModelVersionCol",
    "HasMultiClass",
    "HasNumFeatures",
    "HasOutputCol",
    "HasOutputCols",
    "HasPredictionCol",
    "HasRawPredictionCol",
    "HasReg",
    "HasRelativeError",
    "HasSeed",
    "HasSolver",
    "HasTol",
    "HasWeightCol",
    "HasWindows",
]

_DISTANCES = ["euclidean", "manhattan", "cosine"]
_CLASSES = ["auto", "binomial", "multinomial"]
_not_null = ParamValidators.not_null()


class HasDistanceMeasure(WithParams[Any]):
    """The parameter ``distance_measure``."""

    DISTANCE_MEASURE = StringParam(
        "distance_measure",
        "Distance measure. Supported options: 'euclidean', 'manhattan' and 'cosine'.",
        "euclidean",
        ParamValidators.in_array(_DISTANCES),
    )


class HasFeaturesCol(WithParams[Any]):
    """The parameter ``features_col``."""

    FEATURES_COL = StringParam("features_col", "Features column name.", "features", _not_null)


class HasGlobalBatchSize(WithParams[Any]):
    """The parameter ``global_batch_size``."""

    GLOBAL_BATCH_SIZE = IntParam(
        "global_batch_size",
        "Global batch size of training algorithms.",
        32,
        ParamValidators.gt(0),
    )


class HasHandleInvalid(WithParams[Any]):
    """The parameter ``handle_invalid``: ``error``, ``skip``, which leaves such rows out, or ``keep``."""

    HANDLE_INVALID = StringParam(
        "handle_invalid",
        "Strategy to handle invalid entries.",
        "error",
        ParamValidators.in_array(["error", "skip", "keep"]),
    )


class HasInputCol(WithParams[Any]):
    """The parameter ``input_col``."""

    INPUT_COL = StringParam("input_col", "Input column name.", "input", _not_null)


class HasInputCols(WithParams[Any]):
    """The parameter ``input_cols``."""

    INPUT_COLS = StringArrayParam(
        "input_cols", "Input column names.", None, ParamValidators.non_empty_array()
    )


class HasCategoricalCols(WithParams[Any]):
    """The parameter ``categorical_cols``."""

    CATEGORICAL_COLS = StringArrayParam(
        "categorical_cols", "Categorical column names.", (), _not_null
    )


class HasNumFeatures(WithParams[Any]):
    """The parameter ``num_features``."""

    NUM_FEATURES = IntParam("num_features", "Number of features.", 262144, ParamValidators.gt(0))


class HasLabelCol(WithParams[Any]):
    """The parameter ``label_col``."""

    LABEL_COL = StringParam("label_col", "Label column name.", "label", _not_null)


class HasLearningRate(WithParams[Any]):
    """The parameter ``learning_rate``."""

    LEARNING_RATE = FloatParam(
        "learning_rate",
        "Learning rate of optimization method.",
        0.1,
        ParamValidators.gt(0),
    )


class HasMaxIter(WithParams[Any]):
    """The parameter ``max_iter``."""

    MAX_ITER = IntParam("max_iter", "Maximum number of iterations.", 20, ParamValidators.gt(0))


class HasMultiClass(WithParams[Any]):
    """The parameter ``multi_class``."""

    MULTI_CLASS = StringParam(
        "multi_class",
        "Classification type. Supported options: 'auto', 'binomial' and 'multinomial'.",
        "auto",
        ParamValidators.in_array(_CLASSES),
    )


class HasOutputCol(WithParams[Any]):
    """The parameter ``output_col``."""

    OUTPUT_COL = StringParam("output_col", "Output column name.", "output", _not_null)


class HasOutputCols(WithParams[Any]):
    """The parameter ``output_cols``."""

    OUTPUT_COLS = StringArrayParam(
        "output_cols", "Output column names.", None, ParamValidators.non_empty_array()
    )


class HasPredictionCol(WithParams[Any]):
    """The parameter ``prediction_col``."""

    PREDICTION_COL = StringParam(
        "prediction_col", "Prediction column name.", "prediction", _not_null
    )


class HasRawPredictionCol(WithParams[Any]):
    """The parameter ``raw_prediction_col``."""

    RAW_PREDICTION_COL = StringParam(
        "raw_prediction_col", "Raw prediction column name.", "rawPrediction"
    )


class HasReg(WithParams[Any]):
    """The parameter ``reg``."""

    REG = FloatParam("reg", "Regularization parameter.", 0.0, ParamValidators.gt_eq(0.0))


class HasSeed(WithParams[Any]):
    """The parameter ``seed``; None is the same seed in all runs."""

    SEED = IntParam("seed", "The random seed.", None)


class HasSolver(WithParams[Any]):
    """The parameter ``solver``, which flink-ml does not have.

    ``sgd`` makes ``max_iter`` steps by batches, as flink-ml does. ``exact`` finds where the loss is
    smallest; steps, rates and batches play no part.
    """

    SOLVER = StringParam(
        "solver",
        "How the coefficient is found: 'sgd' as in flink-ml, or 'exact'.",
        "sgd",
        ParamValidators.in_array(["sgd", "exact"]),
    )


class HasTol(WithParams[Any]):
    """The parameter ``tol``."""

    TOL = FloatParam(
        "tol",
        "Convergence tolerance for iterative algorithms.",
        1e-6,
        ParamValidators.gt_eq(0),
    )


class HasWeightCol(WithParams[Any]):
    """The parameter ``weight_col``; None: all rows weigh the same."""

    WEIGHT_COL = StringParam("weight_col", "Weight column name.", None)


class HasBatchStrategy(WithParams[Any]):
    """The parameter ``batch_strategy``."""

    BATCH_STRATEGY = StringParam(
        "batch_strategy",
        "Strategy to create mini batch from online train data.",
        "count",
        ParamValidators.in_array(["count"]),
    )


class HasDecayFactor(WithParams[Any]):
    """The parameter ``decay_factor``."""

    DECAY_FACTOR = FloatParam(
        "decay_factor",
        "The forgetfulness of the previous centroids.",
        0.0,
        ParamValidators.in_range(0, 1),
    )


class HasElasticNet(WithParams[Any]):
    """The parameter ``elastic_net``."""

    ELASTIC_NET = FloatParam(
        "elastic_net", "ElasticNet parameter.", 0.0, ParamValidators.in_range(0.0, 1.0)
    )


class HasWindows(WithParams[Any]):
    """The parameter ``windows``."""

    WINDOWS = WindowsParam(
        "windows",
        "Windowing strategy that determines how to create mini-batches from input data.",
        GlobalWindows(),
        _not_null,
    )


class HasRelativeError(WithParams[Any]):
    """The parameter ``relative_error``."""

    RELATIVE_ERROR = FloatParam(
        "relative_error",
        "The relative target precision for the approximate quantile algorithm.",
        0.001,
        ParamValidators.in_range(0.0, 1.0),
    )


class HasFlatten(WithParams[Any]):
    """The parameter ``flatten``."""

    FLATTEN = BooleanParam(
        "flatten",
        "If false, the returned table contains only a single row, otherwise, one row per feature.",
        False,
    )


class HasModelVersionCol(WithParams[Any]):
    """The parameter ``model_version_col``."""

    MODEL_VERSION_COL = StringParam(
        "model_version_col",
        "The name of the column which contains the version of the model data that the input data "
        "is predicted with. The version should be a 64-bit integer.",
        "version",
    )


class HasMaxAllowedModelDelayMs(WithParams[Any]):
    """The parameter ``max_allowed_model_delay_ms``."""

    MAX_ALLOWED_MODEL_DELAY_MS = IntParam(
        "max_allowed_model_delay_ms",
        "The maximum difference allowed between the timestamps of the input record and the model "
        "data that is used to predict that input record. This param only works when the input "
        "contains event time.",
        0,
        ParamValidators.gt_eq(0),
    )
