"""SQLTransformer: the values of flink-ml's tests."""

from __future__ import annotations

import numpy as np
import pytest

from millstream.ml.builder import Pipeline
from millstream.ml.errors import MLError
from millstream.ml.feature.sqltransformer import SQLTransformer
from millstream.ml.feature.vectorassembler import VectorAssembler
from millstream.ml.linalg import Vectors
from tests.support.ml import DOUBLE, INT, Tables

QUERY = "SELECT *, (v1 + v2) AS v3, (v1 * v2) AS v4 FROM __THIS__"
ROWS = [(0, 1.0, 3.0), (2, 2.0, 5.0)]
EXPECTED = [(0, 1.0, 3.0, 4.0, 3.0), (2, 2.0, 5.0, 7.0, 10.0)]


def test_values_of_flink(tmp_path) -> None:
    tables = Tables()
    table = tables.of({"id": INT, "v1": DOUBLE, "v2": DOUBLE}, ROWS)
    stage = SQLTransformer().set_statement(QUERY)
    stage.save(str(tmp_path / "stage"))
    for each in (stage, SQLTransformer.load(tables.t_env, str(tmp_path / "stage"))):
        (output,) = each.transform(table)
        assert output.get_schema().get_field_names() == ["id", "v1", "v2", "v3", "v4"]
        assert sorted(map(tuple, tables.rows(output))) == EXPECTED
    stream = stage.transform(tables.t_env.to_data_stream(table))
    assert sorted(map(tuple, stream.execute_and_collect())) == EXPECTED


def test_a_query_in_a_pipeline() -> None:
    tables = Tables()
    table = tables.of({"id": INT, "v1": DOUBLE, "v2": DOUBLE}, ROWS)
    pipeline = Pipeline([SQLTransformer(statement=QUERY), VectorAssembler(input_cols=["v3", "v4"])])
    (output,) = pipeline.fit(table).transform(table)
    found = tables.column(output, "output")
    assert found == [Vectors.dense(4.0, 3.0), Vectors.dense(7.0, 10.0)]


def test_bad_queries() -> None:
    with pytest.raises(ValueError, match="a query of __THIS__"):
        SQLTransformer(statement="SELECT 1")
    with pytest.raises(ValueError, match="should not be None"):
        SQLTransformer().get_statement()
    with pytest.raises(MLError, match="cannot be queried"):
        SQLTransformer(statement=QUERY).transform(np.eye(2))
    with pytest.raises(TypeError, match="one input"):
        SQLTransformer(statement=QUERY).transform()
