"""What a task receives shares nothing with what was sent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millstream.iteration.kernel.copies import copied


@pytest.mark.parametrize(
    "value",
    [
        None,
        3,
        "text",
        b"bytes",
        (1, [2]),
        {"a": 1, "b": [1, 2]},
        {1: "number as key"},
        [{"deep": {"list": [1]}}],
        pa.table({"a": [1]}),
        pa.array([1, None]),
    ],
)
def test_copies_are_equal(value: Any) -> None:
    assert copied(value) == value


def test_arrays_are_copied_and_can_be_changed() -> None:
    sent: dict[str, Any] = {"id": np.arange(4), "name": np.array(["a", None], object)}
    sent |= {"deep": {"x": np.ones(2)}}
    received = copied(sent)
    for array in (sent["id"], sent["deep"]["x"]):
        array[:] = 9
    received["id"][1] = 5
    assert received["id"].tolist() == [0, 5, 2, 3]
    assert received["deep"]["x"].tolist() == [1, 1]
    assert received["name"].tolist() == ["a", None]


def test_objects_inside_of_arrays_are_copied() -> None:
    inner = [1]
    array = np.array([None], object)
    array[0] = inner
    received = copied(array)
    inner.append(2)
    assert received[0] == [1]


def test_lists_are_copied() -> None:
    sent = [[1]]
    received = copied(sent)
    sent[0].append(2)
    assert received == [[1]]
