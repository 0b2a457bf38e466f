"""Nearest neighbours: flink-ml's values, and scikit-learn's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from millstream.common import Types
from millstream.ml.classification.knn import KNN, KNNModel
from millstream.ml.errors import MLError
from millstream.ml.linalg import DenseVectorTypeInfo, Vectors
from millstream.testing import in_memory
from tests.support.ml import rows_of_table, table_of

TRAIN = [
    ([2.0, 3.0], 1.0), ([2.1, 3.1], 1.0), ([200.1, 300.1], 2.0), ([200.2, 300.2], 2.0),
    ([200.3, 300.3], 2.0), ([200.4, 300.4], 2.0), ([200.4, 300.4], 2.0), ([200.6, 300.6], 2.0),
    ([2.1, 3.1], 1.0), ([2.1, 3.1], 1.0), ([2.1, 3.1], 1.0), ([2.1, 3.1], 1.0), ([2.3, 3.2], 1.0),
    ([2.3, 3.2], 1.0), ([2.8, 3.2], 3.0), ([300.0, 3.2], 4.0), ([2.2, 3.2], 1.0), ([2.4, 3.2], 5.0),
    ([2.5, 3.2], 5.0), ([2.5, 3.2], 5.0), ([2.1, 3.1], 1.0),
]  # fmt: skip
QUERIES = [([4.0, 4.1], 5.0), ([300.0, 42.0], 2.0)]


def test_tables_as_in_flinks_test(tmp_path: Path) -> None:
    names, types = ["features", "label"], [DenseVectorTypeInfo(), Types.DOUBLE()]
    with in_memory():
        t_env, train = table_of([(Vectors.dense(x), y) for x, y in TRAIN], names, types)
        _, queries = table_of([(Vectors.dense(x), y) for x, y in QUERIES], names, types)
        model = KNN().fit(train)
        (data,) = model.get_model_data()
        fields = ["packedFeatures", "featureNormSquares", "labels"]
        assert data.get_schema().get_field_names() == fields
        (row,) = rows_of_table(data)
        assert row[0].num_rows() == 2
        assert row[0].num_cols() == row[1].size() == row[2].size() == len(TRAIN)
        learner = KNN(features_col="x", label_col="y", prediction_col="z")
        (output,) = learner.fit(train.alias("x, y")).transform(queries.alias("x", "y"))
        assert output.get_schema().get_field_names() == ["x", "y", "z"]
        model.save(str(tmp_path / "model"))
        again = KNNModel.load(t_env, str(tmp_path / "model"))
        for each in (model, again, KNNModel().set_model_data(data)):
            found = rows_of_table(each.transform(queries)[0])
            assert [row.prediction for row in found] == [row.label for row in found]
        (output,) = KNN().fit(queries).transform(queries)
        assert [row.prediction for row in rows_of_table(output)] == [5.0, 2.0]


def test_like_scikit_learn() -> None:
    random = np.random.default_rng(3)
    rows, labels = random.normal(size=(200, 3)), random.integers(0, 3, 200).astype(float)
    queries = random.normal(size=(80, 3))
    for k in (1, 7):
        oracle = KNeighborsClassifier(k).fit(rows, labels)
        found = KNN(k=k).fit(rows, labels).predict(queries)
        # Where votes are equal the nearest of them decides here, and the smallest label there.
        clear = [sorted(each)[-1] > sorted(each)[-2] for each in oracle.predict_proba(queries)]
        assert sum(clear) > 40
        assert found[clear].tolist() == oracle.predict(queries)[clear].tolist()


def test_bad_data_are_refused() -> None:
    with pytest.raises(MLError, match="ML_EMPTY_INPUT"):
        KNN().fit(np.empty((0, 2)), [])
    with pytest.raises(MLError, match="ML_NOT_FINITE"):
        KNN().fit([[1.0], [2.0]], [0.0, float("nan")])
    model = KNN().fit([[1.0, 2.0]], [0.0])
    with pytest.raises(MLError, match="ML_VECTOR_SIZE"):
        model.predict([[1.0]])
    with pytest.raises(MLError, match="ML_NOT_FINITE"):
        model.predict([[1.0, float("inf")]])
    with pytest.raises(MLError, match="ML_PARAM_VALUE"):
        KNN(k=0)
