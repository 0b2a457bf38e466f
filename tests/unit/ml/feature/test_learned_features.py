"""Models of features: the values of flink-ml's tests, on tables and on other data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from millstream.common.typeinfo import Types
from millstream.ml.errors import MLError
from millstream.ml.feature.countvectorizer import CountVectorizer
from millstream.ml.feature.imputer import Imputer
from millstream.ml.feature.kbinsdiscretizer import KBinsDiscretizer
from millstream.ml.feature.onehotencoder import OneHotEncoder
from millstream.ml.feature.stringindexer import IndexToStringModel, StringIndexer
from millstream.ml.feature.vectorindexer import VectorIndexer
from millstream.ml.linalg import SparseVector, Vector
from tests.support.ml import INT, TEXT, TEXTS, Tables
from tests.support.ml_learned import CASES


def close(found: Any, expected: Any) -> bool:
    if isinstance(expected, Vector):
        same = isinstance(found, SparseVector) == isinstance(expected, SparseVector)
        return same and np.allclose(found.to_array(), expected.to_array(), atol=1e-7, rtol=0)
    if isinstance(expected, tuple):
        return all(close(a, b) for a, b in zip(found, expected, strict=True))
    return bool(found == expected)


def agree(found: list[Any], expected: list[Any]) -> None:
    pairs = list(zip(found, expected, strict=True))
    assert all(close(a, b) for a, b in pairs), [pair for pair in pairs if not close(*pair)]


@pytest.mark.parametrize("name", CASES)
def test_values_of_flink_on_tables(name, tmp_path) -> None:
    case, tables = CASES[name], Tables()
    train, rows = tables.of(case.columns, case.train), tables.of(case.columns, case.rows)
    case.stage.save(str(tmp_path / "stage"))
    model = type(case.stage).load(tables.t_env, str(tmp_path / "stage")).fit(train)
    (data,) = model.get_model_data()
    assert data.get_schema().get_field_names() == list(type(model).DATA)
    (row,) = tables.rows(data)
    agree([row[list(model.DATA).index(name)] for name in case.model], list(case.model.values()))
    model.save(str(tmp_path / "model"))
    again = type(model)().set_model_data(data)
    again._take_params(model)
    for each in (model, type(model).load(tables.t_env, str(tmp_path / "model")), again):
        (output,) = each.transform(rows)
        assert output.get_schema().get_field_names() == [*case.columns, *model.output_columns()]
        agree([tuple(row)[len(case.columns) :] for row in tables.rows(output)], case.expected)


@pytest.mark.parametrize("name", CASES)
def test_the_same_on_frames_of_pandas(name) -> None:
    case = CASES[name]
    names = list(case.columns)
    model = case.stage.fit(pd.DataFrame([[*row] for row in case.train], columns=names))
    found = model.transform(pd.DataFrame([[*row] for row in case.rows], columns=names))
    made = found[model.output_columns()].itertuples(index=False)
    agree([tuple(row) for row in made], case.expected)
    (data,) = model.get_model_data()
    assert list(data.columns) == list(type(model).DATA)


def test_nothing_runs_before_a_model_of_a_table_is_used() -> None:
    tables = Tables()
    table = tables.of({"input": TEXT, "other": TEXT}, [("", "")])
    model = KBinsDiscretizer().fit(table)
    (output,) = model.transform(table)
    assert output.get_schema().get_field_names() == ["input", "other", "output"]
    assert model.pending
    with pytest.raises(Exception, match="which is no vector"):
        tables.rows(output)


COUNTS = CASES["countvectorizer"]
WORDS = pd.DataFrame(COUNTS.rows, columns=["id", "input"])


@pytest.mark.parametrize(
    ("params", "size", "expected"),
    [
        (
            {"min_df": 2, "max_df": 4},
            4,
            [{0: 2, 1: 1, 2: 1}, {0: 1, 3: 1}, {0: 1, 1: 1, 2: 1}, {3: 1}, {0: 1, 1: 2}],
        ),
        (
            {"min_df": 0.4, "max_df": 0.8},
            4,
            [{0: 2, 1: 1, 2: 1}, {0: 1, 3: 1}, {0: 1, 1: 1, 2: 1}, {3: 1}, {0: 1, 1: 2}],
        ),
        ({"min_tf": 0.5}, 6, [{0: 2}, {}, {}, {3: 1, 5: 1}, {1: 2}]),
        (
            {"binary": True},
            6,
            [
                {0: 1, 1: 1, 2: 1},
                {0: 1, 3: 1, 4: 1},
                {0: 1, 1: 1, 2: 1},
                {3: 1, 5: 1},
                {0: 1, 1: 1},
            ],
        ),
        ({"vocabulary_size": 2}, 2, [{0: 2, 1: 1}, {0: 1}, {0: 1, 1: 1}, {}, {0: 1, 1: 2}]),
    ],
)
def test_counts_of_flink(params, size, expected) -> None:
    found = CountVectorizer(**params).fit(WORDS).transform(WORDS)["output"].tolist()
    assert found == [SparseVector(size, each) for each in expected]


@pytest.mark.parametrize(("low", "high"), [(0.2, 0.1), (2.0, 1.0), (0.9, 1.0), (10.0, 0.1)])
def test_bounds_of_documents_that_leave_no_words(low, high) -> None:
    with pytest.raises(ValueError, match="max_df must be >= min_df"):
        CountVectorizer(min_df=low, max_df=high).fit(WORDS)
    if (low < 1) == (high < 1):
        table = Tables().of(COUNTS.columns, COUNTS.rows)
        with pytest.raises(ValueError, match="max_df must be >= min_df"):
            CountVectorizer(min_df=low, max_df=high).fit(table)


def test_encoders_refuse_what_flink_refuses() -> None:
    encoder = OneHotEncoder(input_cols=["input"], output_cols=["output"])
    for data, message in (([0.5], "cannot be parsed as indexed"), ([-1.0], "negative value")):
        with pytest.raises(ValueError, match=message):
            encoder.fit(data)
    with pytest.raises(ValueError, match="has the index 9, the largest one is 2"):
        encoder.fit([0, 2]).transform([9])
    with pytest.raises(ValueError, match="handle_invalid='keep'"):
        encoder.clone().set_handle_invalid("keep").fit([0.0])
    indexer = StringIndexer(input_cols=["a"], output_cols=["b"]).fit(["x"])
    with pytest.raises(ValueError, match="unseen string: 'y'"):
        indexer.transform(["y"])
    with pytest.raises(ValueError, match="unseen double"):
        VectorIndexer().fit([[1.0]]).transform([[2.0]])
    back = IndexToStringModel(input_cols=["b"], output_cols=["a"])
    back.set_model_data(*indexer.get_model_data())
    with pytest.raises(ValueError, match="unseen index: 1"):
        back.transform([1])
    with pytest.raises(MLError, match="all the values in column 'a'"):
        Imputer(input_cols=["a"], output_cols=["b"]).fit([float("nan")])


def test_texts_of_flinks_indices() -> None:
    tables = Tables()
    kind = Types.OBJECT_ARRAY(TEXTS)
    rows = [([["a", "b", "c", "d"], ["-1.0", "0.0", "1.0", "2.0"]],)]
    data = tables.of({"stringArrays": kind}, rows)
    table = tables.of({"x": INT, "y": INT}, [(0, 3), (1, 2)])
    model = IndexToStringModel(input_cols=["x", "y"], output_cols=["a", "b"]).set_model_data(data)
    found = [tuple(row) for row in tables.rows(model.transform(table)[0])]
    assert found == [(0, 3, "a", "2.0"), (1, 2, "b", "1.0")]
    assert tables.rows(model.get_model_data()[0])[0][0] == rows[0][0]
