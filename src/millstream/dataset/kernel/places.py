"""Tasks: which parts of the data are here, and how they are exchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millstream.iteration import Task

__all__ = ["AllPlaces", "OnePlace", "Parts", "Places"]

Parts = list[list[Any]]
"""The records of each task that is here."""


class Places:
    """The tasks that are here, of all that there are.

    Examples
    --------
    >>> places = AllPlaces(2)
    >>> places.exchange([[["a"], ["b"]], [["c"], []]])
    [['a', 'c'], ['b']]
    """

    own: Sequence[int]
    count: int

    def exchange(self, sent: Sequence[Sequence[list[Any]]]) -> Parts:
        """Give each task what others have sent to it, in order of the senders."""
        raise NotImplementedError

    def route(self, parts: Parts, where: Callable[[Any], int]) -> Parts:
        """Give each record to the task that a function says."""
        sent = []
        for part in parts:
            boxes: list[list[Any]] = [[] for _ in range(self.count)]
            for record in part:
                boxes[where(record)].append(record)
            sent.append(boxes)
        return self.exchange(sent)

    def gathered(self, parts: Parts) -> Parts:
        """Give all records to the first task."""
        return self.exchange([[part, *([] for _ in range(self.count - 1))] for part in parts])

    def everywhere(self, parts: Parts) -> Parts:
        """Give all records to every task."""
        return self.exchange([[part] * self.count for part in parts])


class AllPlaces(Places):
    """All tasks in this process."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.own = range(count)

    def exchange(self, sent: Sequence[Sequence[list[Any]]]) -> Parts:
        return [[record for box in sent for record in box[index]] for index in self.own]


class OnePlace(Places):
    """One task of a loop."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self.count = task.count
        self.own = (task.index,)

    def exchange(self, sent: Sequence[Sequence[list[Any]]]) -> Parts:
        received = self._task.exchange([box or None for box in sent[0]])
        return [[record for box in received if box for record in box]]
