"""Numbers about a whole graph: each task counts what it owns, in one row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from millstream.graph.kernel.neighbours import BACKWARD, BOTH, FORWARD, NeighboursProgram
from millstream.graph.kernel.program import SETUP, Inbox
from millstream.graph.kernel.triangles import ClusteringProgram, TrianglesProgram
from millstream.iteration import Outbox, Task

__all__ = [
    "AverageClusteringProgram",
    "CensusProgram",
    "EdgeMetricsProgram",
    "VertexMetricsProgram",
    "one_row",
]


def one_row(counts: dict[str, Any]) -> pa.Table:
    """Counts as a table with one row.

    Examples
    --------
    >>> one_row({"edges": 3}).to_pylist()
    [{'edges': 3}]
    """
    return pa.table({name: pa.array([count]) for name, count in counts.items()})


def _pairs(degrees: Any) -> Any:
    return degrees * (degrees - 1) // 2


def _most(values: Any) -> int:
    return int(values.max()) if len(values) else 0


class VertexMetricsProgram(NeighboursProgram):
    """Vertices, edges, triplets, and the largest degrees.

    A triplet is two edges with a common vertex.
    """

    loops = True

    def changing(self) -> dict[str, Any]:
        return {}

    def first(self, task: Task) -> Outbox:
        return Outbox()

    def step(self, task: Task, inbox: Inbox) -> Outbox:
        return Outbox()

    def result(self) -> pa.Table:
        size = len(self.links.vertices)
        out = np.bincount(self.rows[(self.edge_marks & FORWARD) > 0], minlength=size)
        back = np.bincount(self.rows[(self.edge_marks & BACKWARD) > 0], minlength=size)
        degrees = self.degrees
        both = out + back - degrees
        triplets = _pairs(degrees)
        return one_row(
            {
                "vertices": size,
                "one_way": int((degrees - both).sum()),
                "both_ways": int(both.sum()),
                "triplets": int(triplets.sum()),
                "most_degree": _most(degrees),
                "most_out": _most(out),
                "most_in": _most(back),
                "most_triplets": _most(triplets),
            }
        )


class EdgeMetricsProgram(TrianglesProgram):
    """Triplets that algorithms of triangles and of rectangles look at.

    For triangles a vertex makes pairs of its edges to vertices of higher degree. For rectangles it also
    makes pairs of such an edge and one to a vertex of lower degree.
    """

    def step(self, task: Task, inbox: Inbox) -> Outbox:
        self._ask(inbox)
        return Outbox()

    def result(self) -> pa.Table:
        low = np.bincount(self.rows[self.kept], minlength=len(self.links.vertices))
        triangles = _pairs(low)
        rectangles = triangles + low * (self.degrees - low)
        return one_row(
            {
                "triangles": int(triangles.sum()),
                "rectangles": int(rectangles.sum()),
                "most_triangles": _most(triangles),
                "most_rectangles": _most(rectangles),
            }
        )


class CensusProgram(TrianglesProgram):
    """Triangles and triplets by the directions of their edges."""

    def step(self, task: Task, inbox: Inbox) -> Outbox:
        return super().step(task, inbox) if task.superstep <= SETUP + 3 else Outbox()

    def result(self) -> pa.Table:
        size = len(self.links.vertices)
        one, two, both = (
            np.bincount(self.rows[self.edge_marks == mark], minlength=size)
            for mark in (FORWARD, BACKWARD, BOTH)
        )
        _, _, _, ab, ac, bc = self.found
        masks = np.bincount((ab << 4) | (ac << 2) | bc, minlength=64)
        counts = {
            "vertices": size,
            "one_way": int((one + two).sum()),
            "both_ways": int(both.sum()),
            "021d": int(_pairs(one).sum()),
            "021u": int(_pairs(two).sum()),
            "021c": int((one * two).sum()),
            "111d": int((two * both).sum()),
            "111u": int((one * both).sum()),
            "201": int(_pairs(both).sum()),
            "triplets": int(_pairs(self.degrees).sum()),
            "triangles": len(ab),
        }
        return one_row({**counts, "masks": masks.astype(np.int64)})


class AverageClusteringProgram(ClusteringProgram):
    """The number of vertices, and the sum of their clustering coefficients."""

    def result(self) -> pa.Table:
        degrees = self.degrees
        pairs = degrees * (degrees - 1) if self.directed else _pairs(degrees)
        several = pairs > 0
        total = float((self.counts[several] / pairs[several]).sum())
        return one_row({"vertices": len(degrees), "sum": total})
