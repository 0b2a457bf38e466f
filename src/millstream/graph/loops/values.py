"""Values that tasks must not share, and the owners of vertices."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from millstream.common.pickling import dumps, dumps_apart
from millstream.iteration import Task

__all__ = ["isolated", "isolated_copies", "owners_of", "packed", "unpacked"]

_ATOMS = frozenset((int, float, str, bytes, bool, type(None)))
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
_BATCH = 4096


def _is_fixed(value: Any) -> bool:
    kind = type(value)
    if kind in _ATOMS or isinstance(value, np.generic):
        return True
    return isinstance(value, tuple) and all(type(part) in _ATOMS for part in value)


def isolated(value: Any) -> Any:
    """A value that nobody else holds: a copy, or the value itself if it cannot change.

    Records that an engine hands on are copies. A function that adds to a set it has received must not
    change the set of the vertex that has sent it.

    Examples
    --------
    >>> sent = {1}
    >>> isolated(sent) is sent, isolated(sent) == sent
    (False, True)
    """
    return value if _is_fixed(value) else pickle.loads(dumps(value))


def isolated_copies(value: Any, count: int) -> Iterable[Any]:
    """As many values that nobody else holds.

    Examples
    --------
    >>> left, right = isolated_copies([1], 2)
    >>> left is right
    False
    """
    if _is_fixed(value):
        return (value for _ in range(count))
    data = dumps(value)
    return (pickle.loads(data) for _ in range(count))


def owners_of(task: Task, ids: Sequence[Any]) -> list[int]:
    """The tasks that own vertices: whole numbers and strings by themselves, other ids by their bytes.

    Examples
    --------
    >>> task = Task(0, 2)
    >>> owners_of(task, [7, "a", (1, "a")])[1:] == owners_of(task, ["a", (1, "a")])
    True
    """
    if task.count == 1 or not ids:
        return [0] * len(ids)
    kinds = {type(key) for key in ids}
    if kinds == {str}:
        return _owners(task, list(ids))
    if kinds <= {int, np.int64, np.int32} and _fit(ids):
        return _owners(task, np.array(ids, np.int64))
    found = [0] * len(ids)
    groups: dict[type, list[int]] = {}
    for at, key in enumerate(ids):
        groups.setdefault(_kind(key), []).append(at)
    for kind, places in groups.items():
        keys: Any = [ids[at] for at in places]
        if kind is int:
            keys = np.array(keys, np.int64)
        elif kind is bytes:
            keys = [dumps_apart([key]) for key in keys]
        for at, owner in zip(places, _owners(task, keys), strict=True):
            found[at] = owner
    return found


def _kind(key: Any) -> type:
    if isinstance(key, str):
        return str
    # 1, 1.0 and True are one key.
    whole = isinstance(key, int | np.integer) or (isinstance(key, float) and key.is_integer())
    return int if whole and _SMALLEST <= key <= _LARGEST else bytes


def _fit(ids: Sequence[Any]) -> bool:
    return bool(min(ids) >= _SMALLEST and max(ids) <= _LARGEST)


def _owners(task: Task, keys: Any) -> list[int]:
    owners: list[int] = task.owner_of(keys).tolist()
    return owners


def packed(records: Iterable[Any]) -> Iterable[bytes]:
    """Records as pickles of a few thousand each, so that they travel as few cells.

    Examples
    --------
    >>> [record for cell in packed([(1, "a"), (2, "b")]) for record in unpacked(cell)]
    [(1, 'a'), (2, 'b')]
    """
    batch: list[tuple[Any, ...]] = []
    for record in records:
        batch.append(tuple(record))
        if len(batch) == _BATCH:
            yield dumps_apart(batch)
            batch = []
    if batch:
        yield dumps_apart(batch)


def unpacked(cell: bytes) -> list[tuple[Any, ...]]:
    """The records of a cell that `packed` has made.

    Examples
    --------
    >>> unpacked(next(iter(packed([(1, None)]))))
    [(1, None)]
    """
    records: list[tuple[Any, ...]] = pickle.loads(cell)
    return records
