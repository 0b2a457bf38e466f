"""Linear regression: flink-ml's values, and scikit-learn's for exact solutions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import ElasticNet
from sklearn.linear_model import LinearRegression as Oracle

from millstream.common import Types
from millstream.ml.errors import MLError
from millstream.ml.kernel.exact import least_squares, triangle
from millstream.ml.kernel.examples import Examples
from millstream.ml.linalg import DenseVectorTypeInfo, Vectors
from millstream.ml.regression.linearregression import LinearRegression, LinearRegressionModel
from millstream.testing import in_memory
from tests.support.ml import rows_of_table, table_of

ROWS = [[2.0, 1], [3, 2], [4, 3], [2, 4], [2, 2], [4, 3], [1, 2], [5, 3]]
LABELS = [4.0, 7.0, 10.0, 10.0, 6.0, 10.0, 5.0, 11.0]


def test_tables_as_in_flinks_test(tmp_path: Path) -> None:
    names, double = ["features", "label", "weight"], Types.DOUBLE()
    rows = [(Vectors.dense(row), label, 1.0) for row, label in zip(ROWS, LABELS, strict=True)]
    with in_memory():
        t_env, table = table_of(rows, names, [DenseVectorTypeInfo(), double, double])
        model = LinearRegression().set_weight_col("weight").fit(table)
        (data,) = model.get_model_data()
        assert data.get_schema().get_field_names() == ["coefficient"]
        (row,) = rows_of_table(data)
        assert row[0].to_array() == pytest.approx([1.141, 1.829], abs=1e-3)
        model.save(str(tmp_path / "model"))
        again = LinearRegressionModel.load(t_env, str(tmp_path / "model"))
        for each in (model, again, LinearRegressionModel().set_model_data(data)):
            (output,) = each.transform(table)
            assert output.get_schema().get_field_names() == [*names, "prediction"]
            for row in rows_of_table(output):
                assert row.prediction == pytest.approx(row.label, rel=0.1)


@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.parametrize("intercept", [True, False])
def test_parts_give_what_scikit_learn_gives_of_all(parts: int, intercept: bool) -> None:
    random = np.random.default_rng(2)
    rows = random.normal(1e4, 1, (80, 3))
    labels = rows @ [1.0, -2.0, 3.0] + 5 + random.normal(size=80)
    weights = random.uniform(0.1, 2, 80)
    split = np.array_split(np.arange(80), parts)
    found, shift = least_squares(
        [triangle(Examples(rows[at], labels[at], weights[at])) for at in split], intercept
    )
    oracle = Oracle(fit_intercept=intercept).fit(rows, labels, weights)
    assert found == pytest.approx(oracle.coef_, abs=1e-6)
    assert shift == pytest.approx(oracle.intercept_, rel=1e-6)


def test_an_exact_solution_with_penalty_is_that_of_scikit_learn() -> None:
    random = np.random.default_rng(2)
    rows = random.normal(0, 1, (80, 5))
    labels = rows @ [1.0, 0, 0, -2.0, 3.0] + random.normal(size=80)
    learner = LinearRegression(solver="exact", reg=0.3, elastic_net=0.5)
    oracle = ElasticNet(alpha=0.3, l1_ratio=0.5, fit_intercept=False, tol=1e-12, max_iter=10**5)
    expected = oracle.fit(rows, labels).coef_
    found = learner.fit(rows, labels).rows[0]["coefficient"].to_array()
    assert found == pytest.approx(expected, abs=1e-6)
    assert (found == 0).sum() == (expected == 0).sum() > 0


def test_features_that_depend_on_each_other_get_the_smallest_coefficient() -> None:
    rows = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    found = LinearRegression(solver="exact").fit(rows, [2.0, 4.0, 6.0])
    assert found.rows[0]["coefficient"].to_array() == pytest.approx([1.0, 1.0])
    fewer = LinearRegression(solver="exact").fit([[3.0, 4.0]], [25.0])
    assert fewer.rows[0]["coefficient"].to_array() == pytest.approx([3.0, 4.0])


def test_scores() -> None:
    learner = LinearRegression(solver="exact")
    model = learner.fit(ROWS, LABELS)
    frame = pd.DataFrame({"features": ROWS, "label": LABELS})
    oracle = Oracle(fit_intercept=False).fit(ROWS, LABELS)
    assert model.score(frame) == pytest.approx(oracle.score(ROWS, LABELS))
    assert learner.score(ROWS, LABELS) == model.score(frame)
    assert learner.evaluate(ROWS, LABELS)[:, 1] == pytest.approx(oracle.predict(ROWS))
    with pytest.raises(MLError, match="all labels are the same"):
        model.score([[1.0, 2.0]], [1.0])


@pytest.mark.parametrize("solver", ["sgd", "exact"])
def test_bad_data_are_refused(solver: str) -> None:
    with pytest.raises(MLError, match="ML_EMPTY_INPUT"):
        LinearRegression(solver=solver).fit(np.empty((0, 2)), [])
    with pytest.raises(MLError, match="ML_NOT_FINITE"):
        LinearRegression(solver=solver).fit([[1.0]], [float("inf")])
    with pytest.raises(MLError, match="scale the features"):
        LinearRegression(max_iter=1000).fit([[1e8]], [1e8])
