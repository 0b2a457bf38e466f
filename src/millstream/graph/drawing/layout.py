"""Places of vertices in a picture: distances on paper follow distances in the graph.

Each connected part is placed by stress majorization, which moves vertices until their distances on paper
are close to the lengths of the shortest paths. Parts then stand beside each other in rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["components", "placed", "spread"]

_ROUNDS = 200
_GAP = 1.1
_GAP_OF_SINGLES = 0.62


def components(count: int, edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The connected parts of a graph with vertices 0, 1, ..., the largest first.

    Examples
    --------
    >>> components(4, [(3, 1)])
    [[1, 3], [0], [2]]
    """
    root = list(range(count))

    def find(vertex: int) -> int:
        while root[vertex] != vertex:
            root[vertex] = root[root[vertex]]
            vertex = root[vertex]
        return vertex

    for source, target in edges:
        left, right = find(source), find(target)
        root[max(left, right)] = min(left, right)
    parts: dict[int, list[int]] = {}
    for vertex in range(count):
        parts.setdefault(find(vertex), []).append(vertex)
    return sorted(parts.values(), key=lambda part: (-len(part), part[0]))


def placed(count: int, edges: Sequence[tuple[int, int]], wide: float = 1.6) -> Any:
    """The places of vertices 0, 1, ...: an array of points, where an edge has a length of about 1.

    Parameters
    ----------
    count
        The number of vertices.
    edges
        Pairs of vertices.
    wide
        How many times wider than high the picture may be.

    Examples
    --------
    >>> points = placed(3, [(0, 1), (1, 2)])
    >>> [round(float(np.hypot(*(points[a] - points[b]))), 2) for a, b in [(0, 1), (0, 2)]]
    [1.0, 2.0]
    """
    points = np.zeros((count, 2))
    boxes = []
    for part in components(count, edges):
        number = {vertex: at for at, vertex in enumerate(part)}
        own = [(number[a], number[b]) for a, b in edges if a in number and a != b]
        shape = _lying(_part(len(part), own))
        points[part] = shape
        boxes.append((part, shape.max(axis=0) if len(part) else np.zeros(2)))
    _shelve(points, boxes, wide)
    return points


def _distances(count: int, edges: Sequence[tuple[int, int]]) -> Any:
    """The number of edges between each two vertices of a connected graph."""
    adjacent = np.zeros((count, count), bool)
    for source, target in edges:
        adjacent[source, target] = adjacent[target, source] = True
    distances = np.zeros((count, count))
    seen = np.eye(count, dtype=bool)
    front = seen
    for step in range(1, count):
        front = (front.astype(np.float32) @ adjacent.astype(np.float32) > 0) & ~seen
        if not front.any():
            break
        distances[front] = step
        seen |= front
    return distances


def _part(count: int, edges: Sequence[tuple[int, int]]) -> Any:
    """The places of a connected part."""
    if count == 1:
        return np.zeros((1, 2))
    target = _distances(count, edges)
    points = _by_eigenvectors(target)
    weights = np.divide(1.0, target**2, out=np.zeros_like(target), where=target > 0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(laplacian)
    for _ in range(_ROUNDS):
        apart = np.hypot(*(points[:, None, :] - points[None, :, :]).transpose(2, 0, 1))
        ratio = np.divide(target, apart, out=np.zeros_like(apart), where=apart > 1e-9)
        pull = -weights * ratio
        np.fill_diagonal(pull, 0.0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        moved = inverse @ (pull @ points)
        if np.abs(moved - points).max() < 1e-4:
            return moved
        points = moved
    return points


def _by_eigenvectors(target: Any) -> Any:
    """First places: the plane in which the distances differ most, and a little noise against ties."""
    count = len(target)
    centred = np.eye(count) - 1.0 / count
    values, vectors = np.linalg.eigh(-0.5 * centred @ target**2 @ centred)
    points = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0))
    # The sign of an eigenvector is not defined: without this, pictures would differ between machines.
    points *= np.where(points[np.abs(points).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    return points + np.random.default_rng(7).normal(0.0, 0.02, points.shape)


def _lying(points: Any) -> Any:
    """Points turned so that they are wider than high, beginning at 0."""
    points = points - points.mean(axis=0)
    if len(points) > 1:
        _, _, axes = np.linalg.svd(points, full_matrices=False)
        if len(axes) == 2:
            points = points @ axes.T
    return points - points.min(axis=0)


def _shelve(points: Any, boxes: list[tuple[list[int], Any]], wide: float) -> None:
    """Move parts beside each other in rows, as one sets books on shelves."""
    area = sum((box[0] + _gap(part)) * (box[1] + _gap(part)) for part, box in boxes)
    limit = max([float(np.sqrt(area * wide)), *(float(box[0]) + _GAP for _, box in boxes)])
    x = y = high = 0.0
    row: list[tuple[list[int], Any]] = []
    for part, box in boxes:
        if row and x + box[0] > limit:
            _middle(points, row, high)
            x, y, high, row = 0.0, y + high + _gap(row[0][0]), 0.0, []
        points[part] += (x, y)
        row.append((part, box))
        x += float(box[0]) + _gap(part)
        high = max(high, float(box[1]))
    _middle(points, row, high)


def _gap(part: Sequence[int]) -> float:
    return _GAP if len(part) > 1 else _GAP_OF_SINGLES


def _middle(points: Any, row: list[tuple[list[int], Any]], high: float) -> None:
    for part, box in row:
        points[part, 1] += (high - box[1]) / 2


def spread(points: Any, least: float, rounds: int = 80) -> Any:
    """Points moved apart until each two have a least distance, or nearly.

    Examples
    --------
    >>> apart = spread(np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 0.0]]), 4.0)
    >>> apart.round(1).tolist()
    [[-1.5, 0.0], [2.5, 0.0], [9.0, 0.0]]
    """
    points = np.array(points, float)
    for _ in range(rounds):
        across = points[:, None, :] - points[None, :, :]
        apart = np.hypot(across[..., 0], across[..., 1])
        np.fill_diagonal(apart, np.inf)
        missing = np.maximum(least - apart, 0.0)
        if not (missing > 0.01 * least).any():
            break
        step = np.divide(missing, apart, out=np.zeros_like(apart), where=apart > 1e-9)
        points += (across * step[..., None]).sum(axis=1) * 0.5
    return points
