"""Messages as bytes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millstream.iteration.kernel.wire import decoded, encoded, encoded_size


def sent(value: Any) -> Any:
    parts = encoded(value)
    data = bytearray(b"".join(parts))
    assert len(data) == encoded_size(parts)
    return decoded(data)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        2**70,
        -0.1,
        math.inf,
        "text \ud800 \n",
        b"bytes",
        (1, [2]),
        [{"deep": {"list": [1]}}],
        {"b": 1, "a": {"x": None}},
        {1: "number as key"},
        {},
        pa.scalar(3),
        pa.array([1, None, 3])[1:],
        pa.array(["a", None]).dictionary_encode(),
        pa.chunked_array([[1], [2]]),
        pa.chunked_array([], pa.string()),
        pa.record_batch({"a": [1], "b": ["x"]}),
        pa.table({"a": pa.chunked_array([[1], [2, 3]])}),
        pa.table({}),
    ],
)
def test_values_arrive_as_they_were_sent(value: Any) -> None:
    found = sent(value)
    assert type(found) is type(value)
    assert found == value
    if isinstance(value, dict):
        assert list(found) == list(value)


ARRAYS = [
    np.arange(5),
    np.arange(5)[::2],
    np.arange(6).reshape(2, 3).T,
    np.array(3.5),
    np.array([], np.int32),
    np.zeros((0, 4)),
    np.array([True, False]),
    np.array(["a", "bcd"]),
    np.array([b"x"]),
    np.array(["2026-01-01", "NaT"], "M8[us]"),
    np.array([1 + 2j]),
    np.array([1, 2], ">i4"),
    np.array([("a", 1)], [("name", "U3"), ("n", "i8")]),
    np.array(["a", None, [1]], object),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_arrays_arrive_with_type_and_shape(array: Any) -> None:
    found = sent({"x": array})["x"]
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    np.testing.assert_array_equal(found, array)


def test_arrays_can_be_changed() -> None:
    array = np.arange(3)
    found = sent({"x": array, "y": array})
    found["x"][:] = 9
    assert (array.tolist(), found["y"].tolist()) == ([0, 1, 2], [0, 1, 2])


def test_numbers_of_numpy_keep_their_type() -> None:
    assert type(sent({"n": np.float64(0.5)})["n"]) is np.float64


def test_nothing_is_pickled_in_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(value: Any) -> bytes:
        raise AssertionError(f"pickled: {value!r}")

    monkeypatch.setattr("millstream.iteration.kernel.wire.dumps", refuse)
    sent({"part": {"up": {"id": np.arange(2), "name": pa.array(["a", "b"])}}, "active": 3})
