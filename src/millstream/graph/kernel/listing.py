"""Triangles as Gelly lists them: in some order of their vertices, or in all."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.graph.kernel.ids import pick_ids
from millstream.graph.kernel.neighbours import swapped
from millstream.graph.kernel.program import ids_of
from millstream.graph.kernel.triangles import TrianglesProgram

__all__ = ["TriangleListProgram"]


class TriangleListProgram(TrianglesProgram):
    """All triangles with their marks, in order of ids if that is wanted, or each in all six orders.

    Parameters
    ----------
    in_order
        Whether the ids of a triangle are in ascending order. Otherwise the first one has the lowest
        degree, and the others are in order.
    permuted
        Whether each triangle is in the result six times.
    """

    def __init__(self, in_order: bool, permuted: bool) -> None:
        super().__init__()
        self.in_order = in_order
        self.permuted = permuted

    def result(self) -> pa.Table:
        a, b, c, ab, ac, bc = self.found
        own, slots = self.order()
        # The ids of own vertices, then those of slots, so that a place names either.
        ids = _together(self.links.vertices.ids, self.links.slot_ids)
        places = np.stack([a, b + len(own), c + len(own)], 1).astype(np.int64)
        # The mark of the edge from each vertex of a triangle to each other one.
        marks = np.zeros((len(a), 3, 3), np.int64)
        for first, second, mark in ((0, 1, ab), (0, 2, ac), (1, 2, bc)):
            marks[:, first, second] = mark
            marks[:, second, first] = swapped(mark)
        if self.in_order and not self.permuted:
            order = np.argsort(np.concatenate([own, slots])[places], axis=1)
            return _rows(ids, places, marks, order)
        orders = list(permutations(range(3))) if self.permuted else [(0, 1, 2)]
        shape = (len(a), 3)
        return pa.concat_tables(
            _rows(ids, places, marks, np.broadcast_to(np.array(order), shape)) for order in orders
        )


def _together(first: Any, second: Any) -> pa.Array:
    return pa.concat_arrays([ids_of(first), ids_of(second)])


def _rows(ids: pa.Array, places: Any, marks: Any, order: Any) -> pa.Table:
    """Triangles with their vertices in some order."""
    row = np.arange(len(places))
    chosen = np.take_along_axis(places, order, 1)
    columns = {f"id{place}": pick_ids(ids, chosen[:, place]) for place in range(3)}
    mask = np.zeros(len(places), np.int64)
    for first, second in ((0, 1), (0, 2), (1, 2)):
        mask = (mask << 2) | marks[row, order[:, first], order[:, second]]
    return pa.table({**columns, "bitmask": pa.array(mask)})
