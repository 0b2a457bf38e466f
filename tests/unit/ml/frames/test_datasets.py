"""DataSets as data of machine learning: the same results as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from millstream.common import Row
from millstream.dataset import ExecutionEnvironment
from millstream.ml.feature.lsh import MinHashLSH
from millstream.ml.feature.minmaxscaler import MinMaxScaler
from millstream.ml.feature.randomsplitter import RandomSplitter
from millstream.ml.feature.standardscaler import StandardScaler
from millstream.ml.feature.stringindexer import StringIndexer
from millstream.ml.feature.vectorassembler import VectorAssembler
from millstream.ml.linalg import Vectors
from millstream.testing import in_memory
from tests.support.ml import arrays

ROWS = [(float(n), float(n * n), "abc"[n % 3]) for n in range(50)]


@pytest.fixture(autouse=True)
def env() -> Iterator[Any]:
    with in_memory():
        yield ExecutionEnvironment.get_execution_environment()


def test_a_pipeline_over_tuples(env) -> None:
    data = env.from_collection(ROWS)
    chain = VectorAssembler(input_cols=["f0", "f1"]) | StandardScaler(with_mean=True)
    found = chain.fit(data).transform(data)
    expected = chain.fit(np.array([row[:2] for row in ROWS])).transform([row[:2] for row in ROWS])
    rows = found.collect()
    assert [row.as_dict()["f2"] for row in rows] == [row[2] for row in ROWS]
    assert np.array(arrays(row[4] for row in rows)) == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["vectors", "rows", "mapped tuples"])
def test_elements_of_all_kinds(env, kind) -> None:
    vectors = [Vectors.dense(1.0, 2.0), Vectors.dense(3.0, 6.0)]
    if kind == "vectors":
        data, name = env.from_collection(vectors), "input"
    elif kind == "rows":
        data, name = env.from_collection([Row(n=1, x=v) for v in vectors]), "x"
    else:
        data, name = env.from_collection([1.0, 3.0]).map(lambda v: (Vectors.dense(v, 2 * v),)), "f0"
    scaler = MinMaxScaler(input_col=name)
    rows = scaler.fit(data).transform(data).collect()
    assert arrays(row[-1] for row in rows) == [[0.0, 0.0], [1.0, 1.0]]


def test_texts_and_model_data(env) -> None:
    data = env.from_collection(ROWS)
    model = StringIndexer(input_cols=["f2"], output_cols=["index"]).fit(data)
    assert [row[-1] for row in model.transform(data).collect()] == [n % 3 for n in range(50)]
    (model_data,) = model.get_model_data()
    assert model_data.collect()[0][0] == [["a", "b", "c"]]
    again = StringIndexer.MODEL(input_cols=["f2"], output_cols=["index"])
    assert again.set_model_data(model_data).rows == model.rows
    skipped = again.set_handle_invalid("skip").transform(
        env.from_elements((0, 0, "b"), (0, 0, "z"))
    )
    assert [row[-1] for row in skipped.collect()] == [1]


def test_parts_and_neighbours(env) -> None:
    data = env.from_collection(ROWS)
    parts = [part.collect() for part in RandomSplitter(weights=[1.0, 3.0]).transform(data)]
    assert sorted(parts[0] + parts[1]) == ROWS and 4 < len(parts[0]) < 22
    sets = env.from_collection([(n, Vectors.dense([1] * n + [0] * (6 - n))) for n in range(1, 6)])
    model = MinHashLSH(input_col="f1", num_hash_tables=20).fit(sets)
    near = model.approx_nearest_neighbors(sets, Vectors.dense(1, 1, 1, 0, 0, 0), 2)
    assert [row[0] for row in near.collect()] == [3, 4]
    pairs = model.approx_similarity_join(sets, sets, 0.0, "f0")
    assert sorted(row[0] for row in pairs.collect()) == [1, 2, 3, 4, 5]
