"""Naive Bayes: flink-ml's values, and scikit-learn's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.naive_bayes import CategoricalNB

from millstream.common import Types
from millstream.ml.classification.naivebayes import NaiveBayes, NaiveBayesModel
from millstream.ml.errors import MLError
from millstream.ml.kernel.bayes import bayes_of, counts_of
from millstream.ml.linalg import DenseVectorTypeInfo, Vectors
from millstream.testing import in_memory
from tests.support.ml import rows_of_table, table_of

TRAIN = [(Vectors.dense(0, 0), 11.0), (Vectors.dense(1, 0), 10.0), (Vectors.dense(1, 1), 10.0)]
EXPECTED = {
    Vectors.dense(0, 1): 11.0,
    Vectors.dense(0, 0): 11.0,
    Vectors.dense(1, 0): 10.0,
    Vectors.dense(1, 1): 10.0,
}


def test_tables_as_in_flinks_test(tmp_path: Path) -> None:
    types = [DenseVectorTypeInfo(), Types.DOUBLE()]
    with in_memory():
        t_env, train = table_of(TRAIN, ["features", "label"], types)
        _, queries = table_of([(each,) for each in EXPECTED], ["features"], types[:1])
        model = NaiveBayes().fit(train)
        model.save(str(tmp_path / "model"))
        again = NaiveBayesModel.load(t_env, str(tmp_path / "model"))
        other = NaiveBayesModel().set_model_data(*model.get_model_data())
        for each in (model, again, other):
            found = rows_of_table(each.transform(queries)[0])
            assert {row[0]: row[1] for row in found} == EXPECTED


def test_model_data_of_flinks_test() -> None:
    rows = [(Vectors.dense(1, 1), 11.0), (Vectors.dense(2, 1), 11.0)]
    with in_memory():
        _, train = table_of(rows, ["features", "label"], [DenseVectorTypeInfo(), Types.DOUBLE()])
        (data,) = NaiveBayes().fit(train).get_model_data()
        assert data.get_schema().get_field_names() == ["theta", "piArray", "labels"]
        (row,) = rows_of_table(data)
    assert row[2].to_array().tolist() == [11.0]
    assert row[1].to_array() == pytest.approx([0.0], abs=1e-12)
    theta = row[0]
    assert theta[0][0].get(1.0) == pytest.approx(-0.6931471805599453)
    assert theta[0][0].get(2.0) == pytest.approx(-0.6931471805599453)
    assert theta[0][1].get(1.0) == pytest.approx(0.0)


@pytest.mark.parametrize("parts", [1, 3])
def test_values_are_as_likely_as_in_scikit_learn(parts: int) -> None:
    random = np.random.default_rng(8)
    rows = random.integers(0, 4, (90, 3)).astype(float)
    labels = random.integers(0, 3, 90).astype(float)
    split = np.array_split(np.arange(90), parts)
    found = bayes_of([counts_of(rows[at], labels[at]) for at in split], 1.0)
    oracle = CategoricalNB(alpha=1.0).fit(rows, labels)
    for at in range(3):
        logs = [[of[at][value] for value in range(4)] for of in found.value_logs]
        assert np.array(logs) == pytest.approx(oracle.feature_log_prob_[at])
    model = NaiveBayes().fit(rows, labels)
    assert (model.predict(rows) == oracle.predict(rows)).mean() > 0.9


def test_bad_data_are_refused() -> None:
    with pytest.raises(MLError, match="ML_EMPTY_INPUT"):
        NaiveBayes().fit(np.empty((0, 2)), [])
    with pytest.raises(MLError, match="feature 0 has the value 7, which no training row has"):
        NaiveBayes().fit([[1.0], [2.0]], [0.0, 1.0]).predict([[7.0]])
    with pytest.raises(MLError, match="ML_VECTOR_SIZE"):
        NaiveBayes().fit([[1.0], [2.0]], [0.0, 1.0]).predict([[1.0, 2.0]])
