"""FlinkML's other stages: neighbours, factors, outliers, parts of data, files of LibSVM."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.datasets import load_svmlight_file
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import PolynomialFeatures as OraclePolynomial

import millstream.ml
from millstream.common import Types
from millstream.ml import (
    ALS,
    KNN,
    LabeledVector,
    MLUtils,
    PolynomialFeatures,
    Splitter,
    StochasticOutlierSelection,
    Vectors,
)
from millstream.ml.errors import MLError
from millstream.testing import in_memory
from tests.support.ml import rows_of_table, table_of


def test_all_names_are_there() -> None:
    for name in millstream.ml.__all__:
        assert getattr(millstream.ml, name) is not None
    assert dir(millstream.ml) == sorted(millstream.ml.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        millstream.ml.Nothing  # noqa: B018


def test_polynomials_in_the_order_of_flinkml() -> None:
    found = PolynomialFeatures().set_degree(3).transform([[5.0, 2.0]])
    assert found.tolist() == [[125, 50, 20, 8, 25, 10, 4, 5, 2]]
    rows = np.random.default_rng(1).normal(size=(5, 3))
    ours = PolynomialFeatures(degree=4).transform(rows)
    oracle = OraclePolynomial(4, include_bias=False).fit_transform(rows)
    assert np.sort(ours, axis=1) == pytest.approx(np.sort(oracle, axis=1))


@pytest.mark.parametrize(
    ("metric", "oracle"), [("euclidean", "euclidean"), ("manhattan", "l1"), ("cosine", "cosine")]
)
def test_neighbours_are_those_of_scikit_learn(metric: str, oracle: str) -> None:
    random = np.random.default_rng(6)
    rows, queries = random.normal(size=(100, 3)), random.normal(size=(20, 3))
    found = KNN().set_k(4).set_distance_metric(metric).fit(rows).predict(queries)
    places = NearestNeighbors(n_neighbors=4, metric=oracle, algorithm="brute").fit(rows)
    for row, expected in zip(found, places.kneighbors(queries)[1], strict=True):
        assert np.array([each.to_array() for each in row]) == pytest.approx(rows[expected])
    with pytest.raises(MLError, match="ML_NO_COUNTERPART"):
        KNN().set_blocks(2)
    with pytest.raises(MLError, match="ML_EMPTY_INPUT"):
        KNN().fit(np.empty((0, 2)))


def test_factors() -> None:
    random = np.random.default_rng(4)
    users, items = random.normal(size=(30, 2)), random.normal(size=(20, 2))
    known = [(u, i) for u in range(30) for i in range(20) if random.uniform() < 0.8]
    rows = np.array([(u, i, users[u] @ items[i]) for u, i in known])
    als = ALS().set_num_factors(2).set_iterations(60).set_lambda(1e-6)
    model = als.fit(rows)
    assert model.predict(rows[:, :2]) == pytest.approx(rows[:, 2], abs=0.1)
    apart = ((model.predict(rows[:, :2]) - rows[:, 2]) ** 2).sum()
    assert apart < als.empirical_risk(rows) < apart + 1e-3 * len(rows)
    other = ALS(num_factors=2, seed=5, iterations=1).fit(rows)
    assert other.rows != ALS(num_factors=2, iterations=1).fit(rows).rows
    with pytest.raises(MLError, match="ML_NO_COUNTERPART"):
        als.set_temporary_path("/tmp/x")


def test_outliers() -> None:
    rows = [[1.0, 1], [2, 1], [1, 2], [2, 2], [5, 8]]
    expected = [0.27900944792028953, 0.25775014551682535, 0.22136130977995766]
    expected += [0.12707053787018444, 0.9922779902453757]
    found = StochasticOutlierSelection().set_perplexity(3).transform(rows, [0, 1, 2, 3, 7])
    assert found["output"] == pytest.approx(expected, abs=1e-6)
    assert found["label"].tolist() == [0, 1, 2, 3, 7]
    frame = pd.DataFrame({"features": rows})
    found = StochasticOutlierSelection(perplexity=3).transform(frame)
    assert found["label"].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(MLError, match="ML_NOT_FINITE"):
        StochasticOutlierSelection().transform([[float("nan")]])


@pytest.mark.parametrize(
    "data",
    [
        np.arange(200),
        [*range(200)],
        pd.DataFrame({"x": range(200)}),
        pa.table({"x": [*range(200)]}),
    ],
)
def test_splitter(data: Any) -> None:
    def values(part: Any) -> list[int]:
        if isinstance(part, pd.DataFrame):
            return part["x"].tolist()
        return part.column("x").to_pylist() if isinstance(part, pa.Table) else [*map(int, part)]

    training, testing = Splitter.train_test_split(data, fraction=0.6, precise=True, seed=3)
    assert len(values(training)) == 120
    assert sorted(values(training) + values(testing)) == [*range(200)]
    assert values(training) == values(Splitter.random_split(data, 0.6, True, 3)[0])
    parts = Splitter.multi_random_split(data, [1, 2, 3], seed=1)
    assert sorted(chain.from_iterable(map(values, parts))) == [*range(200)]
    folds = Splitter.k_fold_split(data, 4)
    assert sorted(chain.from_iterable(values(each.testing) for each in folds)) == [*range(200)]
    for each in folds:
        assert sorted(values(each.training) + values(each.testing)) == [*range(200)]
    held = Splitter.train_test_holdout_split(data)
    assert sorted(chain.from_iterable(map(values, held))) == [*range(200)]


def test_splitter_on_tables_and_its_errors() -> None:
    with in_memory():
        _, table = table_of([(each,) for each in range(50)], ["x"], [Types.LONG()])
        training, testing = Splitter.train_test_split(table, seed=4)
        found = [row.x for part in (training, testing) for row in rows_of_table(part)]
    assert sorted(found) == [*range(50)]
    for wrong in (
        lambda: Splitter.random_split([1], 1.5),
        lambda: Splitter.multi_random_split([1], [1, 0]),
        lambda: Splitter.k_fold_split([1], 1),
        lambda: Splitter.train_test_holdout_split([1], (0.5, 0.5)),
    ):
        with pytest.raises(MLError, match="ML_PARAM_VALUE"):
            wrong()


def test_libsvm(tmp_path: Path) -> None:
    path = str(tmp_path / "data.libsvm")
    vectors = [
        LabeledVector(1.0, Vectors.sparse(4, {0: 1.5})),
        LabeledVector(-1.0, Vectors.dense(0, 0, 0, 2)),
    ]
    MLUtils.write_libsvm(path, vectors)
    assert MLUtils.read_libsvm(path) == vectors
    rows, labels = load_svmlight_file(path)
    assert rows.toarray().tolist() == [each.vector.to_array().tolist() for each in vectors]
    assert labels.tolist() == [1.0, -1.0]
    frame = pd.DataFrame({"features": [[0.0, 1.0]], "label": [3]})
    (tmp_path / "more").mkdir()
    MLUtils.write_libsvm(str(tmp_path / "more" / "part-0"), frame)
    MLUtils.write_libsvm(str(tmp_path / "more" / "part-1"), vectors)
    assert [each.label for each in MLUtils.read_libsvm(str(tmp_path / "more"))] == [3, 1, -1]


@pytest.mark.parametrize("line", ["1 2:3 1:4", "1 0:3", "x 1:2", "1 1;2", "1 1:a"])
def test_lines_that_are_not_of_libsvm(line: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(f"# a comment\n1 1:1\n{line}\n")
    with pytest.raises(MLError, match=r"ML_LIBSVM.*file:3"):
        MLUtils.read_libsvm(str(tmp_path / "file"))
