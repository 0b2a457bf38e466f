"""Models of features: the values of flink-ml's tests, on tables and on other data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from millstream.ml.feature.kbinsdiscretizer import KBinsDiscretizer
from millstream.ml.linalg import SparseVector, Vector
from tests.support.ml import TEXT, Tables
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
