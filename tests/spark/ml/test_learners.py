"""Learners on DataFrames: the same as in memory, and clear errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pyspark.ml.linalg import Vectors as SparkVectors
from pyspark.sql import DataFrame, SparkSession

from millstream.ml import (
    ALS,
    SVM,
    MLUtils,
    MultipleLinearRegression,
    PolynomialFeatures,
    Splitter,
    StandardScaler,
)
from millstream.ml.classification.knn import KNN
from millstream.ml.classification.linearsvc import LinearSVC
from millstream.ml.classification.logisticregression import LogisticRegression
from millstream.ml.classification.naivebayes import NaiveBayes
from millstream.ml.clustering.agglomerativeclustering import AgglomerativeClustering
from millstream.ml.clustering.kmeans import KMeans
from millstream.ml.errors import MLError
from millstream.ml.evaluation.binaryclassification import BinaryClassificationEvaluator
from millstream.ml.recommendation.als import Als
from millstream.ml.recommendation.swing import Swing
from millstream.ml.regression.linearregression import LinearRegression
from millstream.ml.stats.anovatest import ANOVATest
from millstream.ml.stats.chisqtest import ChiSqTest
from millstream.ml.stats.fvaluetest import FValueTest

pytestmark = pytest.mark.spark

RANDOM = np.random.default_rng(11)
ROWS = RANDOM.normal(0.5, 1, (90, 3))
CLASSES = (ROWS @ [1.0, -2.0, 0.5] + RANDOM.normal(0, 1, 90) > 0).astype(float)
NUMBERS = ROWS @ [1.0, -2.0, 0.5] + 3 + RANDOM.normal(0, 0.1, 90)
VALUES = RANDOM.integers(0, 3, (90, 3)).astype(float)


def frame_of(spark: SparkSession, rows: Any, labels: Any, vectors: bool = True) -> DataFrame:
    make = SparkVectors.dense if vectors else list
    data = [(make(row.tolist()), float(y)) for row, y in zip(rows, labels, strict=True)]
    return (
        spark.createDataFrame(data, ["features", "label"])
        .repartition(3)
        .sortWithinPartitions("label")
    )


def column(frame: DataFrame, name: str) -> list[Any]:
    return [row[name] for row in frame.collect()]


def pairs(frame: DataFrame) -> list[Any]:
    return sorted((tuple(row.features), row.prediction) for row in frame.collect())


@pytest.mark.parametrize(
    ("learner", "rows", "labels"),
    [
        (KNN(k=3), ROWS, CLASSES),
        (NaiveBayes(), VALUES, CLASSES),
        (LinearRegression(solver="exact", reg=0.1), ROWS, NUMBERS),
        (MultipleLinearRegression(), ROWS, NUMBERS),
        (LogisticRegression(solver="exact", reg=0.05, elastic_net=0.3), ROWS, CLASSES),
        (SVM(regularization=0.05), ROWS, 2 * CLASSES - 1),
    ],
)
def test_learners_are_the_same_as_in_memory(
    spark: SparkSession, learner: Any, rows: Any, labels: Any
) -> None:
    frame = frame_of(spark, rows, labels)
    model = learner.fit(frame)
    alone = learner.clone().fit(rows, labels)
    found = pairs(model.transform(frame))
    expected = sorted(zip(map(tuple, rows), alone.predict(rows).tolist(), strict=True))
    assert [each for each, _ in found] == [each for each, _ in expected]
    apart = np.array([y for _, y in found]) - np.array([y for _, y in expected])
    regression = isinstance(learner, (LinearRegression, MultipleLinearRegression))
    assert np.abs(apart).max() < 1e-6 if regression else (apart != 0).mean() < 0.03
    assert model.score(frame) == pytest.approx(alone.score(rows, labels), abs=0.03)
    if isinstance(learner, LogisticRegression):
        weights = model.rows[0]["coefficient"].to_array()
        assert weights == pytest.approx(alone.rows[0]["coefficient"].to_array(), abs=1e-4)


def test_steps_of_gradient_descent_read_the_first_rows(spark: SparkSession) -> None:
    rows = [(x, 2.0 * x) for x in range(1, 6)]
    frame = spark.createDataFrame(rows, ["features", "label"]).coalesce(1)
    learner = LinearRegression(learning_rate=0.05)
    expected = learner.fit([[x] for x, _ in rows], [y for _, y in rows]).rows
    assert learner.fit(frame).rows == expected


@pytest.mark.parametrize("measure", ["euclidean", "manhattan"])
def test_groups(spark: SparkSession, measure: str) -> None:
    rows = np.vstack([RANDOM.normal(each, 0.3, (20, 2)) for each in (0, 10, 20)])
    frame = frame_of(spark, rows, range(60), vectors=measure == "euclidean")
    model = KMeans(k=3, seed=1, distance_measure=measure).fit(frame)
    assert sorted(model.rows[0]["weights"].to_array().tolist()) == [20, 20, 20]
    found = sorted((row.label, row.prediction) for row in model.transform(frame).collect())
    groups = [{y for _, y in found[at : at + 20]} for at in (0, 20, 40)]
    assert [len(each) for each in groups] == [1, 1, 1]
    assert len(set.union(*groups)) == 3
    data, merged = AgglomerativeClustering(num_clusters=3).transform(frame)
    assert merged.count() == 57
    assert len(set(column(data, "prediction"))) == 3


def test_factors_and_similar_items(spark: SparkSession) -> None:
    users, items = RANDOM.uniform(0, 1, (20, 2)), RANDOM.uniform(0, 1, (15, 2))
    rows = [(u, i, float(users[u] @ items[i])) for u in range(20) for i in range(15)]
    frame = spark.createDataFrame(rows, ["user", "item", "rating"])
    for learner in (Als(rank=2, reg_param=1e-4), ALS(num_factors=2, **{"lambda": 1e-4})):
        found = learner.fit(frame).transform(frame).collect()
        apart = [row.prediction - row.rating for row in found]
        assert np.abs(apart).max() < 0.2
    similar = Swing(min_user_behavior=1).transform(frame.where("item < 3 and user < 2"))
    assert sorted(column(similar, "item")) == [0, 1, 2]


@pytest.mark.parametrize("test", [ANOVATest(), FValueTest(), ChiSqTest()])
def test_statistics_are_the_same_as_in_memory(spark: SparkSession, test: Any) -> None:
    frame = frame_of(spark, VALUES, CLASSES)
    test.set_flatten(True)
    found = sorted(test.transform(frame).collect())
    expected = test.transform(VALUES, CLASSES)
    assert [row.pValue for row in found] == pytest.approx(expected["pValue"].tolist())


def test_pipelines_and_evaluation(spark: SparkSession, tmp_path: Any) -> None:
    frame = frame_of(spark, ROWS, NUMBERS)
    scaler = StandardScaler().set_input_col("features")
    pipeline = scaler.chain_transformer(PolynomialFeatures().set_degree(2))
    pipeline = pipeline.chain_predictor(MultipleLinearRegression())
    training, testing = Splitter.train_test_split(frame, fraction=0.7, seed=2)
    assert training.count() + testing.count() == 90
    model = pipeline.fit(frame)
    alone = pipeline.clone().fit(ROWS, NUMBERS).predict(ROWS)
    assert sorted(column(model.transform(frame), "prediction")) == pytest.approx(sorted(alone))
    scores = LogisticRegression().fit(ROWS, CLASSES).transform(frame_of(spark, ROWS, CLASSES))
    (row,) = BinaryClassificationEvaluator().transform(scores).collect()
    assert 0.7 < row.areaUnderROC <= 1
    MLUtils.write_libsvm(str(tmp_path / "rows"), frame.limit(5))
    assert MLUtils.read_libsvm(spark, str(tmp_path / "rows")).count() == 5


def test_bad_data_are_refused(spark: SparkSession) -> None:
    rows = [([1.0], 0.0), ([float("nan")], 1.0)]
    frame = spark.createDataFrame(rows, ["features", "label"])
    empty = frame.where("label > 5")
    uneven = spark.createDataFrame([([1.0], 0.0), ([1.0, 2.0], 1.0)], ["features", "label"])
    learners = [LogisticRegression(solver="exact"), LinearSVC(solver="exact"), KMeans()]
    for learner in [*learners, NaiveBayes(), MultipleLinearRegression()]:
        for data, code in (
            (frame, "ML_NOT_FINITE"),
            (empty, "ML_EMPTY_INPUT"),
            (uneven, "ML_VECTOR_SIZE"),
        ):
            with pytest.raises(Exception, match=code):
                learner.fit(data)
    with pytest.raises(MLError, match="ML_UNKNOWN_COLUMN"):
        KNN().fit(frame.drop("label"))
