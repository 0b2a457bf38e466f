"""What records may look like, and what is refused."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from millstream.common import Row
from millstream.ml.errors import MLError, MLValueError
from millstream.ml.linalg import DenseVector, SparseVector
from millstream.ml.online.records import Fields, dense, joined, numbers, size_of

Click = namedtuple("Click", ["label", "features"])
FIELDS = Fields("features", "label", "weight")
NUMBERED = Row([1.0], 0.0, 2.0)
NUMBERED.set_field_names(["f0", "f1", "f2"])


@pytest.mark.parametrize(
    "record",
    [
        Row(label=0.0, weight=2.0, features=DenseVector([1.0])),
        Row([1.0], 0.0, 2.0),
        NUMBERED,
        ([1], False, 2),
        [np.array([1.0]), np.float64(0.0), np.int64(2)],
        {"label": 0, "features": (1.0,), "weight": 2},
    ],
)
def test_shapes_of_records(record: Any) -> None:
    assert dense(FIELDS.features(record)).tolist() == [1.0]
    assert FIELDS.label(record) == 0.0
    assert FIELDS.weight(record) == 2.0


def test_named_tuples() -> None:
    assert FIELDS.label(Click(1.0, [5.0])) == 1.0
    assert dense(FIELDS.features(Click(1.0, [5.0]))).tolist() == [5.0]


@pytest.mark.parametrize(
    "record", [[1.0, 2.0], (1, 2), np.array([1.0, 2.0]), DenseVector([1.0, 2.0])]
)
def test_a_record_that_is_the_vector(record: Any) -> None:
    assert dense(FIELDS.features(record)).tolist() == [1.0, 2.0]


def test_sparse_vectors_stay_sparse() -> None:
    found = numbers(SparseVector(5, [1, 3], [2.0, 4.0]))
    assert isinstance(found, tuple)
    assert size_of(found) == 5
    assert dense(found).tolist() == [0.0, 2.0, 0.0, 4.0, 0.0]


@pytest.mark.parametrize(
    ("record", "code"),
    [
        (([float("nan")], 1.0), "ML_NOT_FINITE"),
        ((SparseVector(3, [1], [float("inf")]), 1.0), "ML_NOT_FINITE"),
        (([None, 1.0], 1.0), "ML_NOT_FINITE"),
        (("text", 1.0), "ML_NOT_A_VECTOR"),
        ((None, 1.0), "ML_NOT_A_VECTOR"),
        (([[1.0]], 1.0), "ML_NOT_A_VECTOR"),
        (Row(other=1), "ML_UNKNOWN_COLUMN"),
        ({}, "ML_UNKNOWN_COLUMN"),
        ("text", "ML_UNKNOWN_COLUMN"),
        (None, "ML_UNKNOWN_COLUMN"),
        ((), "ML_UNKNOWN_COLUMN"),
    ],
)
def test_features_that_are_refused(record: Any, code: str) -> None:
    with pytest.raises(MLError) as caught:
        FIELDS.features(record)
    assert caught.value.code == code


@pytest.mark.parametrize("label", [2.0, -1, "1", None, float("nan"), [1.0]])
def test_labels_that_are_refused(label: Any) -> None:
    with pytest.raises(MLValueError, match="a label is 0 or 1"):
        FIELDS.label(([1.0], label))


@pytest.mark.parametrize("weight", [-1.0, None, float("nan"), float("inf"), "1"])
def test_weights_that_are_refused(weight: Any) -> None:
    with pytest.raises(MLValueError, match="a weight is a number"):
        FIELDS.weight(([1.0], 1.0, weight))


def test_a_vector_of_another_length() -> None:
    with pytest.raises(MLValueError, match="a vector has 2 elements, and the model 3"):
        FIELDS.same_size(np.zeros(2), 3)


def test_records_with_further_fields() -> None:
    assert joined(Row(1, "a"), ["b"], [2]) == Row(1, "a", 2)
    assert joined([1.0, 2.0], ["b"], [2]) == ([1.0, 2.0], 2)
    assert joined((1.0, 2.0), ["b"], [2]) == ((1.0, 2.0), 2)
