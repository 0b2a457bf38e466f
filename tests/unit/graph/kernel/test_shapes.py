"""Edges of regular graphs, whatever vertices are asked for together."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from millstream.graph.kernel.shapes import Circulant, Grid, NoEdges, Pairs, Shape, Star

SHAPES: dict[str, tuple[Shape, int, nx.Graph]] = {
    "circulant": (
        Circulant(9, [(2, 2), (6, 1)]),
        9,
        nx.DiGraph([(v, (v + d) % 9) for v in range(9) for d in (2, 3, 6)]),
    ),
    "complete": (Circulant(6, [(1, 5)]), 6, nx.complete_graph(6)),
    "grid": (Grid([(3, False), (4, False)]), 12, nx.grid_graph([4, 3])),
    "torus": (Grid([(3, True), (4, True)]), 12, nx.grid_graph([4, 3], periodic=True)),
    "cube": (Grid([(2, False)] * 4), 16, nx.hypercube_graph(4)),
    "star": (Star(), 7, nx.star_graph(6)),
    "pairs": (Pairs(), 6, nx.Graph([(0, 1), (2, 3), (4, 5)])),
    "none": (NoEdges(), 4, nx.empty_graph(4)),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("parts", [1, 3])
def test_edges_are_those_of_networkx(name: str, parts: int) -> None:
    shape, count, expected = SHAPES[name]
    found: list[tuple[int, int]] = []
    for vertices in np.array_split(np.arange(count), parts):
        for source, target in shape.pieces(vertices):
            found += zip(source.tolist(), target.tolist(), strict=True)
    places = {node: place for place, node in enumerate(sorted(expected.nodes))}
    wanted = {(places[a], places[b]) for a, b in nx.DiGraph(expected).edges}
    assert sorted(found) == sorted(wanted)


def test_pieces_are_not_too_large() -> None:
    shape = Circulant(3000, [(1, 2999)])
    pieces = list(shape.pieces(np.arange(1000)))
    assert sum(len(source) for source, _ in pieces) == 1000 * 2999
    assert max(len(source) for source, _ in pieces) <= 1 << 20
