"""MinHashLSH: the values of flink-ml's tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from millstream.ml.errors import MLError
from millstream.ml.feature.lsh import MinHashLSH, MinHashLSHModel
from millstream.ml.linalg import Vectors
from millstream.table.expressions import col
from tests.support.ml import INT, SPARSE, Tables, arrays

ONES = [1.0, 1.0, 1.0]
ROWS = [(n, Vectors.sparse(6, at, ONES)) for n, at in enumerate([[0, 1, 2], [2, 3, 4], [0, 2, 4]])]
OTHERS = [
    (n + 3, Vectors.sparse(6, at, ONES)) for n, at in enumerate([[1, 3, 5], [2, 3, 5], [1, 2, 4]])
]
COLUMNS = {"id": INT, "vec": SPARSE}
HASHES = [
    [
        [1.73046954e8, 1.57275425e8, 6.90717571e8],
        [5.02301169e8, 7.967141e8, 4.06089319e8],
        [2.83652171e8, 1.97714719e8, 6.04731316e8],
        [5.2181506e8, 6.36933726e8, 6.13894128e8],
        [3.04301769e8, 1.113672955e9, 6.1388711e8],
    ],
    [
        [1.73046954e8, 1.57275425e8, 6.7798584e7],
        [6.38582806e8, 1.78703694e8, 4.06089319e8],
        [6.232638e8, 9.28867e7, 9.92010642e8],
        [2.461064e8, 1.12787481e8, 1.92180297e8],
        [2.38162496e8, 1.552933319e9, 2.77995137e8],
    ],
    [
        [1.73046954e8, 1.57275425e8, 6.90717571e8],
        [1.453197722e9, 7.967141e8, 4.06089319e8],
        [6.232638e8, 1.97714719e8, 6.04731316e8],
        [2.461064e8, 1.12787481e8, 1.92180297e8],
        [1.224130231e9, 1.113672955e9, 2.77995137e8],
    ],
]


def lsh(functions: int) -> MinHashLSH:
    return MinHashLSH(
        input_col="vec",
        output_col="hashes",
        seed=2022,
        num_hash_tables=5,
        num_hash_functions_per_table=functions,
    )


def test_hashes_of_flink(tmp_path) -> None:
    tables = Tables()
    table = tables.of(COLUMNS, ROWS)
    model = lsh(3).fit(table)
    (data,) = model.get_model_data()
    assert data.get_schema().get_field_names() == list(MinHashLSHModel.DATA)
    (row,) = tables.rows(data)
    assert [row[0], row[1], len(row[2]), len(row[3])] == [5, 3, 15, 15]
    model.save(str(tmp_path / "model"))
    again = MinHashLSHModel(input_col="vec", output_col="hashes").set_model_data(data)
    for each in (model, MinHashLSHModel.load(tables.t_env, str(tmp_path / "model")), again):
        (output,) = each.transform(table)
        assert output.get_schema().get_field_names() == ["id", "vec", "hashes"]
        found = tables.column(output.select(col("hashes")), "hashes")
        assert sorted(arrays(hashes) for hashes in found) == sorted(HASHES)


@pytest.mark.parametrize(
    "key", [Vectors.sparse(6, [1, 3], [1.0, 1.0]), Vectors.dense(0, 1, 0, 1, 0, 0)]
)
def test_neighbours_of_flink(key) -> None:
    tables = Tables()
    table = tables.of(COLUMNS, ROWS)
    found = lsh(1).fit(table).approx_nearest_neighbors(table, key, 2)
    rows = tables.rows(found.select(col("id"), col("distCol")))
    assert [tuple(row) for row in rows] == [(0, 0.75), (1, 0.75)]


def test_the_join_of_flink() -> None:
    tables = Tables()
    table, other = tables.of(COLUMNS, ROWS), tables.of(COLUMNS, OTHERS)
    found = lsh(1).fit(table).approx_similarity_join(table, other, 0.6, "id")
    assert found.get_schema().get_field_names() == ["datasetA.id", "datasetB.id", "distCol"]
    rows = sorted(tuple(row) for row in tables.rows(found))
    assert rows == [(0, 5, 0.5), (1, 4, 0.5), (1, 5, 0.5), (2, 5, 0.5)]


def test_frames_of_pandas_are_searched_and_joined() -> None:
    frame = pd.DataFrame(ROWS, columns=["id", "vec"])
    model = lsh(1).fit(frame)
    hashed = model.transform(frame)
    near = model.approx_nearest_neighbors(hashed, Vectors.dense(1, 1, 1, 0, 0, 0), 1, "far")
    assert near[["id", "far"]].to_numpy().tolist() == [[0, 0.0]]
    pairs = model.approx_similarity_join(frame, hashed, 0.0, "id")
    assert pairs.to_numpy().tolist() == [[0, 0, 0.0], [1, 1, 0.0], [2, 2, 0.0]]
    none = model.approx_similarity_join(frame, hashed, -1.0, "id")
    assert len(none) == 0


def test_similar_sets_share_hashes_as_often_as_they_are_similar() -> None:
    left, right = np.zeros(60), np.zeros(60)
    left[:40], right[20:] = 1, 1
    hashes = MinHashLSH(num_hash_tables=2000).fit([left]).transform([left, right])
    same = np.mean([a == b for a, b in zip(*hashes, strict=True)])
    assert same == pytest.approx(20 / 60, abs=0.08)


def test_bad_sets() -> None:
    model = MinHashLSH().fit([[1.0, 0.0]])
    assert MinHashLSH().seed == -1229568175
    calls: list[tuple[Any, str]] = [
        (lambda: model.transform([[0.0, 0.0]]), "at least 1 non zero entry"),
        (lambda: MinHashLSH().fit([Vectors.dense(1), Vectors.dense(1, 2)]), "expecting 1 features"),
        (lambda: model.approx_nearest_neighbors([[1.0, 0.0]], [1.0], 1), "instance of Vector"),
        (lambda: model.approx_similarity_join([[1.0]], [[1.0]], 1, "id"), "no column of ids"),
    ]
    for call, message in calls:
        with pytest.raises(MLError, match=message):
            call()
