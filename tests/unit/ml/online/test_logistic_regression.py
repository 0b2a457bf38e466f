"""Online logistic regression, with the values of flink-ml's tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from millstream.common import Row, Types
from millstream.common.errors import MillstreamError
from millstream.datastream import DataStream, StreamExecutionEnvironment
from millstream.ml.linalg import SparseVector, Vectors, VectorTypeInfo
from millstream.ml.online.logistic_regression import (
    OnlineLogisticRegression,
    OnlineLogisticRegressionModel,
)
from millstream.table import StreamTableEnvironment
from millstream.testing import Checkpoint, in_memory, run_local
from tests.support.online import at_times
from tests.unit.ml.kernel.test_ftrl import DENSE_1, DENSE_2, SPARSE_1, SPARSE_2

Program = Callable[[StreamExecutionEnvironment], Any]
INITIAL = Row(coefficient=Vectors.dense(0.41233679404769874, -0.18088118293232122), modelVersion=0)
QUERIES = [Vectors.dense(0.8, 2.7), Vectors.dense(15.5, 11.2)]
EXPECTED = {
    1: [[0.5353966697318491, 0.4646033302681509], [0.04481034155642882, 0.9551896584435712]],
    2: [[0.5095144380001769, 0.49048556199982307], [0.013104324065967066, 0.9868956759340329]],
}


def dense_training(env: StreamExecutionEnvironment) -> DataStream[Any]:
    first = [((Vectors.dense(vector), label), 1000) for vector, label in DENSE_1]
    second = [((Vectors.dense(vector), label), 3000) for vector, label in DENSE_2]
    return at_times(env, [*first, *second], "train")


def regression(**params: Any) -> OnlineLogisticRegression:
    given = {"reg": 0.2, "elastic_net": 0.5, "global_batch_size": 10, **params}
    return OnlineLogisticRegression(**given).set_initial_model_data(INITIAL)


def test_parameters_of_flink_ml() -> None:
    found = OnlineLogisticRegression().get_params()
    assert found == {
        "features_col": "features",
        "prediction_col": "prediction",
        "raw_prediction_col": "rawPrediction",
        "model_version_col": "modelVersion",
        "batch_strategy": "count",
        "label_col": "label",
        "weight_col": None,
        "reg": 0.0,
        "elastic_net": 0.0,
        "alpha": 0.1,
        "beta": 0.1,
        "global_batch_size": 32,
    }
    changed = OnlineLogisticRegression().set_alpha(0.5).set_beta(0.2).set_global_batch_size(5)
    assert (changed.alpha, changed.get_beta(), changed.global_batch_size) == (0.5, 0.2, 5)


@pytest.mark.parametrize("initial_is_stream", [False, True])
def test_dense_values_of_flink_ml(initial_is_stream: bool) -> None:
    """Queries before, between and after two batches: the first ones wait for version 1."""

    def program(env: StreamExecutionEnvironment) -> Any:
        initial = env.from_collection([INITIAL]) if initial_is_stream else INITIAL
        model = regression().set_initial_model_data(initial).fit(dense_training(env))
        queries = at_times(
            env, [(query, t) for t in (500, 2000, 4000) for query in QUERIES], "queries"
        )
        return {"predictions": model.transform(queries), "versions": model.get_model_data()[0]}

    results = run_local(program, channel_order="watermark")
    found = results.values("predictions")
    assert [each[3] for each in found] == [1, 1, 1, 1, 2, 2]
    for vector, prediction, raw, version in found:
        expected = EXPECTED[version][QUERIES.index(vector)]
        assert np.allclose(raw.to_array(), expected, rtol=0, atol=1e-5)
        assert prediction == float(np.argmax(expected))
    versions = results.values("versions")
    assert [row.modelVersion for row in versions] == [1, 2]
    expected = [0.2994527071464283, -0.1412541067743284]
    assert np.allclose(versions[0].coefficient.to_array(), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("weight_col", "expected"),
    [
        (
            None,
            [[0.5249618837373886, 0.4750381162626114], [0.40310431554310666, 0.5968956844568933]],
        ),
        (
            "weight",
            [[0.5247727600974581, 0.4752272399025419], [0.41108882806164193, 0.5889111719383581]],
        ),
    ],
)
def test_sparse_values_of_flink_ml(weight_col: str | None, expected: list[list[float]]) -> None:
    def vector(places: tuple[int, ...]) -> SparseVector:
        return Vectors.sparse(10, list(places), [1.0] * len(places))

    def program(env: StreamExecutionEnvironment) -> Any:
        rows = [
            Row(features=vector(places), label=label, weight=weight)
            for places, label, weight in [*SPARSE_1, *SPARSE_2]
        ]
        estimator = regression(global_batch_size=9, weight_col=weight_col)
        initial = Row(Vectors.dense([0.01] * 10), 0)
        model = estimator.set_initial_model_data(initial).fit(env.from_collection(rows))
        return model.get_model_data()[0]

    _, last = run_local(program).values()
    model = OnlineLogisticRegressionModel().set_model_data(last)
    found = model.transform([vector((1, 3, 5)), vector((5, 8, 9))])
    assert np.allclose(found[:, 1:3], expected, rtol=0, atol=1e-5)
    assert found[:, 0].tolist() == [0.0, 1.0]
    assert found[:, 3].tolist() == [2, 2]


def test_model_data_of_flink_ml() -> None:
    """Versions that come from elsewhere."""

    def program(env: StreamExecutionEnvironment) -> Any:
        first = Row(coefficient=Vectors.dense(0.085, -0.22), modelVersion=1)
        second = Row(coefficient=Vectors.dense(0.075, -0.28), modelVersion=2)
        versions = at_times(env, [(first, 1000), (second, 3000)], "versions")
        queries = at_times(env, [(query, t) for t in (2000, 4000) for query in QUERIES], "queries")
        return OnlineLogisticRegressionModel().set_model_data(versions).transform(queries)

    found = [each[2].to_array() for each in run_local(program, channel_order="watermark").values()]
    expected = [
        [0.6285496932692606, 0.3714503067307394],
        [0.7588710471221473, 0.24112895287785274],
        [0.6673003248270917, 0.3326996751729083],
        [0.8779865510655934, 0.12201344893440658],
    ]
    assert np.allclose(found, expected, rtol=0, atol=1e-5)


def test_a_record_is_predicted_before_it_trains() -> None:
    """One source for both: what a record brings about comes after the record."""

    def program(env: StreamExecutionEnvironment) -> Any:
        clicks = env.from_collection([([1.0], 1.0)] * 4)
        initial = Row(coefficient=Vectors.dense(0.0), modelVersion=0)
        estimator = regression(global_batch_size=1).set_initial_model_data(initial)
        return estimator.fit(clicks).transform(clicks)

    # The first one waits for version 1, which it makes itself.
    assert [each[4] for each in run_local(program).values()] == [1, 1, 2, 3]


def test_tables() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    info = Types.ROW_NAMED(
        ["id", "features", "label"], [Types.INT(), VectorTypeInfo(), Types.DOUBLE()]
    )
    rows = [(at, Vectors.dense(v), label) for at, (v, label) in enumerate(DENSE_1)]
    table = t_env.from_data_stream(env.from_collection(rows, info))
    initial_info = Types.ROW_NAMED(
        ["coefficient", "modelVersion"], [VectorTypeInfo(), Types.LONG()]
    )
    initial = t_env.from_data_stream(env.from_collection([tuple(INITIAL)], initial_info))
    model = regression().set_initial_model_data(initial).fit(table)
    (result,) = model.transform(table)
    (versions,) = model.get_model_data()
    names = ["id", "features", "label", "prediction", "rawPrediction", "modelVersion"]
    assert result.get_schema().get_field_names() == names
    assert versions.get_schema().get_field_names() == ["coefficient", "modelVersion"]
    with in_memory():
        found = t_env.to_data_stream(result).execute_and_collect()
        rows_found = sorted(found, key=lambda row: row.id)
        assert [row.prediction for row in rows_found] == [row.label for row in rows_found]
        assert {row.modelVersion for row in rows_found} == {1}


@pytest.mark.parametrize(
    ("record", "code"),
    [
        (([1.0, float("nan")], 1.0), "ML_NOT_FINITE"),
        (([1.0, 2.0, 3.0], 1.0), "ML_VECTOR_SIZE"),
        (([1.0, 2.0], 7.0), "ML_LABEL"),
        (([1.0, 2.0],), "ML_UNKNOWN_COLUMN"),
    ],
)
@pytest.mark.parametrize("initial_is_stream", [False, True])
def test_bad_records_of_training(record: Any, code: str, initial_is_stream: bool) -> None:
    """The error names the line of `fit`."""

    def program(env: StreamExecutionEnvironment) -> Any:
        initial = env.from_collection([INITIAL]) if initial_is_stream else INITIAL
        estimator = regression().set_initial_model_data(initial)
        return estimator.fit(env.from_collection([record])).get_model_data()[0]

    with pytest.raises(MillstreamError) as caught:
        run_local(program)
    assert caught.value.code == code
    assert caught.value.location is not None
    assert "estimator.fit(" in str(caught.value.location)


def test_bad_records_of_predictions() -> None:
    def program(record: Any) -> Program:
        def built(env: StreamExecutionEnvironment) -> Any:
            model = OnlineLogisticRegressionModel().set_model_data(env.from_collection([INITIAL]))
            return model.transform(env.from_collection([record]))

        return built

    for record, code in (([1.0], "ML_VECTOR_SIZE"), ([float("nan"), 1.0], "ML_NOT_FINITE")):
        with pytest.raises(MillstreamError) as caught:
            run_local(program(record))
        assert caught.value.code == code
        assert "model.transform(" in str(caught.value.location)


def test_what_is_missing_or_wrong_is_told_when_the_job_is_built() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([([1.0], 1.0)])
    not_finite = Row(coefficient=[float("nan")], modelVersion=0)
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("ML_NO_INITIAL_MODEL", lambda: OnlineLogisticRegression().fit(stream)),
        ("ML_INPUT_KIND", lambda: regression().fit([[1.0]])),
        ("ML_MODEL_DATA", lambda: regression().set_initial_model_data(5)),
        ("ML_MODEL_DATA", lambda: regression().set_initial_model_data(not_finite).fit(stream)),
        ("ML_NOT_FITTED", lambda: OnlineLogisticRegressionModel().transform(stream)),
        ("ML_PARAM_VALUE", lambda: regression(alpha=0.0)),
        ("ML_PARAM_VALUE", lambda: regression(global_batch_size=0)),
    ]
    for code, call in calls:
        with pytest.raises(MillstreamError) as caught:
            call()
        assert caught.value.code == code


def test_columns_are_not_overwritten() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    info = Types.ROW_NAMED(["features", "prediction"], [VectorTypeInfo(), Types.DOUBLE()])
    stream = env.from_collection([(Vectors.dense(1.0, 2.0), 0.0)], info)
    model = OnlineLogisticRegressionModel().set_model_data(INITIAL)
    with pytest.raises(MillstreamError, match="there is a column 'prediction' already"):
        model.transform(stream)


def test_saved_and_read(tmp_path: Path) -> None:
    """The estimator with its initial model, a model of one row, a model of a stream."""
    estimator = regression(alpha=0.3)
    estimator.save(str(tmp_path / "estimator"))
    read = OnlineLogisticRegression.load(str(tmp_path / "estimator"))
    assert read.alpha == 0.3
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    assert read.fit(stream).get_params() == estimator.fit(stream).get_params()

    model = OnlineLogisticRegressionModel(prediction_col="p").set_model_data(INITIAL)
    model.save(str(tmp_path / "model"))
    again = OnlineLogisticRegressionModel.load(None, str(tmp_path / "model"))
    assert again.get_model_data() == [INITIAL]
    assert again.prediction_col == "p"

    estimator.fit(stream).save(str(tmp_path / "of a stream"))
    without = OnlineLogisticRegressionModel.load(str(tmp_path / "of a stream"))
    with pytest.raises(MillstreamError, match="has no model data"):
        without.get_model_data()


def test_the_newest_version_is_saved_by_the_job(tmp_path: Path) -> None:
    path = str(tmp_path / "newest")
    env = StreamExecutionEnvironment.get_execution_environment()
    model = regression(prediction_col="p").fit(dense_training(env))
    model.save_newest(path)
    with in_memory(epochs=3):
        env.execute()
    read = OnlineLogisticRegressionModel.load(path)
    assert read.version == 2
    assert read.prediction_col == "p"
    assert np.allclose(read.transform(QUERIES)[:, 1:3], EXPECTED[2], atol=1e-5)
    assert [each.name for each in tmp_path.iterdir()] == ["newest"]


def test_a_job_goes_on_where_it_stopped() -> None:
    """Stopped with a half batch, and a query that waits: as if it had not stopped."""

    def program(env: StreamExecutionEnvironment) -> Any:
        clicks = env.from_collection(
            [(Vectors.dense(v), label) for v, label in [*DENSE_1, *DENSE_2]]
        )
        model = regression(global_batch_size=8).fit(clicks)
        return {"predictions": model.transform(clicks), "versions": model.get_model_data()[0]}

    whole = run_local(program)
    checkpoint = Checkpoint()
    parts: dict[str, list[Any]] = {"predictions": [], "versions": []}
    for _ in range(8):
        if not checkpoint.finished:
            results = run_local(program, epochs=[5], checkpoint=checkpoint)
            for name in parts:
                parts[name] += results.values(name)
    assert checkpoint.finished
    for name, found in parts.items():
        assert found == whole.values(name)


def test_a_model_of_one_row_predicts_for_all_kinds_of_data() -> None:
    model = OnlineLogisticRegressionModel().set_model_data(INITIAL)
    expected = [1.0 / (1.0 + np.exp(-query.dot(INITIAL.coefficient))) for query in QUERIES]

    def program(env: StreamExecutionEnvironment) -> Any:
        return model.transform(env.from_collection(QUERIES))

    in_stream = [each[2].to_array()[1] for each in run_local(program).values()]
    array = np.array([[0.8, 2.7], [15.5, 11.2]])
    assert np.allclose(in_stream, expected)
    assert np.allclose(model.transform(array)[:, 2], expected)
    assert model.predict(array).tolist() == [0.0, 1.0]


def test_clones_have_the_initial_model() -> None:
    estimator = regression()
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    assert isinstance(estimator.clone().fit(stream), OnlineLogisticRegressionModel)
