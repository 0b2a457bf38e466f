"""Transformers: the values of flink-ml's tests, on tables and on arrays."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.fft import dct
from sklearn.preprocessing import PolynomialFeatures, normalize

from millstream.ml.errors import MLError
from millstream.ml.feature.bucketizer import Bucketizer
from millstream.ml.feature.dct import DCT
from millstream.ml.feature.elementwiseproduct import ElementwiseProduct
from millstream.ml.feature.featurehasher import FeatureHasher
from millstream.ml.feature.hashingtf import HashingTF
from millstream.ml.feature.interaction import Interaction
from millstream.ml.feature.ngram import NGram
from millstream.ml.feature.normalizer import Normalizer
from millstream.ml.feature.polynomialexpansion import PolynomialExpansion
from millstream.ml.feature.regextokenizer import RegexTokenizer
from millstream.ml.feature.tokenizer import Tokenizer
from millstream.ml.feature.vectorassembler import VectorAssembler
from millstream.ml.feature.vectorslicer import VectorSlicer
from millstream.ml.linalg import DenseVector, SparseVector, Vectors
from tests.support.ml import DENSE, Tables, arrays
from tests.support.ml_rows import CASES, INF, MORE_WORDS, NUMBERS, SPLITS, dense, sparse

NAN = float("nan")


@pytest.mark.parametrize("name", CASES)
def test_values_of_flink_on_tables(name, tmp_path) -> None:
    stage, columns, rows, expected = CASES[name]
    tables = Tables()
    table = tables.of(columns, rows)
    stage.save(str(tmp_path / "stage"))
    for each in (stage, type(stage).load(tables.t_env, str(tmp_path / "stage"))):
        (output,) = each.transform(table)
        assert output.get_schema().get_field_names() == [*columns, *stage.output_columns()]
        found = [list(row)[len(columns) :] for row in tables.rows(output)]
        assert found == expected
        assert [[*map(type, row)] for row in found] == [[*map(type, row)] for row in expected]


@pytest.mark.parametrize("name", CASES)
def test_the_same_on_frames_of_pandas_and_arrow(name) -> None:
    stage, columns, rows, expected = CASES[name]
    frame = pd.DataFrame([list(row) for row in rows], columns=list(columns))
    made = stage.transform(frame)[stage.output_columns()]
    assert [list(row) for row in made.itertuples(index=False)] == expected
    if not any(isinstance(value, SparseVector) for row in rows for value in row):
        plain = {
            each: [v.to_array().tolist() if isinstance(v, DenseVector) else v for v in frame[each]]
            for each in columns
        }
        found = stage.transform(pa.table(plain))
        assert found.num_rows == len(expected)


def test_buckets_of_invalid_numbers() -> None:
    stage = CASES["bucketizer"][0].clone()
    tables = Tables()
    table = tables.of(CASES["bucketizer"][1], NUMBERS)
    (output,) = stage.set_handle_invalid("skip").transform(table)
    assert [list(row) for row in tables.rows(output)] == [[1, -0.5, 0.0, 1.0, 0, 1, 0]]
    with pytest.raises(ValueError, match="outside of all buckets"):
        stage.set_handle_invalid("error").transform(
            pd.DataFrame(NUMBERS, columns=["id", "f1", "f2", "f3"])
        )
    assert stage.get_split_array() == stage.split_array == SPLITS
    for splits in ([[1.0, 2.0]], [[1.0, 1.0, 2.0]], []):
        with pytest.raises(ValueError, match="ML_PARAM_VALUE"):
            Bucketizer(splits_array=splits)


def test_hashes_of_all_kinds_of_terms() -> None:
    terms = ["a", 1, 2**40, 1.5, True, False, None]
    (vector,) = HashingTF().transform(pd.DataFrame({"input": [terms]}))["output"]
    assert vector.values.sum() == len(terms)
    binary = HashingTF(binary=True).transform(pd.DataFrame({"input": [MORE_WORDS]}))
    assert binary["output"][0] == sparse(262144, [67564, 131486, 228971], [1.0, 1.0, 1.0])
    with pytest.raises(TypeError, match="does not support"):
        HashingTF().transform(pd.DataFrame({"input": [[{}]]}))


def test_features_of_a_hasher_add_up_and_none_counts_nothing() -> None:
    frame = pd.DataFrame({"a": [2, None], "b": ["x", None]})
    hasher = FeatureHasher(input_cols=["a", "b"], num_features=1)
    assert hasher.transform(frame)["output"].tolist() == [sparse(1, {0: 3.0}), sparse(1, {})]
    with pytest.raises(ValueError, match="must be included in input_cols"):
        FeatureHasher(input_cols=["a"], categorical_cols=["b"]).transform(frame)


def test_cosines_of_scipy() -> None:
    tables = Tables()
    rows = [(dense(1.0, 1.0, 1.0, 1.0),), (dense(1.0, 0.0, -1.0, 0.0),)]
    found = tables.column(DCT().transform(tables.of({"input": DENSE}, rows))[0], "output")
    assert np.array(arrays(found)) == pytest.approx(
        np.array([[2.0, 0.0, 0.0, 0.0], [0.0, 0.924, 1.0, -0.383]]), abs=1e-3
    )
    for length in (1, 2, 3, 8, 13):
        given = np.random.default_rng(length).normal(size=(5, length))
        forward = DCT().transform(given)
        assert forward == pytest.approx(dct(given, norm="ortho"), abs=1e-12)
        assert DCT(inverse=True).transform(forward) == pytest.approx(given, abs=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_products_of_scikit_learn(degree) -> None:
    given = np.random.default_rng(degree).integers(0, 3, (20, 3)).astype(float)
    found = PolynomialExpansion(degree=degree).transform(given)
    oracle = PolynomialFeatures(degree, include_bias=False).fit_transform(given)
    assert np.sort(found, axis=1) == pytest.approx(np.sort(oracle, axis=1))
    thin = PolynomialExpansion(degree=degree).transform([DenseVector(r).to_sparse() for r in given])
    assert np.array(arrays(thin)) == pytest.approx(found)
    with pytest.raises(ValueError, match="too many products"):
        PolynomialExpansion(degree=20).transform(np.zeros((1, 100)))


@pytest.mark.parametrize(("p", "norm"), [(1.0, "l1"), (2.0, "l2"), (INF, "max")])
def test_norms_of_scikit_learn(p, norm) -> None:
    given = np.random.default_rng(3).normal(size=(9, 4))
    given[4] = 0
    expected = given / np.maximum(np.abs(given).max(axis=1, keepdims=True), 1e-300)
    oracle = expected if norm == "max" else normalize(given, norm)
    assert Normalizer(p=p).transform(given) == pytest.approx(oracle, abs=1e-12)
    thin = Normalizer(p=p).transform([sparse(5, {1: 3.0, 4: 4.0})])
    assert thin[0].to_array()[4] == pytest.approx({1.0: 4 / 7, 2.0: 0.8, INF: 1.0}[p])


def test_products_with_sparse_vectors_and_without_values() -> None:
    frame = pd.DataFrame(
        {"a": [2.0, 1.0], "v": [sparse(3, {1: 5.0}), sparse(3, {})], "w": [dense(1.0, 10.0), None]}
    )
    found = Interaction(input_cols=["a", "v", "w"]).transform(frame)["output"].tolist()
    assert found == [sparse(6, {2: 10.0, 3: 100.0}), None]


def test_sparse_products_of_flink() -> None:
    frame = pd.DataFrame(
        {
            "f0": [1, 2],
            "f1": [dense(1, 2), dense(2, 8)],
            "f2": [dense(3, 4), dense(3, 4, 5)],
            "f3": [sparse(17, [0, 3, 9], [1.0, 2.0, 7.0]), sparse(17, [0, 2, 14], [5.0, 4.0, 1.0])],
        }
    )
    first, second = Interaction(input_cols=["f0", "f1", "f2", "f3"]).transform(frame)["output"]
    assert first.indices.tolist() == [0, 3, 9, 17, 20, 26, 34, 37, 43, 51, 54, 60]
    assert first.values.tolist() == [3, 6, 21, 4, 8, 28, 6, 12, 42, 8, 16, 56]
    assert second.size() == 102 and second.values.tolist() == [
        *[60, 48, 12, 80, 64, 16, 100, 80, 20, 240, 192, 48, 320, 256, 64, 400, 320, 80]
    ]
    rows = [dense(1.0, 2.0, 3.0), dense(2.0, 3.0)]
    found = PolynomialExpansion(degree=3).transform(pd.DataFrame({"input": rows}))["output"]
    assert found[0].to_array().tolist() == [
        *[1, 1, 1, 2, 2, 2, 4, 4, 8, 3, 3, 3, 6, 6, 12, 9, 9, 18, 27]
    ]
    assert found[1].to_array().tolist() == [2, 4, 8, 3, 6, 12, 9, 18, 27]
    thin = PolynomialExpansion(degree=3).transform([sparse(5, [1, 4], [2.0, 3.0])])
    places = [3, 6, 8, 34, 37, 39, 49, 51, 54]
    assert thin[0] == sparse(55, places, [2.0, 4.0, 8.0, 3.0, 6.0, 12.0, 9.0, 18.0, 27.0])


def test_assembled_gaps_of_flink() -> None:
    rest = sparse(5, [1, 2, 3, 4], [1.0, 2.0, 3.0, 4.0])
    frame = pd.DataFrame(
        {
            "vec": [dense(2.1, 3.1), None, dense(2.0, 2.1)],
            "num": [1.0, 1.0, NAN],
            "sparse": [sparse(5, [3], [1.0]), rest, rest],
        }
    )
    stage = VectorAssembler(input_cols=["vec", "num", "sparse"], input_sizes=[2, 1, 5])
    kept = arrays(stage.set_handle_invalid("keep").transform(frame)["output"])
    assert kept[0] == [2.1, 3.1, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    assert np.array(kept[1:]) == pytest.approx(
        np.array([[NAN, NAN, 1, 0, 1, 2, 3, 4], [2.0, 2.1, NAN, 0, 1, 2, 3, 4]]), nan_ok=True
    )
    assert len(stage.set_handle_invalid("skip").transform(frame)) == 1
    with pytest.raises(ValueError, match="NaN in column 'num'"):
        stage.set_handle_invalid("error").transform(frame[2:])
    numbers = VectorAssembler(input_cols=["a", "b"], handle_invalid="skip")
    assert numbers.transform(np.array([[1.0, 2.0], [NAN, 3.0]])).tolist() == [[1.0, 2.0]]
    assert np.isnan(numbers.set_handle_invalid("keep").transform([[NAN, 3.0]])).tolist() == [
        [True, False]
    ]
    wrong = stage.clone().set_input_sizes(2, 1, 4)
    assert len(wrong.set_handle_invalid("skip").transform(frame)) == 0
    assert len(wrong.set_handle_invalid("keep").transform(frame)) == 3


def test_words_of_patterns() -> None:
    texts = [" a  bc ", "", "d"]
    assert Tokenizer().transform(texts).tolist() == [["", "a", "", "bc"], [""], ["d"]]
    assert RegexTokenizer().transform(texts).tolist() == [["a", "bc"], [], ["d"]]
    words = RegexTokenizer(pattern="(B|c)+", gaps=False, to_lowercase=False, min_token_length=2)
    assert words.transform(["aBcB c"]).tolist() == [["BcB"]]
    assert words.get_to_lowertcase() is False
    with pytest.raises(ValueError, match="no regular expression"):
        RegexTokenizer(pattern="(").transform(texts)
    with pytest.raises(TypeError, match="which is no text"):
        Tokenizer().transform(pd.DataFrame({"input": ["a", None]}))


def test_assembled_rows_that_are_invalid() -> None:
    frame = pd.DataFrame(
        {"a": [dense(1, 2), None, dense(1, 2, 3)], "b": [1.0, 2.0, 3.0]}, index=[5, 6, 7]
    )
    stage = VectorAssembler(input_cols=["a", "b"], input_sizes=[2, 1])
    skipped = stage.set_handle_invalid("skip").transform(frame)
    assert skipped["output"].to_dict() == {5: dense(1, 2, 1)}
    kept = stage.set_handle_invalid("keep").transform(frame)["output"].tolist()
    assert math.isnan(kept[1][0]) and kept[1].size() == 3 and kept[2] == dense(1, 2, 3, 3)
    with pytest.raises(ValueError, match="None in column 'a'"):
        stage.set_handle_invalid("error").transform(frame)
    with pytest.raises(ValueError, match="a vector of size 3 in column 'a', which has size 2"):
        stage.transform(frame[frame["a"].notna()])
    with pytest.raises(ValueError, match="input_cols has 2, input_sizes has 1"):
        VectorAssembler(input_cols=["a", "b"], input_sizes=[2]).transform(frame)


@pytest.mark.parametrize(
    ("stage", "data", "message"),
    [
        (VectorSlicer(indices=[4]), [[1.0, 2.0]], "index value 4 is greater than vector size: 2"),
        (ElementwiseProduct(scaling_vec=dense(1, 2)), [[1.0]], "expecting 2 features"),
        (NGram(), pd.DataFrame({"input": ["a b"]}), "which is no list of terms"),
        (Normalizer(), [Vectors.dense(1), None], "which is no vector"),
        (PolynomialExpansion(), ["a"], "which is no vector"),
    ],
)
def test_bad_data_are_refused(stage, data, message) -> None:
    with pytest.raises(MLError, match=message):
        stage.transform(data)


@pytest.mark.parametrize("indices", [[], [-1], [0, 0]])
def test_bad_indices_are_refused(indices) -> None:
    with pytest.raises(ValueError, match="different places, from 0 on"):
        VectorSlicer(indices=indices)
