"""Texts as numbers in the same order, over several tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.graph.kernel.words import Words
from millstream.iteration import Task
from tests.support.strategies import examples

TEXTS = st.lists(st.text(max_size=2), max_size=12)


def turned(messages: list[Any]) -> list[Any]:
    return [[parts[index] for parts in messages] for index in range(len(messages))]


@pytest.mark.parametrize("count", [1, 2, 4])
@examples(40)
@given(st.data())
def test_numbers_are_in_the_order_of_texts_and_become_texts_again(count: int, data: Any) -> None:
    texts = [data.draw(TEXTS) for _ in range(count)]
    tasks = [Task(index, count) for index in range(count)]
    words = [Words(pa.array(some, pa.string())) for some in texts]
    pairs = list(zip(words, tasks, strict=True))
    boxes = turned([w.sample(t) for w, t in pairs])
    boxes = turned([w.divide(t, box) for (w, t), box in zip(pairs, boxes, strict=True)])
    boxes = turned([w.answer(t, box) for (w, t), box in zip(pairs, boxes, strict=True)])
    numbers = [w.numbers(box) for w, box in zip(words, boxes, strict=True)]
    order = sorted({text for some in texts for text in some})
    assert [found.tolist() for found in numbers] == [
        [order.index(x) for x in some] for some in texts
    ]
    # Every task asks for all numbers, also for those of other tasks.
    asked = np.arange(len(order))[::-1]
    boxes = turned([w.ask(asked) for w in words])
    boxes = turned([w.tell(box) for w, box in zip(words, boxes, strict=True)])
    for w, box in zip(words, boxes, strict=True):
        assert w.read(box).to_pylist() == order[::-1]
