"""DataSets as FlinkML had them: vectors with labels, vectors, and tuples."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.dataset import ExecutionEnvironment
from millstream.ml import (
    ALS,
    KNN,
    LabeledVector,
    MLUtils,
    MultipleLinearRegression,
    PolynomialFeatures,
    Splitter,
    StandardScaler,
    StochasticOutlierSelection,
    Vectors,
)
from millstream.testing import in_memory

POINTS = [LabeledVector(2.0 * x + 1, Vectors.dense(float(x))) for x in range(8)]


def test_vectors_with_labels(tmp_path: Path) -> None:
    with in_memory():
        env = ExecutionEnvironment.get_execution_environment()
        points = env.from_collection(POINTS)
        regression = MultipleLinearRegression()
        regression.fit(points)
        assert regression.weights_option.intercept == pytest.approx(1.0)
        queries = env.from_collection([Vectors.dense(10.0)])
        assert regression.predict(queries).collect()[0].prediction == pytest.approx(21.0)
        for row in regression.evaluate(points).collect():
            assert row.prediction == pytest.approx(row.label)
        pipeline = StandardScaler().chain_transformer(PolynomialFeatures().set_degree(2))
        pipeline = pipeline.chain_predictor(MultipleLinearRegression())
        found = pipeline.fit(points).predict(points).collect()
        assert [row.prediction for row in found] == pytest.approx([p.label for p in POINTS])
        MLUtils.write_libsvm(str(tmp_path / "file"), points)
        assert MLUtils.read_libsvm(env, str(tmp_path / "file")).collect() == POINTS
        found = StochasticOutlierSelection().set_perplexity(3).transform(points).collect()
        assert [row.label for row in found] == [p.label for p in POINTS]


def test_parts() -> None:
    with in_memory():
        env = ExecutionEnvironment.get_execution_environment()
        numbers = env.from_collection([*range(60)])
        training, testing = Splitter.train_test_split(numbers, seed=1)
        assert sorted(training.collect() + testing.collect()) == [*range(60)]
        for fold in Splitter.k_fold_split(numbers, 3):
            assert sorted(fold.training.collect() + fold.testing.collect()) == [*range(60)]


def test_tuples_and_neighbours() -> None:
    with in_memory():
        env = ExecutionEnvironment.get_execution_environment()
        ratings = env.from_collection([(1, 5, 1.0), (1, 6, 2.0), (2, 5, 3.0)])
        model = ALS(num_factors=2, **{"lambda": 0.01}).fit(ratings)
        (row,) = model.predict(env.from_collection([(1, 6)])).collect()
        assert row.prediction == pytest.approx(2.0, abs=0.1)
        vectors = env.from_collection([Vectors.dense(1.0), Vectors.dense(3.0)])
        (row,) = KNN(k=1).fit(vectors).predict(env.from_collection([Vectors.dense(2.9)])).collect()
        assert row.prediction == [Vectors.dense(3.0)]
