"""Fit and predict: Millstream, pyspark.ml and scikit-learn on the same rows.

    python benchmarks/ml.py [rows]

Seconds of wall clock and of processor time of the whole process tree. The programs of pyspark.ml and of
Millstream on DataFrames share a session that has run a job before.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import psutil

COLUMNS = 10
DEGREE = 2


def cpu_seconds() -> float:
    """Processor time of this process and its children, Spark's JVM and Python workers."""
    me = psutil.Process()
    times = [me.cpu_times(), *(each.cpu_times() for each in me.children(recursive=True))]
    ended = me.cpu_times()
    gone = ended.children_user + ended.children_system
    return float(sum(each.user + each.system for each in times) + gone)


def measured(name: str, work: Callable[[], Any]) -> None:
    wall, cpu = time.perf_counter(), cpu_seconds()
    found = work()
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    print(f"| {name} | {wall:.2f} | {cpu:.2f} | {found:.6f} |", flush=True)


def main(count: int) -> None:
    random = np.random.default_rng(1)
    rows = random.normal(size=(count, COLUMNS))
    labels = (
        rows @ random.normal(size=COLUMNS) + rows[:, 0] * rows[:, 1] + random.normal(size=count)
    )
    classes = (labels > 0).astype(float)

    from pyspark.ml.linalg import Vectors
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = spark.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    data = (
        (Vectors.dense(x), float(y), float(c))
        for x, y, c in zip(rows, labels, classes, strict=True)
    )
    frame = session.createDataFrame(data, ["features", "label", "class"]).repartition(2).cache()
    frame.count()

    print(f"{count} rows, {COLUMNS} columns")
    print("| | wall s | CPU s | score |\n|---|---|---|---|")
    arrays(rows, labels, classes)
    frames(frame)


def arrays(rows: Any, labels: Any, classes: Any) -> None:
    from sklearn.linear_model import LinearRegression
    from sklearn.linear_model import LogisticRegression as Logistic
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures as Polynomial
    from sklearn.preprocessing import StandardScaler as Scaler

    from millstream.ml.classification.logisticregression import LogisticRegression

    oracle = make_pipeline(Scaler(), Polynomial(DEGREE, include_bias=False), LinearRegression())
    measured("pipeline, scikit-learn", lambda: oracle.fit(rows, labels).score(rows, labels))
    ours = pipeline("input")
    measured("pipeline, Millstream, arrays", lambda: ours.fit(rows, labels).score(rows, labels))
    logistic = Logistic(C=1 / (0.01 * len(rows)), fit_intercept=False)
    measured("logistic, scikit-learn", lambda: logistic.fit(rows, classes).score(rows, classes))
    exact = LogisticRegression(solver="exact", reg=0.01)
    measured("logistic, Millstream, arrays", lambda: exact.fit(rows, classes).score(rows, classes))


def pipeline(column: str) -> Any:
    from millstream.ml import MultipleLinearRegression, PolynomialFeatures, StandardScaler

    scaler = StandardScaler().set_input_col(column)
    features = PolynomialFeatures().set_degree(DEGREE)
    return scaler.chain_transformer(features).chain_predictor(MultipleLinearRegression())


def frames(frame: Any) -> None:
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import LogisticRegression as Logistic
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator, RegressionEvaluator
    from pyspark.ml.feature import PolynomialExpansion, StandardScaler
    from pyspark.ml.regression import LinearRegression

    from millstream.ml.classification.logisticregression import LogisticRegression

    stages: list[Any] = [
        StandardScaler(inputCol="features", outputCol="scaled", withMean=True),
        PolynomialExpansion(inputCol="scaled", outputCol="powers", degree=DEGREE),
        LinearRegression(featuresCol="powers", labelCol="label"),
    ]
    r2 = RegressionEvaluator(metricName="r2")
    spark = Pipeline(stages=stages)
    measured("pipeline, pyspark.ml", lambda: r2.evaluate(spark.fit(frame).transform(frame)))
    ours = pipeline("features")
    measured("pipeline, Millstream, DataFrame", lambda: ours.fit(frame).score(frame))
    accuracy = MulticlassClassificationEvaluator(labelCol="class", metricName="accuracy")
    logistic = Logistic(labelCol="class", regParam=0.01, fitIntercept=False, standardization=False)
    measured(
        "logistic, pyspark.ml", lambda: accuracy.evaluate(logistic.fit(frame).transform(frame))
    )
    exact = LogisticRegression(solver="exact", reg=0.01, label_col="class")
    measured("logistic, Millstream, DataFrame", lambda: exact.fit(frame).score(frame))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
