"""Pipelines of FlinkML against scikit-learn, and the habits of both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression as OracleRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures as OraclePolynomial
from sklearn.preprocessing import StandardScaler as OracleScaler
from sklearn.svm import LinearSVC as OracleSVC

from millstream.common import Types
from millstream.ml import (
    SVM,
    LabeledVector,
    MinMaxScaler,
    MultipleLinearRegression,
    ParameterMap,
    Pipeline,
    PipelineModel,
    PolynomialFeatures,
    StandardScaler,
    Vectors,
)
from millstream.ml.errors import MLError
from millstream.ml.linalg import DenseVectorTypeInfo
from millstream.testing import in_memory
from tests.support.ml import rows_of_table, table_of


def rows_of(seed: int) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    rows = random.normal(3, 2, (300, 3))
    labels = rows[:, 0] ** 3 - 2 * rows[:, 1] * rows[:, 2] + random.normal(0, 1, 300)
    return rows, labels


def chain(degree: int = 3) -> Pipeline:
    features = PolynomialFeatures().set_degree(degree)
    found = StandardScaler().chain_transformer(features)
    return found.chain_predictor(MultipleLinearRegression())


@pytest.mark.parametrize("seed", range(4))
def test_the_pipeline_of_flinkml_is_that_of_scikit_learn(seed: int) -> None:
    rows, labels = rows_of(seed)
    model = chain().fit(rows, labels)
    oracle = make_pipeline(
        OracleScaler(), OraclePolynomial(3, include_bias=False), OracleRegression()
    ).fit(rows, labels)
    assert model.predict(rows) == pytest.approx(oracle.predict(rows), abs=1e-6)
    assert model.score(rows, labels) == pytest.approx(oracle.score(rows, labels), abs=1e-9)


def test_all_ways_to_write_it_and_all_kinds_of_data_are_alike(tmp_path: Path) -> None:
    rows, labels = rows_of(9)
    expected = chain().fit(rows, labels).predict(rows)
    stages = [StandardScaler(), PolynomialFeatures(degree=3), MultipleLinearRegression()]
    piped = stages[0] | stages[1] | stages[2]
    named = Pipeline([("scale", stages[0]), ("powers", stages[1]), ("fit", stages[2])])
    for each in (piped, named, Pipeline(stages), clone(piped)):
        assert each.fit(rows, labels).predict(rows) == pytest.approx(expected)
    vectors = [LabeledVector(y, Vectors.dense(x)) for x, y in zip(rows, labels, strict=True)]
    model = chain().fit(vectors)
    assert model.predict([each.vector for each in vectors]) == pytest.approx(expected)
    model.save(str(tmp_path / "model"))
    assert PipelineModel.load(str(tmp_path / "model")).predict(rows) == pytest.approx(expected)
    frame = pd.DataFrame({"input": [*rows], "label": labels})
    found = chain().fit(frame).transform(frame)["prediction"]
    assert found.to_numpy() == pytest.approx(expected)
    with in_memory():
        names, types = ["input", "label"], [DenseVectorTypeInfo(), Types.DOUBLE()]
        _, table = table_of([(each.vector, each.label) for each in vectors], names, types)
        (output,) = chain().fit(table).transform(table)
        found = [row.prediction for row in rows_of_table(output)]
    assert found == pytest.approx(expected)


def test_parameters_of_one_call_and_of_all_stages() -> None:
    rows, labels = rows_of(2)
    pipeline = chain(1)
    linear = pipeline.fit(rows, labels).score(rows, labels)
    cubic = pipeline.fit(rows, labels, ParameterMap().add(PolynomialFeatures.DEGREE, 3))
    assert cubic.score(rows, labels) > linear
    assert pipeline[1].degree == 1
    by_name = pipeline.fit(rows, labels, {"polynomialfeatures__degree": 3})
    assert by_name.score(rows, labels) == cubic.score(rows, labels)
    with pytest.raises(MLError, match="ML_UNKNOWN_PARAM"):
        pipeline.fit(rows, labels, ParameterMap().add(SVM.REGULARIZATION, 1.0))


def test_scikit_learn_takes_the_stages() -> None:
    rows, labels = rows_of(5)
    scores = cross_val_score(MultipleLinearRegression(), rows, labels, cv=4)
    expected = cross_val_score(OracleRegression(), rows, labels, cv=4)
    assert scores == pytest.approx(expected)
    scores = cross_val_score(chain(1), rows, labels, cv=4)
    assert scores == pytest.approx(expected)
    classes = np.where(labels > labels.mean(), 1.0, -1.0)
    assert cross_val_score(SVM(), rows, classes, cv=3).shape == (3,)
    grid = GridSearchCV(chain(1), {"polynomialfeatures__degree": [1, 3]}, cv=3).fit(rows, labels)
    assert grid.best_params_ == {"polynomialfeatures__degree": 3}
    copied = clone(SVM(regularization=0.5))
    assert copied.get_params()["regularization"] == 0.5
    assert copied.set_params(regularization=2.0).get_regularization() == 2.0


def test_regression_of_flinkml() -> None:
    rows, labels = rows_of(1)
    regression = MultipleLinearRegression().set_iterations(50).set_stepsize(0.3)
    regression.set_convergence_threshold(0.001).set_learning_rate_method("Default")
    regression.fit(rows, labels)
    oracle = OracleRegression().fit(rows, labels)
    weights, intercept = regression.weights_option
    assert weights.to_array() == pytest.approx(oracle.coef_, abs=1e-6)
    assert intercept == pytest.approx(oracle.intercept_, abs=1e-6)
    residual = ((labels - oracle.predict(rows)) ** 2).sum()
    assert regression.squared_residual_sum(rows, labels) == pytest.approx(residual)
    pairs = regression.evaluate(rows, labels)
    assert pairs == pytest.approx(np.column_stack([labels, oracle.predict(rows)]))


def test_svm_of_flinkml() -> None:
    random = np.random.default_rng(3)
    rows = random.normal(size=(120, 2))
    labels = np.where(rows @ [-2.0, -3.4] + random.normal(0, 1, 120) > 0, 1.0, -1.0)
    svm = SVM().set_iterations(100).set_local_iterations(100).set_stepsize(0.1).set_seed(0)
    svm.set_regularization(0.02).fit(rows, labels)
    oracle = OracleSVC(
        C=1 / (0.02 * 120), loss="hinge", fit_intercept=False, tol=1e-9, max_iter=10**6
    ).fit(rows, labels)
    assert svm.weights_option.to_array() == pytest.approx(oracle.coef_[0], abs=1e-4)
    assert svm.predict(rows).tolist() == oracle.predict(rows).tolist()
    assert svm.score(rows, labels) == oracle.score(rows, labels)
    svm.set_output_decision_function(True).fit(rows, labels)
    assert svm.predict(rows) == pytest.approx(oracle.decision_function(rows), abs=1e-3)
    with pytest.raises(MLError, match="a label is -1 or 1, got 0"):
        svm.fit(rows, labels * 0)
    with pytest.raises(MLError, match="ML_NO_COUNTERPART"):
        svm.set_blocks(10)


def test_scalers_of_flinkml() -> None:
    rows, labels = rows_of(1)
    found = StandardScaler().set_mean(10.0).set_std(2.0).fit_transform(rows)
    assert found.mean(axis=0) == pytest.approx(10.0)
    found = MinMaxScaler().set_min(-1.0).set_max(1.0).fit_transform(rows)
    assert (found.min(), found.max()) == pytest.approx((-1.0, 1.0))
    model = MinMaxScaler().chain_predictor(MultipleLinearRegression()).fit(rows, labels)
    expected = OracleRegression().fit(rows, labels).predict(rows)
    assert model.predict(rows) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("rows", "labels", "code"),
    [
        (np.empty((0, 2)), [], "ML_EMPTY_INPUT"),
        ([[1.0, float("nan")]], [1.0], "ML_NOT_FINITE"),
        ([[1.0], [1.0, 2.0]], [1.0, 2.0], "ML_VECTOR_SIZE"),
        ([[1.0]], [float("nan")], "ML_NOT_FINITE"),
    ],
)
def test_bad_data_are_refused(rows: Any, labels: Any, code: str) -> None:
    with pytest.raises(MLError, match=code):
        MultipleLinearRegression().fit(rows, labels)
