"""Online learning on Spark gives what it gives in memory."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from millstream.common import Row
from millstream.datastream import StreamExecutionEnvironment
from millstream.ml.classification.logisticregression import OnlineLogisticRegression
from millstream.ml.linalg import Vectors
from millstream.testing import in_memory

pytestmark = pytest.mark.spark


def found(learner: OnlineLogisticRegression) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    rows = [(Vectors.dense(at % 5 - 2.0, at % 3), float(at % 5 > 2)) for at in range(40)]
    stream = env.from_collection(rows)
    results = learner.fit(stream).transform(stream).execute_and_collect()
    return sorted((row[4], row[0].to_array().tolist(), row[3].get(1)) for row in results)


def test_predictions_are_the_same_as_in_memory(spark: SparkSession) -> None:
    learner = OnlineLogisticRegression(global_batch_size=7)
    learner.set_initial_model_data(Row(coefficient=Vectors.dense(0.0, 0.0), modelVersion=0))
    on_spark = found(learner)
    with in_memory():
        expected = found(learner)
    assert on_spark == expected
    assert {version for version, *_ in on_spark} == {1, 2, 3, 4, 5}
