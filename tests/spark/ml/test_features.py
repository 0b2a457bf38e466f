"""Features of DataFrames, and of tables and DataSets on Spark: the values of the tests in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pyspark.ml import feature as spark_feature
from pyspark.sql import DataFrame, SparkSession

from millstream.dataset import ExecutionEnvironment
from millstream.ml.builder import Pipeline
from millstream.ml.feature.bucketizer import Bucketizer
from millstream.ml.feature.dct import DCT
from millstream.ml.feature.lsh import MinHashLSH
from millstream.ml.feature.maxabsscaler import MaxAbsScaler
from millstream.ml.feature.minmaxscaler import MinMaxScaler
from millstream.ml.feature.normalizer import Normalizer
from millstream.ml.feature.polynomialexpansion import PolynomialExpansion
from millstream.ml.feature.randomsplitter import RandomSplitter
from millstream.ml.feature.robustscaler import RobustScaler
from millstream.ml.feature.sqltransformer import SQLTransformer
from millstream.ml.feature.standardscaler import StandardScaler
from millstream.ml.feature.vectorassembler import VectorAssembler
from millstream.ml.kernel.batch import Batch
from millstream.ml.kernel.kinds import kind_of_info
from millstream.ml.linalg import Vectors
from millstream.ml.stages.entry import frame_of
from tests.support import ml_learned, ml_rows
from tests.support.ml import DENSE, INT, Tables, arrays
from tests.support.strategies import thinned

pytestmark = pytest.mark.spark
RANDOM = np.random.default_rng(7).normal(size=(40, 3))


def frame(spark: SparkSession, columns: dict[str, Any], rows: list[Any]) -> DataFrame:
    """A DataFrame of rows with vectors, in two partitions."""
    kinds = {name: kind_of_info(info) for name, info in columns.items()}
    lists = {name: [row[at] for row in rows] for at, name in enumerate(columns)}
    made = frame_of(spark.range(1)).made(Batch(lists, len(rows)), kinds).given([])
    found: DataFrame = made.repartition(2)
    return found


def plain(value: Any) -> Any:
    """A value whose vectors are lists."""
    if hasattr(value, "toArray") or hasattr(value, "to_array"):
        return (value.toArray() if hasattr(value, "toArray") else value.to_array()).tolist()
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def same(found: DataFrame, names: list[str], expected: list[Any]) -> None:
    rows = sorted(repr(plain(tuple(row))) for row in found.select(*names).collect())
    wanted = sorted(repr(plain(tuple(row))) for row in expected)
    if rows != wanted:
        pairs = zip(rows, wanted, strict=True)
        for left, right in pairs:
            assert np.array(eval(left), float) == pytest.approx(
                np.array(eval(right), float), abs=1e-7
            )


@pytest.mark.parametrize("name", thinned(list(ml_rows.CASES), "rows of features on spark"))
def test_rows_of_dataframes(spark: SparkSession, name: str) -> None:
    stage, columns, rows, expected = ml_rows.CASES[name]
    same(stage.transform(frame(spark, columns, rows)), stage.output_columns(), expected)


@pytest.mark.parametrize("name", thinned(list(ml_learned.CASES), "learned features on spark"))
def test_models_of_dataframes(spark: SparkSession, name: str) -> None:
    case = ml_learned.CASES[name]
    model = case.stage.fit(frame(spark, case.columns, case.train))
    found = model.transform(frame(spark, case.columns, case.rows))
    same(found, model.output_columns(), case.expected)
    (data,) = model.get_model_data()
    assert data.columns == list(type(model).DATA)
    again = type(model)().set_model_data(data)
    assert sorted(map(repr, again.rows)) == sorted(map(repr, model.rows))


def test_results_of_pyspark_ml(spark: SparkSession) -> None:
    data = frame(spark, {"input": DENSE}, [(Vectors.dense(row),) for row in RANDOM]).cache()
    names: Any = {"inputCol": "input", "outputCol": "theirs"}
    for ours, theirs in (
        (DCT(), spark_feature.DCT(**names)),
        (Normalizer(p=3.0), spark_feature.Normalizer(p=3.0, **names)),
        (PolynomialExpansion(degree=3), spark_feature.PolynomialExpansion(degree=3, **names)),
        (StandardScaler(with_mean=True), spark_feature.StandardScaler(withMean=True, **names)),
        (MinMaxScaler(), spark_feature.MinMaxScaler(**names)),
        (MaxAbsScaler(), spark_feature.MaxAbsScaler(**names)),
        (RobustScaler(), spark_feature.RobustScaler(**names)),
    ):
        made = (theirs.fit(data) if hasattr(theirs, "fit") else theirs).transform(data)
        model: Any = ours if not hasattr(theirs, "fit") else ours.fit(data)
        rows = model.transform(made).select("output", "theirs").collect()
        for row in rows:
            assert row[0].toArray() == pytest.approx(row[1].toArray(), abs=1e-9)


def test_neighbours_parts_and_queries_of_dataframes(spark: SparkSession) -> None:
    rows = [(n, Vectors.dense([1] * n + [0] * (6 - n))) for n in range(1, 6)]
    data = frame(spark, {"f0": INT, "f.1": DENSE}, rows)
    model = MinHashLSH(input_col="f.1", num_hash_tables=20).fit(data)
    near = model.approx_nearest_neighbors(data, Vectors.dense(1, 1, 1, 0, 0, 0), 2)
    assert [row.f0 for row in near.collect()] == [3, 4]
    pairs = model.approx_similarity_join(data, data, 0.0, "f0").collect()
    assert sorted(row[0] for row in pairs) == [1, 2, 3, 4, 5]
    parts = RandomSplitter(weights=[1.0, 3.0], seed=1).transform(spark.range(400))
    counts = [part.count() for part in parts]
    assert sum(counts) == 400 and 60 < counts[0] < 140
    query = SQLTransformer(statement="SELECT f0 + 1 AS g, '{x}' AS t FROM __THIS__ WHERE f0 < 2")
    assert [tuple(row) for row in query.transform(data).collect()] == [(2, "{x}")]


def test_tables_and_datasets_on_spark(spark: SparkSession, tmp_path: Any) -> None:
    tables = Tables()
    rows = [(Vectors.dense(row),) for row in RANDOM]
    table = tables.of({"input": DENSE}, rows)
    expected = np.sort(MinMaxScaler().fit_transform(RANDOM), axis=0)
    pipeline = Pipeline([MinMaxScaler(output_col="a"), StandardScaler(input_col="a")])
    (made,) = pipeline.fit(table).transform(table)
    oracle = np.sort(StandardScaler().fit_transform(MinMaxScaler().fit_transform(RANDOM)), axis=0)
    found = arrays(tables.column(made, "output"))
    assert np.sort(np.array(found), axis=0) == pytest.approx(oracle)
    data = ExecutionEnvironment.get_execution_environment().from_collection(rows)
    made = MinMaxScaler(input_col="f0").fit(data).transform(data).collect()
    assert np.sort(np.array(arrays(row[1] for row in made)), axis=0) == pytest.approx(expected)


def test_stages_behind_each_other_are_one_pass_through_python(spark, capsys) -> None:
    rows = [(Vectors.dense(each),) for each in RANDOM]
    given = frame(spark, {"input": DENSE}, rows)
    steps = [
        StandardScaler(output_col="a.b", with_mean=True),
        PolynomialExpansion(input_col="a.b", output_col="c", degree=2),
        Normalizer(input_col="c"),
    ]
    model = Pipeline(steps).fit(given)
    found = model.transform(given)
    assert found.columns == ["input", "a.b", "c", "output"]
    found.explain()
    plan = capsys.readouterr().out
    assert plan.count("MapInArrow run(") == 1, plan
    expected = Pipeline(steps).fit(RANDOM).transform(RANDOM)
    made = {tuple(row.input): row.output.toArray() for row in found.collect()}
    for row, output in zip(RANDOM, expected, strict=True):
        assert made[tuple(row)] == pytest.approx(output, abs=1e-12)


def test_rows_that_a_stage_leaves_out_are_not_seen_by_the_next_one(spark) -> None:
    columns = ["f1", "f2"]
    given = spark.createDataFrame([(0.1, 1.0), (float("nan"), 2.0), (0.7, 5.0)], columns)
    steps = [
        Bucketizer(
            input_cols=("f1",),
            output_cols=("place",),
            splits_array=((0.0, 0.5, 1.0),),
            handle_invalid="skip",
        ),
        VectorAssembler(input_cols=("place", "f2"), output_col="input"),
        MinMaxScaler(),
    ]
    found = Pipeline(steps).fit(given).transform(given)
    made = sorted((row.f2, row.output.toArray().tolist()) for row in found.collect())
    assert made == [(1.0, [0.0, 0.0]), (5.0, [1.0, 1.0])]
