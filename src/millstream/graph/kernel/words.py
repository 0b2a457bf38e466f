"""Texts as numbers in the same order, over all tasks: labels are compared and counted as numbers.

The distinct texts go to tasks by ranges: each task has those between two of the texts that a sample
has suggested. It numbers them in order, and at the end it says which number was which text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.graph.kernel.ids import IdIndex, distinct_ids, merged_ids, pick_ids
from millstream.iteration import Task

__all__ = ["WORD_STEPS", "Words"]

WORD_STEPS = 3
"""The supersteps until texts have numbers, and again until numbers are texts."""

_SAMPLES = 64

Inbox = Sequence[dict[str, Any] | None]
Parts = list[dict[str, Any] | None]


class Words:
    """The texts of one task, and the range of texts that it numbers.

    Parameters
    ----------
    texts
        A text per vertex.

    Examples
    --------
    >>> words, task = Words(pa.array(["b", "a", "b"])), Task(0, 1)
    >>> answers = words.answer(task, words.divide(task, words.sample(task)))
    >>> words.numbers(answers)
    array([1, 0, 1])
    >>> words.read(words.tell(words.ask(np.array([1, 1, 0])))).to_pylist()
    ['b', 'b', 'a']
    """

    def __init__(self, texts: pa.Array) -> None:
        self.mine, self._codes = distinct_ids(texts)
        self._ends: list[int] = []
        self.range: Any = None
        self.firsts: Any = None
        self._asked: Any = None
        self._wanted: Any = None

    def state(self) -> dict[str, Any]:
        """The values that a snapshot keeps."""
        return dict(self.__dict__)

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Words:
        """The words of a snapshot."""
        words = cls.__new__(cls)
        words.__dict__.update(state)
        return words

    def sample(self, task: Task) -> Parts:
        """Step 1: send a sample of the own texts to all."""
        size = len(self.mine)
        at = np.unique(np.linspace(0, size - 1, min(size, _SAMPLES)).astype(np.int64))
        return [{"texts": pick_ids(self.mine, at)} for _ in range(task.count)]

    def divide(self, task: Task, inbox: Inbox) -> Parts:
        """Step 2: send the own texts to the tasks that number them."""
        samples = merged_ids([part["texts"] for part in inbox if part is not None])
        limits = []
        for number in range(1, task.count):
            if len(samples):
                limits.append(samples[len(samples) * number // task.count].as_py())
        mine = _Texts(self.mine)
        self._ends = [0, *(bisect_left(mine, limit) for limit in limits)]
        self._ends += [len(self.mine)] * (task.count + 1 - len(self._ends))
        ranges = zip(self._ends, self._ends[1:], strict=False)
        return [{"texts": self.mine.slice(low, high - low)} for low, high in ranges]

    def answer(self, task: Task, inbox: Inbox) -> Parts:
        """Step 3: number the texts of the own range, and answer with the numbers."""
        columns = [part["texts"] for part in inbox if part is not None]
        self.range = merged_ids(columns)
        index = IdIndex(self.range)
        size = len(self.range)
        return [p and {"places": index.find(p["texts"]), "size": size} for p in inbox]

    def numbers(self, inbox: Inbox) -> Any:
        """The number of each vertex's text."""
        parts = [part for part in inbox if part is not None]
        sizes = [part["size"] for part in parts]
        self.firsts = np.concatenate(([0], np.cumsum(sizes)))
        places = [part["places"] + first for part, first in zip(parts, self.firsts, strict=False)]
        return np.concatenate(places).astype(np.int64)[self._codes]

    def ask(self, numbers: Any) -> Parts:
        """At the end: ask for the texts of numbers."""
        self._asked, self._wanted = np.unique(numbers, return_inverse=True)
        ends = np.searchsorted(self._asked, self.firsts)
        cuts = zip(ends, ends[1:], self.firsts, strict=False)
        return [{"places": self._asked[low:high] - first} for low, high, first in cuts]

    def tell(self, inbox: Inbox) -> Parts:
        """Answer with texts."""
        return [part and {"texts": pick_ids(self.range, part["places"])} for part in inbox]

    def read(self, inbox: Inbox) -> pa.Array:
        """The texts of the numbers that were asked for."""
        texts = pa.concat_arrays([part["texts"] for part in inbox if part is not None])
        return texts.take(pa.array(self._wanted))


class _Texts(Sequence[str]):
    """A column of texts as a sequence, for a search."""

    def __init__(self, column: pa.Array) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, place: Any) -> Any:
        return self._column[place].as_py()
