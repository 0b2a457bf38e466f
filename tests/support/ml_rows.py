"""Transformers of features with the values of flink-ml's tests."""

from __future__ import annotations

from typing import Any

from millstream.ml.feature.binarizer import Binarizer
from millstream.ml.feature.bucketizer import Bucketizer
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
from millstream.ml.linalg import Vectors
from tests.support.ml import BOOLEAN, DENSE, DOUBLE, INT, SPARSE, TEXT, TEXTS, VECTOR

dense, sparse = Vectors.dense, Vectors.sparse
INF = float("inf")
WORDS = ["HashingTFTest", "Hashing", "Term", "Frequency", "Test"]
MORE_WORDS = ["HashingTFTest", "Hashing", "Hashing", "Test", "Test"]
COUNTED = [67564, 89917, 113827, 131486, 228971]
SPLITS = ((-0.5, 0.0, 0.5), (-1.0, 0.0, 2.0), (-INF, 10.0, INF))
NUMBERS = [(1, -0.5, 0.0, 1.0), (2, -INF, 1.0, INF), (3, float("nan"), -0.5, -0.5)]
FIRST_ROW = dense(2.1, 3.1, 2.3, 3.4, 5.3, 5.1)

# Stage, columns, rows, and what it makes of each row.
CASES: dict[str, tuple[Any, dict[str, Any], list[Any], list[Any]]] = {
    "binarizer": (
        Binarizer(
            input_cols=["f0", "f1", "f2"], output_cols=["a", "b", "c"], thresholds=[1.0, 1.5, 2.5]
        ),
        {"f0": INT, "f1": DENSE, "f2": SPARSE},
        [
            (1, dense(1, 2), sparse(17, [0, 3, 9], [1.0, 2.0, 7.0])),
            (2, dense(2, 1), sparse(17, [0, 2, 14], [5.0, 4.0, 1.0])),
            (3, dense(5, 18), sparse(17, [0, 11, 12], [2.0, 4.0, 4.0])),
        ],
        [
            [0.0, dense(0.0, 1.0), sparse(17, [9], [1.0])],
            [1.0, dense(1.0, 0.0), sparse(17, [0, 2], [1.0, 1.0])],
            [1.0, dense(1.0, 1.0), sparse(17, [11, 12], [1.0, 1.0])],
        ],
    ),
    "bucketizer": (
        Bucketizer(
            input_cols=["f1", "f2", "f3"],
            output_cols=["o1", "o2", "o3"],
            splits_array=SPLITS,
            handle_invalid="keep",
        ),
        {"id": INT, "f1": DOUBLE, "f2": DOUBLE, "f3": DOUBLE},
        NUMBERS,
        [[0, 1, 0], [2, 1, 1], [2, 0, 0]],
    ),
    "elementwiseproduct": (
        ElementwiseProduct(scaling_vec=dense(1.0, 3.0, 10.0)),
        {"input": VECTOR},
        [(dense(2.0, 3.0, 0.5),), (sparse(3, [1], [2.0]),)],
        [[dense(2.0, 9.0, 5.0)], [sparse(3, [1], [6.0])]],
    ),
    "featurehasher": (
        FeatureHasher(
            input_cols=["f0", "f1", "f2"],
            categorical_cols=["f0", "f2"],
            output_col="vec",
            num_features=1000,
        ),
        {"id": INT, "f0": TEXT, "f1": DOUBLE, "f2": BOOLEAN},
        [(0, "a", 1.0, True), (1, "c", 1.0, False)],
        [
            [sparse(1000, [607, 635, 913], [1.0, 1.0, 1.0])],
            [sparse(1000, [242, 869, 913], [1.0, 1.0, 1.0])],
        ],
    ),
    "hashingtf": (
        HashingTF(),
        {"input": TEXTS},
        [(WORDS,), (MORE_WORDS,)],
        [[sparse(262144, COUNTED, [1.0] * 5)], [sparse(262144, {67564: 1, 131486: 2, 228971: 2})]],
    ),
    "interaction": (
        Interaction(input_cols=["f0", "f1", "f2"]),
        {"f0": INT, "f1": DENSE, "f2": DENSE},
        [(1, dense(1, 2), dense(3, 4)), (2, dense(2, 8), dense(3, 4))],
        [[dense(3, 4, 6, 8)], [dense(12, 16, 48, 64)]],
    ),
    "ngram": (
        NGram(),
        {"input": TEXTS},
        [([],), (["a", "b", "c"],), (["a", "b", "c", "d"],)],
        [[[]], [["a b", "b c"]], [["a b", "b c", "c d"]]],
    ),
    "normalizer": (
        Normalizer(p=1.5),
        {"input": DENSE},
        [(FIRST_ROW,)],
        [
            [
                dense(
                    0.17386300895299714,
                    0.25665491797823387,
                    0.19042139075804446,
                    0.28149249068580484,
                    0.43879711783375464,
                    0.42223873602870726,
                )
            ]
        ],
    ),
    "polynomialexpansion": (
        PolynomialExpansion(),
        {"input": DENSE},
        [(dense(1.0, 2.0),), (dense(2.0, 3.0),)],
        [[dense(1.0, 1.0, 2.0, 2.0, 4.0)], [dense(2.0, 4.0, 3.0, 6.0, 9.0)]],
    ),
    "regextokenizer": (
        RegexTokenizer(),
        {"input": TEXT},
        [("Test for tokenization.",), ("Te,st. punct",)],
        [[["test", "for", "tokenization."]], [["te,st.", "punct"]]],
    ),
    "tokenizer": (
        Tokenizer(),
        {"input": TEXT},
        [("Test for tokenization.",), ("Te,st. punct",)],
        [[["test", "for", "tokenization."]], [["te,st.", "punct"]]],
    ),
    "vectorassembler": (
        VectorAssembler(
            input_cols=["vec", "num", "sparse_vec"], input_sizes=[2, 1, 5], handle_invalid="keep"
        ),
        {"id": INT, "vec": DENSE, "num": DOUBLE, "sparse_vec": SPARSE},
        [
            (0, dense(2.1, 3.1), 1.0, sparse(5, [3], [1.0])),
            (1, dense(2.1, 3.1), 1.0, sparse(5, [1, 2, 3, 4], [1.0, 2.0, 3.0, 4.0])),
        ],
        [
            [sparse(8, [0, 1, 2, 6], [2.1, 3.1, 1.0, 1.0])],
            [dense(2.1, 3.1, 1.0, 0.0, 1.0, 2.0, 3.0, 4.0)],
        ],
    ),
    "vectorslicer": (
        VectorSlicer(indices=[0, 1, 2]),
        {"input": DENSE},
        [(dense(2.1, 3.1, 1.2, 2.1),), (dense(2.3, 2.1, 1.3, 1.2),)],
        [[dense(2.1, 3.1, 1.2)], [dense(2.3, 2.1, 1.3)]],
    ),
}
