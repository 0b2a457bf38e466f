"""Online k-means, with the values of flink-ml's tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from millstream.common import Row
from millstream.common.errors import MillstreamError
from millstream.datastream import StreamExecutionEnvironment
from millstream.ml.clustering.kmeans import KMeans
from millstream.ml.linalg import DenseVector, DenseVectorTypeInfo, Vectors
from millstream.ml.online.kmeans import OnlineKMeans, OnlineKMeansModel
from millstream.testing import in_memory, run_local
from tests.support.ml import rows_of_table, table_of
from tests.support.online import at_times

TRAIN_1 = [(10.0, 0.0), (10.0, 0.3), (10.3, 0.0), (-10.0, 0.0), (-10.0, 0.6), (-10.6, 0.0)]
TRAIN_2 = [(10, 100), (10, 100.3), (10.3, 100), (-10, -100), (-10, -100.6), (-10.6, -100)]
QUERIES = [(10.0, 10.0), (10.3, 10.0), (10.0, 10.3), (-10.0, 10.0), (-10.3, 10.0), (-10.0, 10.3)]
FITTED = Row(
    centroids=[Vectors.dense(10.1, 0.1), Vectors.dense(-10.2, 0.2)], weights=Vectors.dense(3.0, 3.0)
)


def vectors(values: Any) -> list[DenseVector]:
    return [Vectors.dense(*value) for value in values]


def training(env: StreamExecutionEnvironment) -> Any:
    first = [(value, 1000) for value in vectors(TRAIN_1)]
    return at_times(env, [*first, *((value, 3000) for value in vectors(TRAIN_2))], "train")


def test_parameters_of_flink_ml() -> None:
    found = OnlineKMeans().get_params()
    assert found["k"] == 2
    assert found["features_col"] == "features"
    assert found["prediction_col"] == "prediction"
    assert found["batch_strategy"] == "count"
    assert found["distance_measure"] == "euclidean"
    assert found["global_batch_size"] == 32
    assert found["decay_factor"] == 0.0


@pytest.mark.parametrize("initial", ["random", "row", "stream"])
def test_groups_of_flink_ml(initial: str) -> None:
    """After the first batch points fall apart by their first element, after the second one not."""

    def program(env: StreamExecutionEnvironment) -> Any:
        estimator = OnlineKMeans(global_batch_size=6, seed=0)
        if initial == "random":
            estimator.set_random_centroids(2, 0.0)
        else:
            given = FITTED if initial == "row" else env.from_collection([FITTED])
            estimator.set_initial_model_data(given)
        model = estimator.fit(training(env))
        queries = [(query, t) for t in (2000, 4000) for query in vectors(QUERIES)]
        return model.transform(at_times(env, queries, "queries"))

    found = [each[1] for each in run_local(program, channel_order="watermark").values()]
    assert len(set(found[:3])) == len(set(found[3:6])) == 1
    assert found[0] != found[3]
    assert len(set(found[6:])) == 1


def test_decay_of_flink_ml() -> None:
    def program(env: StreamExecutionEnvironment) -> Any:
        estimator = OnlineKMeans(global_batch_size=6, decay_factor=0.5)
        stream = env.from_collection(vectors(TRAIN_2))
        return estimator.set_initial_model_data(FITTED).fit(stream).get_model_data()[0]

    initial, after = run_local(program).values()
    assert initial == FITTED
    assert after.weights == Vectors.dense(4.5, 4.5)
    assert np.allclose(after.centroids[0].to_array(), [10.1, 200.3 / 3])
    assert np.allclose(after.centroids[1].to_array(), [-10.2, -200.2 / 3])


def test_versions_can_be_seen() -> None:
    """The initial model is version 0, so nothing waits."""

    def program(env: StreamExecutionEnvironment) -> Any:
        stream = env.from_collection(vectors(TRAIN_1))
        estimator = OnlineKMeans(global_batch_size=2, model_version_col="v")
        return estimator.set_initial_model_data(FITTED).fit(stream).transform(stream)

    # The first record waits for the version that it brings about.
    assert [each[2] for each in run_local(program).values()] == [0, 0, 1, 1, 2, 2]


def test_what_is_wrong_is_told() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([[1.0]])
    cases: list[tuple[str, Any]] = [
        ("ML_NO_INITIAL_MODEL", lambda: OnlineKMeans().fit(stream)),
        (
            "ML_MODEL_DATA",
            lambda: OnlineKMeans(k=3).set_initial_model_data(FITTED).fit(stream),
        ),
        ("ML_PARAM_VALUE", lambda: OnlineKMeans(decay_factor=1.5)),
        ("ML_PARAM_VALUE", lambda: OnlineKMeans(k=1)),
        ("ML_MODEL_DATA", lambda: OnlineKMeansModel().set_model_data(Row(x=1))),
    ]
    for code, call in cases:
        with pytest.raises(MillstreamError) as caught:
            call()
        assert caught.value.code == code


def test_saved_and_read(tmp_path: Path) -> None:
    OnlineKMeansModel(distance_measure="manhattan").set_model_data(FITTED).save(str(tmp_path / "m"))
    read = OnlineKMeansModel.load(str(tmp_path / "m"))
    assert read.transform(np.array(QUERIES)).tolist() == [0, 0, 0, 1, 1, 1]
    assert read.distance_measure == "manhattan"


@pytest.mark.parametrize("on_table", [False, True])
def test_it_begins_with_a_fitted_model(on_table: bool) -> None:
    rows = [(Vectors.dense(x),) for x in (0.0, 1.0, 8.0, 9.0)]
    with in_memory():
        _, table = table_of(rows, ["features"], [DenseVectorTypeInfo()])
        given = table if on_table else [row[0] for row in rows]
        fitted = KMeans(k=2, seed=1).fit(given)
        for model in (fitted, fitted.get_model_data(), *fitted.get_model_data()):
            learner = OnlineKMeans(k=2, global_batch_size=4, decay_factor=1.0)
            learner.set_initial_model_data(model)
            versions = rows_of_table(learner.fit(table).get_model_data()[0])
            assert [row.weights.to_array().tolist() for row in versions] == [[2, 2], [4, 4]]
            found = [sorted(each.get(0) for each in row.centroids) for row in versions]
            assert found == [[0.5, 8.5], [0.5, 8.5]]
