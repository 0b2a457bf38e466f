"""The values of Gelly's tests of simple graphs and degrees."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.common.memory_mode import running_in_memory
from millstream.graph import Graph
from millstream.graph.asm.degree.annotate import directed, undirected
from millstream.graph.asm.degree.filter.undirected import MaximumDegree
from millstream.graph.asm.simple import directed as simple_directed
from millstream.graph.asm.simple import undirected as simple_undirected
from millstream.graph.generator import EmptyGraph, JDKRandomGeneratorFactory, RMatGraph
from tests.support.graph_library import FISH, FISH_BOTH_WAYS
from tests.support.java_hashes import (
    NULL_HASH,
    checksum,
    long_hash,
    long_words,
    murmur,
    tuple_hash,
)

TASKS = pytest.mark.parametrize("tasks", [1, 3])
NOT_SIMPLE = [(0, 0), (0, 1), (0, 1), (0, 2), (0, 2), (1, 0), (2, 2)]


def of_pairs(pairs: list[tuple[int, int]]) -> Graph:
    return Graph.from_collection([(a, b, None) for a, b in pairs])


def collected(graph: Graph, algorithm: Any) -> list[Any]:
    return sorted(graph.run(algorithm).collect())


def rmat() -> Graph:
    return RMatGraph(None, JDKRandomGeneratorFactory(), 1 << 10, 16 << 10).generate()


@TASKS
def test_simple_graphs(tasks: int) -> None:
    with running_in_memory(tasks):
        graph = of_pairs(NOT_SIMPLE)
        found = sorted(e[:2] for e in graph.run(simple_directed.Simplify()).get_edges().collect())
        assert found == [(0, 1), (0, 2), (1, 0)]
        for clip, wanted in (
            (False, [(0, 1), (0, 2), (1, 0), (2, 0)]),
            (True, [(0, 1), (1, 0)]),
        ):
            simple = graph.run(simple_undirected.Simplify(clip))
            assert sorted(e[:2] for e in simple.get_edges().collect()) == wanted
            assert sorted(v[0] for v in simple.get_vertices().collect()) == [0, 1, 2]


def test_the_smallest_value_stays() -> None:
    with running_in_memory(1):
        graph = Graph.from_collection([("a", "b", 3), ("b", "a", 1), ("a", "b", 2)])
        found = graph.run(simple_directed.Simplify()).get_edges().collect()
        assert sorted(found) == [("a", "b", 2), ("b", "a", 1)]
        found = graph.run(simple_undirected.Simplify(False)).get_edges().collect()
        assert sorted(found) == [("a", "b", 1), ("b", "a", 1)]


@TASKS
def test_degrees_of_vertices(tasks: int) -> None:
    with running_in_memory(tasks):
        found = collected(of_pairs(FISH), directed.VertexDegrees())
        degrees = [(2, 2, 0), (3, 0, 3), (3, 2, 1), (4, 2, 2), (1, 0, 1), (1, 1, 0)]
        assert found == list(enumerate(degrees))
        found = collected(of_pairs(FISH_BOTH_WAYS), directed.VertexDegrees())
        assert found == [(key, (n, n, n)) for key, n in enumerate([2, 3, 3, 4, 1, 1])]
        empty = EmptyGraph(None, 3).generate()
        assert collected(empty, directed.VertexDegrees()) == []
        isolated = directed.VertexDegrees().set_include_zero_degree_vertices(True)
        assert collected(empty, isolated) == [(key, (0, 0, 0)) for key in range(3)]
        nothing = EmptyGraph(None, 0).generate()
        isolated = directed.VertexDegrees().set_include_zero_degree_vertices(True)
        assert collected(nothing, isolated) == []
        found = rmat().run(simple_directed.Simplify()).run(directed.VertexDegrees()).collect()
        hashes = (
            tuple_hash([long_hash(key), murmur(0x3A12FC31, [w for n in d for w in long_words(n)])])
            for key, d in found
        )
        assert checksum(hashes) == (902, 0x000001A3305DD86A)


@TASKS
def test_numbers_of_edges(tasks: int) -> None:
    with running_in_memory(tasks):
        graph = of_pairs(FISH)
        assert collected(graph, directed.VertexOutDegree()) == [(0, 2), (2, 2), (3, 2), (5, 1)]
        assert collected(graph, directed.VertexInDegree()) == [(1, 3), (2, 1), (3, 2), (4, 1)]
        isolated = directed.VertexInDegree().set_include_zero_degree_vertices(True)
        assert collected(graph, isolated) == list(enumerate([0, 3, 1, 2, 1, 0]))
        both = of_pairs(FISH_BOTH_WAYS)
        degrees = list(enumerate([2, 3, 3, 4, 1, 1]))
        assert collected(both, undirected.VertexDegree()) == degrees
        algorithm = undirected.VertexDegree().set_reduce_on_target_id(True)
        assert collected(both, algorithm) == degrees


@TASKS
def test_degrees_at_edges(tasks: int) -> None:
    of = dict(enumerate([2, 3, 3, 4, 1, 1]))
    with running_in_memory(tasks):
        both = of_pairs(FISH_BOTH_WAYS)
        found = collected(both, undirected.EdgeDegreePair())
        assert found == sorted((a, b, (None, of[a], of[b])) for a, b in FISH_BOTH_WAYS)
        found = collected(both, undirected.EdgeSourceDegree())
        assert found == sorted((a, b, (None, of[a])) for a, b in FISH_BOTH_WAYS)
        found = collected(both, undirected.EdgeTargetDegree())
        assert found == sorted((a, b, (None, of[b])) for a, b in FISH_BOTH_WAYS)
        degrees = dict(collected(of_pairs(FISH), directed.VertexDegrees()))
        found = collected(of_pairs(FISH), directed.EdgeDegreesPair())
        assert found == sorted((a, b, (None, degrees[a], degrees[b])) for a, b in FISH)
        found = collected(of_pairs(FISH), directed.EdgeSourceDegrees())
        assert found == sorted((a, b, (None, degrees[a])) for a, b in FISH)
        found = collected(of_pairs(FISH), directed.EdgeTargetDegrees())
        assert found == sorted((a, b, (None, degrees[b])) for a, b in FISH)
        simple = rmat().run(simple_undirected.Simplify(False))
        found = simple.run(undirected.EdgeDegreePair()).collect()
        hashes = (
            tuple_hash(
                [long_hash(a), long_hash(b), tuple_hash([NULL_HASH, *map(long_hash, d[1:])])]
            )
            for a, b, d in found
        )
        assert checksum(hashes) == (20884, 0x00000001E051EFE4)


@TASKS
def test_vertices_of_high_degree_go(tasks: int) -> None:
    with running_in_memory(tasks):
        found = of_pairs(FISH_BOTH_WAYS).run(MaximumDegree(3))
        assert sorted(v[0] for v in found.get_vertices().collect()) == [0, 1, 2, 4, 5]
        edges = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
        assert sorted(e[:2] for e in found.get_edges().collect()) == edges
        found = EmptyGraph(None, 3).generate().run(MaximumDegree(1))
        assert (found.get_vertices().count(), found.get_edges().count()) == (3, 0)
        found = rmat().run(simple_undirected.Simplify(False)).run(MaximumDegree(16))
        vertices, edges = found.get_vertices().collect(), found.get_edges().collect()
        assert len(vertices) + len(edges) == 805
        hashes = [tuple_hash([long_hash(key), NULL_HASH]) for key, _ in vertices]
        hashes += [tuple_hash([long_hash(a), long_hash(b), NULL_HASH]) for a, b, _ in edges]
        assert sum(hashes) == 0x0000000008028B43
