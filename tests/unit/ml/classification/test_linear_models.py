"""Logistic regression and support vectors: flink-ml's values, and scikit-learn's for exact solutions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression as OracleRegression
from sklearn.svm import LinearSVC as OracleSVC

from millstream.common import Types
from millstream.ml.classification.linearsvc import LinearSVC, LinearSVCModel
from millstream.ml.classification.logisticregression import (
    LogisticRegression,
    LogisticRegressionModel,
)
from millstream.ml.errors import MLError
from millstream.ml.linalg import DenseVectorTypeInfo, SparseVector, Vectors
from millstream.testing import in_memory
from tests.support.ml import rows_of_table, table_of

ROWS = [[x, 2, 3, 4] for x in (1.0, 2, 3, 4, 5, 11, 12, 13, 14, 15)]
LABELS = [0.0] * 5 + [1.0] * 5
WEIGHTS = [1.0, 2, 3, 4, 5] * 2
CASES = [
    (LogisticRegression, LogisticRegressionModel, [0.528, -0.286, -0.429, -0.572]),
    (LinearSVC, LinearSVCModel, [0.470, -0.273, -0.410, -0.546]),
]


@pytest.mark.parametrize(("learner", "model_class", "expected"), CASES)
def test_tables_as_in_flinks_tests(
    learner: Any, model_class: Any, expected: list[float], tmp_path: Path
) -> None:
    names, double = ["features", "label", "weight"], Types.DOUBLE()
    rows = [*zip(map(Vectors.dense, ROWS), LABELS, WEIGHTS, strict=True)]
    with in_memory():
        t_env, table = table_of(rows, names, [DenseVectorTypeInfo(), double, double])
        estimator = learner().set_weight_col("weight")
        estimator.save(str(tmp_path / "estimator"))
        model = learner.load(t_env, str(tmp_path / "estimator")).fit(table)
        (data,) = model.get_model_data()
        fields = ["coefficient", "modelVersion"][: 1 + (learner is LogisticRegression)]
        assert data.get_schema().get_field_names() == fields
        (row,) = rows_of_table(data)
        assert row[0].to_array() == pytest.approx(np.array(expected), abs=0.005)
        model.save(str(tmp_path / "model"))
        again = model_class.load(t_env, str(tmp_path / "model"))
        for each in (model, again, model_class().set_model_data(data)):
            (output,) = each.transform(table)
            found_names = output.get_schema().get_field_names()
            assert found_names == [*names, "prediction", "rawPrediction"]
            found = rows_of_table(output)
            assert [each[3] for each in found] == LABELS
            raw = np.array([each[4].to_array() for each in found])
            if learner is LinearSVC:
                assert ((raw[:, 0] > 0) == np.array(LABELS)).all()
            else:
                assert ((raw[:, 1] > 0.5) == np.array(LABELS)).all()
                assert raw.sum(axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize(("learner", "model_class", "expected"), CASES)
def test_all_kinds_of_data_are_alike(learner: Any, model_class: Any, expected: Any) -> None:
    arrays = learner(weight_col=None).fit(ROWS, LABELS).rows[0]["coefficient"]
    frame = pd.DataFrame({"features": ROWS, "label": LABELS})
    assert learner().fit(frame).rows[0]["coefficient"] == arrays
    model = learner().fit(pa.table({"features": ROWS, "label": LABELS}))
    assert model.rows[0]["coefficient"] == arrays
    sparse = [SparseVector(4, [0, 1, 2, 3], row) for row in ROWS]
    assert learner().fit(sparse, LABELS).rows[0]["coefficient"] == arrays
    assert model.score(ROWS, LABELS) == 1.0
    pairs = model.evaluate(frame)
    assert list(pairs.columns) == ["label", "prediction"]
    assert model.evaluate(ROWS, LABELS).tolist() == [[each, each] for each in LABELS]


def random_rows(seed: int) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(seed)
    rows = random.normal(0.5, 1, (150, 4))
    labels = rows @ [1.0, -2.0, 0.5, 0.0] + random.normal(0, 1, 150) > 0.3
    return rows, labels.astype(float), random.uniform(0.5, 2, 150)


@pytest.mark.parametrize("elastic_net", [0.0, 0.7])
@pytest.mark.parametrize("seed", range(3))
def test_exact_logistic_regression_is_that_of_scikit_learn(seed: int, elastic_net: float) -> None:
    rows, labels, weights = random_rows(seed)
    reg = 0.02
    learner = LogisticRegression(solver="exact", reg=reg, elastic_net=elastic_net)
    learner.set_weight_col("w")
    frame = pd.DataFrame({"features": [*rows], "label": labels, "w": weights})
    found = learner.fit(frame).rows[0]["coefficient"].to_array()
    oracle = OracleRegression(
        C=1 / (reg * weights.sum()),
        l1_ratio=elastic_net,
        solver="saga",
        fit_intercept=False,
        tol=1e-11,
        max_iter=100_000,
    )
    expected = oracle.fit(rows, labels, weights).coef_[0]
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_exact_support_vectors_are_those_of_scikit_learn(seed: int) -> None:
    rows, labels, weights = random_rows(seed)
    reg = 0.05
    learner = LinearSVC(solver="exact", reg=reg, weight_col="w")
    frame = pd.DataFrame({"features": [*rows], "label": labels, "w": weights})
    found = learner.fit(frame).rows[0]["coefficient"].to_array()
    oracle = OracleSVC(
        C=1 / (reg * weights.sum()), loss="hinge", fit_intercept=False, tol=1e-9, max_iter=10**6
    )
    expected = oracle.fit(rows, labels, weights).coef_[0]
    assert found == pytest.approx(expected, abs=1e-4)

    def cost(w: Any) -> Any:
        losses = np.maximum(0, 1 - (2 * labels - 1) * (rows @ w))
        return (losses * weights).sum() / weights.sum() + reg * w @ w / 2

    assert cost(found) <= cost(expected) + 1e-9


@pytest.mark.parametrize("learner", [LogisticRegression, LinearSVC])
@pytest.mark.parametrize("solver", ["sgd", "exact"])
@pytest.mark.parametrize(
    ("rows", "labels", "code"),
    [
        ([[1.0], [2.0]], [0, 2], "ML_LABEL"),
        ([[1.0], [2.0]], [0, float("nan")], "ML_NOT_FINITE"),
        ([[1.0], [float("nan")]], [0, 1], "ML_NOT_FINITE"),
        ([Vectors.dense(1), Vectors.dense(1, 2)], [0, 1], "ML_VECTOR_SIZE"),
        (np.empty((0, 2)), [], "ML_EMPTY_INPUT"),
        ([[1.0]], [0, 1], "ML_VECTOR_SIZE"),
        ([[1.0], [2.0]], ["a", "b"], "ML_NOT_NUMBERS"),
        ([[1.0], [2.0]], None, "ML_UNKNOWN_COLUMN"),
    ],
)
def test_bad_data_are_refused(learner: Any, solver: str, rows: Any, labels: Any, code: str) -> None:
    with pytest.raises(MLError, match=code):
        learner(solver=solver).fit(rows, labels)


def test_what_is_not_there_is_told() -> None:
    with pytest.raises(MLError, match="two classes"):
        LogisticRegression(multi_class="multinomial").fit(ROWS, LABELS)
    with pytest.raises(MLError, match="no elastic_net"):
        LinearSVC(solver="exact", elastic_net=0.5).fit(ROWS, LABELS)
    with pytest.raises(MLError, match="ML_DIVERGED"):
        LogisticRegression(reg=1e200, max_iter=200).fit(ROWS, LABELS)
    with pytest.raises(MLError, match="ML_WEIGHT"):
        frame = pd.DataFrame({"features": ROWS, "label": LABELS, "w": [-1.0] * 10})
        LinearSVC(weight_col="w").fit(frame)
    model = LinearSVC().fit(ROWS, LABELS)
    with pytest.raises(MLError, match="ML_VECTOR_SIZE"):
        model.predict([[1.0]])
    assert model.set_threshold(1e9).predict(ROWS).tolist() == [0.0] * 10
