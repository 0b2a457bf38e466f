"""The tests of significance with the values of flink-ml's tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millstream.common import Types
from millstream.datastream import StreamExecutionEnvironment
from millstream.ml.errors import MLError
from millstream.ml.linalg import DenseVectorTypeInfo, SparseVector, Vectors
from millstream.ml.stats.anovatest import ANOVATest
from millstream.ml.stats.chisqtest import ChiSqTest
from millstream.ml.stats.fvaluetest import FValueTest
from millstream.table import StreamTableEnvironment
from millstream.testing import in_memory

NAN = float("nan")
CHI_SQUARE = [
    (0.0, [5, 1]), (2.0, [6, 2]), (1.0, [7, 2]), (1.0, [5, 4]), (0.0, [5, 1]), (2.0, [6, 2]),
    (1.0, [7, 2]), (1.0, [5, 4]), (2.0, [5, 1]), (0.0, [5, 2]), (0.0, [5, 2]), (1.0, [9, 4]),
    (1.0, [9, 3]),
]  # fmt: skip
SPARSE = [
    SparseVector(7, {0: 6.0, 1: 7.0, 3: 7.0, 4: 6.0}),
    SparseVector(7, {1: 9.0, 2: 6.0, 4: 5.0, 5: 9.0}),
    SparseVector(7, {1: 9.0, 2: 3.0, 4: 5.0, 5: 5.0}),
    SparseVector(7, {1: 9.0, 2: 8.0, 3: 5.0, 4: 6.0, 5: 4.0}),
    SparseVector(7, {0: 8.0, 1: 9.0, 2: 6.0, 3: 5.0, 4: 4.0, 5: 4.0}),
    SparseVector(7, {0: NAN, 1: 9.0, 2: 6.0, 3: 4.0}),
]


def table_of(rows: list[Any], names: list[str], types: list[Any]) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    stream = env.from_collection(rows, type_info=Types.ROW_NAMED(names, types))
    return t_env, t_env.from_data_stream(stream)


def test_chi_square_of_flink(tmp_path: Any) -> None:
    rows = [(label, Vectors.dense(vector)) for label, vector in CHI_SQUARE]
    with in_memory():
        names, types = ["label", "features"], [Types.DOUBLE(), DenseVectorTypeInfo()]
        t_env, table = table_of(rows, names, types)
        (output,) = ChiSqTest().transform(table)
        names = ["pValues", "degreesOfFreedom", "statistics"]
        assert output.get_schema().get_field_names() == names
        ChiSqTest().set_flatten(True).save(str(tmp_path / "test"))
        (output,) = ChiSqTest.load(t_env, str(tmp_path / "test")).transform(table)
        names = ["featureIndex", "pValue", "degreeOfFreedom", "statistic"]
        assert output.get_schema().get_field_names() == names
        assert [tuple(row) for row in t_env.to_data_stream(output).execute_and_collect()] == [
            (0, 0.03419350755, 6, 13.61904761905),
            (1, 0.24220177737, 6, 7.94444444444),
        ]


def test_anova_of_flink() -> None:
    found = ANOVATest().transform(SPARSE, [3, 1, 3, 2, 2, 3])
    expected = [NAN, 0.71554175, 0.34278574, 0.45824059, 0.84633632, 0.15673368, NAN]
    assert found["pValues"][0].to_array() == pytest.approx(expected, abs=1e-5, nan_ok=True)
    expected = [NAN, 0.375, 1.5625, 1.02364865, 0.17647059, 3.66, NAN]
    assert found["fValues"][0].to_array() == pytest.approx(expected, abs=1e-5, nan_ok=True)
    assert found["degreesOfFreedom"] == [[5] * 7]


def test_f_values_of_flink() -> None:
    found = FValueTest(flatten=True).transform(SPARSE, [4.6, 6.6, 5.1, 7.6, 9.0, 9.0])
    expected = [NAN, 0.19167161, 0.06506426, 0.75183662, 0.16111045, 0.89090362, NAN]
    assert found["pValue"] == pytest.approx(expected, abs=1e-5, nan_ok=True)
    expected = [NAN, 2.46254817, 6.37164347, 0.1147488, 2.94816821, 0.02134755, NAN]
    assert found["fValue"] == pytest.approx(expected, abs=1e-5, nan_ok=True)
    assert found["degreeOfFreedom"].tolist() == [4] * 7
    assert found["featureIndex"].tolist() == [*range(7)]


def test_tables_of_arrow_give_tables_of_arrow() -> None:
    rows = pa.table({"features": [[1.0], [2.0], [4.0], [5.0]], "label": [0, 0, 1, 1]})
    assert ANOVATest(flatten=True).transform(rows).to_pylist() == [
        {
            "featureIndex": 0,
            "pValue": pytest.approx(0.0513167),
            "degreeOfFreedom": 3,
            "fValue": 18.0,
        }
    ]


@pytest.mark.parametrize("test", [ANOVATest(), FValueTest(), ChiSqTest()])
def test_bad_data_are_refused(test: Any) -> None:
    with pytest.raises(MLError, match="ML_EMPTY_INPUT"):
        test.transform(np.empty((0, 2)), [])
    with pytest.raises(MLError, match="ML_VECTOR_SIZE"):
        test.transform([Vectors.dense(1, 2), Vectors.dense(1)], [1, 2])
    with pytest.raises(MLError, match="ML_UNKNOWN_COLUMN"):
        test.transform(pa.table({"features": [[1.0]]}))
    with pytest.raises(MLError, match="ML_NOT_NUMBERS"):
        test.transform([[1.0], [2.0]], ["a", "b"])
