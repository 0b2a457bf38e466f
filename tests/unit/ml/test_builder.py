"""Pipelines: flink-ml's tests, scikit-learn's habits, FlinkML's chains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from millstream.datastream import StreamExecutionEnvironment
from millstream.ml.api import Model
from millstream.ml.builder import Pipeline, PipelineModel
from millstream.ml.errors import MLError
from millstream.ml.feature.standardscaler import StandardScaler, StandardScalerModel
from millstream.ml.util import read_write_utils
from millstream.table import StreamTableEnvironment
from millstream.table.expressions import col
from millstream.testing import in_memory

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 9.0]])


class Add10Model(Model):
    """A model of a user, as in flink-ml's test."""

    def transform(self, *inputs: Any) -> list[Any]:
        (table,) = inputs
        return [table.select(col("a") + 10).alias("a")]

    def save(self, path: str) -> None:
        read_write_utils.save_metadata(self, path)

    @classmethod
    def load(cls, t_env: Any, path: str) -> Any:  # type: ignore[override]
        return read_write_utils.load_stage_param(path)

    def get_param_map(self) -> dict[Any, Any]:
        return {}


@pytest.mark.parametrize("kind", [PipelineModel, Pipeline])
def test_a_pipeline_of_models_of_users(kind, tmp_path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    with in_memory():
        table = t_env.from_elements([(1,), (2,), (3,)], ["a"])
        made = kind([Add10Model(), Add10Model()])
        made.save(str(tmp_path / "pipeline"))
        for each in (made, kind.load(t_env, str(tmp_path / "pipeline"))):
            model = each if kind is PipelineModel else each.fit(table)
            output = model.transform(table)[0]
            found = [row[0] for row in t_env.to_data_stream(output).execute_and_collect()]
            assert found == [21, 22, 23]


def test_a_chain_leads_columns_from_stage_to_stage() -> None:
    scaled = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    chain = StandardScaler(with_mean=True).chain_transformer(
        StandardScaler().set_mean(5.0).set_std(2.0)
    )
    assert chain.fit(X).transform(X) == pytest.approx(scaled * 2 + 5)
    frame = pd.DataFrame(X, columns=["a", "b"])
    found = chain.fit(frame).transform(frame)
    assert list(found.columns) == ["a", "b", "input", "output", "output_2"]
    assert np.vstack([each.to_array() for each in found["output_2"]]) == pytest.approx(
        scaled * 2 + 5
    )


def test_stages_of_a_list_read_the_columns_that_they_name() -> None:
    pipeline = Pipeline(
        [StandardScaler().set_output_col("a"), StandardScaler().set_output_col("b")]
    )
    frame = pd.DataFrame({"input": list(X)})
    found = pipeline.fit(frame).transform(frame)
    assert found["a"].tolist() == found["b"].tolist()


def test_stages_have_names_and_parameters_like_those_of_scikit_learn() -> None:
    pipeline = Pipeline([("first", StandardScaler()), ("second", StandardScaler())])
    pipeline.set_params(first__with_mean=True)
    assert pipeline.get_params()["first__with_mean"] is True
    assert pipeline["first"].with_mean and not pipeline[1].with_mean
    assert [name for name, _ in pipeline.steps] == ["first", "second"]
    assert [name for name, _ in (StandardScaler() | StandardScaler()).steps] == [
        "standardscaler",
        "standardscaler-2",
    ]
    with pytest.raises(ValueError, match="ML_UNKNOWN_PARAM"):
        pipeline.set_params(third__with_mean=True)
    assert clone(pipeline)["first"].with_mean
    assert clone(pipeline)["first"] is not pipeline["first"]


def test_parameters_are_set_by_name_and_copied_by_clone() -> None:
    scaler = StandardScaler(with_mean=True)
    assert clone(scaler).get_params() == scaler.get_params() == scaler.clone().get_params()
    assert repr(scaler) == "StandardScaler(with_mean=True)"
    with pytest.raises(ValueError, match="it has input_col, mean"):
        StandardScaler(nonsense=1)


def test_parameters_of_one_call() -> None:
    scaler = StandardScaler()
    model = scaler.fit(X, {"with_mean": True})
    assert model.with_mean and not scaler.with_mean
    assert model.transform(X, {StandardScaler.WITH_MEAN: False}).min() > 0


def test_nothing_works_before_fit(tmp_path) -> None:
    pipeline = StandardScaler() | StandardScaler()
    for call in (
        lambda: StandardScaler().transform(X),
        lambda: StandardScalerModel().transform(X),
        lambda: StandardScalerModel().get_model_data(),
        lambda: StandardScalerModel().save(str(tmp_path / "model")),
        lambda: pipeline.transform(X),
    ):
        with pytest.raises(MLError, match="ML_NOT_FITTED"):
            call()
    with pytest.raises(TypeError, match="ML_NOT_A_STAGE"):
        Pipeline([StandardScaler])
    with pytest.raises(TypeError, match="must be an AlgoOperator"):
        PipelineModel([StandardScaler()]).transform(X)


def test_a_fitted_pipeline_is_saved_and_read(tmp_path) -> None:
    chain = StandardScaler(with_mean=True) | StandardScaler(with_std=False)
    model = chain.fit(X)
    model.save(str(tmp_path / "model"))
    assert (
        PipelineModel.load(str(tmp_path / "model")).transform(X).tolist()
        == model.transform(X).tolist()
    )
    chain.save(str(tmp_path / "chain"))
    again = Pipeline.load(str(tmp_path / "chain"))
    assert again.fit(X).transform(X).tolist() == model.transform(X).tolist()
    with pytest.raises(MLError, match="has a Pipeline, no PipelineModel"):
        PipelineModel.load(str(tmp_path / "chain"))
