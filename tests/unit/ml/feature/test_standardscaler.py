"""StandardScaler: the values of flink-ml's tests, on all kinds of data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.preprocessing import StandardScaler as Oracle

from millstream.common.typeinfo import Types
from millstream.datastream import StreamExecutionEnvironment
from millstream.ml.errors import MLError
from millstream.ml.feature.standardscaler import StandardScaler, StandardScalerModel
from millstream.ml.linalg import DenseVectorTypeInfo, Vectors
from millstream.table import StreamTableEnvironment
from millstream.testing import in_memory

ROWS = [[-2.5, 9.0, 1.0], [1.4, -5.0, 1.0], [2.0, -1.0, -2.0]]
WITH_MEAN = [[-2.8, 8.0, 1.0], [1.1, -6.0, 1.0], [1.7, -2.0, -2.0]]
WITH_STD = [
    [-1.0231819, 1.2480754, 0.5773502],
    [0.5729819, -0.6933752, 0.5773503],
    [0.8185455, -0.1386750, -1.1547005],
]
WITH_BOTH = [
    [-1.1459637, 1.1094004, 0.5773503],
    [0.45020003, -0.8320503, 0.5773503],
    [0.69576368, -0.2773501, -1.1547005],
]


@pytest.mark.parametrize(
    ("scaler", "expected"),
    [
        (StandardScaler(), WITH_STD),
        (StandardScaler().set_with_std(False).set_with_mean(True), WITH_MEAN),
        (StandardScaler().set_with_mean(True), WITH_BOTH),
    ],
)
def test_values_of_flink(scaler, expected) -> None:
    assert scaler.fit(ROWS).transform(ROWS) == pytest.approx(np.array(expected), abs=1e-7)


def test_tables_as_in_flinks_test(tmp_path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    with in_memory():
        info = Types.ROW_NAMED(["test_input"], [DenseVectorTypeInfo()])
        rows = [(Vectors.dense(row),) for row in ROWS]
        table = t_env.from_data_stream(env.from_collection(rows, type_info=info))
        scaler = StandardScaler().set_input_col("test_input").set_output_col("test_output")
        model = scaler.fit(table)
        model.save(str(tmp_path / "model"))
        again = StandardScalerModel.load(t_env, str(tmp_path / "model"))
        (data,) = model.get_model_data()
        assert data.get_schema().get_field_names() == ["mean", "std"]
        (row,) = t_env.to_data_stream(data).execute_and_collect()
        assert row[0].to_array() == pytest.approx([0.3, 1.0, 0.0])
        assert row[1].to_array() == pytest.approx([2.4433583, 7.2111026, 1.7320508])
        other = StandardScalerModel(input_col="test_input", output_col="test_output")
        for each in (model, again, other.set_model_data(data)):
            (output,) = each.transform(table)
            assert output.get_schema().get_field_names() == ["test_input", "test_output"]
            found = [*t_env.to_data_stream(output).execute_and_collect()]
            found = [row["test_output"].to_array() for row in found]
            assert np.array(found) == pytest.approx(np.array(WITH_STD), abs=1e-7)


def test_streams_are_transformed_in_their_job() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    model = StandardScaler().fit(ROWS)
    info = Types.ROW_NAMED(["input"], [DenseVectorTypeInfo()])
    stream = env.from_collection([(Vectors.dense(row),) for row in ROWS], info)
    with in_memory():
        found = [row.output.to_array() for row in model.transform(stream).execute_and_collect()]
    assert np.array(found) == pytest.approx(np.array(WITH_STD), abs=1e-7)
    with pytest.raises(MLError, match="cannot be read as a whole"):
        StandardScaler().fit(stream)


def test_frames_of_pandas_and_arrow() -> None:
    model = StandardScaler().fit(pd.DataFrame(ROWS))
    frame = model.transform(pd.DataFrame({"input": ROWS}))
    assert np.vstack([v.to_array() for v in frame["output"]]) == pytest.approx(
        np.array(WITH_STD), abs=1e-7
    )
    table = model.transform(pa.table({"input": ROWS}))
    assert table.column("output").to_pylist()[0]["values"] == pytest.approx(WITH_STD[0], abs=1e-7)
    again = StandardScaler(input_col="output", output_col="again").fit(table)
    assert again.transform(table).column_names == ["input", "output", "again"]


def test_scikit_learn_scales_the_same_but_for_the_divisor() -> None:
    rows = np.random.default_rng(1).normal(5, 3, (50, 4))
    ours = StandardScaler(with_mean=True).fit_transform(rows)
    ratio = np.sqrt(49 / 50)
    assert ours == pytest.approx(Oracle().fit_transform(rows) * ratio, abs=1e-9)


def test_columns_that_do_not_vary_become_zero() -> None:
    assert StandardScaler().fit_transform([[1.0, 2.0], [1.0, 4.0]])[:, 0].tolist() == [0, 0]
    assert StandardScaler(with_mean=True).fit_transform([[3.0]]).tolist() == [[0.0]]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ([[1.0, 2.0], [1.0]], "ML_VECTOR_SIZE"),
        ([Vectors.dense(1, 2), Vectors.dense(1)], "ML_VECTOR_SIZE"),
        ([[1.0, float("nan")]], "ML_NOT_FINITE"),
        ([Vectors.dense(1), None], "ML_NOT_A_VECTOR"),
        (np.empty((0, 2)), "ML_EMPTY_INPUT"),
        ([], "ML_EMPTY_INPUT"),
        (["a", "b"], "ML_NOT_A_VECTOR"),
        (np.zeros((2, 2, 2)), "ML_VECTOR_SIZE"),
        (pa.table({"x": [1.0]}), "ML_UNKNOWN_COLUMN"),
        (7, "ML_INPUT_KIND"),
    ],
)
def test_bad_data_are_refused(data, code) -> None:
    with pytest.raises(MLError, match=code):
        StandardScaler().fit(data)


def test_vectors_of_another_length_than_the_model_are_refused() -> None:
    model = StandardScaler().fit(ROWS)
    with pytest.raises(MLError, match="lengths 3 and 2"):
        model.transform([[1.0, 2.0]])
    with pytest.raises(MLError, match="ML_COLUMN_EXISTS"):
        model.transform(pa.table({"input": ROWS, "output": ROWS}))
