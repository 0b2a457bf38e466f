"""Bipartite graphs: the values of Gelly's tests, and networkx."""

from __future__ import annotations

import random
from typing import Any

import networkx as nx
import pytest

from millstream.dataset import ExecutionEnvironment
from millstream.graph import Vertex
from millstream.graph.bipartite import (
    BipartiteEdge,
    BipartiteGraph,
    InvalidBipartiteVertexIdsValidator,
    Projection,
)
from millstream.testing import in_memory
from tests.support.strategies import scaled

TOPS = [Vertex(4, "top4"), Vertex(5, "top5"), Vertex(6, "top6")]
BOTTOMS = [Vertex(1, "bottom1"), Vertex(2, "bottom2"), Vertex(3, "bottom3")]
EDGES = [(4, 1), (5, 1), (5, 2), (6, 2), (6, 3)]


def graph(edges: Any = None) -> BipartiteGraph[Any, Any, Any, Any, Any]:
    env = ExecutionEnvironment.get_execution_environment()
    found = [BipartiteEdge(t, b, f"{t}-{b}") for t, b in EDGES] if edges is None else edges
    return BipartiteGraph.from_data_set(
        env.from_collection(TOPS), env.from_collection(BOTTOMS), env.from_collection(found), env
    )


def test_simple_projections() -> None:
    with in_memory(parallelism=2):
        top = graph().projection_top_simple()
        assert sorted(top.get_vertices().collect()) == TOPS
        assert sorted(top.get_edges().collect()) == [
            (4, 5, ("4-1", "5-1")),
            (5, 4, ("5-1", "4-1")),
            (5, 6, ("5-2", "6-2")),
            (6, 5, ("6-2", "5-2")),
        ]
        bottom = graph().projection_bottom_simple()
        assert sorted(bottom.get_edges().collect()) == [
            (1, 2, ("5-1", "5-2")),
            (2, 1, ("5-2", "5-1")),
            (2, 3, ("6-2", "6-3")),
            (3, 2, ("6-3", "6-2")),
        ]


def test_full_projections() -> None:
    with in_memory(parallelism=2):
        top = graph().projection_top_full().get_edges().collect()
        bottom = graph().projection_bottom_full().get_edges().collect()
    assert sorted(top) == [
        (4, 5, (1, "bottom1", "top4", "top5", "4-1", "5-1")),
        (5, 4, (1, "bottom1", "top5", "top4", "5-1", "4-1")),
        (5, 6, (2, "bottom2", "top5", "top6", "5-2", "6-2")),
        (6, 5, (2, "bottom2", "top6", "top5", "6-2", "5-2")),
    ]
    assert sorted(bottom) == [
        (1, 2, (5, "top5", "bottom1", "bottom2", "5-1", "5-2")),
        (2, 1, (5, "top5", "bottom2", "bottom1", "5-2", "5-1")),
        (2, 3, (6, "top6", "bottom2", "bottom3", "6-2", "6-3")),
        (3, 2, (6, "top6", "bottom3", "bottom2", "6-3", "6-2")),
    ]
    assert all(isinstance(edge[2], Projection) for edge in top)
    assert sorted(top)[0][2].get_source_vertex_value() == "top4"


def test_validation() -> None:
    with in_memory():
        assert graph().validate(InvalidBipartiteVertexIdsValidator())
        wrongs: Any = (BipartiteEdge(1, 4), BipartiteEdge(7, 1), BipartiteEdge(4, 9))
        for wrong in wrongs:
            assert not graph([wrong]).validate(InvalidBipartiteVertexIdsValidator())


@pytest.mark.parametrize("seed", range(scaled(20, fewest=2)))
def test_projections_are_those_of_networkx(seed: int) -> None:
    chance = random.Random(seed)
    pairs = {(chance.randrange(5), chance.randrange(5)) for _ in range(10)}
    theirs = nx.Graph()
    theirs.add_nodes_from([("top", n) for n in range(5)])
    theirs.add_edges_from([(("top", t), ("bottom", b)) for t, b in pairs])
    tops = [node for node in theirs if node[0] == "top"]
    expected = nx.bipartite.weighted_projected_graph(theirs, tops)
    env = ExecutionEnvironment.get_execution_environment()
    with in_memory():
        vertices = env.from_collection([Vertex(n) for n in range(5)])
        edges = env.from_collection([BipartiteEdge(t, b) for t, b in pairs])
        found = BipartiteGraph(vertices, vertices, edges, env).projection_top_simple()
        counts: dict[Any, int] = {}
        for source, target, _ in found.get_edges().collect():
            counts[source, target] = counts.get((source, target), 0) + 1
    both = {}
    for (_, one), (_, other), weight in expected.edges(data="weight"):
        both[one, other] = both[other, one] = weight
    assert counts == both
