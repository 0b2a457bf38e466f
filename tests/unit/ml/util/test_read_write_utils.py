"""Stages as folders."""

from __future__ import annotations

import json

import numpy as np
import pytest

from millstream.ml.errors import MLError
from millstream.ml.feature.standardscaler import StandardScaler, StandardScalerModel
from millstream.ml.linalg import DenseMatrix, SparseVector
from millstream.ml.util.read_write_utils import load_stage, update_existing_params
from millstream.ml.util.values import from_json, to_json

X = np.array([[1.0], [2.0]])


def test_values_come_back() -> None:
    values = {
        "a": (1, [2.5, None, float("inf")]),
        3: SparseVector(3, {1: 2.0}),
        "m": DenseMatrix(1, 2, [1, 2]),
        "nested": {"x": True},
    }
    assert from_json(json.loads(json.dumps(to_json(values)))) == values
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    again = from_json(json.loads(json.dumps(to_json(array))))
    assert again.dtype == array.dtype and again.tolist() == array.tolist()
    with pytest.raises(MLError, match="ML_SAVE_FORMAT"):
        to_json(object())


def test_a_model_is_read_with_its_parameters_and_data(tmp_path) -> None:
    model = StandardScaler(with_mean=True, output_col="scaled").fit(X)
    path = str(tmp_path / "a" / "model")
    model.save(path)
    for again in (StandardScalerModel.load(path), load_stage(None, path)):
        assert again.get_params() == model.get_params()
        assert again.transform(X).tolist() == model.transform(X).tolist()
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["model"], "no other folder is left"


def test_a_folder_is_not_overwritten(tmp_path) -> None:
    StandardScaler().save(str(tmp_path / "x"))
    with pytest.raises(MLError, match="ML_SAVE_EXISTS"):
        StandardScaler().save(str(tmp_path / "x"))
    (tmp_path / "empty").mkdir()
    StandardScaler().save(f"file://{tmp_path / 'empty'}")
    assert (
        StandardScaler.load(str(tmp_path / "empty")).get_params() == StandardScaler().get_params()
    )


def test_what_fails_leaves_nothing_behind(tmp_path) -> None:
    model = StandardScalerModel().learned([{"mean": object()}])
    with pytest.raises(MLError, match="ML_SAVE_FORMAT"):
        model.save(str(tmp_path / "x"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ('{"className": "org.apache.flink.ml.feature.Binarizer", "paramMap": {}}', "ML_JAVA_FILES"),
        ("\x80\x04pickle", "ML_SAVE_FORMAT"),
        ('{"format": 99}', "ML_SAVE_FORMAT"),
        ('{"format": 1, "module_name": "no.such", "class_name": "X"}', "ML_SAVE_FORMAT"),
        ('{"format": 1, "module_name": "os", "class_name": "path"}', "ML_SAVE_FORMAT"),
        (None, "ML_SAVE_FORMAT"),
    ],
)
def test_other_files_are_refused(content, code, tmp_path) -> None:
    if content is not None:
        (tmp_path / "metadata").write_text(content)
    with pytest.raises(MLError, match=code):
        StandardScaler.load(str(tmp_path))


def test_places_that_are_no_folders_are_refused() -> None:
    with pytest.raises(MLError, match="save to a disk"):
        StandardScaler().save("s3://bucket/model")


def test_a_folder_of_another_class_is_refused(tmp_path) -> None:
    StandardScaler().fit(X).save(str(tmp_path / "x"))
    with pytest.raises(MLError, match="has a StandardScalerModel, no StandardScaler"):
        StandardScaler.load(str(tmp_path / "x"))


def test_parameters_of_another_stage_are_taken() -> None:
    model = StandardScalerModel()
    update_existing_params(model, StandardScaler(with_mean=True))
    assert model.with_mean
