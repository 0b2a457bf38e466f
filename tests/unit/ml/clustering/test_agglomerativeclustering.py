"""Hierarchical clustering with flink-ml's values, in windows and at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from millstream.common import Types
from millstream.common.time import Time
from millstream.ml.clustering.agglomerativeclustering import AgglomerativeClustering
from millstream.ml.common.window import CountTumblingWindows, EventTimeTumblingWindows
from millstream.ml.errors import MLError
from millstream.ml.linalg import DenseVectorTypeInfo, Vectors
from millstream.testing import in_memory
from tests.support.ml import rows_of_table, table_of

POINTS = [[1.0, 1.0], [1.0, 4.0], [1.0, 0.0], [4.0, 1.5], [4.0, 4.0], [4.0, 0.0]]
TWO = [0, 1, 0, 0, 1, 0]
WARD = [1, 1.5, 3, 4.2573465, 5.5113519]


def points_table() -> tuple[Any, Any]:
    return table_of(
        [(Vectors.dense(each),) for each in POINTS], ["features"], [DenseVectorTypeInfo()]
    )


def test_tables_as_in_flinks_test(tmp_path: Path) -> None:
    clustering = AgglomerativeClustering().set_prediction_col("pred")
    with in_memory():
        t_env, table = points_table()
        clustering.save(str(tmp_path / "stage"))
        for each in (clustering, AgglomerativeClustering.load(t_env, str(tmp_path / "stage"))):
            outputs = each.transform(table)
            assert outputs[0].get_schema().get_field_names() == ["features", "pred"]
            assert [row.pred for row in rows_of_table(outputs[0])] == TWO
            names = ["clusterId1", "clusterId2", "distance", "sizeOfMergedCluster"]
            assert outputs[1].get_schema().get_field_names() == names
            found = [row.distance for row in rows_of_table(outputs[1])]
            assert found == pytest.approx(WARD[:4])
        clustering.set_compute_full_tree(True)
        outputs = clustering.transform(table)
        assert [row.distance for row in rows_of_table(outputs[1])] == pytest.approx(WARD)
        clustering.set_num_clusters(None).set_distance_threshold(2.0)
        outputs = clustering.transform(table)
        assert [row.pred for row in rows_of_table(outputs[0])] == [0, 1, 0, 2, 3, 2]


def test_windows_of_a_count_as_in_flinks_test() -> None:
    clustering = AgglomerativeClustering(windows=CountTumblingWindows.of(5))
    expected = [0, 1, 0, 1, 1]
    with in_memory():
        _, table = points_table()
        outputs = clustering.transform(table)
        assert [row.prediction for row in rows_of_table(outputs[0])] == expected
    clusters, merged = clustering.transform(POINTS)
    assert clusters.tolist() == expected
    assert len(merged["distance"]) == 3


def test_the_schema_is_known_before_the_job_runs() -> None:
    with in_memory():
        _, table = table_of([("", "")], ["x", "y"], [Types.STRING(), Types.STRING()])
        outputs = AgglomerativeClustering(features_col="x").transform(table)
        assert outputs[0].get_schema().get_field_names() == ["x", "y", "prediction"]


def test_all_kinds_of_data_are_alike() -> None:
    clusters, merged = AgglomerativeClustering().transform(POINTS)
    assert clusters.tolist() == AgglomerativeClustering().fit_predict(POINTS).tolist() == TWO
    assert merged["distance"].tolist() == pytest.approx(WARD[:4])
    frame, merged = AgglomerativeClustering().transform(pd.DataFrame({"features": POINTS}))
    assert frame["prediction"].tolist() == TWO
    assert merged["sizeOfMergedCluster"].tolist() == [2, 2, 2, 4]
    table, merged = AgglomerativeClustering().transform(pa.table({"features": POINTS}))
    assert table.column("prediction").to_pylist() == TWO
    assert merged.num_rows == 4


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"num_clusters": None}, "ML_PARAM_VALUE"),
        ({"distance_threshold": 1.0}, "ML_PARAM_VALUE"),
        ({"distance_measure": "cosine"}, "ward clusters by euclidean distances"),
        ({"windows": EventTimeTumblingWindows.of(Time.seconds(1))}, "need times"),
    ],
)
def test_what_is_wrong_is_told(params: dict[str, Any], code: str) -> None:
    with pytest.raises(MLError, match=code):
        AgglomerativeClustering(**params).transform(POINTS)


def test_bad_data_are_refused() -> None:
    with pytest.raises(MLError, match="ML_NOT_FINITE"):
        AgglomerativeClustering().transform([[1.0], [float("nan")]])
    clusters, _ = AgglomerativeClustering().transform(np.array([[1.0, 2.0]]))
    assert clusters.tolist() == [0]
