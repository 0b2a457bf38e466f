"""Features in one process: Millstream and scikit-learn on arrays; Millstream in a stream."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import preprocessing
from sklearn.feature_extraction.text import CountVectorizer as Counter
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.impute import SimpleImputer

from millstream.common import Types
from millstream.datastream import StreamExecutionEnvironment
from millstream.ml.feature.countvectorizer import CountVectorizer
from millstream.ml.feature.hashingtf import HashingTF
from millstream.ml.feature.imputer import Imputer
from millstream.ml.feature.kbinsdiscretizer import KBinsDiscretizer
from millstream.ml.feature.minmaxscaler import MinMaxScaler
from millstream.ml.feature.onehotencoder import OneHotEncoder
from millstream.ml.feature.polynomialexpansion import PolynomialExpansion
from millstream.ml.feature.standardscaler import StandardScaler
from millstream.ml.feature.stringindexer import StringIndexer
from millstream.ml.linalg import DenseVectorTypeInfo, Vectors
from millstream.testing import in_memory


def seconds(work: Callable[[], Any]) -> float:
    """The least processor time of three runs."""
    found = []
    for _ in range(3):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def programs(rows: int) -> list[tuple[str, Any, Any, Any, Any]]:
    """Name, data, Millstream's stage, data for scikit-learn, and its stage."""
    random = np.random.default_rng(0)
    data = random.normal(size=(rows, 10))
    gaps = np.where(random.random(data.shape) < 0.1, np.nan, data)
    words = [[f"w{word}" for word in row] for row in random.integers(0, 1000, (rows // 10, 10))]
    texts = [row[0] for row in words]
    column = np.array(texts).reshape(-1, 1)
    places = preprocessing.OrdinalEncoder().fit_transform(column).ravel()
    names = [f"x{at}" for at in range(10)]
    one = {"input_cols": ["x"], "output_cols": ["y"]}
    own = {"analyzer": lambda row: row}
    imputer = Imputer(input_cols=names, output_cols=[f"y{at}" for at in range(10)])
    bins = preprocessing.KBinsDiscretizer(5, encode="ordinal", subsample=None)
    expansion = preprocessing.PolynomialFeatures(2, include_bias=False)
    hashes = HashingVectorizer(norm=None, alternate_sign=False, **own)
    return [
        (
            "StandardScaler",
            data,
            StandardScaler(with_mean=True),
            data,
            preprocessing.StandardScaler(),
        ),
        ("MinMaxScaler", data, MinMaxScaler(), data, preprocessing.MinMaxScaler()),
        ("KBinsDiscretizer", data, KBinsDiscretizer(), data, bins),
        ("Imputer, means", gaps, imputer, gaps, SimpleImputer()),
        ("PolynomialExpansion, degree 2", data, PolynomialExpansion(), data, expansion),
        ("StringIndexer", texts, StringIndexer(**one), column, preprocessing.OrdinalEncoder()),
        ("OneHotEncoder", places, OneHotEncoder(**one), column, preprocessing.OneHotEncoder()),
        ("CountVectorizer, 10 words", words, CountVectorizer(), words, Counter(**own)),
        ("HashingTF, 10 words", words, HashingTF(), words, hashes),
    ]


def in_a_stream(rows: int) -> tuple[float, float]:
    """Seconds of a stream of vectors without a stage, and with StandardScaler."""
    data = np.random.default_rng(0).normal(size=(rows, 10))
    env = StreamExecutionEnvironment.get_execution_environment()
    kind = Types.ROW_NAMED(["input"], [DenseVectorTypeInfo()])
    stream = env.from_collection([(Vectors.dense(row),) for row in data], kind)
    model = StandardScaler().fit(data)
    with in_memory():
        plain = seconds(lambda: list(stream.execute_and_collect()))
        scaled = seconds(lambda: list(model.transform(stream).execute_and_collect()))
    return plain, scaled


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    rows = parser.parse_args().rows
    print("| Stage, fit and transform | Millstream, us per row | scikit-learn, us per row |")
    print("| --- | ---: | ---: |")
    for name, data, ours, theirs_data, theirs in programs(rows):
        stage = seconds(lambda: ours.fit_transform(data))  # noqa: B023
        other = seconds(lambda: theirs.fit_transform(theirs_data))  # noqa: B023
        count = len(data) / 1e6
        print(f"| {name} | {stage / count:.2f} | {other / count:.2f} |")
    count = min(rows, 20_000)
    plain, scaled = in_a_stream(count)
    print(
        f"\nIn a stream: {(scaled - plain) / count * 1e6:.0f} us per row for StandardScaler,",
        end="",
    )
    print(f" beside {plain / count * 1e6:.0f} us for the stream itself")


if __name__ == "__main__":
    main()
