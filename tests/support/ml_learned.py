"""Estimators of features with the values of flink-ml's tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millstream.ml.feature.countvectorizer import CountVectorizer
from millstream.ml.feature.idf import IDF
from millstream.ml.feature.imputer import Imputer
from millstream.ml.feature.kbinsdiscretizer import KBinsDiscretizer
from millstream.ml.feature.maxabsscaler import MaxAbsScaler
from millstream.ml.feature.minmaxscaler import MinMaxScaler
from millstream.ml.feature.onehotencoder import OneHotEncoder
from millstream.ml.feature.robustscaler import RobustScaler
from millstream.ml.feature.stringindexer import StringIndexer
from millstream.ml.feature.variancethresholdselector import VarianceThresholdSelector
from millstream.ml.feature.vectorindexer import VectorIndexer
from millstream.ml.linalg import Vectors
from tests.support.ml import DENSE, DOUBLE, INT, TEXT, TEXTS

dense, sparse = Vectors.dense, Vectors.sparse
NAN, INF = float("nan"), float("inf")


@dataclass
class Case:
    """An estimator, columns, rows to learn and to transform, results, and values of the model."""

    stage: Any
    columns: dict[str, Any]
    train: list[Any]
    rows: list[Any]
    expected: list[Any]
    model: dict[str, Any]


def rows_of(*values: Any) -> list[Any]:
    return [(value,) for value in values]


SCALED = rows_of(*map(dense, [[0.0, 3.0], [2.1, 0.0], [4.1, 5.1], [6.1, 8.1], [200.0, 400.0]]))
UNSCALED = rows_of(dense(150.0, 90.0), dense(50.0, 40.0), dense(100.0, 50.0))
BETWEEN = rows_of(dense(0.75, 0.225), dense(0.25, 0.1), dense(0.5, 0.125))
BINS = rows_of(*(dense(v, 10, 3 if v == 13 else 0) for v in (1, 1, 1, 4, 5, 6, 7, 10, 13)))
BINNED = rows_of(
    dense(-1, 0, 0),
    dense(1, 1, 1),
    dense(1.5, 1, 2),
    dense(5, 2, 3),
    dense(7.25, 3, 4),
    dense(13, 4, 5),
    dense(15, 4, 6),
)
WORDS = [
    (1, ["a", "c", "b", "c"]),
    (2, ["c", "d", "e"]),
    (3, ["a", "b", "c"]),
    (4, ["e", "f"]),
    (5, ["a", "c", "a"]),
]
TEXTS_AND_NUMBERS = [
    *(("a", 1.0), ("b", 1.0), ("b", 2.0), ("c", 0.0), ("d", 2.0), ("a", 2.0), ("b", 2.0)),
    *(("b", -1.0), ("a", -1.0), ("c", -1.0), ("d", None), (None, 2.0), (None, None)),
]
GAPS = [
    (NAN, 9.0, 1),
    (1.0, 9.0, None),
    (1.5, 7.0, 1),
    (1.5, NAN, 2),
    (4.0, 5.0, 4),
    (None, 4.0, None),
]
F123 = {"input_cols": ["f1", "f2", "f3"], "output_cols": ["o1", "o2", "o3"]}
VARYING = [
    dense(5.0, 7.0, 0.0, 7.0, 6.0, 0.0),
    dense(0.0, 9.0, 6.0, 0.0, 5.0, 9.0),
    dense(0.0, 9.0, 3.0, 0.0, 5.0, 5.0),
    dense(1.0, 9.0, 8.0, 5.0, 7.0, 4.0),
    dense(9.0, 8.0, 6.0, 5.0, 4.0, 4.0),
    dense(6.0, 9.0, 7.0, 0.0, 2.0, 0.0),
]

CASES = {
    "minmaxscaler": Case(
        MinMaxScaler(),
        {"input": DENSE},
        SCALED,
        UNSCALED,
        BETWEEN,
        {"minVector": dense(0.0, 0.0), "maxVector": dense(200.0, 400.0)},
    ),
    "minmaxscaler of a constant": Case(
        MinMaxScaler(min=0.0, max=10.0),
        {"input": DENSE},
        rows_of(dense(40.0, 80.0)),
        rows_of(dense(30.0, 50.0)),
        rows_of(dense(5.0, 5.0)),
        {"minVector": dense(40.0, 80.0), "maxVector": dense(40.0, 80.0)},
    ),
    "maxabsscaler": Case(
        MaxAbsScaler(),
        {"input": DENSE},
        SCALED,
        UNSCALED,
        BETWEEN,
        {"maxVector": dense(200.0, 400.0)},
    ),
    "robustscaler": Case(
        RobustScaler(),
        {"input": DENSE},
        rows_of(*(dense(v, -v) for v in range(9))),
        rows_of(dense(3.0, -3.0), dense(6.0, -6.0), dense(99.0, -99.0)),
        rows_of(dense(0.75, -0.75), dense(1.5, -1.5), dense(24.75, -24.75)),
        {"medians": dense(4.0, -4.0), "ranges": dense(4.0, 4.0)},
    ),
    "idf": Case(
        IDF(),
        {"input": DENSE},
        rows_of(dense(0, 1, 0, 2), dense(0, 1, 2, 3), dense(0, 1, 0, 0)),
        rows_of(dense(0, 1, 0, 2), dense(0, 1, 2, 3), dense(0, 1, 0, 0)),
        rows_of(
            dense(0.0, 0.0, 0.0, 0.5753641), dense(0.0, 0.0, 1.3862943, 0.8630462), dense([0.0] * 4)
        ),
        {"idf": dense(1.3862943, 0, 0.6931471, 0.2876820), "docFreq": [0, 3, 1, 2], "numDocs": 3},
    ),
    "idf of terms in two documents": Case(
        IDF(min_doc_freq=2),
        {"input": DENSE},
        rows_of(dense(0, 1, 0, 2), dense(0, 1, 2, 3), dense(0, 1, 0, 0)),
        rows_of(dense(0, 1, 2, 3)),
        rows_of(dense(0.0, 0.0, 0.0, 0.8630462)),
        {"idf": dense(0, 0, 0, 0.2876820), "docFreq": [0, 3, 1, 2], "numDocs": 3},
    ),
    "countvectorizer": Case(
        CountVectorizer(),
        {"id": INT, "input": TEXTS},
        WORDS,
        WORDS,
        rows_of(
            sparse(6, [0, 1, 2], [2.0, 1.0, 1.0]),
            sparse(6, [0, 3, 4], [1.0, 1.0, 1.0]),
            sparse(6, [0, 1, 2], [1.0, 1.0, 1.0]),
            sparse(6, [3, 5], [1.0, 1.0]),
            sparse(6, [0, 1], [1.0, 2.0]),
        ),
        {"vocabulary": ["c", "a", "b", "e", "d", "f"]},
    ),
    "imputer by means": Case(
        Imputer(**F123),
        {"f1": DOUBLE, "f2": DOUBLE, "f3": INT},
        GAPS,
        GAPS,
        [
            (2.0, 9.0, 1.0),
            (1.0, 9.0, 2.0),
            (1.5, 7.0, 1.0),
            (1.5, 6.8, 2.0),
            (4.0, 5.0, 4.0),
            (2.0, 4.0, 2.0),
        ],
        {"surrogates": {"f1": 2.0, "f2": 6.8, "f3": 2.0}},
    ),
    "imputer by medians": Case(
        Imputer(strategy="median", **F123),
        {"f1": DOUBLE, "f2": DOUBLE, "f3": INT},
        GAPS,
        GAPS,
        [
            (1.5, 9.0, 1.0),
            (1.0, 9.0, 1.0),
            (1.5, 7.0, 1.0),
            (1.5, 7.0, 2.0),
            (4.0, 5.0, 4.0),
            (1.5, 4.0, 1.0),
        ],
        {"surrogates": {"f1": 1.5, "f2": 7.0, "f3": 1.0}},
    ),
    "imputer by frequency": Case(
        Imputer(strategy="most_frequent", **F123),
        {"f1": DOUBLE, "f2": DOUBLE, "f3": INT},
        GAPS,
        GAPS,
        [
            (1.5, 9.0, 1.0),
            (1.0, 9.0, 1.0),
            (1.5, 7.0, 1.0),
            (1.5, 9.0, 2.0),
            (4.0, 5.0, 4.0),
            (1.5, 4.0, 1.0),
        ],
        {"surrogates": {"f1": 1.5, "f2": 9.0, "f3": 1.0}},
    ),
    "kbinsdiscretizer, uniform": Case(
        KBinsDiscretizer(strategy="uniform", num_bins=3),
        {"input": DENSE},
        BINS,
        BINNED,
        rows_of(
            *(
                dense(a, 0, c)
                for a, c in zip([0, 0, 0, 1, 1, 2, 2], [0, 1, 2, 2, 2, 2, 2], strict=True)
            )
        ),
        {"binEdges": [[1.0, 5.0, 9.0, 13.0], [-INF, INF], [0.0, 1.0, 2.0, 3.0]]},
    ),
    "kbinsdiscretizer, quantile": Case(
        KBinsDiscretizer(num_bins=3),
        {"input": DENSE},
        BINS,
        BINNED,
        rows_of(*(dense(a, 0, 0) for a in [0, 0, 0, 1, 2, 2, 2])),
        {"binEdges": [[1.0, 4.0, 7.0, 13.0], [-INF, INF], [0.0, 3.0]]},
    ),
    "kbinsdiscretizer, kmeans": Case(
        KBinsDiscretizer(strategy="kmeans", num_bins=3),
        {"input": DENSE},
        BINS,
        BINNED,
        rows_of(
            *(
                dense(a, 0, c)
                for a, c in zip([0, 0, 0, 1, 1, 2, 2], [0, 1, 2, 2, 2, 2, 2], strict=True)
            )
        ),
        {},
    ),
    "onehotencoder": Case(
        OneHotEncoder(input_cols=["input"], output_cols=["output"]),
        {"input": DOUBLE},
        rows_of(0.0, 1.0, 2.0, 0.0),
        rows_of(0.0, 1.0, 2.0),
        rows_of(sparse(2, [0], [1.0]), sparse(2, [1], [1.0]), sparse(2, [], [])),
        {"f0": 0, "f1": 2},
    ),
    "onehotencoder with the last": Case(
        OneHotEncoder(input_cols=["input"], output_cols=["output"], drop_last=False),
        {"input": DOUBLE},
        rows_of(0.0, 1.0, 2.0, 0.0),
        rows_of(0.0, 1.0, 2.0),
        rows_of(sparse(3, [0], [1.0]), sparse(3, [1], [1.0]), sparse(3, [2], [1.0])),
        {"f0": 0, "f1": 2},
    ),
    "stringindexer": Case(
        StringIndexer(
            input_cols=["a", "b"],
            output_cols=["x", "y"],
            string_order_type="alphabetAsc",
            handle_invalid="keep",
        ),
        {"a": TEXT, "b": DOUBLE},
        TEXTS_AND_NUMBERS,
        [("a", 2.0), ("b", 1.0), ("e", 2.0), ("f", None), (None, None)],
        [(0, 3), (1, 2), (4, 3), (4, 4), (4, 4)],
        {"stringArrays": [["a", "b", "c", "d"], ["-1.0", "0.0", "1.0", "2.0"]]},
    ),
    "variancethresholdselector": Case(
        VarianceThresholdSelector(variance_threshold=8.0),
        {"input": DENSE},
        rows_of(*VARYING),
        rows_of(dense(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), dense(0.1, 0.2, 0.3, 0.4, 0.5, 0.6)),
        rows_of(dense(1.0, 4.0, 6.0), dense(0.1, 0.4, 0.6)),
        {"numOfFeatures": 6, "indices": [0, 3, 5]},
    ),
    "vectorindexer": Case(
        VectorIndexer(handle_invalid="keep"),
        {"input": DENSE},
        rows_of(dense(1, 1), dense(2, -1), dense(3, 1), dense(4, 0), dense(5, 0)),
        rows_of(dense(0, 2), dense(0, 0), dense(0, -1)),
        rows_of(dense(5, 3), dense(5, 0), dense(5, 1)),
        {},
    ),
    "vectorindexer with continuous elements": Case(
        VectorIndexer(max_categories=3),
        {"input": DENSE},
        rows_of(dense(1, 1), dense(2, -1), dense(3, 1), dense(4, 0), dense(5, 0)),
        rows_of(dense(7, -1)),
        rows_of(dense(7, 1)),
        {"categoryMaps": {1: {-1.0: 1, 0.0: 0, 1.0: 2}}},
    ),
}
