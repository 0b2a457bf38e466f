"""k-means: flink-ml's groups, and the quality of scikit-learn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans as Oracle

from millstream.ml.clustering.kmeans import KMeans, KMeansModel
from millstream.ml.errors import MLError
from millstream.ml.linalg import DenseVectorTypeInfo, Vectors
from millstream.testing import in_memory
from tests.support.ml import rows_of_table, table_of

POINTS = [[0.0, 0.0], [0.0, 0.3], [0.3, 0.0], [9.0, 0.0], [9.0, 0.6], [9.6, 0.0]]


def groups(rows: list) -> set[frozenset]:
    found: dict[int, set] = {}
    for row in rows:
        found.setdefault(row[1], set()).add(row[0])
    return {frozenset(each) for each in found.values()}


def test_tables_as_in_flinks_test(tmp_path: Path) -> None:
    rows = [(Vectors.dense(each),) for each in POINTS]
    vectors = [row[0] for row in rows]
    with in_memory():
        t_env, table = table_of(rows, ["features"], [DenseVectorTypeInfo()])
        model = KMeans().set_max_iter(2).set_k(2).fit(table)
        (data,) = model.get_model_data()
        assert data.get_schema().get_field_names() == ["centroids", "weights"]
        (row,) = rows_of_table(data)
        centroids = sorted(each.to_array().tolist() for each in row[0])
        assert np.array(centroids) == pytest.approx(np.array([[0.1, 0.1], [9.2, 0.2]]))
        assert row[1].to_array().tolist() == [3.0, 3.0]
        model.save(str(tmp_path / "model"))
        again = KMeansModel.load(t_env, str(tmp_path / "model"))
        loaded = again.get_model_data()[0]
        assert rows_of_table(loaded)[0][0] == row[0]
        for each in (model, again, KMeansModel().set_model_data(data)):
            (output,) = each.transform(table)
            assert output.get_schema().get_field_names() == ["features", "prediction"]
            expected = {frozenset(vectors[:3]), frozenset(vectors[3:])}
            assert groups(rows_of_table(output)) == expected


def test_fewer_different_points_than_clusters() -> None:
    points = [[0.0, 0.1]] * 3
    assert len(set(KMeans(k=2).fit(points).predict(points).tolist())) == 1


@pytest.mark.parametrize("measure", ["euclidean", "manhattan", "cosine"])
def test_all_measures(measure: str) -> None:
    points = [[1.0, 0.1], [9.0, 0.2], [0.1, 1.0], [0.3, 9.0]]
    found = KMeans(k=2, distance_measure=measure, seed=3).fit(points).predict(points).tolist()
    if measure == "cosine":
        assert found[0] == found[1] != found[2] == found[3]
    assert len(set(found)) == 2


@pytest.mark.parametrize("seed", range(5))
def test_the_quality_of_scikit_learn(seed: int) -> None:
    random = np.random.default_rng(seed)
    centres = random.uniform(-20, 20, (5, 3))
    points = np.vstack([random.normal(each, 1, (60, 3)) for each in centres])

    def cost(centroids: np.ndarray) -> float:
        return ((points[:, None] - centroids[None]) ** 2).sum(axis=2).min(axis=1).sum()

    costs = []
    for attempt in range(5):
        row = KMeans(k=5, seed=attempt).fit(points).rows[0]
        costs.append(cost(np.array([each.to_array() for each in row["centroids"]])))
    oracle = Oracle(5, n_init=5, random_state=seed).fit(points)
    assert min(costs) <= oracle.inertia_ * 1.05


def test_bad_data_are_refused() -> None:
    with pytest.raises(MLError, match="ML_EMPTY_INPUT"):
        KMeans().fit(np.empty((0, 2)))
    with pytest.raises(MLError, match="ML_NOT_FINITE"):
        KMeans().fit([[1.0], [float("nan")]])
    with pytest.raises(MLError, match="ML_VECTOR_SIZE"):
        KMeans().fit([[1.0], [2.0]]).predict([[1.0, 2.0]])
    with pytest.raises(MLError, match="ML_PARAM_VALUE"):
        KMeans(k=1)
