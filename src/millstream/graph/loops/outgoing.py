"""Messages on their way from one task to the owners of vertices."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

from millstream.common.pickling import dumps_apart
from millstream.graph.loops.values import isolated, isolated_copies, owners_of
from millstream.iteration import Task

__all__ = ["Messages", "Sums", "received"]


class Messages:
    """Messages by target.

    Examples
    --------
    >>> outgoing = Messages()
    >>> outgoing.send(7, "a"); outgoing.send_many([7, 8], "b")
    >>> outgoing.by_target
    {7: ['a', 'b'], 8: ['b']}
    """

    def __init__(self) -> None:
        self.by_target: dict[Any, list[Any]] = {}

    def send(self, target: Any, message: Any) -> None:
        """Add a message."""
        message = isolated(message)
        found = self.by_target.get(target)
        if found is None:
            self.by_target[target] = [message]
        else:
            found.append(message)

    def send_many(self, targets: Sequence[Any], message: Any) -> None:
        """Add a message for several targets, which get a copy each."""
        by_target = self.by_target
        for target, own in zip(targets, isolated_copies(message, len(targets)), strict=True):
            by_target.setdefault(target, []).append(own)

    def combined(self, combine: Callable[[Any, list[Any]], list[Any]]) -> None:
        """Combine the messages of each target that has several."""
        combine_all(self.by_target, combine)

    def parts(self, task: Task) -> list[Any]:
        """The part for each task."""
        return parted(task, self.by_target)


def combine_all(
    by_target: dict[Any, list[Any]], combine: Callable[[Any, list[Any]], list[Any]]
) -> None:
    """Combine the messages of each target that has several.

    Examples
    --------
    >>> messages = {7: [1, 2], 8: [3]}
    >>> combine_all(messages, lambda target, some: [sum(some)])
    >>> messages
    {7: [3], 8: [3]}
    """
    for target, messages in by_target.items():
        if len(messages) > 1:
            by_target[target] = combine(target, messages)


class Sums:
    """Partial values by target, summed as they come.

    Examples
    --------
    >>> sums = Sums(max)
    >>> sums.add(7, 1); sums.add(7, 3); sums.by_target
    {7: 3}
    """

    def __init__(self, merge: Callable[[Any, Any], Any]) -> None:
        self.merge = merge
        self.by_target: dict[Any, Any] = {}

    def add(self, target: Any, value: Any) -> None:
        """Add a partial value."""
        by_target = self.by_target
        by_target[target] = self.merge(by_target[target], value) if target in by_target else value


def parted(task: Task, by_target: dict[Any, Any]) -> list[Any]:
    """Values by target as one part for each task, None where there is none.

    Examples
    --------
    >>> [pickle.loads(part) for part in parted(Task(0, 1), {7: [1], 8: [2]})]
    [[[7, 8], [[1], [2]]]]
    """
    targets: list[list[Any]] = [[] for _ in range(task.count)]
    values: list[list[Any]] = [[] for _ in range(task.count)]
    for owner, (target, value) in zip(
        owners_of(task, list(by_target)), by_target.items(), strict=True
    ):
        targets[owner].append(target)
        values[owner].append(value)
    return [
        dumps_apart([keys, own]) if keys else None
        for keys, own in zip(targets, values, strict=True)
    ]


def received(inbox: Sequence[Any]) -> list[tuple[list[Any], list[Any]]]:
    """The targets and values that each task has sent.

    Examples
    --------
    >>> received([None, parted(Task(0, 1), {7: 1})[0]])
    [([7], [1])]
    """
    return [tuple(pickle.loads(part)) for part in inbox if part is not None]
