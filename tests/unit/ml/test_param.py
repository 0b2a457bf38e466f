"""Parameters, as flink-ml's tests have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from millstream.common.time import Time
from millstream.ml.api import Stage
from millstream.ml.common import param as shared
from millstream.ml.common.window import CountTumblingWindows, EventTimeTumblingWindows
from millstream.ml.linalg import Vectors
from millstream.ml.param import (
    BooleanParam,
    FloatArrayArrayParam,
    FloatArrayParam,
    FloatParam,
    IntArrayParam,
    IntParam,
    Param,
    ParamValidator,
    ParamValidators,
    StringArrayParam,
    StringParam,
    VectorParam,
    WindowsParam,
)
from millstream.ml.util import read_write_utils

INT = IntParam("int_param", "Description", 1, ParamValidators.lt(100))
FLOAT = FloatParam("float_param", "Description", 3.0, ParamValidators.lt(100))
STRING = StringParam("string_param", "Description", "5")
NONE = IntParam("param_with_none_default", "Must be set", None, ParamValidators.not_null())
ALL: list[Param] = [
    BooleanParam("boolean_param", "Description", False),
    INT,
    FLOAT,
    STRING,
    IntArrayParam("int_array_param", "Description", (6, 7)),
    FloatArrayParam("float_array_param", "Description", (10.0, 11.0)),
    StringArrayParam("string_array_param", "Description", ("14", "15")),
    NONE,
    VectorParam("vector_param", "Description", Vectors.dense(1, 2)),
    FloatArrayArrayParam("splits", "Description", ((1.0,), (2.0, 3.0))),
    WindowsParam("windows", "Description", EventTimeTumblingWindows.of(Time.seconds(1))),
]


class MyStage(Stage):
    """A stage of a user, written as for flink-ml."""

    def __init__(self) -> None:
        self._param_map: dict[Param, Any] = {param: param.default_value for param in ALL}

    def save(self, path: str) -> None:
        read_write_utils.save_metadata(self, path)

    @classmethod
    def load(cls, *args: Any) -> Any:
        return read_write_utils.load_stage_param(args[-1])

    def get_param_map(self) -> dict[Param, Any]:
        return self._param_map


def test_a_parameter_is_found_by_its_name() -> None:
    stage = MyStage()
    stage.set(INT, 2)
    assert stage.get(INT) == 2
    found = stage.get_param("int_param")
    assert found is not None
    assert stage.set(found, 3).get(INT) == 3
    assert stage.get_param("nonsense") is None


def test_a_parameter_without_default_has_to_be_set() -> None:
    stage = MyStage()
    with pytest.raises(ValueError, match="value should not be None"):
        stage.get(NONE)
    assert stage.set(NONE, 3).get(NONE) == 3


def test_values_that_are_not_allowed_are_refused() -> None:
    stage = MyStage()
    with pytest.raises(ValueError, match="Parameter int_param is given an invalid value 100"):
        stage.set(INT, 100)
    with pytest.raises(ValueError, match="Parameter float_param is given an invalid value 100"):
        stage.set(FLOAT, 100.0)
    text = "Parameter int_param's type <class 'int'> is incompatible with the type of <class 'str'>"
    with pytest.raises(TypeError, match=text):
        stage.set(INT, "100")
    with pytest.raises(TypeError, match="ML_PARAM_TYPE"):
        stage.set(STRING, 100)
    with pytest.raises(TypeError, match="ML_PARAM_TYPE"):
        stage.set(INT, True)


def test_numbers_of_numpy_and_whole_numbers_fit() -> None:
    stage = MyStage().set(INT, np.int64(4)).set(FLOAT, 2)
    assert type(stage.get(INT)) is int and type(stage.get(FLOAT)) is float


def test_a_stage_of_a_user_is_saved_and_read(tmp_path) -> None:
    stage = MyStage()
    stage.set(NONE, 1)
    stage.save(str(tmp_path / "stage"))
    assert MyStage.load(None, str(tmp_path / "stage")).get_param_map() == stage.get_param_map()


def test_validators() -> None:
    rules = ParamValidators
    cases: list[tuple[ParamValidator, list, list]] = [
        (rules.gt(10), [15], [None, 5, 10]),
        (rules.gt_eq(10), [10, 15], [None, 5]),
        (rules.lt(10), [5], [None, 10, 15]),
        (rules.lt_eq(10), [5, 10], [None, 15]),
        (rules.in_range(5, 15), [5, 10, 15], [None, 0, 20]),
        (rules.in_range(5, 15, False, False), [10], [None, 0, 5, 15, 20]),
        (rules.in_array([1, 2, 3]), [1], [None, 0]),
        (rules.not_null(), [5], [None]),
        (rules.non_empty_array(), [(1,)], [None, ()]),
        (rules.is_sub_set(["a", "b"]), [("a",), ()], [None, ("c",)]),
    ]
    for rule, good, bad in cases:
        assert [rule.validate(each) for each in good] == [True] * len(good)
        assert [rule.validate(each) for each in bad] == [False] * len(bad)


SHARED = [
    ("HasDistanceMeasure", "distance_measure", "euclidean", "cosine"),
    ("HasFeaturesCol", "features_col", "features", "test"),
    ("HasGlobalBatchSize", "global_batch_size", 32, 100),
    ("HasHandleInvalid", "handle_invalid", "error", "skip"),
    ("HasLabelCol", "label_col", "label", "test"),
    ("HasLearningRate", "learning_rate", 0.1, 0.2),
    ("HasMaxIter", "max_iter", 20, 50),
    ("HasMultiClass", "multi_class", "auto", "binomial"),
    ("HasPredictionCol", "prediction_col", "prediction", "test"),
    ("HasRawPredictionCol", "raw_prediction_col", "rawPrediction", "test"),
    ("HasReg", "reg", 0.0, 0.4),
    ("HasSeed", "seed", None, 1),
    ("HasTol", "tol", 1e-6, 1e-5),
    ("HasWeightCol", "weight_col", None, "test"),
    ("HasWindows", "windows", None, CountTumblingWindows.of(3)),
]


@pytest.mark.parametrize(("mixin", "name", "default", "value"), SHARED)
def test_shared_parameters_have_flinks_names_and_defaults(mixin, name, default, value) -> None:
    stage = type("Example", (getattr(shared, mixin), Stage), {})()
    param = getattr(type(stage), name.upper())
    assert param.name == name
    if default is not None:
        assert getattr(stage, name) == param.default_value == default
    assert getattr(stage, f"set_{name}")(value) is stage
    assert getattr(stage, name) == getattr(stage, f"get_{name}")() == value


def test_setters_of_arrays_take_values_or_a_list() -> None:
    stage = type("Example", (shared.HasInputCols, Stage), {})()
    assert stage.set_input_cols("a", "b").input_cols == ("a", "b")
    assert stage.set_input_cols(["a"]).get_input_cols() == ("a",)
    with pytest.raises(ValueError, match="at least one value"):
        stage.set_input_cols()
    with pytest.raises(TypeError, match="ML_PARAM_TYPE"):
        stage.set_input_cols(1)
