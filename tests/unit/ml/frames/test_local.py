"""Data of this process: kinds of columns, and missing values of pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa

from millstream.ml.feature.hashingtf import HashingTF
from millstream.ml.feature.imputer import Imputer
from millstream.ml.feature.stringindexer import StringIndexer
from millstream.ml.frames.local import ArrayFrame, ArrowFrame, PandasFrame
from millstream.ml.kernel.batch import Batch
from millstream.ml.linalg import Vectors


def test_columns_of_pandas_with_missing_values() -> None:
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None, 3], "Int64"),
            "text": pd.array(["a", None, "a"], "string"),
            "sort": pd.Categorical(["x", "y", None]),
            "any": [np.int64(7), None, np.float64("nan")],
        }
    )
    imputer = Imputer(input_cols=["whole"], output_cols=["filled"])
    assert imputer.fit_transform(frame)["filled"].tolist() == [1.0, 2.0, 3.0]
    names = {"input_cols": ["text", "sort", "any"], "output_cols": ["a", "b", "c"]}
    indexer = StringIndexer(handle_invalid="keep", **names)  # type: ignore[arg-type]
    found = indexer.fit_transform(frame)
    assert found[["a", "b", "c"]].to_numpy().tolist() == [[0, 0, 0], [1, 1, 1], [0, 2, 1]]


def test_kinds_of_columns() -> None:
    values = {
        "double": [1.0],
        "long": [2],
        "boolean": [True],
        "string": ["a"],
        "array<string>": [["a"]],
        "vector": [Vectors.dense(1.0)],
    }
    frames = [ArrayFrame(Batch(dict(values))), PandasFrame(pd.DataFrame(values))]
    for frame in frames:
        assert [frame.kind(name) for name in values] == list(values)
    plain = {name: value for name, value in values.items() if name != "vector"}
    assert [ArrowFrame(pa.table(plain)).kind(name) for name in plain] == list(plain)
    assert ArrayFrame(Batch({"x": [object()]})).kind("x") == "any"
    assert ArrayFrame(Batch({"x": [1, "a"]})).kind("x") == "any"


def test_terms_of_numpy_have_the_hashes_of_python() -> None:
    frame = pd.DataFrame({"input": [np.array([1, 2]), [np.int64(1), 2]]})
    first, second = HashingTF().transform(frame)["output"]
    assert first == second
