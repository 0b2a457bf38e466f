"""Features against scikit-learn, and learned from parts as from the whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import preprocessing
from sklearn.feature_extraction.text import CountVectorizer as Counter
from sklearn.impute import SimpleImputer

from millstream.ml.builder import Pipeline
from millstream.ml.feature.countvectorizer import CountVectorizer
from millstream.ml.feature.imputer import Imputer
from millstream.ml.feature.kbinsdiscretizer import KBinsDiscretizer
from millstream.ml.feature.maxabsscaler import MaxAbsScaler
from millstream.ml.feature.minmaxscaler import MinMaxScaler
from millstream.ml.feature.onehotencoder import OneHotEncoder
from millstream.ml.feature.robustscaler import RobustScaler
from millstream.ml.feature.standardscaler import StandardScaler
from millstream.ml.feature.stringindexer import StringIndexer
from millstream.ml.feature.variancethresholdselector import VarianceThresholdSelector
from millstream.ml.feature.vectorassembler import VectorAssembler
from millstream.ml.frames.local import ArrowFrame
from millstream.ml.kernel.batch import Batch
from millstream.ml.kernel.kinds import batch_of, batch_to_arrow
from millstream.ml.linalg import DenseVector
from tests.support.ml import DOUBLE, TEXT, Tables, arrays
from tests.support.ml_learned import CASES
from tests.support.strategies import examples

values = st.floats(-1e6, 1e6).map(lambda v: round(v, 3))
matrices = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(values, min_size=width, max_size=width), min_size=2, max_size=20
    )
)


@examples(60)
@given(matrices)
def test_closed_forms_of_scikit_learn(rows: list[list[float]]) -> None:
    data = np.array(rows)
    # Columns that hardly vary are constant to MinMaxScaler, and scaled by scikit-learn.
    wide = np.ptp(data, axis=0) > 1e-4
    scale = np.abs(data).max(axis=0, initial=1)
    pairs: list[tuple[Any, Any]] = [
        (MinMaxScaler(min=-1.0, max=2.0), preprocessing.MinMaxScaler((-1, 2))),
        (MaxAbsScaler(), preprocessing.MaxAbsScaler()),
    ]
    for ours, theirs in pairs:
        found, expected = ours.fit_transform(data), theirs.fit_transform(data)
        assert found[:, wide] == pytest.approx(expected[:, wide], abs=1e-6)
    ours = StandardScaler(with_mean=True).fit_transform(data)
    theirs = preprocessing.StandardScaler().fit_transform(data)
    factor = np.sqrt((len(data) - 1) / len(data))
    assert ours[:, wide] == pytest.approx(theirs[:, wide] * factor, abs=1e-6)
    selected = VarianceThresholdSelector(variance_threshold=0.5).fit(data).rows[0]["indices"]
    variances = data.var(axis=0)
    clear = np.abs(variances - 0.5) > 1e-9 * scale**2
    assert [at for at in selected if clear[at]] == np.flatnonzero(
        (variances > 0.5) & clear
    ).tolist()


@pytest.mark.parametrize(
    ("strategy", "theirs"), [("mean", "mean"), ("most_frequent", "most_frequent")]
)
def test_missing_values_of_scikit_learn(strategy, theirs) -> None:
    data = np.random.default_rng(4).integers(0, 5, (60, 2)).astype(float)
    data[::7, 0] = np.nan
    data[3::5, 1] = np.nan
    names = {"input_cols": ["a", "b"], "output_cols": ["c", "d"]}
    found = Imputer(strategy=strategy, **names).fit_transform(data)  # type: ignore[arg-type]
    assert found == pytest.approx(SimpleImputer(strategy=theirs).fit_transform(data))
    odd = data[~np.isnan(data[:, 0])][:41, :1]
    median = Imputer(strategy="median", input_cols=["a"], output_cols=["c"]).fit(odd)
    assert median.rows[0]["surrogates"]["a"] == np.median(odd)


def test_bins_indices_and_words_of_scikit_learn() -> None:
    data = np.random.default_rng(5).normal(size=(80, 2))
    found = KBinsDiscretizer(strategy="uniform", num_bins=6).fit_transform(data)
    bins = preprocessing.KBinsDiscretizer(6, encode="ordinal", strategy="uniform", subsample=None)
    assert found.tolist() == bins.fit_transform(data).tolist()
    words = [list("abcab"), list("bd"), list("aaa")]
    vectors = CountVectorizer().fit(words)
    vocabulary = vectors.rows[0]["vocabulary"]
    oracle = Counter(analyzer=lambda each: each, vocabulary=vocabulary).transform(words)
    assert arrays(vectors.transform(words)) == oracle.toarray().tolist()
    texts = [list(each) for each in "badab"]
    numbers = np.array([[2.0], [7.0], [2.0]])
    indexed = StringIndexer(input_cols=["x"], output_cols=["y"]).fit_transform(numbers)
    assert indexed.tolist() == [0, 1, 0]
    places = StringIndexer(input_cols=["x"], output_cols=["y"]).fit_transform([t[0] for t in texts])
    ordinal = preprocessing.OrdinalEncoder().fit_transform(texts).ravel()
    assert places.tolist() == ordinal.tolist()
    hot = OneHotEncoder(input_cols=["x"], output_cols=["y"], drop_last=False).fit_transform(places)
    assert arrays(hot) == preprocessing.OneHotEncoder().fit_transform(texts).toarray().tolist()


class Parts(ArrowFrame):
    """A table that is learned from in parts, as DataFrames are."""

    size = 2

    def reduce(self, partial: Callable[[Batch], Any], names: Sequence[str]) -> list[Any]:
        table = self._table.select(list(names))
        starts = range(0, table.num_rows, self.size)
        return [partial(batch_of(table.slice(at, self.size))) for at in starts]


def equal(found: Any, expected: Any) -> bool:
    if isinstance(expected, DenseVector):
        return np.allclose(found.to_array(), expected.to_array(), atol=1e-9)
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(equal(found[k], expected[k]) for k in found)
    if isinstance(expected, float):
        return bool(found == pytest.approx(expected))
    return bool(found == expected)


@pytest.mark.parametrize("name", CASES)
def test_parts_teach_what_the_whole_teaches(name) -> None:
    case = CASES[name]
    lists = {each: [row[at] for row in case.train] for at, each in enumerate(case.columns)}
    table = batch_to_arrow(Batch(lists, len(case.train)))
    expected = case.stage.fit(table).rows
    found = case.stage.fit(Parts(table)).rows
    assert len(found) == len(expected)
    assert all(equal(a, b) for a, b in zip(found, expected, strict=True)), (found, expected)


def test_quantiles_of_many_rows_are_as_good_as_they_say() -> None:
    data = np.random.default_rng(6).permutation(20_000).astype(float)
    frame = Parts(pa.table({"input": data}))
    frame.size = 5000
    (row,) = RobustScaler(relative_error=0.01).fit(frame).rows
    assert row["medians"].get(0) == pytest.approx(10_000, abs=200)
    assert row["ranges"].get(0) == pytest.approx(10_000, abs=400)
    (row,) = RobustScaler(relative_error=0.0).fit(frame).rows
    assert [row["medians"].get(0), row["ranges"].get(0)] == [9999.0, 10_000.0]


def test_bins_learn_from_some_of_many_rows() -> None:
    data = np.random.default_rng(7).random(10_000)
    frame = Parts(pa.table({"input": data}))
    frame.size = 1000
    (row,) = KBinsDiscretizer(num_bins=4, sub_samples=2000).fit(frame).rows
    assert row["binEdges"][0] == pytest.approx([0, 0.25, 0.5, 0.75, 1], abs=0.04)


def test_a_pipeline_of_a_table_learns_stage_after_stage() -> None:
    tables = Tables()
    rows = [("a", 1.0), ("b", 5.0), ("a", 3.0), ("c", 7.0)]
    table = tables.of({"word": TEXT, "number": DOUBLE}, rows)
    pipeline = Pipeline(
        [
            StringIndexer(input_cols=["word"], output_cols=["index"]),
            OneHotEncoder(input_cols=["index"], output_cols=["hot"]),
            VectorAssembler(input_cols=["hot", "number"], output_col="vec"),
            MinMaxScaler(input_col="vec"),
        ]
    )
    (output,) = pipeline.fit(table).transform(table)
    found = tables.column(output, "output")
    assert arrays(found)[1] == pytest.approx([0, 1, 2 / 3])
    assert arrays(found)[3] == pytest.approx([0, 0, 1])
